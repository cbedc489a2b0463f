//! The configuration of `run`: one TOML file, defaults that work, unknown keys are errors.

use crate::error::{Error, FailureKind};
use crate::requests::LineReader;
use crate::run::https;
use crate::run::keep::Keep;
use crate::run::listen::config::{Listen, SpoolConfig, check};
use crate::run::log::LogConfig;
use crate::run::name;
use crate::run::secret::{KAFKA_PASSWORD, KafkaOptions, STORE_PASSWORD, hide, password, without_password};
use quiclens_edge::access_format::{AccessFormatConfig, Preset};
use quiclens_edge::enrich::EnrichConfig;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a collector does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where checkpoints are kept; made when it is not there.
    pub state_dir: PathBuf,
    /// Folders of traces to follow, with all below them; files count too.
    #[serde(default)]
    pub traces: Vec<PathBuf>,
    /// Access logs to follow, each in its format.
    #[serde(default, rename = "access_log")]
    pub access_logs: Vec<AccessLogConfig>,
    /// What is looked up of clients and servers.
    #[serde(default)]
    pub enrich: EnrichConfig,
    /// Keep no client address, header value, payload byte, user name.
    #[serde(default = "yes")]
    pub redact: bool,
    /// Sockets, standard input and topics of `quiclens line v1`.
    #[serde(default)]
    pub listen: Vec<Listen>,
    /// Where what they give is kept until it is shipped.
    #[serde(default)]
    pub spool: SpoolConfig,
    /// Where batches go.
    pub sink: SinkConfig,
    /// How changes of files are noticed.
    #[serde(default)]
    pub watch: Watch,
    /// How often folders are looked through where they must be polled, ms.
    #[serde(default = "scan_interval_ms")]
    pub scan_interval_ms: u64,
    /// Longest time that rows wait for others, ms.
    #[serde(default = "batch_interval_ms")]
    pub batch_interval_ms: u64,
    /// A trace that has not grown for so long is over, s.
    #[serde(default = "idle_timeout_s")]
    pub idle_timeout_s: u64,
    /// How long a stop waits for what is on its way to be acknowledged, s.
    #[serde(default = "stop_timeout_s")]
    pub stop_timeout_s: u64,
    /// Processor time that may be taken, cores; past it files are read later. 0: no cap.
    #[serde(default = "cpu_cap")]
    pub cpu_cap: f64,
    /// Whether events are shipped, or summaries alone.
    #[serde(default = "yes")]
    pub events: bool,
    /// Which connections' events are kept; absent: all.
    #[serde(default)]
    pub retention: Option<Keep>,
    /// Name of this collector in message headers; by default the one that its state folder has, at first the host's.
    #[serde(default)]
    pub name: String,
    /// Time between heartbeats, by which freshness is measured, s; 0 for none. Files get none.
    #[serde(default = "heartbeat_interval_s")]
    pub heartbeat_interval_s: u64,
    /// Where /metrics and /healthz answer, address and port of this machine; empty for nowhere.
    #[serde(default)]
    pub metrics_address: String,
    /// Other machines may ask for them too.
    #[serde(default)]
    pub metrics_public: bool,
    /// What is written to standard error.
    #[serde(default)]
    pub log: LogConfig,
}

/// How changes of files are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// From the kernel (inotify); by polling where it has none.
    #[default]
    Auto,
    /// By polling.
    Poll,
}

/// Access logs of one format.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(expecting = "struct AccessLog", deny_unknown_fields)]
pub struct AccessLogConfig {
    /// A file, or a folder with all below it.
    pub path: PathBuf,
    /// What its lines are; JSON with the column names of `request_lines` by default.
    #[serde(default = "json_lines")]
    pub format: AccessFormatConfig,
}

