//! Client addresses: as logs write them, and what is left of one that may be kept.

use quiclens_core::crossed::Bound;
use quiclens_core::limits::FIELD_PATH;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A client as a log names it. Never stored: it is looked up, hashed and truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Client {
    /// Its address, an IPv4 one in its own form.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
}

/// How many bits of an address may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Of an IPv4 address.
    pub v4: u8,
    /// Of an IPv6 address.
    pub v6: u8,
}

impl Default for Prefix {
    fn default() -> Self {
        Self { v4: 24, v6: 48 }
    }
}

impl Prefix {
    /// The network of an address, such as `192.0.2.0/24`; the network of an IPv4-mapped address is IPv4's.
    pub fn network(self, address: IpAddr) -> String {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let bits = self.v4.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                format!("{}/{bits}", Ipv4Addr::from(u32::from(v4) & mask))
            }
            IpAddr::V6(v6) => {
                let bits = self.v6.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                format!("{}/{bits}", Ipv6Addr::from(u128::from(v6) & mask))
            }
        }
    }
}

/// Reads `192.0.2.7`, `192.0.2.7:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`. A client without an
/// address when it is none of these.
pub fn read(text: &str) -> Client {
    let text = text.trim();
    if text.is_empty() || text.len() > 64 {
        return Client::default();
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Client { address: Some(address.to_canonical()), port: None };
    }
    match text.parse::<SocketAddr>() {
        Ok(socket) => Client { address: Some(socket.ip().to_canonical()), port: Some(socket.port()) },
        Err(_) => Client::default(),
    }
}

/// Reads what HAProxy's `%ci:%cp` makes, where an IPv6 address stands without brackets; anything of [`read`] too.
pub fn read_with_port(text: &str) -> Client {
    let client = read(text);
    if client.port.is_some() {
        return client;
    }
    let split = text.rsplit_once(':').and_then(|(address, port)| {
        Some(Client { address: Some(address.parse::<IpAddr>().ok()?.to_canonical()), port: Some(port.parse().ok()?) })
    });
    split.unwrap_or(client)
}

/// An address that a database of networks can know. Private, shared, loopback, link-local, multicast and
/// unspecified ones are not.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            !(v4.is_private()
                || shared
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || a == 0)
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            let local = first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80;
            !(local || v6.is_loopback() || v6.is_multicast() || v6.is_unspecified())
        }
    }
}

