//! Every metric of the collector, and the port on which they and its health are read.

use crate::error::{Error, FailureKind};
use crate::run::health::Health;
use crate::run::process::Process;
use crate::run::server::{Answer, Server};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};
use quiclens_core::crossed::crossed;
use quiclens_core::tables::Tables;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tracing::info;

/// One label, from a closed set: tables, and the reasons of `schema/catalogue/rejects.toml`.
type By = Family<[(&'static str, &'static str); 1], Counter>;

/// One label, the name of a source in the settings.
type OfSource = Family<[(&'static str, String); 1], Gauge>;

/// Counters and gauges; cheap to clone, every clone counts for the same.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    /// Whether the collector does its work.
    pub health: Arc<Health>,
    /// Files followed.
    pub files: Gauge,
    /// Files that are not followed yet, for want of descriptors.
    pub files_waiting: Gauge,
    /// Configured places at which nothing is.
    pub places_missing: Gauge,
    /// Traces whose state is held.
    pub open_connections: Gauge,
    /// Bytes read.
    pub bytes: Counter,
    /// Records and lines taken, rejected ones included.
    pub records: Counter,
    /// Records that became events.
    pub events: Counter,
    values_unread: Counter,
    limits_crossed: By,
    /// Bytes that stand in growing files and were not read.
    pub bytes_behind: Gauge,
    rejects: By,
    rows: By,
    batches: By,
    batch_bytes: By,
    /// Cycles that were given to the sink and are not acknowledged.
    pub cycles_in_flight: Gauge,
    /// Cycles acknowledged.
    pub cycles: Counter,
    /// Attempts that the sink refused and that are made again.
    pub retries: Counter,
    /// Size of the checkpoints.
    pub checkpoint_bytes: Gauge,
    /// Checkpoints that could not be read at the start.
    pub damaged_checkpoints: Counter,
    /// Bytes of the spool on disk.
    pub spool_bytes: Gauge,
    /// Files of the spool.
    pub spool_segments: Gauge,
    /// Bytes in the spool that are not known to be shipped.
    pub spool_behind_bytes: Gauge,
    /// Records that found no room in the spool.
    pub spool_refusals: Counter,
    /// Messages that wait in the outbox.
    pub outbox_messages: Gauge,
    /// Their bytes.
    pub outbox_bytes: Gauge,
    /// Cycles that found no room in the outbox.
    pub outbox_refusals: Counter,
    /// Events that were dropped because the spool filled.
    pub events_dropped: Counter,
    /// Datagrams that the kernel dropped.
    pub kernel_drops: Counter,
    /// Peers that were turned away.
    pub turned_away: Counter,
    /// Peers of each listener that are let in.
    peers: OfSource,
    /// Lost runs of the spool whose connection has not begun.
    pub spool_runs_owed: Gauge,
    /// Bytes of files that are to be read again for events that were decided to be kept.
    pub replay_behind_bytes: Gauge,
    /// Lines of the log that were not written.
    pub log_suppressed: Counter,
    /// How long the sink took to answer, refusals included.
    pub sink_answer_seconds: Histogram,
    /// How long a sync of the spool took.
    pub spool_sync_seconds: Histogram,
    /// How long a record of a source waited for room in the spool, of those that had to.
    pub spool_room_seconds: Histogram,
    /// How long reading stood still, each time that nothing more could be given to the sink.
    pub standing_seconds: Histogram,
    /// How long a cycle waited from when it was cut until it was acknowledged.
    pub batch_wait_seconds: Histogram,
    /// How long a checkpoint took to be on disk.
    pub checkpoint_seconds: Histogram,
}

/// 1 ms to 131 s, each bucket twice the one before it.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 18))
}

