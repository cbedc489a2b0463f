//! Datagrams that the kernel dropped because nobody read them in time.

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// The count of one UDP socket.
pub struct Dropped {
    inode: u64,
    known: u64,
}

impl Dropped {
    /// Of a socket; `None` where its number cannot be had.
    pub fn of(socket: &UdpSocket) -> Option<Self> {
        let inode = rustix::fs::fstat(socket.as_fd()).ok()?.st_ino;
        Some(Self { inode, known: 0 })
    }

    /// Datagrams dropped since the last look.
    pub fn look(&mut self) -> u64 {
        let tables = ["/proc/net/udp", "/proc/net/udp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        let now = tables.iter().find_map(|table| count(table, self.inode)).unwrap_or(self.known);
        now - std::mem::replace(&mut self.known, now).min(now)
    }
}

/// Drops of the socket with that inode: the tenth column of `/proc/net/udp` is the inode, the last the count
/// (`Documentation/networking/proc_net_tcp.rst`, `net/ipv4/udp.c`: udp4_format_sock).
fn count(table: &str, inode: u64) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        (columns.get(9)?.parse() == Ok(inode)).then(|| columns.last()?.parse().ok()).flatten()
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_the_sockets_buffer_is_counted() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut dropped = Dropped::of(&socket).unwrap();
        assert_eq!(dropped.look(), 0);
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sent = 2000;
        for _ in 0..sent {
            sender.send_to(&[0; 8000], socket.local_addr().unwrap()).unwrap();
        }
        socket.set_nonblocking(true).unwrap();
        let mut got = 0;
        while socket.recv(&mut [0; 8000]).is_ok() {
            got += 1;
        }
        assert!(got < sent);
        assert_eq!(dropped.look(), sent - got);
        assert_eq!(dropped.look(), 0);
    }
}