/// `text` with every address in it replaced by its network, or `None` when it has none. Ports stay. An address may be
/// written with escapes of JSON (`\u003a`) or of URLs (`%3A`, `%253A`).
pub fn scrub(text: &str, prefix: Prefix) -> Option<String> {
    each_spelling(text, prefix, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The same of a file's name, where an address may stand between any letters that are not part of one.
pub fn scrub_name(text: &str, prefix: Prefix) -> Option<String> {
    each_spelling(text, prefix, |byte| byte.is_ascii_digit())
}

/// The same of a field's path, whose names are joined by points: any of them may be an address.
pub fn scrub_path(text: &str, prefix: Prefix) -> Option<String> {
    let scrubbed = scrub(text, prefix);
    if text.len() > FIELD_PATH {
        // A value, which is JSON, or a name of which nothing is kept.
        let is_value = text.starts_with(['"', '{', '[']);
        if is_value {
            return scrubbed;
        }
        Bound::FieldPath.cross();
        return Some(crate::redact::REDACTED.to_owned());
    }
    let path = scrubbed.as_deref().unwrap_or(text);
    // `frames.0.` is the place of a frame.
    let place = path.strip_prefix("frames.").and_then(|rest| Some(path.len() - rest.split_once('.')?.1.len()));
    let starts = std::iter::once(0).chain(path.match_indices('.').map(|(at, _)| at + 1));
    for start in starts.filter(|start| *start >= place.unwrap_or(0)) {
        if let Some(kept) = path.get(start..).and_then(|rest| scrub(rest, prefix)) {
            let out = format!("{}{kept}", &path[..start]);
            return Some(scrub_path(&out, prefix).unwrap_or(out));
        }
        let ends = path[start..].match_indices('.').map(|(at, _)| start + at).chain([path.len()]);
        for end in ends.filter(|end| end - start <= 48).collect::<Vec<_>>().into_iter().rev() {
            let network = path[start..end].parse::<IpAddr>().ok().filter(|address| !address.is_unspecified());
            let network = network.map(|address| prefix.network(address));
            if let Some(network) = network.filter(|network| !path[start..].starts_with(network.as_str())) {
                let out = format!("{}{network}{}", &path[..start], &path[end..]);
                return Some(scrub_path(&out, prefix).unwrap_or(out));
            }
        }
    }
    scrubbed
}

/// Times that an address may have been encoded.
const SPELLINGS: usize = 3;

/// Times that what is left may spell another address: behind a sign that escaped nothing a network's first digits can
/// become an escape. Of a text that goes on so nothing is kept.
const ROUNDS: usize = 4;

fn each_spelling(text: &str, prefix: Prefix, is_word: fn(u8) -> bool) -> Option<String> {
    let mut kept = each_once(text, prefix, is_word)?;
    for _ in 0..ROUNDS {
        match each_once(&kept, prefix, is_word) {
            Some(next) => kept = next,
            None => return Some(kept),
        }
    }
    Some(crate::redact::REDACTED.to_owned())
}

fn each_once(text: &str, prefix: Prefix, is_word: fn(u8) -> bool) -> Option<String> {
    let bytes = text.as_bytes();
    if memchr::memchr2(b'%', b'\\', bytes).is_none() {
        return spelled(bytes, None, text, prefix, is_word);
    }
    // Where each decoded byte stands: addresses are looked for among the decoded, and replaced as they were written.
    let mut decoded: Vec<(u8, usize, usize)> = bytes.iter().enumerate().map(|(at, byte)| (*byte, at, at + 1)).collect();
    for _ in 0..SPELLINGS {
        let next = decode(&decoded);
        if next.len() == decoded.len() {
            break;
        }
        decoded = next;
    }
    let plain: Vec<u8> = decoded.iter().map(|(byte, ..)| *byte).collect();
    spelled(&plain, Some(&decoded), text, prefix, is_word)
}

fn decode(text: &[(u8, usize, usize)]) -> Vec<(u8, usize, usize)> {
    let hex = |digits: &[(u8, usize, usize)]| {
        digits.iter().try_fold(0u32, |sum, (byte, ..)| Some(sum * 16 + char::from(*byte).to_digit(16)?))
    };
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&(byte, start, end)) = text.get(at) {
        let (digits, length) = match (byte, text.get(at + 1).map(|next| next.0)) {
            (b'%', _) => (text.get(at + 1..at + 3), 3),
            (b'\\', Some(b'u')) => (text.get(at + 2..at + 6), 6),
            // What follows is no letter of a word.
            (b'\\', Some(b'n' | b't' | b'r' | b'b' | b'f')) => {
                out.push((b' ', start, text[at + 1].2));
                at += 2;
                continue;
            }
            _ => (None, 1),
        };
        let code = digits.and_then(hex).and_then(|code| u8::try_from(code).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                out.push((code, start, text[at + length - 1].2));
                at += length;
            }
            None => {
                out.push((byte, start, end));
                at += 1;
            }
        }
    }
    out
}

/// Addresses of `bytes`, which are `text` or, with the places of each, what it spells.
fn spelled(
    bytes: &[u8],
    places: Option<&[(u8, usize, usize)]>,
    text: &str,
    prefix: Prefix,
    is_word: fn(u8) -> bool,
) -> Option<String> {
    memchr::memchr2(b'.', b':', bytes)?;
    let place = |at: usize| match places {
        None => at,
        Some(places) => places.get(at).map_or(text.len(), |place| place.1),
    };
    let inside = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        if !inside(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && inside(bytes[at]) {
            at += 1;
        }
        let alone = |byte: Option<&u8>| byte.is_none_or(|byte| !is_word(*byte));
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        // A name may follow behind a point.
        let is_ended = matches!(bytes[at - 1], b'.' | b':') || alone(bytes.get(at));
        if !alone(before) || !is_ended {
            continue;
        }
        // Runs of these bytes are ASCII.
        let run = core::str::from_utf8(&bytes[start..at]).unwrap_or("");
        if let Some(length) = network_of_ours(&bytes[start..], run, prefix) {
            at = start + length;
        } else if let Some((length, network)) = leading(run, prefix) {
            // `192.0.2.7/32` goes with its length.
            let end = start + length;
            let bits = prefix_length(&bytes[end..]);
            let before = text.get(kept..place(start)).unwrap_or("");
            // What was an escape behind a backslash, that one escaped too, leaves none alone: JSON stays JSON.
            let is_escaped = text.as_bytes().get(place(start)) == Some(&b'\\');
            out.push_str(if is_escaped { before.trim_end_matches('\\') } else { before });
            out.push_str(&network);
            kept = place(end + bits);
            at = at.max(end + bits);
        }
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..).unwrap_or(""));
    Some(out)
}

