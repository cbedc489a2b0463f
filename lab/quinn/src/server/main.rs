//! A real HTTP/3 server of quinn and h3 on loopback, whose logs grow while it serves.
//! `quinn-server --out DIR --certificate PEM --key PEM`; prints `{"port":N}`, ends on SIGTERM. With `--log-share 0.01` one
//! connection in a hundred has a qlog.

mod access_log;
mod answer;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{ConnectionId, Endpoint, Incoming, QlogConfig, ServerConfig, TransportConfig};
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};

use access_log::AccessLog;

/// Anything that ends the program, a connection or a request.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: quinn-server --out DIR --certificate PEM --key PEM [--log-share SHARE]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let Options { out, certificate, key, log_share } = options()?;
    let traces = out.join("traces");
    fs::create_dir_all(&traces)?;
    let log = Arc::new(Mutex::new(AccessLog::open(&out.join("access.jsonl"))?));
    let config = config(&certificate, &key)?;
    let endpoint = Endpoint::server(config.clone(), ([127, 0, 0, 1], 0).into())?;
    println!(r#"{{"port":{}}}"#, endpoint.local_addr()?.port());
    std::io::stdout().flush()?;
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = terminate.recv() => None,
        };
        let Some(incoming) = incoming else { break };
        let id = incoming.orig_dst_cid();
        let connecting = if is_logged(&id, log_share) {
            logged(&config, &traces, &id.to_string()).and_then(|config| accept(incoming, config))
        } else {
            incoming.accept().map_err(Failure::from)
        };
        match connecting {
            Ok(connecting) => {
                tokio::spawn(answer::serve(connecting, id.to_string(), Arc::clone(&log)));
            }
            Err(error) => eprintln!("quinn-server: {error}"),
        }
    }
    endpoint.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Chooses connections by a hash of their id.
fn is_logged(id: &ConnectionId, share: f64) -> bool {
    let hash = digest(&SHA256, id);
    let first = hash.as_ref().iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    f64::from(first) / 2_f64.powi(32) < share
}

fn accept(incoming: Incoming, config: ServerConfig) -> Result<quinn::Connecting, Failure> {
    Ok(incoming.accept_with(Arc::new(config))?)
}

/// The configuration with a qlog of its own for this connection, which is how quinn can write one file each.
fn logged(config: &ServerConfig, traces: &Path, connection_id: &str) -> Result<ServerConfig, Failure> {
    let mut qlog = QlogConfig::default();
    qlog.writer(Box::new(BufWriter::new(File::create(traces.join(format!("{connection_id}.sqlog")))?)));
    let mut transport = TransportConfig::default();
    transport.qlog_stream(qlog.into_stream());
    let mut config = config.clone();
    config.transport_config(Arc::new(transport));
    Ok(config)
}

fn config(certificate: &Path, key: &Path) -> Result<ServerConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_pem_file(certificate)?], PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    Ok(ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?)))
}

struct Options {
    out: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    /// Of the connections that have a qlog.
    log_share: f64,
}

fn options() -> Result<Options, Failure> {
    let (mut out, mut certificate, mut key, mut log_share) = (None, None, None, 1.0);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or(USAGE)?;
        match name.as_str() {
            "--out" => out = Some(PathBuf::from(value)),
            "--certificate" => certificate = Some(PathBuf::from(value)),
            "--key" => key = Some(PathBuf::from(value)),
            "--log-share" => log_share = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    match (out, certificate, key) {
        (Some(out), Some(certificate), Some(key)) => Ok(Options { out, certificate, key, log_share }),
        _ => Err(USAGE.into()),
    }
}
