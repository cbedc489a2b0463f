//! Client addresses: as logs write them, and what is left of one that may be kept.

use quiclens_core::crossed::Bound;
use quiclens_core::limits::{FIELD_NAMES, FIELD_PATH};
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
                // 6to4 (RFC 3056, 2) and NAT64's well-known prefix (RFC 6052, 2.1) have an IPv4 address within.
                let most = match v6.segments() {
                    [0x2002, ..] => 16 + self.v4.min(32),
                    [0x64, 0xff9b, 0, 0, 0, 0, ..] => 96 + self.v4.min(32),
                    _ => 128,
                };
                let bits = self.v6.min(most);
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
    each_spelling(text, prefix, |byte| byte.is_ascii_alphanumeric())
}

/// The same of a file's name, where an address may stand between any letters that are not part of one.
pub fn scrub_name(text: &str, prefix: Prefix) -> Option<String> {
    each_spelling(text, prefix, |byte| byte.is_ascii_digit())
}

/// The same of a field's path, whose names are joined by points: any of them may be an address. Of JSON, which stands
/// beside such paths, what [`scrub`] gives.
pub fn scrub_path(text: &str, prefix: Prefix) -> Option<String> {
    let is_value = [('"', '"'), ('{', '}'), ('[', ']')]
        .into_iter()
        .any(|(first, last)| text.len() > 1 && text.starts_with(first) && text.ends_with(last));
    if is_value {
        return scrub(text, prefix);
    }
    if text.len() > FIELD_PATH || memchr::memchr_iter(b'.', text.as_bytes()).count() > FIELD_NAMES {
        // A name of which nothing is kept.
        Bound::FieldPath.cross();
        return Some(crate::redact::REDACTED.to_owned());
    }
    let mut kept = scrub(text, prefix);
    for _ in 0..=ROUNDS {
        match name_in_path(kept.as_deref().unwrap_or(text), prefix) {
            Some(next) => kept = Some(next),
            None => return kept,
        }
    }
    Some(crate::redact::REDACTED.to_owned())
}

/// A path with the first address replaced that is one name of it or several.
fn name_in_path(path: &str, prefix: Prefix) -> Option<String> {
    // `frames.0.` is the place of a frame.
    let place = path.strip_prefix("frames.").and_then(|rest| Some(path.len() - rest.split_once('.')?.1.len()));
    let starts = std::iter::once(0).chain(path.match_indices('.').map(|(at, _)| at + 1));
    for start in starts.filter(|start| *start >= place.unwrap_or(0)) {
        let rest = path.get(start..)?;
        // What begins farther away is looked at from its own start.
        let end = (NAMED.min(rest.len())..rest.len()).find(|end| rest.is_char_boundary(*end));
        let near = end.map_or(rest, |end| &rest[..end]);
        if let Some(kept) = scrub(near, prefix).and_then(|_| scrub(rest, prefix)) {
            return Some(format!("{}{kept}", &path[..start]));
        }
        let ends = rest.match_indices('.').map(|(at, _)| at).chain([rest.len()]).take_while(|end| *end <= 48);
        for end in ends.collect::<Vec<_>>().into_iter().rev() {
            let network = rest[..end].parse::<IpAddr>().ok().filter(|address| !address.is_unspecified());
            let network = network.map(|address| prefix.network(address));
            if let Some(network) = network.filter(|network| !rest.starts_with(network.as_str())) {
                return Some(format!("{}{network}{}", &path[..start], &rest[end..]));
            }
        }
    }
    None
}

