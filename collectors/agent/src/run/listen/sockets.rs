//! Datagram and stream sockets and standard input, in turn, on one thread: a peer that floods gets no more than its turn.

use crate::run::listen::config::Listen;
use crate::run::listen::dropped::Dropped;
use crate::run::listen::lines::{Cut, Piece};
use crate::run::listen::{Ended, Intake};
use quiclens_core::reader::skip::Skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Datagrams of one socket before another's turn.
const DATAGRAMS: usize = 64;
/// A datagram that fills this may have been longer. UDP has at most 65,507 bytes, a unix socket what its buffer holds.
const DATAGRAM: usize = 256 << 10;
/// Bytes of one stream before another's turn.
const CHUNK: usize = 64 << 10;
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Time between two looks at what the kernel dropped.
const LOOK: Duration = Duration::from_secs(1);

enum Socket {
    Datagram(UnixDatagram),
    Udp(UdpSocket, Option<Dropped>),
    Listener(UnixListener, usize),
    Stdin(File, Cut),
    Peer(UnixStream, Cut),
}

/// What a peer that has ended its side is told, when all that it sent is on disk. The end of the stream alone would not
/// say so: a collector that is killed ends it too.
const SYNCED: &[u8] = b"synced\n";

struct Named {
    name: String,
    socket: Socket,
}

/// All sockets, and standard input.
#[derive(Default)]
pub struct Sockets {
    open: Vec<Named>,
}

/// What a socket's turn ended with.
enum After {
    Goes,
    Over,
    Peer(UnixStream),
}

/// A path that a socket can be made at: one that a process left behind is taken away.
fn free(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.file_type().is_socket() => {
            let is_used = UnixStream::connect(path).is_ok() || UnixDatagram::unbound()?.connect(path).is_ok();
            if is_used { Err(ErrorKind::AddrInUse.into()) } else { std::fs::remove_file(path) }
        }
        _ => Ok(()),
    }
}

impl Sockets {
    /// Nothing was opened.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Makes a socket; an error says which cannot be.
    pub fn open(&mut self, source: &Listen) -> Result<(), String> {
        let (name, socket) = match source {
            Listen::UnixDatagram { path } => {
                let made = free(path).and_then(|()| UnixDatagram::bind(path)).and_then(|socket| {
                    socket.set_nonblocking(true)?;
                    Ok(Socket::Datagram(socket))
                });
                (format!("unix_datagram:{}", path.display()), made)
            }
            Listen::UnixStream { path, max_connections } => {
                let made = free(path).and_then(|()| UnixListener::bind(path)).and_then(|socket| {
                    socket.set_nonblocking(true)?;
                    Ok(Socket::Listener(socket, *max_connections))
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
                ("-".to_owned(), made.map(|stdin| Socket::Stdin(File::from(stdin), Cut::default())))
            }
            Listen::Kafka { .. } => return Ok(()),
        };
        let socket = socket.map_err(|error| format!("cannot listen to {name}: {error}"))?;
        self.open.push(Named { name, socket });
        Ok(())
    }

    /// Reads until it is told to stop, the spool breaks, or nothing is left to read.
    pub fn work(mut self, intake: &Intake) {
        let mut buffer = vec![0; DATAGRAM];
        let mut looked = Instant::now();
        while !intake.is_stopped() && !self.open.is_empty() {
            let ready = self.ready();
            let (mut kept, mut peers) = (Vec::with_capacity(self.open.len()), Vec::new());
            let count = self.open.iter().filter(|named| matches!(named.socket, Socket::Peer(..))).count();
            for (mut named, is_ready) in std::mem::take(&mut self.open).into_iter().zip(ready) {
                let after = if is_ready { named.turn(&mut buffer, intake) } else { Ok(After::Goes) };
                match after {
                    Ok(After::Goes) => kept.push(named),
                    Ok(After::Over) => named.end(intake, true),
                    Ok(After::Peer(peer)) => {
                        if let Socket::Listener(_, most) = named.socket
                            && count + peers.len() < most
                        {
                            let socket = Socket::Peer(peer, Cut::default());
                            peers.push(Named { name: named.name.clone(), socket });
                        } else {
                            eprintln!("quiclens-collector: {}: too many peers, one was turned away", named.name);
                        }
                        kept.push(named);
                    }
                    Err(Ended::Told | Ended::Broken) => return,
                }
            }
            self.open = kept;
            self.open.append(&mut peers);
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.open.iter_mut().for_each(Named::look);
            }
        }
        for mut named in self.open {
            named.look();
            named.end(intake, false);
        }
    }

    /// Which sockets have something; waits a moment for the first.
    fn ready(&self) -> Vec<bool> {
        let mut waiting: Vec<PollFd<'_>> =
            self.open.iter().map(|named| PollFd::from_borrowed_fd(named.socket.fd(), PollFlags::IN)).collect();
        match poll(&mut waiting, Some(&PATIENCE)) {
            Ok(_) => waiting.iter().map(|one| !one.revents().is_empty()).collect(),
            Err(_) => vec![false; self.open.len()],
        }
    }
}

impl Socket {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Datagram(socket) => socket.as_fd(),
            Self::Udp(socket, _) => socket.as_fd(),
            Self::Listener(socket, _) => socket.as_fd(),
            Self::Stdin(stream, _) => stream.as_fd(),
            Self::Peer(stream, _) => stream.as_fd(),
        }
    }
}

