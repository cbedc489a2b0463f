//! The HTTP client of sinks: TLS where the address asks for it, verified against the certificates of this machine or of
//! a file.

use crate::error::{Error, FailureKind};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Longest time that an answer may take.
const ANSWER: Duration = Duration::from_secs(120);
/// The same while the spool fills.
const BRIEF: Duration = Duration::from_secs(10);

/// What a sink asks of a server: one POST.
#[derive(Clone, Debug)]
pub struct PostRequest<'r> {
    /// Address, without its query.
    pub url: String,
    /// Keys and values of the query, not yet encoded.
    pub query: Vec<(&'static str, String)>,
    /// Header fields.
    pub headers: Vec<(&'static str, &'r str)>,
    /// The body.
    pub body: &'r [u8],
    /// There is time to wait for a slow answer.
    pub is_patient: bool,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Status of HTTP.
    pub status: u16,
    /// The field `X-ClickHouse-Summary`, where there is one.
    pub summary: Option<String>,
    /// The body; empty where it could not be read to its end.
    pub said: String,
}

/// The way to a server.
pub trait Post: Send {
    /// Sends a request and waits for the answer, whatever its status. After an error nobody knows whether the server has
    /// done what it was asked.
    fn post(&self, request: &PostRequest<'_>) -> io::Result<Reply>;
}

impl Post for Agent {
    fn post(&self, request: &PostRequest<'_>) -> io::Result<Reply> {
        let longest = if request.is_patient { ANSWER } else { BRIEF };
        let mut asked = Agent::post(self, &request.url).config().timeout_global(Some(longest)).build();
        for (key, value) in &request.query {
            asked = asked.query(*key, value);
        }
        for (key, value) in &request.headers {
            asked = asked.header(*key, *value);
        }
        let mut answer = asked.send(request.body).map_err(io::Error::other)?;
        let summary = answer.headers().get("X-ClickHouse-Summary").and_then(|value| value.to_str().ok());
        Ok(Reply {
            status: answer.status().as_u16(),
            summary: summary.map(str::to_owned),
            said: answer.body_mut().read_to_string().unwrap_or_default(),
        })
    }
}

/// A client for `url`, which follows no redirect: a token is for that server alone. The error says why there is no
/// certificate to verify TLS with.
pub fn agent(url: &str, ca_file: Option<&Path>) -> Result<Agent, Error> {
    let config = Agent::config_builder().max_redirects(0).http_status_as_error(false);
    if !url.starts_with("https://") {
        return Ok(config.build().into());
    }
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&trusted(ca_file)?));
    Ok(config.tls_config(tls.build()).build().into())
}

/// Certificates of the authorities that may sign a server's certificate.
fn trusted(ca_file: Option<&Path>) -> Result<Vec<Certificate<'static>>, Error> {
    let Some(path) = ca_file else {
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            let said = "this machine has no certificates to verify https with: install them, or set sink.ca_file";
            return Err(Error::configuration(said));
        }
        return Ok(found.certs.iter().map(|each| Certificate::from_der(each).to_owned()).collect());
    };
    let wrong = |said: &dyn std::fmt::Display| {
        Error::new(FailureKind::Configuration, format!("ca_file {}", path.display()), said)
    };
    let text = std::fs::read(path).map_err(|error| wrong(&error))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(&error))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() { Err(wrong(&"no certificate in it")) } else { Ok(certificates) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::error::ErrorHandling;
    use crate::run::sink::{Message, Sink};
    use crate::run::to_quiclens::Quiclens;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    /// Somebody who signs certificates.
    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// A server whose certificate `issuer` signed, and that stores whatever it is sent; gives its port.
    fn server(issuer: &CertifiedIssuer<'static, KeyPair>) -> u16 {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(certificate.der().to_vec())],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let (listener, config) = (TcpListener::bind("localhost:0").unwrap(), Arc::new(config));
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for peer in listener.incoming().map_while(Result::ok) {
                let stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), peer);
                // A client that does not trust it goes away.
                let _ = answer(BufReader::new(stream));
            }
        });
        port
    }

    fn answer(mut stream: BufReader<StreamOwned<ServerConnection, std::net::TcpStream>>) -> std::io::Result<()> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? <= 2 {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        stream.read_exact(&mut vec![0; length])?;
        let body = r#"{"rows": 1}"#;
        write!(
            stream.get_mut(),
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        stream.get_mut().conn.send_close_notify();
        stream.get_mut().flush()
    }

    fn message() -> Message {
        let (made_us, heartbeat_us) = (0, None);
        Message { table: "streams", rows: 1, batch: "b".into(), made_us, heartbeat_us, bytes: vec![7; 100] }
    }

    #[test]
    fn rows_go_over_tls_to_whom_the_ca_file_signs_and_to_nobody_else() {
        let (ours, others) = (authority(), authority());
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        std::fs::write(&ca_file, ours.pem()).unwrap();
        let give = |port: u16, ca_file: Option<&Path>| {
            let mut sink = Quiclens::open(&format!("https://localhost:{port}"), None, ca_file).unwrap();
            sink.give(&[message()], &|| true)
        };
        give(server(&ours), Some(&ca_file)).unwrap();
        let error = give(server(&others), Some(&ca_file)).unwrap_err();
        assert_eq!(error.handling(), ErrorHandling::Retry, "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }

    /// What redirects may be a gateway before the server, and whoever it names gets no token of the server's.
    #[test]
    fn a_redirect_is_not_followed_and_passes() {
        let [gateway, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [at, elsewhere] = [&gateway, &other].map(|listener| listener.local_addr().unwrap());
        other.set_nonblocking(true).unwrap();
        std::thread::spawn(move || {
            for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
                let (mut peer, _) = gateway.accept().unwrap();
                let mut reader = BufReader::new(peer.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                reader.read_exact(&mut [0; 100]).unwrap();
                write!(peer, "HTTP/1.1 {status}\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .unwrap();
            }
        });
        let mut sink = Quiclens::open(&format!("http://{at}"), Some("token".to_owned()), None).unwrap();
        for status in [301, 302, 303, 307, 308] {
            let error = sink.give(&[message()], &|| true).unwrap_err();
            assert_eq!((error.kind, error.handling()), (FailureKind::SinkAway, ErrorHandling::Retry), "{error}");
            assert!(error.to_string().contains(&status.to_string()), "{error}");
            assert!(other.accept().is_err(), "nobody else is asked");
        }
    }

    #[test]
    fn a_file_without_certificates_is_said_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, empty) = (folder.path().join("missing"), folder.path().join("empty"));
        std::fs::write(&empty, "none\n").unwrap();
        for (path, says) in [(missing, "No such file"), (empty, "no certificate")] {
            let error = agent("https://localhost:1", Some(&path)).unwrap_err();
            assert_eq!(error.kind, FailureKind::Configuration);
            assert!(error.to_string().contains(says), "{error}");
            agent("http://localhost:1", Some(&path)).unwrap();
        }
    }
}
