//! Datagram and stream sockets and standard input, round-robin on one thread. What is read of one in a round is
//! bounded, so that a peer that floods does not starve the others.

use crate::error::{Error, FailureKind};
use crate::run::listen::config::{Listen, Mode};
use crate::run::listen::dropped::Dropped;
use crate::run::listen::lines::{Cut, StreamPiece};
use crate::run::listen::{Ended, Intake};
use crate::run::metrics::Metrics;
use quiclens_core::limits::{DATAGRAM, STREAM_LINE};
use quiclens_core::reader::skip::Skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};
use tracing::warn;

/// Datagrams of one socket before another's turn.
const DATAGRAMS: usize = 64;
/// Bytes of one stream before another's turn.
const CHUNK: usize = 64 << 10;
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// A peer that was silent for so long makes room for another when its listener is full.
const SILENT: Duration = Duration::from_secs(60);
/// How long no peer is accepted after the process ran out of descriptors.
const CROWDED: Duration = Duration::from_secs(1);
/// Time between two looks at what the kernel dropped.
const LOOK: Duration = Duration::from_secs(1);

enum Socket {
    Datagram(UnixDatagram),
    Udp(UdpSocket, Option<Dropped>),
    Listener(UnixListener, PeerLimit),
    Stdin(File, Cut),
    /// With when it was heard of last.
    Peer(UnixStream, Cut, Instant),
}

/// What a listener lets in.
struct PeerLimit {
    /// Peers of its own at once.
    peers: usize,
    /// The process has no room for another descriptor: nobody is let in before.
    rests_until: Option<Instant>,
}

/// What is sent to a peer that has ended its side, when all that it sent is on disk. The end of the stream alone does
/// not prove that: it ends too when the collector is killed.
const SYNCED: &[u8] = b"synced\n";

struct NamedSocket {
    name: String,
    socket: Socket,
}

/// All sockets, and standard input.
#[derive(Default)]
pub struct Sockets {
    open: Vec<NamedSocket>,
}

/// What a socket's turn ended with.
enum SocketOutcome {
    Goes,
    Over,
    Peer(UnixStream),
    /// A peer that came and found no descriptor.
    Crowded,
}

/// Frees a path for a socket: a socket that a process left behind is removed.
fn free(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.file_type().is_socket() => {
            let is_used = UnixStream::connect(path).is_ok() || UnixDatagram::unbound()?.connect(path).is_ok();
            if is_used { Err(ErrorKind::AddrInUse.into()) } else { std::fs::remove_file(path) }
        }
        _ => Ok(()),
    }
}

/// Sets who may use a socket that was made.
fn allow(path: &Path, mode: Option<Mode>) -> io::Result<()> {
    mode.map_or(Ok(()), |Mode(mode)| std::fs::set_permissions(path, Permissions::from_mode(mode)))
}

impl Sockets {
    /// Nothing was opened.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Makes a socket; an error says which cannot be.
    pub fn open(&mut self, source: &Listen) -> Result<(), Error> {
        let (name, socket) = match source {
            Listen::UnixDatagram { path, mode } => {
                let made = free(path).and_then(|()| UnixDatagram::bind(path)).and_then(|socket| {
                    allow(path, *mode)?;
                    socket.set_nonblocking(true)?;
                    Ok(Socket::Datagram(socket))
                });
                (format!("unix_datagram:{}", path.display()), made)
            }
            Listen::UnixStream { path, mode, max_connections } => {
                let made = free(path).and_then(|()| UnixListener::bind(path)).and_then(|socket| {
                    allow(path, *mode)?;
                    socket.set_nonblocking(true)?;
                    let limit = PeerLimit { peers: *max_connections, rests_until: None };
                    Ok(Socket::Listener(socket, limit))
                });
                (format!("unix_stream:{}", path.display()), made)
            }
            Listen::Udp { address, .. } => {
                let made = UdpSocket::bind(address).and_then(|socket| {
                    socket.set_nonblocking(true)?;
                    let dropped = Dropped::of(&socket);
                    Ok(Socket::Udp(socket, dropped))
                });
                (format!("udp:{address}"), made)
            }
            Listen::Stdin {} => {
                let made = io::stdin().as_fd().try_clone_to_owned();
                ("-".to_owned(), made.map(|stdin| Socket::Stdin(File::from(stdin), Cut::new(STREAM_LINE))))
            }
            Listen::Kafka { .. } => return Ok(()),
        };
        let socket = socket
            .map_err(|error| Error::new(FailureKind::Configuration, format!("cannot listen to {name}"), error))?;
        self.open.push(NamedSocket { name, socket });
        Ok(())
    }

