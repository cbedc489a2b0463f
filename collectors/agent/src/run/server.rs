//! A small HTTP server for metrics and health: it answers one plain GET of a path and closes the connection.
//!
//! One thread serves a bounded number of peers, each for a bounded time: a peer can neither use up the descriptors of
//! files and sockets, nor keep others from an answer.

use memchr::memmem;
use quiclens_core::crossed::Bound;
use quiclens_core::limits::{METRICS_HEAD, METRICS_PEERS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tracing::warn;

/// How long a peer may take for its head, and how long to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long no peer is accepted after the process ran out of descriptors.
const CROWDED: Duration = Duration::from_secs(1);
/// Longest wait for something to happen: peers that take too long are let go then.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What a path is answered with.
pub struct Answer {
    /// Code and reason.
    pub status: &'static str,
    /// Media type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// A line of text.
    pub fn text(status: &'static str, said: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{said}\n") }
    }

    fn bytes(&self) -> Vec<u8> {
        let Self { status, kind, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nAllow: GET\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// A listener with its peers.
pub struct Server {
    listener: TcpListener,
    /// Oldest first.
    peers: VecDeque<Peer>,
    patience: Duration,
    /// Nobody is let in before.
    rests_until: Option<Instant>,
}

struct Peer {
    stream: TcpStream,
    stage: Stage,
    /// It is let go then.
    until: Instant,
}

/// How far a peer is.
enum Stage {
    /// It sends its head, of which this came.
    Asks(Vec<u8>),
    /// It is sent an answer, of which so many bytes are out.
    Takes(Vec<u8>, usize),
    /// It has its answer. What it still sends is read: closing the socket with unread bytes would send a reset, which
    /// could discard the answer.
    Leaves,
}

impl Server {
    /// Listens to an address.
    pub fn open(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, peers: VecDeque::with_capacity(METRICS_PEERS), patience: PATIENCE, rests_until: None })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Gives each peer what `answer` says of its path, for as long as the process lives.
    pub fn work(mut self, answer: impl Fn(&str) -> Answer) {
        loop {
            self.turn(&answer);
        }
    }

    /// Waits until something happens, and does it.
    fn turn(&mut self, answer: &impl Fn(&str) -> Answer) {
        let (comes, mut ready) = self.ready();
        let (now, patience) = (Instant::now(), self.patience);
        self.peers.retain_mut(|peer| {
            let is_ready = ready.next().unwrap_or(false);
            now < peer.until && (!is_ready || peer.goes_on(answer, now + patience))
        });
        if comes {
            self.let_in(now);
        }
    }

    /// Whether somebody comes, and which peers can go on.
    fn ready(&self) -> (bool, impl Iterator<Item = bool> + use<>) {
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        let listens = if rests { PollFlags::empty() } else { PollFlags::IN };
        let mut waiting = vec![PollFd::new(&self.listener, listens)];
        waiting.extend(self.peers.iter().map(|peer| PollFd::new(&peer.stream, peer.awaited())));
        if poll(&mut waiting, Some(&LOOK)).is_err() {
            // Nothing counts as ready; the sleep keeps the loop from spinning.
            std::thread::sleep(CROWDED);
            waiting.iter_mut().for_each(PollFd::clear_revents);
        }
        let found: Vec<bool> = waiting.iter().map(|one| !one.revents().is_empty()).collect();
        (found[0] && !rests, found.into_iter().skip(1))
    }

    /// Lets a peer in.
    fn let_in(&mut self, now: Instant) {
        let made = self.listener.accept().and_then(|(stream, _)| stream.set_nonblocking(true).map(|()| stream));
        match made {
            Ok(stream) => {
                if self.peers.len() == METRICS_PEERS {
                    Bound::MetricsPeers.cross();
                    self.peers.pop_front();
                }
                self.peers.push_back(Peer { stream, stage: Stage::Asks(Vec::new()), until: now + self.patience });
            }
            // It has gone again.
            Err(error) if is_passing(&error) || error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => {
                self.rests_until = Some(now + CROWDED);
                warn!("nobody can be let in to read metrics: {error}; trying again");
            }
        }
    }
}

impl Peer {
    fn awaited(&self) -> PollFlags {
        match self.stage {
            Stage::Asks(_) | Stage::Leaves => PollFlags::IN,
            Stage::Takes(..) => PollFlags::OUT,
        }
    }

    /// Reads or writes what can be now. False when it is done with, or gone. An answer is to be taken `until` then.
    fn goes_on(&mut self, answer: &impl Fn(&str) -> Answer, until: Instant) -> bool {
        self.step(answer, until).unwrap_or_else(|error| is_passing(&error))
    }

    fn step(&mut self, answer: &impl Fn(&str) -> Answer, until: Instant) -> io::Result<bool> {
        let mut bytes = [0; METRICS_HEAD + 1];
        match &mut self.stage {
            Stage::Asks(head) => {
                let most = bytes.len() - head.len();
                let read = self.stream.read(&mut bytes[..most])?;
                head.extend_from_slice(&bytes[..read]);
                if let Some(answer) = answered(head, answer) {
                    self.stage = Stage::Takes(answer.bytes(), 0);
                    self.until = until;
                }
                Ok(read > 0)
            }
            Stage::Takes(bytes, out) => {
                *out += self.stream.write(&bytes[*out..])?;
                if *out == bytes.len() {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.stage = Stage::Leaves;
                }
                Ok(true)
            }
            Stage::Leaves => Ok(self.stream.read(&mut bytes)? > 0),
        }
    }
}

/// The answer to a request, once its head is whole, or is none.
fn answered(head: &[u8], answer: &impl Fn(&str) -> Answer) -> Option<Answer> {
    if memmem::find(head, b"\r\n\r\n").is_none() {
        let is_long = head.len() > METRICS_HEAD;
        return is_long.then(|| Answer::text("400 Bad Request", "the request's head has more than 4 KiB"));
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&str> = str::from_utf8(line).unwrap_or_default().split(' ').collect();
    Some(match words[..] {
        ["GET", path, version] if version.starts_with("HTTP/1.") => {
            answer(path.split_once('?').map_or(path, |(path, _)| path))
        }
        [_, _, version] if version.starts_with("HTTP/1.") => {
            Answer::text("405 Method Not Allowed", "only GET is allowed")
        }
        _ => Answer::text("400 Bad Request", "this is not an HTTP/1.1 request"),
    })
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// A large answer, which no socket holds unread.
    const LARGE: usize = 32 << 20;

    fn served(patience: Duration) -> SocketAddr {
        let server = Server { patience, ..Server::open("127.0.0.1:0").unwrap() };
        let address = server.address().unwrap();
        std::thread::spawn(move || {
            server.work(|path| match path {
                "/healthz" => Answer::text("200 OK", "well"),
                "/large" => Answer::text("200 OK", &"x".repeat(LARGE)),
                _ => Answer::text("404 Not Found", "nothing"),
            });
        });
        address
    }

    fn ask(address: SocketAddr, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        stream
    }

    fn said(mut stream: TcpStream) -> String {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    /// The server has let it go.
    fn is_let_go(mut stream: TcpStream) -> bool {
        let reset = |error: io::Error| error.kind() == ErrorKind::ConnectionReset;
        stream.read(&mut [0]).map_or_else(reset, |read| read == 0)
    }

    #[test]
    fn two_paths_are_answered_and_every_other_request_is_told_why_not() {
        let address = served(PATIENCE);
        for (request, wanted) in [
            ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK"),
            ("GET /healthz?at=once HTTP/1.0\r\n\r\n", "200 OK"),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "405 Method Not Allowed"),
            ("GET /healthz\r\n\r\n", "400 Bad Request"),
            ("\u{16}\u{3}\u{1}\r\n\r\n", "400 Bad Request"),
        ] {
            let said = said(ask(address, request.as_bytes()));
            assert!(said.starts_with(&format!("HTTP/1.1 {wanted}\r\n")), "{request:?}: {said}");
            assert!(said.contains("\r\nConnection: close\r\n"), "{request:?}: {said}");
        }
        let whole = said(ask(address, b"GET /healthz HTTP/1.1\r\n\r\n"));
        assert!(whole.contains("\r\nContent-Length: 5\r\n") && whole.ends_with("\r\n\r\nwell\n"), "{whole}");
        assert!(said(ask(address, b"GET /large HTTP/1.1\r\n\r\n")).len() > LARGE);
    }

    #[test]
    fn a_head_that_is_too_long_is_refused() {
        let address = served(PATIENCE);
        let head = |length: usize| format!("GET /healthz HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(length - 30));
        assert!(said(ask(address, head(METRICS_HEAD).as_bytes())).starts_with("HTTP/1.1 200 "));
        let refused = said(ask(address, head(METRICS_HEAD + 2000).as_bytes()));
        assert!(refused.starts_with("HTTP/1.1 400 ") && refused.contains("4 KiB"), "{refused}");
    }

    #[test]
    fn idle_peers_and_half_a_head_keep_nobody_from_an_answer_and_the_oldest_make_room() {
        // Nobody is let go for being slow.
        let address = served(Duration::from_secs(3600));
        let mut idle: Vec<TcpStream> = (0..64).map(|_| ask(address, b"")).collect();
        idle.push(ask(address, b"GET /hea"));
        assert!(said(ask(address, b"GET /healthz HTTP/1.1\r\n\r\n")).starts_with("HTTP/1.1 200 "));
        let newest = idle.split_off(65 + 1 - METRICS_PEERS);
        assert!(idle.into_iter().all(is_let_go));
        assert!(Bound::MetricsPeers.times() > 0);
        for mut stream in newest {
            // The last of them has sent half a head before.
            stream.write_all(b"lthz HTTP/1.1\r\n\r\n").unwrap();
            assert!(said(stream).starts_with("HTTP/1.1 "));
        }
    }

    #[test]
    fn a_peer_that_sends_no_head_or_takes_no_answer_is_let_go() {
        let address = served(Duration::from_millis(50));
        assert!(is_let_go(ask(address, b"GET /healthz HTTP/1.1\r\n")));
        let mut slow = ask(address, b"GET /large HTTP/1.1\r\n\r\n");
        // Until then it reads nothing.
        assert!(is_let_go(ask(address, b"")));
        std::thread::sleep(Duration::from_secs(2));
        let mut taken = Vec::new();
        let ended = slow.read_to_end(&mut taken);
        assert!(taken.len() < LARGE, "{ended:?}");
    }
}
