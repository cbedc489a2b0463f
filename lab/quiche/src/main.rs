//! A real HTTP/3 server of tokio-quiche on loopback, whose logs grow while it serves.
//! `quiche-server --out DIR --certificate PEM --key PEM`; prints `{"port":N}`, ends on SIGTERM. With `--log-share 0` no
//! connection has a qlog; tokio-quiche logs all connections of a listener or none.

mod access_log;
mod answer;
mod connection;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::signal::unix::{SignalKind, signal};
use tokio_quiche::ConnectionParams;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};

use access_log::AccessLog;

/// Anything that ends the program or a connection.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: quiche-server --out DIR --certificate PEM --key PEM [--log-share 0|1]";
const IDLE: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let Options { out, certificate, key, is_logged } = options()?;
    let traces = out.join("traces");
    fs::create_dir_all(&traces)?;
    let log = Arc::new(AccessLog::open(&out.join("access.jsonl"))?);
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    let port = socket.local_addr()?.port();
    let mut settings = QuicSettings::default();
    settings.qlog_dir = is_logged.then(|| utf8(&traces).map(str::to_owned)).transpose()?;
    settings.max_idle_timeout = Some(IDLE);
    let pair = TlsCertificatePaths { cert: utf8(&certificate)?, private_key: utf8(&key)?, kind: CertificateKind::X509 };
    let params = ConnectionParams::new_server(settings, pair, Hooks::default());
    let mut accepted = tokio_quiche::listen([socket], params, DefaultMetrics)?.remove(0).into_inner();
    let mut terminated = signal(SignalKind::terminate())?;
    println!(r#"{{"port":{port}}}"#);
    std::io::stdout().flush()?;
    loop {
        tokio::select! {
            // What is dropped with the runtime writes what its logs still hold.
            _ = terminated.recv() => return Ok(()),
            next = accepted.recv() => match next {
                Some(Ok(connection)) => connection::serve(connection, &log),
                Some(Err(error)) => eprintln!("quiche-server: {error}"),
                None => return Err("the listener has ended".into()),
            },
        }
    }
}

struct Options {
    out: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    is_logged: bool,
}

fn options() -> Result<Options, Failure> {
    let (mut out, mut certificate, mut key, mut is_logged) = (None, None, None, true);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or(USAGE)?;
        match (name.as_str(), value.as_str()) {
            ("--out", _) => out = Some(PathBuf::from(value)),
            ("--certificate", _) => certificate = Some(PathBuf::from(value)),
            ("--key", _) => key = Some(PathBuf::from(value)),
            ("--log-share", "0") => is_logged = false,
            ("--log-share", "1") => is_logged = true,
            _ => return Err(USAGE.into()),
        }
    }
    match (out, certificate, key) {
        (Some(out), Some(certificate), Some(key)) => Ok(Options { out, certificate, key, is_logged }),
        _ => Err(USAGE.into()),
    }
}

fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()).into())
}
