//! What is listened to, and how much is kept of it until it is shipped.

use crate::error::Error;
use crate::run::secret::{KAFKA_PASSWORD, KafkaOptions, password};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A source of `quiclens line v1` that cannot be read again.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Listen {
    /// A unix datagram socket: whole lines in each datagram.
    UnixDatagram {
        /// Where it is made.
        path: PathBuf,
        /// Who may write to it; as the umask has it where that is not said.
        #[serde(default)]
        mode: Option<Mode>,
    },
    /// A unix stream socket, many peers.
    UnixStream {
        /// Where it is made.
        path: PathBuf,
        /// Who may connect to it; as the umask has it where that is not said.
        #[serde(default)]
        mode: Option<Mode>,
        /// Peers at once; one more replaces a peer that was silent for a minute, or is turned away.
        #[serde(default = "max_connections")]
        max_connections: usize,
    },
    /// UDP: whole lines in each datagram.
    Udp {
        /// Address and port, of this machine's loopback.
        address: SocketAddr,
        /// Other addresses are allowed: anybody who reaches them can write.
        #[serde(default)]
        allow_remote: bool,
    },
    /// Standard input.
    Stdin {},
    /// A topic of raw lines.
    Kafka {
        /// bootstrap.servers.
        brokers: String,
        /// Topic.
        #[serde(default = "topic")]
        topic: String,
        /// Its partitions that this collector reads; all where none is named.
        #[serde(default)]
        partitions: Vec<i32>,
        /// A file with the password; QUICLENS_KAFKA_PASSWORD outranks it.
        #[serde(default)]
        password_file: Option<PathBuf>,
        /// Options of librdkafka, passed through: SASL, TLS.
        #[serde(default)]
        options: KafkaOptions,
    },
}

/// Rights of a socket's file, written in octal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode(pub u32);

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_octal = !text.is_empty() && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
        mode.map(Self).ok_or_else(|| format!("mode is {text:?}: give the rights in octal, as \"0660\""))
    }
}

impl From<Mode> for String {
    fn from(Mode(mode): Mode) -> Self {
        format!("{mode:04o}")
    }
}

/// What happens while more comes in than is shipped, and the spool fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The sources wait.
    Stop,
    /// Summaries go on, events are dropped and counted.
    DropEvents,
}

/// The spool.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(expecting = "struct Spool", deny_unknown_fields, default)]
pub struct SpoolConfig {
    /// Most bytes of the spool on disk.
    pub max_bytes: u64,
    /// Bytes that the spool leaves free on its disk, for checkpoints among others.
    pub min_free_bytes: u64,
    /// What happens when it is full.
    pub when_full: WhenFull,
    /// Most bytes of summaries that wait for the sink while events are dropped.
    pub outbox_max_bytes: u64,
}

impl Default for SpoolConfig {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, min_free_bytes: 64 << 20, when_full: WhenFull::Stop, outbox_max_bytes: 256 << 20 }
    }
}

/// A record is at most a quarter of the spool, and a datagram may have 64 KiB.
const LEAST_MAX_BYTES: u64 = 1 << 20;

const fn max_connections() -> usize {
    256
}

fn topic() -> String {
    "quic.raw.v1".into()
}

/// Checks sources and spool together; the error says what to change.
pub fn check(sources: &[Listen], spool: &SpoolConfig) -> Result<(), Error> {
    for source in sources {
        match source {
            Listen::Udp { address, allow_remote: false } if !address.ip().is_loopback() => {
                return Err(Error::configuration(format!(
                    "{address} is not this machine's loopback: set allow_remote if that is meant"
                )));
            }
            Listen::Kafka { password_file, .. } => drop(password(KAFKA_PASSWORD, password_file.as_deref())?),
            Listen::UnixStream { max_connections: 0, .. } => {
                return Err(Error::configuration("max_connections is 0, the least is 1"));
            }
            _ => {}
        }
    }
    let stdins = sources.iter().filter(|source| matches!(source, Listen::Stdin {})).count();
    if stdins > 1 {
        return Err(Error::configuration("standard input is listened to twice"));
    }
    if spool.max_bytes < LEAST_MAX_BYTES {
        let said = format!("spool.max_bytes is {}, the least is {LEAST_MAX_BYTES}", spool.max_bytes);
        return Err(Error::configuration(said));
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        listen: Vec<Listen>,
        #[serde(default)]
        spool: SpoolConfig,
    }

    fn checked(text: &str) -> Result<(), Error> {
        let file: File = toml::from_str(text).map_err(Error::internal)?;
        check(&file.listen, &file.spool)
    }

    #[test]
    fn sources_have_defaults_and_unknown_keys_and_open_ports_are_errors() {
        checked("[[listen]]\nkind = \"udp\"\naddress = \"127.0.0.1:5140\"\n[[listen]]\nkind = \"stdin\"").unwrap();
        checked("[[listen]]\nkind = \"udp\"\naddress = \"0.0.0.0:5140\"\nallow_remote = true").unwrap();
        checked("[[listen]]\nkind = \"unix_stream\"\npath = \"s\"\nmode = \"0660\"").unwrap();
        assert_eq!(String::from(Mode::try_from("620".to_owned()).unwrap()), "0620");
        for (text, says) in [
            ("[[listen]]\nkind = \"udp\"\naddress = \"0.0.0.0:5140\"", "allow_remote"),
            ("[[listen]]\nkind = \"unix_stream\"\npath = \"s\"\nspeed = 1", "speed"),
            ("[[listen]]\nkind = \"unix_stream\"\npath = \"s\"\nmode = \"rw\"", "in octal"),
            ("[[listen]]\nkind = \"unix_datagram\"\npath = \"s\"\nmode = \"1777\"", "in octal"),
            ("[[listen]]\nkind = \"tcp\"", "tcp"),
            ("[[listen]]\nkind = \"stdin\"\n[[listen]]\nkind = \"stdin\"", "twice"),
            ("[spool]\nmax_bytes = 10", "spool.max_bytes"),
            ("[spool]\nwhen_full = \"drop\"", "drop_events"),
        ] {
            let error = checked(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