impl Metrics {
    /// All at zero.
    pub fn new(now: Instant) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process));
        let health = Arc::new(Health::new(now));
        let one = registry.sub_registry_with_prefix("quiclens_collector");
        one.register_collector(Box::new(SecondsSinceAcknowledged(Arc::clone(&health))));
        one.register("build", "which version runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let files = add(one, "files", "files followed");
        let files_waiting = add(one, "files_waiting", "files that are not followed yet, for want of descriptors");
        let places_missing = add(one, "places_missing", "configured places at which nothing is");
        let open_connections = add(one, "open_connections", "connections whose state is held");
        let bytes = add(one, "read_bytes", "bytes read");
        let records = add(one, "records", "records and lines taken, rejected ones included");
        let events = add(one, "events", "records that became events");
        let values_unread = add(one, "values_unread", "values that their column cannot hold; kept in more");
        let limits_crossed = add(one, "limits_crossed", "limits crossed whose crossing makes no reject");
        let bytes_behind = add(one, "behind_bytes", "bytes of growing files that were not read yet");
        let rejects = add(one, "rejects", "what could not become a row");
        let rows = add(one, "rows", "rows acknowledged");
        let batches = add(one, "batches", "batches acknowledged");
        let batch_bytes = add(one, "batch_bytes", "bytes of batches acknowledged");
        let cycles_in_flight = add(one, "cycles_in_flight", "cycles that wait for the sink");
        let cycles = add(one, "cycles", "cycles acknowledged");
        let retries = add(one, "retries", "attempts that failed and are made again");
        let checkpoint_bytes = add(one, "checkpoint_bytes", "size of the checkpoints");
        let damaged_checkpoints = add(one, "damaged_checkpoints", "checkpoints that could not be read");
        let spool_bytes = add(one, "spool_bytes", "bytes of the spool on disk");
        let spool_segments = add(one, "spool_segments", "files of the spool");
        let spool_behind_bytes = add(one, "spool_behind_bytes", "bytes in the spool that are not known to be shipped");
        let spool_refusals = add(one, "spool_refusals", "records that found no room in the spool, each try");
        let outbox_messages = add(one, "outbox_messages", "messages that wait in the outbox");
        let outbox_bytes = add(one, "outbox_bytes", "bytes of messages that wait in the outbox");
        let outbox_refusals = add(one, "outbox_refusals", "cycles that found no room in the outbox, each try");
        let events_dropped = add(one, "events_dropped", "events that were dropped because the spool filled");
        let kernel_drops = add(one, "kernel_drops", "datagrams that the kernel dropped");
        let turned_away = add(one, "peers_turned_away", "peers that were turned away");
        let peers = add(one, "peers", "peers of each listener");
        let spool_runs_owed = add(one, "spool_runs_owed", "lost runs of the spool whose connection has not begun");
        let replay_behind_bytes = add(one, "replay_behind_bytes", "bytes of files that are to be read again");
        let log_suppressed =
            add(one, "log_lines_suppressed", "lines of the log that repeat another and were not written");
        let sink_answer_seconds = timed(one, "sink_answer_seconds", "until the sink answered, refusals included");
        let spool_sync_seconds = timed(one, "spool_sync_seconds", "for a sync of the spool");
        let spool_room_seconds = timed(one, "spool_room_seconds", "for which a record waited for room in the spool");
        let standing_seconds = timed(one, "standing_seconds", "for which nothing was read because the sink was behind");
        let batch_wait_seconds = timed(one, "batch_wait_seconds", "from a cycle's cut until it was acknowledged");
        let checkpoint_seconds = timed(one, "checkpoint_seconds", "until a checkpoint was on disk");
        Self {
            registry: Arc::new(registry),
            health,
            files,
            files_waiting,
            places_missing,
            open_connections,
            bytes,
            records,
            events,
            values_unread,
            limits_crossed,
            bytes_behind,
            rejects,
            rows,
            batches,
            batch_bytes,
            cycles_in_flight,
            cycles,
            retries,
            checkpoint_bytes,
            damaged_checkpoints,
            spool_bytes,
            spool_segments,
            spool_behind_bytes,
            spool_refusals,
            outbox_messages,
            outbox_bytes,
            outbox_refusals,
            events_dropped,
            kernel_drops,
            turned_away,
            peers,
            spool_runs_owed,
            replay_behind_bytes,
            log_suppressed,
            sink_answer_seconds,
            spool_sync_seconds,
            spool_room_seconds,
            standing_seconds,
            batch_wait_seconds,
            checkpoint_seconds,
        }
    }

    /// What all tables have counted since they began.
    pub fn counted<'t>(&self, all: impl Iterator<Item = &'t Tables>) {
        let (mut events, mut unread, mut rejected) = (0, 0, BTreeMap::<&'static str, u64>::new());
        for tables in all {
            events += tables.counted;
            unread += tables.values_unread;
            for (reason, count) in &tables.rejected {
                *rejected.entry(reason).or_default() += count;
            }
        }
        self.events.inc_by(events.saturating_sub(self.events.get()));
        self.values_unread.inc_by(unread.saturating_sub(self.values_unread.get()));
        for (reason, count) in rejected {
            let counter = self.rejects.get_or_create(&[("reason", reason)]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        for (limit, times) in crossed() {
            let counter = self.limits_crossed.get_or_create(&[("limit", limit)]);
            counter.inc_by(times.saturating_sub(counter.get()));
        }
    }

    /// A batch of `rows` rows in `bytes` bytes was acknowledged.
    pub fn sent(&self, table: &'static str, rows: usize, bytes: usize) {
        let label = [("table", table)];
        self.batches.get_or_create(&label).inc();
        self.rows.get_or_create(&label).inc_by(rows as u64);
        self.batch_bytes.get_or_create(&label).inc_by(bytes as u64);
    }

    /// A listener has so many peers.
    pub fn has_peers(&self, source: &str, peers: usize) {
        let gauge = self.peers.get_or_create(&[("source", source.to_owned())]);
        gauge.set(i64::try_from(peers).unwrap_or(i64::MAX));
    }

    /// The loop turns: `behind` bytes stand in files that were not read; `is_idle` says that nothing is on its way.
    pub fn turned(&self, now: Instant, behind: u64, is_idle: bool) {
        self.bytes_behind.set(i64::try_from(behind).unwrap_or(i64::MAX));
        self.health.turned(now);
        if behind == 0 && is_idle {
            self.health.idle(now);
        }
    }

    /// A cycle was acknowledged.
    pub fn acknowledged(&self, now: Instant) {
        self.cycles.inc();
        self.health.acknowledged(now);
    }

    /// All of them in the text form.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Answers /metrics and /healthz in a thread of its own, for as long as the process lives.
    pub fn serve(&self, address: &str) -> Result<(), Error> {
        let said = |error| Error::new(FailureKind::Configuration, format!("metrics_address {address}"), error);
        let server = Server::open(address).map_err(said)?;
        let address = server.address().map_err(said)?;
        info!(%address, "metrics are served");
        let metrics = self.clone();
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || server.work(|path| metrics.answer(path)))
            .map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?;
        Ok(())
    }

    fn answer(&self, path: &str) -> Answer {
        match path {
            "/metrics" => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                Answer { status: "200 OK", kind, body: self.text() }
            }
            "/healthz" => {
                let found = self.health.found(Instant::now());
                let status = if found.ok { "200 OK" } else { "503 Service Unavailable" };
                let body = serde_json::to_string(&found).unwrap_or_default() + "\n";
                Answer { status, kind: "application/json", body }
            }
            _ => Answer::text("404 Not Found", "ask for /metrics or /healthz"),
        }
    }
}

