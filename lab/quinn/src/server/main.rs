//! A real HTTP/3 server of quinn and h3 on loopback, whose logs grow while it serves.
//! `quinn-server --out DIR --certificate PEM --key PEM`; prints `{"port":N}`, ends on SIGTERM.

mod access_log;
mod answer;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, QlogConfig, ServerConfig, TransportConfig};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};

use access_log::AccessLog;

/// Anything that ends the program, a connection or a request.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: quinn-server --out DIR --certificate PEM --key PEM";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let [out, certificate, key] = arguments()?;
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
        let connection_id = incoming.orig_dst_cid().to_string();
        match logged(&config, &traces, &connection_id).and_then(|config| accept(incoming, config)) {
            Ok(connecting) => {
                tokio::spawn(answer::serve(connecting, connection_id, Arc::clone(&log)));
            }
            Err(error) => eprintln!("quinn-server: {error}"),
        }
    }
    endpoint.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
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

/// The values of --out, --certificate and --key.
fn arguments() -> Result<[PathBuf; 3], Failure> {
    let mut found = [None, None, None];
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let place = ["--out", "--certificate", "--key"].iter().position(|known| *known == name).ok_or(USAGE)?;
        found[place] = Some(PathBuf::from(given.next().ok_or(USAGE)?));
    }
    match found {
        [Some(out), Some(certificate), Some(key)] => Ok([out, certificate, key]),
        _ => Err(USAGE.into()),
    }
}
