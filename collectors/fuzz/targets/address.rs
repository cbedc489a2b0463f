//! Addresses as logs write them, beside the standard library's reading.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_edge::address::{Prefix, is_public, read, read_with_port};
use std::net::{IpAddr, SocketAddr};

/// Bytes of an address; the standard library also reads ports behind any number of zeros.
const LONGEST: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let (plain, with_port) = (read(text), read_with_port(text));
    for client in [plain, with_port] {
        assert!(client.address.is_some() || client.port.is_none(), "a port alone: {text:?}");
        assert!(client.address.is_none_or(|address| address.to_canonical() == address), "{text:?}");
    }
    if text.len() > LONGEST {
        assert!(plain.address.is_none() || text.trim().len() <= LONGEST, "{text:?}");
    } else if let Ok(address) = text.parse::<IpAddr>() {
        assert_eq!((plain.address, plain.port), (Some(address.to_canonical()), None), "{text:?}");
    } else if let Ok(socket) = text.parse::<SocketAddr>() {
        assert_eq!((plain.address, plain.port), (Some(socket.ip().to_canonical()), Some(socket.port())), "{text:?}");
    }
    let Some(address) = plain.address else { return };
    let _ = is_public(address);
    for bits in [0, 1, 24, 31, 32, 48, 127, 128, 255] {
        let network = Prefix { v4: bits, v6: bits }.network(address);
        let (first, length) = network.split_once('/').expect("a network has a length");
        let first: IpAddr = first.parse().expect("a network is an address");
        let length: u8 = length.parse().expect("a length is a number");
        assert_eq!(Prefix { v4: length, v6: length }.network(first), network, "the network of a network");
    }
});