/// Bytes in which an address ends that begins before them, each letter of it written with an escape.
const NAMED: usize = 256;

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
    let alone = |byte: Option<&u8>| byte.is_none_or(|byte| !is_word(*byte));
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        if !inside(bytes[at]) {
            at += 1;
            continue;
        }
        let mut run = AddressRun { start: at, end: at, is_alone: true, is_ended: true };
        while run.end < bytes.len() && inside(bytes[run.end]) {
            run.end += 1;
        }
        run.is_alone = alone(at.checked_sub(1).and_then(|at| bytes.get(at)));
        // A name may follow behind a point.
        run.is_ended = matches!(bytes[run.end - 1], b'.' | b':') || alone(bytes.get(run.end));
        while let Some((start, place_of)) = run.next_start(bytes, at) {
            at = start;
            if let Some(length) = network_of_ours(&bytes[start..], run.end - start, prefix) {
                at += length;
                break;
            }
            let Some((length, address)) = leading(&bytes[start..run.end], place_of, run.is_ended) else {
                at += 1;
                continue;
            };
            // `192.0.2.7/32` goes with its length.
            let end = start + length;
            let bits = prefix_length(&bytes[end..]);
            let before = text.get(kept..place(start)).unwrap_or("");
            // What was an escape behind a backslash, that one escaped too, leaves none alone: JSON stays JSON.
            let is_escaped = text.as_bytes().get(place(start)) == Some(&b'\\');
            out.push_str(if is_escaped { before.trim_end_matches('\\') } else { before });
            out.push_str(&prefix.network(address));
            kept = place(end + bits);
            at = end + bits;
            // Another address may follow at once, behind what ended this one.
            run = AddressRun { start: at, is_alone: bytes[at..].starts_with(b"::"), ..run };
        }
        at = at.max(run.end);
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..).unwrap_or(""));
    Some(out)
}

/// Bytes that stand in addresses, one after the other, from `start` to `end`.
#[derive(Clone, Copy)]
struct AddressRun {
    start: usize,
    end: usize,
    /// No letter of a word stands before it.
    is_alone: bool,
    /// Nor behind it, or a point or colon ends it.
    is_ended: bool,
}

/// What stands before the place where an address may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BeforeRun {
    /// No word: the address may be all of the run.
    Nothing,
    /// A word and its colon, as in `client:192.0.2.7`, or in `be:192.0.2.7`, whose word has letters of an address alone.
    Colon,
    /// A word and its point.
    Point,
}

impl AddressRun {
    /// Where, from `at` on, an address may begin.
    fn next_start(&self, bytes: &[u8], at: usize) -> Option<(usize, BeforeRun)> {
        (at..self.end).find_map(|at| {
            if at == self.start && self.is_alone {
                return Some((at, BeforeRun::Nothing));
            }
            let before = at.checked_sub(1).filter(|before| *before >= self.start)?;
            match bytes[before] {
                b':' => Some((at, BeforeRun::Colon)),
                b'.' => {
                    // Numbers with points between them are of a version, or of an address that is told by its beginning.
                    let is_word = match before.checked_sub(1).filter(|last| *last >= self.start) {
                        Some(last) => !bytes[last].is_ascii_digit(),
                        None => true,
                    };
                    is_word.then_some((at, BeforeRun::Point))
                }
                _ => None,
            }
        })
    }
}

/// Bytes of an address at most: six groups, and one of IPv4.
const LONGEST: usize = 45;

