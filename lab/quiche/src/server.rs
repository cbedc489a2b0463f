//! Datagrams to connections and back.

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quiche::{ConnectionId, Header, MAX_CONN_ID_LEN, RecvInfo, Type};

use crate::Failure;
use crate::access_log::AccessLog;
use crate::client::Client;

const DATAGRAM_BYTES: usize = 1350;
const IDLE_MS: u64 = 10_000;
/// SIGTERM is looked at this often, and a socket's read timeout may not be zero.
const WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// All connections of one socket.
pub struct Server {
    config: quiche::Config,
    http: quiche::h3::Config,
    local: SocketAddr,
    traces: PathBuf,
    log: AccessLog,
    clients: Vec<Client>,
}

impl Server {
    /// A server that writes a qlog a connection to `traces`.
    pub fn new(
        local: SocketAddr,
        traces: PathBuf,
        log: AccessLog,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, Failure> {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
        config.load_cert_chain_from_pem_file(utf8(certificate)?)?;
        config.load_priv_key_from_pem_file(utf8(key)?)?;
        config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
        config.set_max_idle_timeout(IDLE_MS);
        config.set_max_recv_udp_payload_size(DATAGRAM_BYTES);
        config.set_max_send_udp_payload_size(DATAGRAM_BYTES);
        config.set_initial_max_data(10_000_000);
        config.set_initial_max_stream_data_bidi_local(1_000_000);
        config.set_initial_max_stream_data_bidi_remote(1_000_000);
        config.set_initial_max_stream_data_uni(1_000_000);
        config.set_initial_max_streams_bidi(100);
        config.set_initial_max_streams_uni(100);
        config.enable_pacing(false); // quiche only says when to send; nothing here would wait
        Ok(Self { config, http: quiche::h3::Config::new()?, local, traces, log, clients: Vec::new() })
    }

    /// How long nothing has to be done unless something arrives.
    pub fn wait(&self) -> Duration {
        let now = Instant::now();
        self.clients.iter().filter_map(|client| client.wait(now)).min().unwrap_or(WAIT.1).clamp(WAIT.0, WAIT.1)
    }

    /// Takes one datagram. What is no packet of a connection, and begins none, is dropped.
    pub fn receive(&mut self, datagram: &mut [u8], from: SocketAddr) {
        let Ok(header) = Header::from_slice(datagram, MAX_CONN_ID_LEN) else { return };
        let known = self.clients.iter().position(|client| client.has(&header.dcid));
        if known.is_none() && (header.ty != Type::Initial || !quiche::version_is_supported(header.version)) {
            return;
        }
        let place = match known.map_or_else(|| self.accept(&header, from), Ok) {
            Ok(place) => place,
            Err(error) => return eprintln!("quiche-server: {error}"),
        };
        self.clients[place].receive(datagram, RecvInfo { from, to: self.local }, &self.http);
    }

    /// Answers, sends and forgets what is over.
    pub fn work(&mut self, socket: &UdpSocket) -> Result<(), Failure> {
        for client in &mut self.clients {
            for request in client.answer(Instant::now()) {
                self.log.write(&request)?;
            }
            client.send(socket)?;
        }
        self.clients.retain(|client| !client.is_closed());
        Ok(())
    }

    fn accept(&mut self, header: &Header, from: SocketAddr) -> Result<usize, Failure> {
        let mut id = [0; MAX_CONN_ID_LEN];
        boring::rand::rand_bytes(&mut id)?;
        let mut connection = quiche::accept(&ConnectionId::from_ref(&id), None, self.local, from, &mut self.config)?;
        let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = BufWriter::new(File::create(self.traces.join(format!("{name}.sqlog")))?);
        // As quiche's own server names it.
        let title = "quiche-server qlog";
        connection.set_qlog(Box::new(file), title.into(), format!("{title} id={name}"));
        self.clients.push(Client::new(connection, header.dcid.to_vec(), name));
        Ok(self.clients.len() - 1)
    }
}

fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()).into())
}