/// Length of a network that `text` begins with, where it is as small as ours: what [`spelled`] wrote stays, whatever stands
/// behind it. `run` is what stands before its slash.
fn network_of_ours(text: &[u8], run: &str, prefix: Prefix) -> Option<usize> {
    if text.get(run.len()) != Some(&b'/') {
        return None;
    }
    let network = prefix.network(run.parse().ok()?);
    let is_ours = text.starts_with(network.as_bytes()) && !text.get(network.len()).is_some_and(u8::is_ascii_digit);
    is_ours.then_some(network.len())
}

/// Length of the `/24` that `text` begins with, or 0: up to `/128`, and with no more behind it than a port.
fn prefix_length(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(b"/") else { return 0 };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(count);
    let is_bits = core::str::from_utf8(digits).is_ok_and(|bits| bits.parse::<u8>().is_ok_and(|bits| bits <= 128));
    let ends = match rest {
        [b'.', next, ..] => !next.is_ascii_digit(),
        [b':', rest @ ..] => {
            let run = rest.iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b':').count();
            let port = core::str::from_utf8(&rest[..run]).unwrap_or("").trim_end_matches(':');
            port.is_empty() && !rest.starts_with(b":") || port.parse::<u16>().is_ok()
        }
        [next, ..] => !next.is_ascii_alphanumeric() && *next != b'_',
        [] => true,
    };
    if is_bits && ends { count + 1 } else { 0 }
}

