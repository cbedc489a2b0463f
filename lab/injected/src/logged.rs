//! What a log says of sizes, and the same log of a writer that says less.

use quiclens_simulated::Failure;
use serde_json::Value;

/// Of every packet in use; it protects the rest.
const TAG_BYTES: u64 = 16;
const SEPARATOR: u8 = 0x1e;

/// Whether a stack's sizes of packets count the tag.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub sent_with_tag: bool,
    pub received_with_tag: bool,
}

impl Sizes {
    /// The log as a writer leaves it that takes a packet's size before it is sealed.
    pub fn without_tag(self, log: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut found = Vec::with_capacity(log.len());
        for record in log.split(|byte| *byte == SEPARATOR).filter(|record| !record.is_empty()) {
            let mut record: Value = serde_json::from_slice(record)?;
            let name = record.get("name").and_then(Value::as_str).unwrap_or_default();
            let counts_tag = match name.rsplit(':').next() {
                Some("packet_sent") => self.sent_with_tag,
                Some("packet_received") => self.received_with_tag,
                _ => false,
            };
            if counts_tag {
                for place in ["/data/raw/length", "/data/header/length"] {
                    if let Some(length) = record.pointer_mut(place)
                        && let Some(bytes) = length.as_u64()
                    {
                        *length = bytes.checked_sub(TAG_BYTES).ok_or("a packet shorter than its tag")?.into();
                    }
                }
            }
            found.push(SEPARATOR);
            serde_json::to_writer(&mut found, &record)?;
            found.push(b'\n');
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_taken_off_where_it_was_counted() {
        let log = b"\x1e{\"qlog_format\":\"JSON-SEQ\"}\n\
            \x1e{\"time\":0.5,\"name\":\"quic:packet_sent\",\"data\":{\"raw\":{\"length\":1200}}}\n\
            \x1e{\"time\":1.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"length\":40}}}\n";
        let text = |sent_with_tag, received_with_tag| {
            let sizes = Sizes { sent_with_tag, received_with_tag };
            String::from_utf8(sizes.without_tag(log).unwrap()).unwrap()
        };
        assert_eq!(text(false, false).as_bytes(), log, "nothing else changes");
        assert_eq!(text(true, false), String::from_utf8_lossy(log).replace("1200", "1184"));
        assert_eq!(text(false, true), String::from_utf8_lossy(log).replace("40", "24"));
    }
}