    /// Reads until it is told to stop, the spool breaks, or nothing is left to read.
    pub fn work(mut self, intake: &Intake) {
        // A datagram that fills it is longer than the limit.
        let mut buffer = vec![0; DATAGRAM + 1];
        let mut looked = Instant::now();
        while !intake.is_stopped() && !self.open.is_empty() {
            let ready = self.ready();
            let (mut kept, mut peers, mut ended) = (Vec::with_capacity(self.open.len()), Vec::new(), Vec::new());
            for (mut named, is_ready) in std::mem::take(&mut self.open).into_iter().zip(ready) {
                let after = if is_ready { named.turn(&mut buffer, intake) } else { Ok(SocketOutcome::Goes) };
                match after {
                    Ok(SocketOutcome::Goes) => kept.push(named),
                    Ok(SocketOutcome::Over) => ended.push(named),
                    Ok(SocketOutcome::Peer(peer)) => {
                        let socket = Socket::Peer(peer, Cut::new(STREAM_LINE), Instant::now());
                        peers.push(NamedSocket { name: named.name.clone(), socket });
                        kept.push(named);
                    }
                    Ok(SocketOutcome::Crowded) => {
                        named.rest();
                        kept.push(named);
                    }
                    Err(Ended::Told | Ended::Broken) => return,
                }
            }
            self.open = kept;
            for peer in peers {
                ended.extend(self.let_in(peer, &intake.metrics));
            }
            end(ended, intake, true);
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.open.iter_mut().for_each(|named| named.look(&intake.metrics));
                self.count(&intake.metrics);
            }
        }
        self.open.iter_mut().for_each(|named| named.look(&intake.metrics));
        end(self.open, intake, false);
    }

    /// How many peers each listener has, for the metrics.
    fn count(&self, metrics: &Metrics) {
        for listener in self.open.iter().filter(|named| matches!(named.socket, Socket::Listener(..))) {
            let is_of_it =
                |named: &&NamedSocket| matches!(named.socket, Socket::Peer(..)) && named.name == listener.name;
            metrics.has_peers(&listener.name, self.open.iter().filter(is_of_it).count());
        }
    }

    /// Accepts a peer when its listener has fewer than its limit; else the peer that was silent longest is replaced and
    /// returned, or the new one is turned away.
    fn let_in(&mut self, peer: NamedSocket, metrics: &Metrics) -> Option<NamedSocket> {
        let of_it = |named: &&mut NamedSocket| named.name == peer.name;
        let limit = self.open.iter_mut().filter(of_it).find_map(|named| match &mut named.socket {
            Socket::Listener(_, limit) => Some(limit),
            _ => None,
        })?;
        let most = limit.peers;
        let heard = |named: &NamedSocket| match &named.socket {
            Socket::Peer(_, _, heard) if named.name == peer.name => Some(*heard),
            _ => None,
        };
        let mut left = None;
        if self.open.iter().filter_map(heard).count() >= most {
            let silent = (0..self.open.len()).filter_map(|at| Some((heard(&self.open[at])?, at))).min();
            match silent.filter(|(heard, _)| heard.elapsed() >= SILENT) {
                Some((_, at)) => left = Some(self.open.swap_remove(at)),
                None => {
                    metrics.turned_away.inc();
                    warn!(source = peer.name, most, "more peers than are let in, one was turned away");
                    return None;
                }
            }
        }
        self.open.push(peer);
        left
    }

    /// Which sockets have something; waits a moment for the first.
    fn ready(&self) -> Vec<bool> {
        let mut waiting: Vec<PollFd<'_>> =
            self.open.iter().map(|named| PollFd::from_borrowed_fd(named.socket.fd(), named.socket.awaited())).collect();
        match poll(&mut waiting, Some(&PATIENCE)) {
            Ok(_) => waiting.iter().map(|one| !one.revents().is_empty()).collect(),
            Err(_) => vec![false; self.open.len()],
        }
    }
}

impl Socket {
    /// What is waited for: nothing, while a listener rests.
    fn awaited(&self) -> PollFlags {
        match self {
            Self::Listener(_, limit) if limit.rests_until.is_some_and(|until| Instant::now() < until) => {
                PollFlags::empty()
            }
            _ => PollFlags::IN,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Datagram(socket) => socket.as_fd(),
            Self::Udp(socket, _) => socket.as_fd(),
            Self::Listener(socket, _) => socket.as_fd(),
            Self::Stdin(stream, _) => stream.as_fd(),
            Self::Peer(stream, _, _) => stream.as_fd(),
        }
    }
}