/// Length of a network that `text` begins with, where it is as small as ours: what [`spelled`] wrote stays, whatever stands
/// behind it. `length`: of what stands before its slash.
fn network_of_ours(text: &[u8], length: usize, prefix: Prefix) -> Option<usize> {
    if length > LONGEST || text.get(length) != Some(&b'/') {
        return None;
    }
    let address = core::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    let network = prefix.network(address);
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

/// The address that `text` begins with, the rest of a run, and its length. A port, a name or another address may follow
/// it. `is_ended`: no letter of a word stands behind the run.
fn leading(text: &[u8], before: BeforeRun, is_ended: bool) -> Option<(usize, IpAddr)> {
    match v4_at(text) {
        Some((length, address)) => {
            let is_one = behind_v4(&text[length..], before, is_ended) && !address.is_unspecified();
            is_one.then_some((length, address.into()))
        }
        None => v6_at(text, before, is_ended),
    }
}

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

/// Four numbers with points between them, which may have zeros before them, and their length.
fn v4_at(text: &[u8]) -> Option<(usize, Ipv4Addr)> {
    let (mut octets, mut at) = ([0u8; 4], 0);
    for (index, octet) in octets.iter_mut().enumerate() {
        if index > 0 {
            (text.get(at) == Some(&b'.')).then_some(())?;
            at += 1;
        }
        let count = text[at..].iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        *octet = core::str::from_utf8(&text[at..at + count]).ok().filter(|digits| digits.len() < 4)?.parse().ok()?;
        at += count;
    }
    let is_over = !text.get(at).is_some_and(u8::is_ascii_hexdigit);
    is_over.then(|| (at, Ipv4Addr::from(octets)))
}

/// Four numbers with points between them are an address with `text` behind them: behind a point may come a name, or a port
/// (as tcpdump writes it) and no further number.
fn behind_v4(text: &[u8], before: BeforeRun, is_ended: bool) -> bool {
    let Some(rest) = text.strip_prefix(b".") else { return is_ended || !text.is_empty() };
    let next = &rest[..rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()];
    let is_name = next.is_empty() || !next.iter().all(u8::is_ascii_digit);
    let is_port = || core::str::from_utf8(next).is_ok_and(|port| port.parse::<u16>().is_ok());
    let is_last = || !matches!(rest[next.len()..], [b'.', digit, ..] if digit.is_ascii_digit());
    is_name || before != BeforeRun::Point && is_port() && is_last()
}

/// Letters of a group of an IPv6 address.
const GROUP: usize = 4;

/// Length of the group that `text` begins with; 0 where it begins with none.
fn group_at(text: &[u8]) -> usize {
    let count = text.iter().take(GROUP + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if count > GROUP { 0 } else { count }
}

/// An IPv6 address, as long as it may be, and its length.
fn v6_at(text: &[u8], before: BeforeRun, is_ended: bool) -> Option<(usize, IpAddr)> {
    let (mut groups, mut count, mut at) = ([0u16; 8], 0, 0);
    // Groups before `::`.
    let mut gap = None;
    let mut found = None;
    let (mut has_v4, mut are_pairs) = (false, true);
    let may_end = |at: usize| at < text.len() || is_ended;
    if text.starts_with(b"::") {
        (gap, at) = (Some(0), 2);
    }
    while count < 8 - usize::from(gap.is_some()) {
        let v4 = if gap.is_some() || count >= 6 { v4_at(&text[at..]) } else { None };
        if let Some((length, v4)) = v4.filter(|(length, _)| may_end(at + length)) {
            // Where the first group was a word, its second half has no room.
            let bits = u32::from(v4);
            let halves = [bits >> 16, bits & 0xffff].map(|half| u16::try_from(half).unwrap_or_default());
            let room = 8 - usize::from(gap.is_some()) - count;
            for half in halves.into_iter().take(room) {
                groups[count] = half;
                count += 1;
            }
            (at, has_v4) = (at + length, true);
            found = Some((at, count));
            break;
        }
        let length = group_at(&text[at..]);
        let digits = core::str::from_utf8(&text[at..at + length]).unwrap_or("");
        let Ok(group) = u16::from_str_radix(digits, 16) else { break };
        groups[count] = group;
        are_pairs &= length == 2;
        (count, at) = (count + 1, at + length);
        if (gap.is_some() || count == 8) && may_end(at) {
            found = Some((at, count));
        }
        if gap.is_none() && count < 8 && text[at..].starts_with(b"::") {
            (gap, at) = (Some(count), at + 2);
            found = Some((at, count));
        } else if text.get(at) == Some(&b':') {
            at += 1;
        } else {
            break;
        }
    }
    let (mut end, count) = found?;
    let head = gap.unwrap_or(count).min(count);
    let mut all = [0u16; 8];
    all[..head].copy_from_slice(&groups[..head]);
    all[8 - (count - head)..].copy_from_slice(&groups[head..count]);
    let address = IpAddr::from(all).to_canonical();
    if address.is_unspecified() || !has_digit(&text[..end]) {
        return None;
    }
    let first = &text[..group_at(text)];
    if count == 8 && !has_v4 {
        // A sum of bytes is written in pairs, as an address of a network card is.
        let is_whole = before == BeforeRun::Nothing && is_port_or_nothing(&text[end..]);
        if are_pairs && !is_whole {
            return None;
        }
        // The first of more groups may be a word, and the last one of the address: only what begins as addresses do has a
        // port.
        let is_beginning = first.len() == GROUP && has_digit(first);
        if !(is_beginning && is_port_or_nothing(&text[end..])) {
            end += more_groups(&text[end..]);
        }
    } else if !has_v4 {
        let is_whole = before == BeforeRun::Nothing && is_port_or_nothing(&text[end..]);
        // `f64::consts` is none.
        let is_likely = first.is_empty() || first.len() == GROUP || count >= 3;
        if !is_whole && !is_likely {
            return None;
        }
        if count == 7 {
            end += more_groups(&text[end..]);
        }
    }
    // What is left of a group that is too long, or of a word.
    end += text[end..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    Some((end, address))
}

/// Length of the groups that follow an address, each behind a colon. An address of IPv4 is none.
fn more_groups(text: &[u8]) -> usize {
    let mut at = 0;
    while text.get(at) == Some(&b':') {
        let length = group_at(&text[at + 1..]);
        if length == 0 || v4_at(&text[at + 1..]).is_some() {
            break;
        }
        at += 1 + length;
    }
    at
}

/// Bytes behind an address that are looked at.
const BEHIND: usize = 64;

/// `text`, which follows an address to the end of its run, is a port, or punctuation, as far as it is looked at.
fn is_port_or_nothing(text: &[u8]) -> bool {
    let text = &text[..text.len().min(BEHIND)];
    let end = text.iter().rposition(|byte| !matches!(byte, b'.' | b':')).map_or(0, |last| last + 1);
    match &text[..end] {
        [b':', port @ ..] => core::str::from_utf8(port).is_ok_and(|port| port.parse::<u16>().is_ok()),
        text => text.is_empty(),
    }
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
        // 192.0.2.77 within 6to4 and NAT64.
        assert_eq!(prefix.network("2002:c000:24d:1::1".parse().unwrap()), "2002:c000:200::/40");
        let most = Prefix { v6: 128, ..prefix };
        assert_eq!(most.network("64:ff9b::192.0.2.77".parse().unwrap()), "64:ff9b::c000:200/120");
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
            // Behind a word and its colon, whatever letters the word has.
            ("client:203.0.113.77", "client:203.0.113.0/24"),
            ("peer:203.0.113.77:4433", "peer:203.0.113.0/24:4433"),
            ("/q?ip:203.0.113.77", "/q?ip:203.0.113.0/24"),
            ("client:2001:db8:77::1", "client:2001:db8:77::/48"),
            ("be:203.0.113.77", "be:203.0.113.0/24"),
            ("a:be:203.0.113.77.", "a:be:203.0.113.0/24."),
            ("client1:203.0.113.77:", "client1:203.0.113.0/24:"),
            ("10:20:30:203.0.113.77", "10:20:30:203.0.113.0/24"),
            ("be:2001:db8:77:1::1", "be:2001:db8::/48"),
            ("be:2001:db8:1:2:3:4:5:77", "be:2001:db8::/48"),
            ("1:2001:db8:1:2:3:4:5:77", "1:2001:db8::/48"),
            ("client:2001:DB8:1:2:3:4:5:77", "client:2001:db8:1::/48"),
            ("client::2001:db8:1:2:3:4:5:77", "client::2001:db8:1::/48"),
            ("client:::ffff:203.0.113.77", "client:203.0.113.0/24"),
            ("be::ffff:203.0.113.77", "be::/48"),
            ("client:::1", "client:::/48"),
            ("client:fe80::1%eth0", "client:fe80::/48%eth0"),
            ("client:64:ff9b::203.0.113.77:1", "client:64:ff9b::/48:1"),
            ("client_203.0.113.77_2001:db8::7_x", "client_203.0.113.0/24_2001:db8::/48_x"),
            ("client.203.0.113.77", "client.203.0.113.0/24"),
            ("be.203.0.113.77", "be.203.0.113.0/24"),
            ("...203.0.113.77", "...203.0.113.0/24"),
            ("client:.203.0.113.77", "client:.203.0.113.0/24"),
            ("client:203.0.113.77/32", "client:203.0.113.0/24"),
            ("client:203.000.113.077", "client:203.0.113.0/24"),
            (
                "a=203.0.113.77,b@203.0.113.78|\"203.0.113.79(2001:db8::7",
                "a=203.0.113.0/24,b@203.0.113.0/24|\"203.0.113.0/24(2001:db8::/48",
            ),
            // Before a name, a port or another address.
            ("203.0.113.77:backend", "203.0.113.0/24:backend"),
            ("203.0.113.77.de", "203.0.113.0/24.de"),
            ("203.0.113.77.443 > 198.51.100.7.51234:", "203.0.113.0/24.443 > 198.51.100.0/24.51234:"),
            ("2001:db8::7.443", "2001:db8::/48.443"),
            ("2001:db8:1:2::backend", "2001:db8:1::/48kend"),
            ("2001:db8:1:2::12345", "2001:db8:1::/48"),
            ("203.0.113.77:198.51.100.7", "203.0.113.0/24:198.51.100.0/24"),
            ("203.0.113.77:443:198.51.100.7:51234", "203.0.113.0/24:443:198.51.100.0/24:51234"),
            ("be:2001:db8:1:2:3:4:203.0.113.77", "be:2001:db8::/48"),
            ("2001:db8::1:2001:db8::2", "2001:db8::/48::/48"),
            ("2001:db8:1:2:3:4:5:77:203.0.113.77", "2001:db8:1::/48:203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:77:2001:db8:1:2:3:4:5:78", "2001:db8:1::/48"),
        ] {
            assert_eq!(scrub(text, prefix).as_deref(), Some(want), "{text}");
            assert_eq!(scrub(want, prefix), None, "{text}: again");
        }
        for (text, want) in [
            ("192%2E0%2E2%2E7", "192.0.2.0/24"),
            ("client%3A192.0.2.7", "client%3A192.0.2.0/24"),
            (r"be\u003a192.0.2.7", r"be\u003a192.0.2.0/24"),
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
        let long = |length: usize| format!("{}.192.0.2.7", "a".repeat(length - 10));
        let network = |length| scrub_path(&long(length), prefix);
        assert!(network(FIELD_PATH - 11).is_some_and(|path| path.ends_with("192.0.2.0/24")));
        assert_eq!(network(FIELD_PATH + 1).as_deref(), Some("[redacted]"));
        assert!(Bound::FieldPath.times() > 0);
        // Nor one of more points, nor one in which address follows address.
        let names = |points: usize| scrub_path(&format!("{}192.0.2.7", "a.".repeat(points - 3)), prefix);
        assert!(names(FIELD_NAMES).is_some_and(|path| path.ends_with("a.192.0.2.0/24")));
        assert_eq!(names(FIELD_NAMES + 1).as_deref(), Some("[redacted]"));
        assert_eq!(
            scrub_path(&format!("request.headers.{}1", "1.".repeat(300)), prefix).as_deref(),
            Some("[redacted]")
        );
        let many = |name: &str, count: usize| scrub_path(&format!("1.2.3.4.{name}.").repeat(count), prefix);
        assert_eq!(many("x", 6), Some("1.2.3.0/24.x.".repeat(6)));
        assert_eq!(many("5", 1).as_deref(), Some("1.2.3.0/24.5."));
        assert_eq!(many("5", 6).as_deref(), Some("[redacted]"));
        // A value is no path.
        let value = format!("\"GET /.{}1\"", "1.".repeat(300));
        assert_eq!(scrub_path(&value, prefix), scrub(&value, prefix));
        assert_eq!(scrub_path("[0.5,1.5,2.5,3.5]", prefix), None);
        assert_eq!(scrub_path(&"1.".repeat(1 << 20), prefix).as_deref(), Some("[redacted]"));
        assert_eq!(scrub_name("conn_192.0.2.7_51234.qlog", prefix).as_deref(), Some("conn_192.0.2.0/24_51234.qlog"));
        for text in [
            "10:20:30",
            "2026-11-22T10:20:30.123456",
            "1.2.3",
            "std::deque",
            "std::f64::consts",
            "f64::consts",
            "v1.2.3.4",
            "client:v1.2.3.4",
            "client:1.2.3",
            "1.3.6.1.4.1.311",
            "Chrome/119.0.6045.199",
            "client:119.0.6045.199",
            "0.0.0.0",
            "client:0.0.0.0",
            "::",
            "a::b",
            "a:b",
            "a:1",
            "12.5",
            "192.0.2.0/24",
            "02:42:ac:11:00:02",
            "mac:02:42:ac:11:00:02",
            "sha1:d3:48:62:0f:a1:90:12:34:56:78:9a:bc:de:f0:11:22:33:44:55:66",
            "0011223344556677",
            "id:00112233445566778899aabbccddeeff",
            "",
        ] {
            assert_eq!(scrub(text, prefix), None, "{text}");
        }
    }
}
