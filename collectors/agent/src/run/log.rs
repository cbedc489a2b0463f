//! Log lines for people, to standard error: level, time, fields. Of repeated lines, a few are written; the others are
//! counted, and a line reports their number.

use crate::error::Error;
use crate::output::Printable;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Context, Filter, Layer, SubscriberExt};

/// Lines of one kind in one [`WINDOW`].
const MOST: u64 = 5;
/// See [`MOST`].
const WINDOW: Duration = Duration::from_secs(10);
/// Kinds that are told apart: beyond, all others are one.
const KINDS: usize = 1024;
/// Fields whose values distinguish kinds of lines of one call site.
const APART: [&str; 4] = ["kind", "file", "source", "like"];

/// `[log]` of the configuration.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(expecting = "struct Log", deny_unknown_fields, default)]
pub struct LogConfig {
    /// Lines below this level are not written.
    pub level: Level,
    /// How a line is written.
    pub format: LogFormat,
}

/// Levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What ends the process.
    Error,
    /// What is lost, refused or tried again.
    Warn,
    /// What the collector does.
    #[default]
    Info,
    /// More of it.
    Debug,
}

/// Forms of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Time, level, sentence, fields.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::ERROR,
            Level::Warn => Self::WARN,
            Level::Info => Self::INFO,
            Level::Debug => Self::DEBUG,
        }
    }
}

/// Begins to write lines to standard error.
pub fn start(log: &LogConfig) -> Result<LogRateLimit, Error> {
    let limit = LogRateLimit::default();
    let subscriber = subscriber(log, limit.clone(), || Printable(io::stderr()));
    tracing::subscriber::set_global_default(subscriber).map_err(Error::internal)?;
    Ok(limit)
}

fn subscriber<W>(log: &LogConfig, limit: LogRateLimit, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(false).with_target(false);
    let only_ours = Ours { most: log.level.into(), limit };
    match log.format {
        LogFormat::Text => Box::new(tracing_subscriber::registry().with(lines.with_filter(only_ours))),
        LogFormat::Json => {
            Box::new(tracing_subscriber::registry().with(lines.json().flatten_event(true).with_filter(only_ours)))
        }
    }
}

/// Which lines are written: those of this program up to a level, and of each kind not too many.
struct Ours {
    most: LevelFilter,
    limit: LogRateLimit,
}

impl<S: Subscriber> Filter<S> for Ours {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        *metadata.level() <= self.most && metadata.target().starts_with("quiclens")
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.limit.admits(event, Instant::now())
    }
}

/// How often lines of each kind came.
#[derive(Clone, Default)]
pub struct LogRateLimit(Arc<Mutex<HashMap<u64, Repeated>>>);

/// Lines of one kind since a moment.
struct Repeated {
    since: Instant,
    count: u64,
    /// The first of them.
    said: String,
}

/// What was not written.
#[derive(Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// The line that it repeats.
    pub like: String,
    /// How many.
    pub lines: u64,
}

impl LogRateLimit {
    fn admits(&self, event: &Event<'_>, now: Instant) -> bool {
        let mut line = LineVisitor::default();
        event.metadata().callsite().hash(&mut line.kind);
        event.record(&mut line);
        self.admits_kind(line.kind.finish(), line.said, now)
    }

    fn admits_kind(&self, kind: u64, said: String, now: Instant) -> bool {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = if kinds.len() < KINDS || kinds.contains_key(&kind) { kind } else { 0 };
        let repeated = kinds.entry(kind).or_insert_with(|| Repeated { since: now, count: 0, said });
        repeated.count += 1;
        repeated.count <= MOST
    }

    /// What was not written in windows that are over; asked now and then.
    pub fn suppressed(&self, now: Instant) -> Vec<Suppressed> {
        let mut found = Vec::new();
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|_, repeated| {
            let is_over = now.saturating_duration_since(repeated.since) >= WINDOW;
            if is_over && repeated.count > MOST {
                let like = std::mem::take(&mut repeated.said);
                found.push(Suppressed { like, lines: repeated.count - MOST });
            }
            !is_over
        });
        found
    }

    /// Says what was not written; gives the number of lines.
    pub fn tell(&self, now: Instant) -> u64 {
        let found = self.suppressed(now);
        for Suppressed { like, lines } in &found {
            tracing::warn!(like, lines, "repeated lines were suppressed");
        }
        found.iter().map(|suppressed| suppressed.lines).sum()
    }
}

/// What of a line tells its kind, and its sentence.
#[derive(Default)]
struct LineVisitor {
    kind: DefaultHasher,
    said: String,
}

impl Visit for LineVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.said = format!("{value:?}");
        } else if APART.contains(&field.name()) {
            format!("{value:?}").hash(&mut self.kind);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(log: &LogConfig, limit: &LogRateLimit, work: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing::subscriber::with_default(subscriber(log, limit.clone(), move || Printable(writer.clone())), work);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn of_repeated_lines_a_few_are_written_and_the_others_are_counted() {
        let limit = LogRateLimit::default();
        let lines = written(&LogConfig::default(), &limit, || {
            for attempt in 0..1000u64 {
                for file in ["a.qlog", "b.qlog"] {
                    tracing::warn!(file, attempt, "cannot be read");
                }
            }
            tracing::debug!("not at this level");
        });
        assert_eq!(lines.len() as u64, 2 * MOST, "{lines:?}");
        assert!(lines[0].contains(" WARN cannot be read") && lines[0].contains("file=\"a.qlog\""), "{}", lines[0]);
        let now = Instant::now();
        assert!(limit.suppressed(now).is_empty(), "the window goes on");
        let found = limit.suppressed(now + WINDOW);
        let like = || Suppressed { like: "cannot be read".into(), lines: 1000 - MOST };
        assert_eq!(found, [like(), like()]);
        assert!(limit.suppressed(now + WINDOW).is_empty(), "said once");
        let again = written(&LogConfig::default(), &limit, || tracing::warn!(file = "a.qlog", "cannot be read"));
        assert_eq!(again.len(), 1, "a new window");
    }

    #[test]
    fn a_name_of_a_file_says_nothing_to_a_terminal() {
        let name = "a\u{1b}[2J\u{9b}\u{202e}\u{7}\nb";
        for format in [LogFormat::Text, LogFormat::Json] {
            let log = LogConfig { level: Level::Debug, format };
            let lines = written(&log, &LogRateLimit::default(), || {
                tracing::warn!(file = name, "not followed");
                tracing::warn!(file = %name, "{name} cannot be read");
            });
            let obeyed = |line: &String| line.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']);
            assert!(!lines.iter().any(obeyed), "{lines:?}");
            assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("[2J")), "{lines:?}");
        }
    }

    #[test]
    fn kinds_beyond_the_limit_are_one_and_take_no_memory() {
        let (limit, now) = (LogRateLimit::default(), Instant::now());
        let written = (1..=10 * KINDS as u64).filter(|kind| limit.admits_kind(*kind, String::new(), now)).count();
        assert_eq!((written as u64, limit.0.lock().unwrap().len()), (KINDS as u64 + MOST, KINDS + 1));
    }

    #[test]
    fn json_lines_have_time_level_and_fields() {
        let log = LogConfig { level: Level::Debug, format: LogFormat::Json };
        let lines = written(&log, &LogRateLimit::default(), || tracing::debug!(files = 3, kind = "disk", "following"));
        let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((&line["level"], &line["message"]), (&"DEBUG".into(), &"following".into()));
        assert_eq!((&line["files"], &line["kind"]), (&3.into(), &"disk".into()));
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }
}