impl Named {
    /// Reads what is there, up to a turn's worth.
    fn turn(&mut self, buffer: &mut [u8], intake: &Intake) -> Result<After, Ended> {
        match &mut self.socket {
            Socket::Datagram(socket) => datagrams(&self.name, |buffer| socket.recv(buffer), buffer, intake),
            Socket::Udp(socket, _) => datagrams(&self.name, |buffer| socket.recv(buffer), buffer, intake),
            Socket::Listener(socket, _) => match socket.accept() {
                Ok((peer, _)) => Ok(After::Peer(peer)),
                Err(error) => Ok(said(&self.name, &error)),
            },
            Socket::Stdin(stream, cut) => bytes(&self.name, stream, cut, buffer, intake),
            Socket::Peer(stream, cut) => bytes(&self.name, stream, cut, buffer, intake),
        }
    }

    /// A stream is over; `is_ended` by its peer, who is told when all that it sent is on disk.
    fn end(self, intake: &Intake, is_ended: bool) {
        let (peer, cut) = match self.socket {
            Socket::Stdin(_, cut) => (None, cut),
            Socket::Peer(peer, cut) => (Some(peer), cut),
            Socket::Datagram(_) | Socket::Udp(..) | Socket::Listener(..) => return,
        };
        let is_taken = cut.finish().is_none_or(|piece| intake.piece(&self.name, piece).is_ok());
        if let Some(mut peer) = peer.filter(|_| is_ended && is_taken && intake.spool.acknowledged()) {
            // It may have gone away, which is its right.
            let _ = peer.write_all(SYNCED);
        }
    }

    /// Says what the kernel dropped.
    fn look(&mut self) {
        if let Socket::Udp(_, Some(dropped)) = &mut self.socket {
            let count = dropped.look();
            if count > 0 {
                eprintln!("quiclens-collector: {}: the kernel dropped {count} datagrams", self.name);
            }
        }
    }
}

fn bytes(
    name: &str,
    stream: &mut impl Read,
    cut: &mut Cut,
    buffer: &mut [u8],
    intake: &Intake,
) -> Result<After, Ended> {
    match stream.read(&mut buffer[..CHUNK]) {
        Ok(0) => Ok(After::Over),
        Ok(count) => {
            let mut pieces = Vec::new();
            cut.push(&buffer[..count], |piece| pieces.push(piece));
            pieces.into_iter().try_for_each(|piece| intake.piece(name, piece))?;
            Ok(After::Goes)
        }
        Err(error) if is_passing(&error) => Ok(After::Goes),
        // A peer that was killed is gone like one that has closed.
        Err(_) => Ok(After::Over),
    }
}

fn datagrams(
    name: &str,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
    buffer: &mut [u8],
    intake: &Intake,
) -> Result<After, Ended> {
    for _ in 0..DATAGRAMS {
        match receive(buffer) {
            Ok(count) if count == buffer.len() => {
                intake.piece(name, Piece::Reject(Skip::TooLong, count as u64, buffer.to_vec()))?;
            }
            Ok(count) => intake.piece(name, Piece::Lines(buffer[..count].to_vec()))?,
            Err(error) => return Ok(said(name, &error)),
        }
    }
    Ok(After::Goes)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn said(name: &str, error: &io::Error) -> After {
    if !is_passing(error) {
        eprintln!("quiclens-collector: {name}: {error}");
    }
    After::Goes
}
