//! Which version of QUIC a connection speaks.

use crate::event::{Event, Word};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The version, as far as the log shows it: the chosen one, else that of the latest packet with a long header.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct SpokenVersion {
    of_packet: Option<u32>,
    chosen: Option<u32>,
}

impl SpokenVersion {
    /// A packet goes out or comes. Version Negotiation packets have version 0 (RFC 9000, 17.2.1), and choose none.
    pub fn packet(&mut self, event: &Event) {
        if !event.is(Word::PacketType, "1RTT")
            && ["initial", "handshake", "0RTT"].iter().any(|kind| event.is(Word::PacketType, kind))
            && let Some(version) = ["header.version", "version"].iter().find_map(|key| told(event, key))
        {
            self.of_packet = Some(version);
        }
    }

    /// The log states the version that the endpoints chose (RFC 9368), or began with.
    pub fn told(&mut self, event: &Event) {
        if let Some(version) = ["chosen_version", "quic_version"].iter().find_map(|key| told(event, key)) {
            self.chosen = Some(version);
        }
    }

    /// Column `quic_version`: hex without leading zeros, empty where it is not known.
    pub fn text(&self) -> String {
        self.chosen.or(self.of_packet).map_or_else(String::new, |version| format!("{version:x}"))
    }
}

/// A version as logs write it: hex, with `0x` or without, or a JSON number. 0 is none.
fn told(event: &Event, key: &str) -> Option<u32> {
    let json = event.leftover(key)?.trim();
    let version = match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) => u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()?,
        None => json.parse().ok()?,
    };
    (version != 0).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(packet_type: &str, more: &[(&str, &str)]) -> Event {
        let mut event = Event::default();
        event.set_word(Word::PacketType, packet_type.as_bytes());
        for (key, json) in more {
            let field = (event.keep(key.as_bytes()), event.keep(json.as_bytes()));
            event.more.push(field);
        }
        event
    }

    #[test]
    fn the_latest_long_header_says_it_unless_the_log_says_what_was_chosen() {
        let mut version = SpokenVersion::default();
        assert_eq!(version.text(), "");
        for (kind, json, text) in [
            ("version_negotiation", "\"00000000\"", ""),
            ("initial", "\"0xff00001d\"", "ff00001d"),
            ("initial", "\"0\"", "ff00001d"),
            ("initial", "\"no version\"", "ff00001d"),
            ("handshake", "\"00000001\"", "1"),
            ("1RTT", "\"2\"", "1"),
        ] {
            version.packet(&event(kind, &[("header.version", json)]));
            assert_eq!(version.text(), text, "{kind} {json}");
        }
        version.told(&event("", &[("chosen_version", "1798521807")]));
        assert_eq!(version.text(), "6b3343cf");
        version.packet(&event("handshake", &[("header.version", "\"1\"")]));
        assert_eq!(version.text(), "6b3343cf");
    }
}