impl NamedSocket {
    /// Reads what is there, up to a turn's worth.
    fn turn(&mut self, buffer: &mut [u8], intake: &Intake) -> Result<SocketOutcome, Ended> {
        match &mut self.socket {
            Socket::Datagram(socket) => datagrams(&self.name, |buffer| socket.recv(buffer), buffer, intake),
            Socket::Udp(socket, _) => datagrams(&self.name, |buffer| socket.recv(buffer), buffer, intake),
            Socket::Listener(socket, _) => match socket.accept() {
                Ok((peer, _)) => Ok(SocketOutcome::Peer(peer)),
                Err(error) if is_crowded(&error) => Ok(SocketOutcome::Crowded),
                Err(error) => Ok(said(&self.name, &error)),
            },
            Socket::Stdin(stream, cut) => bytes(&self.name, stream, cut, buffer, intake),
            Socket::Peer(stream, cut, heard) => {
                *heard = Instant::now();
                bytes(&self.name, stream, cut, buffer, intake)
            }
        }
    }

    /// Lets nobody in for a while.
    fn rest(&mut self) {
        if let Socket::Listener(_, limit) = &mut self.socket {
            limit.rests_until = Some(Instant::now() + CROWDED);
            warn!(source = self.name, "no descriptor is left for a peer");
        }
    }

    /// Says what the kernel dropped.
    fn look(&mut self, metrics: &Metrics) {
        if let Socket::Udp(_, Some(dropped)) = &mut self.socket {
            let count = dropped.look();
            if count > 0 {
                metrics.kernel_drops.inc_by(count);
                warn!(source = self.name, datagrams = count, "the kernel dropped datagrams");
            }
        }
    }
}

/// Streams are over; with `is_ended`, their peers ended them and are told when all that they sent is on disk. One sync
/// serves all of them.
fn end(streams: Vec<NamedSocket>, intake: &Intake, is_ended: bool) {
    let mut peers = Vec::new();
    for named in streams {
        let (peer, cut) = match named.socket {
            Socket::Stdin(_, cut) => (None, cut),
            Socket::Peer(peer, cut, _) => (Some(peer), cut),
            Socket::Datagram(_) | Socket::Udp(..) | Socket::Listener(..) => continue,
        };
        let is_taken = cut.finish().is_none_or(|piece| intake.piece(&named.name, piece).is_ok());
        peers.extend(peer.filter(|_| is_ended && is_taken));
    }
    if !peers.is_empty() && intake.spool.acknowledged() {
        for mut peer in peers {
            // The peer may have closed the socket; then nobody waits for the answer.
            let _ = peer.write_all(SYNCED);
        }
    }
}

fn bytes(
    name: &str,
    stream: &mut impl Read,
    cut: &mut Cut,
    buffer: &mut [u8],
    intake: &Intake,
) -> Result<SocketOutcome, Ended> {
    match stream.read(&mut buffer[..CHUNK]) {
        Ok(0) => Ok(SocketOutcome::Over),
        Ok(count) => {
            let mut pieces = Vec::new();
            cut.push(&buffer[..count], |piece| pieces.push(piece));
            pieces.into_iter().try_for_each(|piece| intake.piece(name, piece))?;
            Ok(SocketOutcome::Goes)
        }
        Err(error) if is_passing(&error) => Ok(SocketOutcome::Goes),
        // A peer that was killed is gone like one that has closed.
        Err(_) => Ok(SocketOutcome::Over),
    }
}

fn datagrams(
    name: &str,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
    buffer: &mut [u8],
    intake: &Intake,
) -> Result<SocketOutcome, Ended> {
    for _ in 0..DATAGRAMS {
        match receive(buffer) {
            Ok(count) if count == buffer.len() => {
                intake.piece(name, StreamPiece::Reject(Skip::TooLong, count as u64, buffer.to_vec()))?;
            }
            Ok(count) => intake.piece(name, StreamPiece::Lines(buffer[..count].to_vec()))?,
            Err(error) => return Ok(said(name, &error)),
        }
    }
    Ok(SocketOutcome::Goes)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The process, or the machine, has no descriptor left.
fn is_crowded(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

fn said(name: &str, error: &io::Error) -> SocketOutcome {
    if !is_passing(error) {
        warn!(source = name, "{error}");
    }
    SocketOutcome::Goes
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_the_rights_that_are_said() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("a", 0o660), ("b", 0o600), ("c", 0o666)] {
            let path = folder.path().join(name);
            let mut sockets = Sockets::default();
            for of in [
                Listen::UnixDatagram { path: path.with_extension("dgram"), mode: Some(Mode(mode)) },
                Listen::UnixStream { path: path.with_extension("stream"), mode: Some(Mode(mode)), max_connections: 1 },
            ] {
                sockets.open(&of).unwrap();
            }
            for kind in ["dgram", "stream"] {
                let found = path.with_extension(kind).metadata().unwrap().permissions().mode();
                assert_eq!(found & 0o777, mode, "{kind}");
            }
        }
    }
}