/// Where batches go.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(expecting = "internally tagged enum Sink", tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum SinkConfig {
    /// Kafka topics, as `schema/topics` names them.
    Kafka {
        /// bootstrap.servers.
        brokers: String,
        /// A file with the password; QUICLENS_KAFKA_PASSWORD outranks it.
        #[serde(default)]
        password_file: Option<PathBuf>,
        /// Options of librdkafka, passed through: SASL, TLS, buffering.
        #[serde(default)]
        options: KafkaOptions,
    },
    /// A store that `quiclens serve` holds.
    Quiclens {
        /// http://host:8123
        #[serde(serialize_with = "hide")]
        url: String,
        /// A file with the token of a writer; QUICLENS_STORE_PASSWORD outranks it.
        #[serde(default)]
        token_file: Option<PathBuf>,
        /// Certificates (PEM) of whoever signs the server's; this machine's where no file is named.
        #[serde(default)]
        ca_file: Option<PathBuf>,
    },
    /// A ClickHouse server over HTTP.
    ClickHouse {
        /// http://host:8123/database
        #[serde(serialize_with = "hide")]
        url: String,
        /// User.
        #[serde(default)]
        user: Option<String>,
        /// A file with the password; QUICLENS_STORE_PASSWORD outranks it.
        #[serde(default)]
        password_file: Option<PathBuf>,
        /// Certificates (PEM) of whoever signs the server's; this machine's where no file is named.
        #[serde(default)]
        ca_file: Option<PathBuf>,
    },
    /// Arrow files, one a batch, in a folder a table.
    Files {
        /// The folder.
        folder: PathBuf,
    },
}

const fn scan_interval_ms() -> u64 {
    500
}

const fn batch_interval_ms() -> u64 {
    500
}

const fn stop_timeout_s() -> u64 {
    8
}

const fn idle_timeout_s() -> u64 {
    600
}

const fn cpu_cap() -> f64 {
    0.25
}

const fn heartbeat_interval_s() -> u64 {
    10
}

const fn yes() -> bool {
    true
}

fn json_lines() -> AccessFormatConfig {
    AccessFormatConfig { preset: Some(Preset::Json), ..AccessFormatConfig::default() }
}

impl Config {
    /// Reads and checks a file; the error says what to change.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(FailureKind::Configuration, path.display(), error))?;
        // The error's own text shows the line, which may hold a password.
        let line =
            |error: &toml::de::Error| error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
        let config: Self = toml::from_str(&text).map_err(|error| {
            Error::configuration(format!("line {}: {}", line(&error), error.message())).within(path.display())
        })?;
        config.checked().map_err(|error| error.within(path.display()))
    }

    fn checked(mut self) -> Result<Self, Error> {
        if self.name.is_empty() {
            self.name = name::of(&self.state_dir);
        }
        if !name::is_valid(&self.name) {
            let said = "name: at most 200 bytes, no '/', no control character, and no '.' at its beginning";
            return Err(Error::configuration(said));
        }
        if self.traces.is_empty() && self.access_logs.is_empty() && self.listen.is_empty() {
            return Err(Error::configuration("nothing to follow: set traces, [[access_log]] or [[listen]]"));
        }
        check(&self.listen, &self.spool)?;
        self.writes_where_it_reads()?;
        for (name, value, least) in [
            ("scan_interval_ms", self.scan_interval_ms, 10),
            ("batch_interval_ms", self.batch_interval_ms, 10),
            ("idle_timeout_s", self.idle_timeout_s, 1),
        ] {
            if value < least {
                return Err(Error::configuration(format!("{name} is {value}, the least is {least}")));
            }
        }
        self.retention.as_ref().map_or(Ok(()), Keep::check)?;
        if !(self.cpu_cap >= 0.0 && self.cpu_cap.is_finite()) {
            return Err(Error::configuration(format!("cpu_cap is {}, the least is 0", self.cpu_cap)));
        }
        if !self.metrics_address.is_empty() {
            let address: SocketAddr = self.metrics_address.parse().map_err(|_| {
                let said = format!(
                    "metrics_address is {:?}, write an address and a port: 127.0.0.1:9465",
                    self.metrics_address
                );
                Error::configuration(said)
            })?;
            if !address.ip().is_loopback() && !self.metrics_public {
                return Err(Error::configuration(format!(
                    "metrics_address is {address}: other machines need metrics_public = true"
                )));
            }
        }
        match &self.sink {
            SinkConfig::ClickHouse { url, .. } if !(url.starts_with("http://") || url.starts_with("https://")) => {
                return Err(Error::configuration(format!(
                    "sink.url is {:?}, write http://host:8123/database",
                    without_password(url)
                )));
            }
            SinkConfig::Quiclens { url, .. } if !(url.starts_with("http://") || url.starts_with("https://")) => {
                return Err(Error::configuration(format!(
                    "sink.url is {:?}, write http://host:8123",
                    without_password(url)
                )));
            }
            SinkConfig::Quiclens { url, token_file: secret, ca_file }
            | SinkConfig::ClickHouse { url, password_file: secret, ca_file, .. } => {
                drop(password(STORE_PASSWORD, secret.as_deref())?);
                drop(https::agent(url, ca_file.as_deref())?);
            }
            SinkConfig::Kafka { password_file, .. } => drop(password(KAFKA_PASSWORD, password_file.as_deref())?),
            SinkConfig::Files { .. } => {}
        }
        for log in &self.access_logs {
            LineReader::new(&log.format, self.redact, None, &self.name)
                .map_err(|error| error.within(format!("access_log {}", log.path.display())))?;
        }
        Ok(self)
    }

    /// Places where files are looked for: those of traces, then those of access logs.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.traces.iter().chain(self.access_logs.iter().map(|log| &log.path)).map(PathBuf::as_path)
    }

    /// The error names a folder that the collector writes and would follow itself.
    fn writes_where_it_reads(&self) -> Result<(), Error> {
        let sink = match &self.sink {
            SinkConfig::Files { folder, .. } => Some(("sink.folder", folder)),
            _ => None,
        };
        let places: Vec<_> = self.places().map(real_path).collect();
        for (key, folder) in sink.into_iter().chain([("state_dir", &self.state_dir)]) {
            if let Some(place) = places.iter().find(|place| real_path(folder).starts_with(place)) {
                let said = format!("{key} is {}: it lies in {}, which is followed", folder.display(), place.display());
                return Err(Error::configuration(said));
            }
        }
        Ok(())
    }

    /// Time between heartbeats; zero where nobody would see them.
    pub fn heartbeat_interval(&self) -> Duration {
        match self.sink {
            SinkConfig::Files { .. } => Duration::ZERO,
            SinkConfig::Kafka { .. } | SinkConfig::Quiclens { .. } | SinkConfig::ClickHouse { .. } => {
                Duration::from_secs(self.heartbeat_interval_s)
            }
        }
    }

    /// The effective values, as TOML.
    pub fn effective(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_else(|error| format!("# {error}"))
    }
}

