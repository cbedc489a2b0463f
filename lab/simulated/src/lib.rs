//! What the lab's stacks of Rust in virtual time have in common: draws, keys, the log in memory, addresses.

pub mod draw;
mod keys;
mod log;

use std::net::{Ipv4Addr, SocketAddr};

pub use keys::TlsKeys;
pub use log::Log;

/// Anything that ends a program of the lab.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The server's name.
pub const NAME: &str = "www.lab.example";

/// A host of the network for documentation.
pub fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(198, 51, 100, host), port))
}