/// The network of the address that `run` is, or is with a port or punctuation after it, and the address's length.
fn leading(run: &str, prefix: Prefix) -> Option<(usize, String)> {
    if run.len() < 3 || run.len() > 64 || !run.contains(['.', ':']) || !run.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let trimmed = run.trim_end_matches(['.', ':']);
    let whole = [run, trimmed].into_iter().find_map(|text| Some((text.len(), text.parse::<IpAddr>().ok()?)));
    let with_port = || {
        let (address, port) = trimmed.rsplit_once(':')?;
        let parsed: IpAddr = address.parse().ok()?;
        port.parse::<u16>().ok().map(|_| (address.len(), parsed))
    };
    let (length, address) = whole.or_else(with_port)?;
    (!address.is_unspecified()).then(|| (length, prefix.network(address)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_logs_write_them() {
        for (text, address, port) in [
            ("192.0.2.7", "192.0.2.7", None),
            ("192.0.2.7:443", "192.0.2.7", Some(443)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:443", "2001:db8::1", Some(443)),
            ("::ffff:192.0.2.7", "192.0.2.7", None),
        ] {
            assert_eq!(read(text), Client { address: Some(address.parse().unwrap()), port }, "{text}");
        }
        assert_eq!(read_with_port("::ffff:192.0.2.7:5000").port, Some(5000));
        assert_eq!(read_with_port("unix:1"), Client::default());
        assert_eq!(read("-"), Client::default());
        assert_eq!(read("192.0.2.7:99999"), Client::default());
    }

    #[test]
    fn a_network_is_what_is_left_of_an_address() {
        let prefix = Prefix::default();
        assert_eq!(prefix.network("192.0.2.77".parse().unwrap()), "192.0.2.0/24");
        assert_eq!(prefix.network("2001:db8:1:2:3::4".parse().unwrap()), "2001:db8:1::/48");
        assert_eq!(prefix.network("::ffff:192.0.2.77".parse().unwrap()), "192.0.2.0/24");
        let none = Prefix { v4: 0, v6: 0 };
        assert_eq!(none.network("192.0.2.77".parse().unwrap()), "0.0.0.0/0");
        assert_eq!(none.network("2001:db8::1".parse().unwrap()), "::/0");
        let all = Prefix { v4: 200, v6: 200 };
        assert_eq!(all.network("192.0.2.77".parse().unwrap()), "192.0.2.77/32");
        assert_eq!(all.network("2001:db8::1".parse().unwrap()), "2001:db8::1/128");
    }

    #[test]
    fn text_loses_its_addresses_and_nothing_else() {
        let prefix = Prefix::default();
        for (text, want) in [
            ("path to 192.0.2.7:443 lost", "path to 192.0.2.0/24:443 lost"),
            ("192.0.2.7, 2001:db8::7", "192.0.2.0/24, 2001:db8::/48"),
            ("for=\"[2001:db8::7]:80\"", "for=\"[2001:db8::/48]:80\""),
            ("192.0.2.7/32 192.0.2.0/25", "192.0.2.0/24 192.0.2.0/24"),
            ("seen 192.0.2.7.", "seen 192.0.2.0/24."),
            ("192.0.2.7.qlog", "192.0.2.0/24.qlog"),
            ("::ffff:192.0.2.7:443", "192.0.2.0/24:443"),
            ("2001:db8:0:0:0:0:0:7:443", "2001:db8::/48:443"),
            ("192.0.2.7/32:443", "192.0.2.0/24:443"),
            ("192.0.2.7/3292.0.2.28", "192.0.2.0/24/3292.0.2.28"),
            ("192.0.2.7/129", "192.0.2.0/24/129"),
            ("192.0.2.7/10.1.2.3", "192.0.2.0/24/10.1.2.0/24"),
            ("192.0.2.7/20:db8::1", "192.0.2.0/24/20:db8::/48"),
            ("é192.0.2.7é", "é192.0.2.0/24é"),
            ("2001:db8:dead:ef::the end", "2001:db8:dead::/48the end"),
            ("2001:db8:dead:ef::7b8:1::", "2001:db8:dead::/48::"),
            ("eef::77:: end", "eef::/48:: end"),
            ("e::1/48:4::$1", "e::/48:4::$1"),
        ] {
            assert_eq!(scrub(text, prefix).as_deref(), Some(want), "{text}");
            assert_eq!(scrub(want, prefix), None, "{text}: again");
        }
        for (text, want) in [
            ("192%2E0%2E2%2E7", "192.0.2.0/24"),
            ("/?ip=192%252e0.2.7%3A443&x=%20", "/?ip=192.0.2.0/24%3A443&x=%20"),
            ("2001%3Adb8%3A%3A7", "2001:db8::/48"),
            ("%5B2001:db8::7%5D%3A1", "%5B2001:db8::/48%5D%3A1"),
            ("\\u0031\\u0039\\u0032.0.2.7", "192.0.2.0/24"),
            (r#""a\u003c2001\u003adb8\u003a\u003a7\u003e""#, r#""a\u003c2001:db8::/48\u003e""#),
        ] {
            assert_eq!(scrub(text, prefix).as_deref(), Some(want), "{text}");
        }
        // Found by the fuzz target `redact`: what three decodings leave spells another address with the network behind it.
        for text in ["%%%%%3332001:db8:de32::/7a", r"%%%%25252001:db8::7", r"\\u00312.0.2.7", r"\0f06::e", r"\f06::7:1"]
        {
            let kept = scrub(text, prefix);
            let kept = kept.as_deref().unwrap_or(text);
            assert_eq!(scrub(kept, prefix), None, "{text}: {kept}: again");
        }
        for (path, want) in [
            ("header.192.0.2.7", "header.192.0.2.0/24"),
            ("frames.0.192.0.2.7.data", "frames.0.192.0.2.0/24.data"),
            ("a.2001:db8::7.b", "a.2001:db8::/48.b"),
        ] {
            assert_eq!(scrub_path(path, prefix).as_deref(), Some(want), "{path}");
            assert_eq!(scrub_path(want, prefix), None, "{path}: again");
        }
        assert_eq!(scrub_path("frames.0.1.2.x", prefix), None);
        // A path of more bytes than that, with the network in it, is not looked through.
        let long = |length: usize| format!("{}192.0.2.7", "a.".repeat(length / 2)[..length - 9].to_owned());
        let network = |length| scrub_path(&long(length), prefix);
        assert!(network(FIELD_PATH - 11).is_some_and(|path| path.ends_with("192.0.2.0/24")));
        assert_eq!(network(FIELD_PATH + 1).as_deref(), Some("[redacted]"));
        assert!(Bound::FieldPath.times() > 0);
        assert_eq!(scrub_path(&"1.".repeat(1 << 20), prefix).as_deref(), Some("[redacted]"));
        assert_eq!(scrub_name("conn_192.0.2.7_51234.qlog", prefix).as_deref(), Some("conn_192.0.2.0/24_51234.qlog"));
        for text in ["10:20:30", "1.2.3", "std::deque", "v1.2.3.4", "0.0.0.0", "::", "a::b", "12.5", "192.0.2.0/24", ""]
        {
            assert_eq!(scrub(text, prefix), None, "{text}");
        }
    }
}