/// A path without links and relative parts, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = full.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    found.map_or_else(
        || full.clone(),
        |(above, real)| full.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest)),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const LEAST: &str = "state_dir = \"s\"\ntraces = [\"logs\"]\n[sink]\nkind = \"files\"\nfolder = \"out\"\n";

    #[test]
    fn the_least_configuration_has_defaults_that_are_shown() {
        let config: Config = toml::from_str::<Config>(LEAST).unwrap().checked().unwrap();
        let again: Config = toml::from_str(&config.effective()).unwrap();
        assert_eq!(again.batch_interval_ms, 500);
        assert!(config.effective().contains("idle_timeout_s = 600"));
    }

    #[test]
    fn unknown_keys_and_impossible_values_are_errors() {
        for (text, says) in [
            (format!("speed = 9\n{LEAST}"), "speed"),
            (LEAST.replace("traces = [\"logs\"]\n", ""), "nothing to follow"),
            (format!("name = \"a/b\"\n{LEAST}"), "name: "),
            (format!("name = \"{}\"\n{LEAST}", "a".repeat(201)), "name: "),
            (format!("scan_interval_ms = 0\n{LEAST}"), "scan_interval_ms"),
            (LEAST.replace("files", "ftp"), "ftp"),
            (format!("{LEAST}[retention]\nslow_ms = 500\n"), "retention.share is missing"),
            (format!("{LEAST}[retention]\nshare = 1.5\n"), "retention.share is 1.5"),
            (format!("{LEAST}[retention]\ntrace_probability = 0\n"), "trace_probability"),
            (format!("{LEAST}[retention]\nshares = 0.5\n"), "shares"),
            (format!("cpu_cap = -1\n{LEAST}"), "cpu_cap"),
            (format!("{LEAST}[[access_log]]\npath = \"a\"\nformat = {{ syntax = \"nginx\" }}\n"), "access_log a: "),
            (format!("{LEAST}[enrich]\ncities = \"x\"\n"), "cities"),
            (format!("metrics_address = \"9465\"\n{LEAST}"), "127.0.0.1:9465"),
            (format!("metrics_address = \"0.0.0.0:9465\"\n{LEAST}"), "metrics_public"),
        ] {
            let error = toml::from_str::<Config>(&text).map_err(Error::configuration).and_then(Config::checked);
            assert!(error.as_ref().is_err_and(|error| error.to_string().contains(says)), "{text}: {error:?}");
        }
    }

    #[test]
    fn metrics_are_for_other_machines_only_when_that_is_said() {
        for more in ["metrics_address = \"[::1]:9465\"\n", "metrics_address = \"0.0.0.0:1\"\nmetrics_public = true\n"] {
            assert!(toml::from_str::<Config>(&format!("{more}{LEAST}")).unwrap().checked().is_ok(), "{more}");
        }
    }
}
