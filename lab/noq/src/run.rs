//! One run: two ends, two links, and what is under way between them, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use clap::ValueEnum;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ClientConfig, ConnectionId, QlogConfig, QlogFactory, ServerConfig, Side, TransportConfig, VarInt};
use quiclens_simulated::{Failure, Keys, Log, NAME, address};

use crate::aim::{Aim, Frame};
use crate::end::End;
use crate::link::{Link, Script};
use crate::plan::{Plan, TARGET, WARM_UP};

const LONGEST_RUN: Duration = Duration::from_secs(120);
/// Between the warm-up's answer and the target.
const PAUSE: Duration = Duration::from_millis(300);
const SETTLE: Duration = Duration::from_millis(500);

/// What decides how much may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Controller {
    Cubic,
    NewReno,
    Bbr3,
}

impl Controller {
    fn factory(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Bbr3 => Arc::new(Bbr3Config::default()),
        }
    }
}

/// Gives the one connection of a run its log.
struct ToLog(Log);

impl QlogFactory for ToLog {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(self.0.clone()));
        config.start_time(now).title(Some("noq-traces".to_owned()));
        Some(config)
    }
}

/// A datagram on its way.
struct UnderWay {
    arrives: Instant,
    to_server: bool,
    data: Vec<u8>,
}

/// Runs a plan and returns the server's qlog. It fails when a request is not answered in full.
pub fn simulate(plan: &Plan, controller: Controller, script: Script) -> Result<Vec<u8>, Failure> {
    let start = Instant::now(); // where virtual time is hung up; it moves only by what happens below
    let log = Log::default();
    let (server_config, client_config) = configurations(plan, controller, log.clone())?;
    let (server_address, client_address) = (address(1, 443), address(2, 50_000));
    let answers: BTreeMap<u64, _> = (0..).step_by(4).zip([plan.warm_up].into_iter().chain(plan.asked())).collect();
    let streams: Vec<u64> = answers.keys().copied().collect();
    let mut server = End::new(Some(server_config), client_address, answers, plan.seed);
    let mut client = End::new(None, server_address, BTreeMap::new(), plan.seed);
    let mut up = Link::new(plan.up, script, plan.seed, start);
    let mut down = Link::new(plan.down, script, plan.seed + 1, start);
    let mut aim = Aim::new(&plan.strikes);
    let (mut under_way, mut seen): (Vec<UnderWay>, usize) = (Vec::new(), 0);
    let (mut has_warmed_up, mut has_closed, mut asks_at, mut ends_at) = (false, false, None, None);
    let mut now = start;
    client.connect(now, client_config, NAME)?;

    while now - start < LONGEST_RUN {
        if client.is_connected && !has_warmed_up {
            client.ask(now, plan.warm_up)?;
            has_warmed_up = true;
        }
        if asks_at.is_none() && client.has_answer(WARM_UP)? {
            asks_at = Some(now + PAUSE);
        }
        if asks_at == Some(now) {
            up.begin(now);
            down.begin(now);
            for request in plan.asked() {
                client.ask(now, request)?;
            }
        }
        client.work(now, |data| {
            let arrives = up.send(now, data.len()).filter(|_| !aim.is_dark(now));
            under_way.extend(arrives.map(|arrives| UnderWay { arrives, to_server: true, data }));
            Ok(())
        })?;
        server.work(now, |data| {
            let written = log.since(seen);
            seen += written.len();
            let is_struck = aim.strikes(now, &Frame::sent(&written)?);
            let arrives = down.send(now, data.len()).filter(|_| !is_struck);
            under_way.extend(arrives.map(|arrives| UnderWay { arrives, to_server: false, data }));
            Ok(())
        })?;
        if ends_at.is_none() && answered(&client, &streams)? {
            ends_at = Some(now + SETTLE);
        }
        if ends_at.is_some_and(|at| now >= at + SETTLE) {
            break;
        }
        if ends_at == Some(now) && !has_closed {
            has_closed = true;
            client.close(now);
            continue;
        }
        let arrives = under_way.iter().map(|each| each.arrives).min();
        let wakes = [client.wakes_at(), server.wakes_at(), arrives, asks_at, ends_at, ends_at.map(|at| at + SETTLE)];
        let Some(next) = wakes.into_iter().flatten().filter(|at| *at > now || Some(*at) == arrives).min() else {
            break;
        };
        now = next.max(now);
        let (mut here, later): (Vec<_>, Vec<_>) = under_way.into_iter().partition(|each| each.arrives <= now);
        under_way = later;
        here.sort_by_key(|each| each.arrives);
        for each in here {
            let end = if each.to_server { &mut server } else { &mut client };
            end.receive(now, BytesMut::from(&each.data[..]))?;
        }
    }
    if !answered(&client, &streams)? {
        return Err(format!("not all of {streams:?} are answered after {:?}", now - start).into());
    }
    drop(server);
    Ok(log.since(0))
}

