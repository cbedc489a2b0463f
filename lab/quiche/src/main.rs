//! A real HTTP/3 server of quiche on loopback, whose logs grow while it serves.
//! `quiche-server --out DIR --certificate PEM --key PEM`; prints `{"port":N}`, ends on SIGTERM.

mod access_log;
mod answer;
mod client;
mod server;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access_log::AccessLog;
use server::Server;

/// Anything that ends the program or a connection.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: quiche-server --out DIR --certificate PEM --key PEM";

fn main() -> Result<(), Failure> {
    let [out, certificate, key] = arguments()?;
    let traces = out.join("traces");
    fs::create_dir_all(&traces)?;
    let log = AccessLog::open(&out.join("access.jsonl"))?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let mut server = Server::new(socket.local_addr()?, traces, log, &certificate, &key)?;
    let terminated = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&terminated))?;
    println!(r#"{{"port":{}}}"#, socket.local_addr()?.port());
    std::io::stdout().flush()?;
    let mut datagram = [0; 65_535];
    while !terminated.load(Ordering::Relaxed) {
        socket.set_read_timeout(Some(server.wait()))?;
        match socket.recv_from(&mut datagram) {
            Ok((size, from)) => server.receive(&mut datagram[..size], from),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        server.work(&socket)?;
    }
    Ok(()) // dropping the connections writes what their logs still hold
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