/// Computed when it is read, since it grows with time.
#[derive(Debug)]
struct SecondsSinceAcknowledged(Arc<Health>);

impl Collector for SecondsSinceAcknowledged {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let (name, help) = ("seconds_since_acknowledged", "since the last cycle was acknowledged, or since the start");
        let metric = ConstGauge::new(self.0.found(Instant::now()).seconds_since_acknowledged);
        metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
    }
}

fn add<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn timed(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let metric = seconds();
    registry.register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclens_core::crossed::Bound;

    #[test]
    fn totals_are_taken_over_and_never_counted_twice() {
        let metrics = Metrics::new(Instant::now());
        let of = |counted, count| Tables {
            counted,
            values_unread: count,
            rejected: [("not_json", count)].into(),
            ..Tables::default()
        };
        Bound::Kinds.cross();
        metrics.counted([of(10, 2)].iter());
        metrics.counted([of(10, 2), of(5, 1)].iter());
        metrics.sent("events", 100, 9000);
        metrics.sent("events", 50, 1000);
        metrics.has_peers("unix_stream:/run/a", 3);
        metrics.has_peers("unix_stream:/run/a", 2);
        let text = metrics.text();
        for line in [
            "quiclens_collector_events_total 15",
            "quiclens_collector_values_unread_total 3",
            "quiclens_collector_rejects_total{reason=\"not_json\"} 3",
            &format!("quiclens_collector_limits_crossed_total{{limit=\"kinds\"}} {}", Bound::Kinds.times()),
            "quiclens_collector_rows_total{table=\"events\"} 150",
            "quiclens_collector_batches_total{table=\"events\"} 2",
            "quiclens_collector_batch_bytes_total{table=\"events\"} 10000",
            "quiclens_collector_cycles_in_flight 0",
            "quiclens_collector_peers{source=\"unix_stream:/run/a\"} 2",
            concat!("quiclens_collector_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            assert!(text.lines().any(|each| each == line), "{line} is not in\n{text}");
        }
        for name in ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "quiclens_collector_seconds_since"]
        {
            assert!(text.lines().any(|each| each.starts_with(name)), "{name} is not in\n{text}");
        }
    }

    #[test]
    fn what_waits_is_idle_again_only_when_all_of_it_is_acknowledged() {
        let began = Instant::now();
        let later = began + std::time::Duration::from_secs(90);
        let metrics = Metrics::new(began);
        metrics.turned(later, 0, false);
        assert!(!metrics.health.found(later).ok);
        metrics.acknowledged(later);
        metrics.turned(later, 0, true);
        assert!(metrics.health.found(later).ok);
    }
}