fn answered(client: &End, streams: &[u64]) -> Result<bool, Failure> {
    for stream in streams {
        if !client.has_answer(*stream)? {
            return Ok(false);
        }
    }
    debug_assert!(streams.contains(&TARGET), "the target is one of them");
    Ok(true)
}

fn configurations(plan: &Plan, controller: Controller, log: Log) -> Result<(ServerConfig, ClientConfig), Failure> {
    let keys = Keys::new()?;
    let mut transport = TransportConfig::default();
    transport.qlog_factory(Arc::new(ToLog(log))).congestion_controller_factory(controller.factory());
    let mut server = ServerConfig::with_single_cert(vec![keys.certificate], keys.key)?;
    server.transport_config(Arc::new(transport));

    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(keys.client)?));
    let mut receiving = TransportConfig::default();
    if let Some(bytes) = plan.stream_credit {
        receiving.stream_receive_window(VarInt::from_u64(bytes)?);
    }
    if let Some(bytes) = plan.connection_credit {
        receiving.receive_window(VarInt::from_u64(bytes)?);
    }
    client.transport_config(Arc::new(receiving));
    Ok((server, client))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SCENARIOS;

    fn log(scenario: &str, is_with: bool, seed: u64, controller: Controller, script: Script) -> String {
        let plan = Plan::of(scenario, is_with, seed).expect("it is a scenario");
        let content = simulate(&plan, controller, script);
        String::from_utf8(
            content.unwrap_or_else(|error| panic!("{scenario} {seed} {controller:?} {script:?}: {error}")),
        )
        .expect("UTF-8")
    }

    #[test]
    fn every_scenario_is_answered_by_every_controller_on_every_path() {
        for controller in Controller::value_variants() {
            for script in Script::value_variants() {
                for (scenario, _) in SCENARIOS {
                    log(scenario, true, 1, *controller, *script);
                }
            }
        }
    }

    #[test]
    fn only_what_is_aimed_at_is_lost_on_a_good_path() {
        for seed in 1..=10 {
            for (scenario, least) in [("burst_loss", 2), ("tail_loss", 1), ("blackout", 1)] {
                let lost = |is_with| {
                    log(scenario, is_with, seed, Controller::Cubic, Script::Constant)
                        .matches("quic:packet_lost")
                        .count()
                };
                assert_eq!(lost(false), 0, "{scenario} {seed}");
                assert!(lost(true) >= least, "{scenario} {seed}");
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_run() {
        // Keys and connection ids differ; times, sizes and what happened do not.
        let names = |_| -> Vec<(String, u64)> {
            log("small_window", true, 3, Controller::Bbr3, Script::Jitter)
                .split('\x1e')
                .filter_map(|record| serde_json::from_str::<serde_json::Value>(record).ok())
                .filter_map(|record| {
                    let time = (record.get("time")?.as_f64()? * 1000.0).round() as u64;
                    Some((record.get("name")?.as_str()?.to_owned(), time))
                })
                .collect()
        };
        let runs: Vec<_> = (0..2).map(names).collect();
        assert!(runs[0].len() > 100);
        assert_eq!(runs[0], runs[1]);
    }
}
