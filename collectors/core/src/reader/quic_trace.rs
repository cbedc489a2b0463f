//! Rows of Facebook's QUIC_TRACE and of `quiclens line v1`.
//!
//! A value is an untyped comma list without a version: its meaning is told by (event, first token, arity, types), from
//! the grammar in `schema/catalogue/quic_trace_events.json`. The raw value is always kept.

use crate::catalogue::Catalogue;
use crate::event::{Event, Kind, Number, Word};
use crate::limits::SEQ_LIMIT;
use crate::reader::number::{scaled, whole};
use crate::reader::shape;
use crate::reader::skip::Skip;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Events that keep their QUIC_TRACE name, because no qlog event says the same.
pub const OWN_EVENTS: &[(&str, Kind)] = &[
    ("bbr_ack", Kind::CcAck),
    ("bbr_persistent_congestion", Kind::CcPersistentCongestion),
    ("clock_anchor", Kind::ClockAnchor),
    ("copa2_ack", Kind::CcAck),
    ("copa2_loss", Kind::CcLoss),
    ("copa_ack", Kind::CcAck),
    ("copa_loss", Kind::CcLoss),
    ("cubic_ack", Kind::CcAck),
    ("cubic_loss", Kind::CcLoss),
    ("cubic_may_block", Kind::CwndMayBlock),
    ("cubic_persistent_congestion", Kind::CcPersistentCongestion),
    ("cubic_remove_inflight", Kind::CcRemoveInflight),
    ("cubic_rto", Kind::CcPersistentCongestion),
    ("cubic_sent", Kind::MetricsUpdated),
    ("cwnd_may_block", Kind::CwndMayBlock),
    ("flow_control_event", Kind::FlowControlEvent),
    ("handshake_alarm", Kind::HandshakeAlarm),
    ("initcwnd", Kind::MetricsUpdated),
    ("pto_alarm", Kind::PtoAlarm),
    ("rto_alarm", Kind::PtoAlarm),
    ("stream_event", Kind::StreamEvent),
    ("update_rtt", Kind::UpdateRtt),
];

#[derive(Clone, Debug, Deserialize)]
struct Variant {
    event: String,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, Deserialize)]
struct Field {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    value: Option<String>,
    #[serde(default)]
    values: Vec<String>,
}

/// Variants of each event, those that begin with a literal first.
#[derive(Clone, Debug, Default)]
pub struct Grammar(FxHashMap<Box<[u8]>, Vec<Variant>>);

impl Grammar {
    /// Reads the grammar file.
    pub fn read(text: &str) -> Result<Self, String> {
        let variants: Vec<Variant> = serde_json::from_str(text).map_err(|e| format!("quic_trace_events.json: {e}"))?;
        let mut events: FxHashMap<Box<[u8]>, Vec<Variant>> = FxHashMap::default();
        for variant in variants {
            events.entry(variant.event.as_bytes().into()).or_default().push(variant);
        }
        for variants in events.values_mut() {
            variants.sort_by_key(|variant| variant.fields.first().is_none_or(|field| field.kind != "lit"));
        }
        Ok(Self(events))
    }

    /// Rows of this event have a form that is known.
    pub fn knows(&self, event: &[u8]) -> bool {
        self.0.contains_key(event)
    }

    /// White space at a row's end, as a table's export leaves it, belongs to no value. A last text may be empty: then a
    /// space stands after the comma before it, and nothing else.
    fn fields<'v>(&self, event: &[u8], value: &'v str) -> Option<Vec<(&Field, &'v str)>> {
        let variants = self.0.get(event)?;
        let fit = |value: &'v str| variants.iter().find_map(|variant| matched(&variant.fields, value));
        fit(value.trim_end_matches('\t')).or_else(|| fit(value.trim_end_matches([' ', '\t'])))
    }
}

fn matched<'g, 'v>(fields: &'g [Field], value: &'v str) -> Option<Vec<(&'g Field, &'v str)>> {
    let mut rest = Some(value);
    let mut found = Vec::with_capacity(fields.len());
    for field in fields {
        let text = rest?;
        let (token, next) = if field.kind == "text_rest" {
            (text, None)
        } else {
            text.split_once(", ").map_or((text, None), |(token, next)| (token, Some(next)))
        };
        let fits = match field.kind.as_str() {
            "u64" => whole(token.as_bytes()).is_some(),
            "i64" => token.parse::<i64>().is_ok(),
            "bool01" => token == "0" || token == "1",
            "lit" => field.value.as_deref() == Some(token),
            "enum" => field.values.iter().any(|known| known == token),
            _ => true,
        };
        if !fits {
            return None;
        }
        found.push((field, token));
        rest = next;
    }
    rest.is_none().then_some(found)
}

/// A row cut into its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicTraceRow<'t> {
    /// Declared connection, empty in the three-column form.
    pub connection: &'t str,
    /// Declared sequence number (`quiclens line v1`).
    pub seq: Option<u64>,
    time: &'t str,
    name: &'t str,
    value: &'t str,
}

/// The row is the heading of its columns: no row itself, and of words for a time and an event.
pub fn is_heading(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.contains("event") && lower.contains("time") && row(line).is_none()
}

/// Cuts a line into a row: tabs, `||` or `|` between three or five columns.
pub fn row(line: &str) -> Option<QuicTraceRow<'_>> {
    let separator = ["\t", "||", "|"].into_iter().find(|separator| line.contains(separator))?;
    let columns: Vec<&str> = if separator == "\t" {
        line.splitn(5, '\t').collect()
    } else {
        let line = line.strip_prefix('|').map_or(line, |line| line.strip_suffix('|').unwrap_or(line));
        line.splitn(5, separator).map(str::trim).collect()
    };
    let is_time = |text: &str| scaled(text.as_bytes(), 3).is_some();
    match *columns.as_slice() {
        [time, name] if is_time(time) => Some(QuicTraceRow { connection: "", seq: None, time, name, value: "" }),
        [time, name, value] if is_time(time) => Some(QuicTraceRow { connection: "", seq: None, time, name, value }),
        [time, client, server, name, value] if separator != "\t" && is_time(time) => Some(QuicTraceRow {
            connection: if server.is_empty() { client } else { server },
            seq: None,
            time,
            name,
            value,
        }),
        // A three-column value may itself hold tabs, or end in them; then the first column is the time all the same, and no
        // number comes after it.
        [time, name, ..] if is_time(time) && whole(name.as_bytes()).is_none() => {
            let rest = line.splitn(3, separator).nth(2).unwrap_or("");
            Some(QuicTraceRow { connection: "", seq: None, time, name, value: rest })
        }
        // `quiclens line v1` is cut by tabs alone.
        [connection, seq, time, name, value] if separator == "\t" && is_time(time) => {
            let seq = whole(seq.as_bytes()).filter(|seq| *seq < SEQ_LIMIT)?;
            Some(QuicTraceRow { connection, seq: Some(seq), time, name, value })
        }
        _ => None,
    }
}

/// Connection and seq that a row of `quiclens line v1` begins with, whatever follows.
pub fn named(row: &[u8]) -> Option<(&str, u64)> {
    let mut columns = row.splitn(3, |byte| *byte == b'\t');
    let (connection, seq, _) = (columns.next()?, columns.next()?, columns.next()?);
    Some((core::str::from_utf8(connection).ok()?, whole(seq).filter(|seq| *seq < SEQ_LIMIT)?))
}

/// Reads one line into `event` and gives the seq that it declares. An event that the grammar does not know keeps its
/// name and raw value.
pub fn read(catalogue: &Catalogue, line: &[u8], event: &mut Event) -> Result<Option<u64>, Skip> {
    event.clear();
    let line = core::str::from_utf8(line).map_err(|_| Skip::InvalidUtf8)?;
    let row = row(line.trim_end_matches(['\r', '\n'])).ok_or(Skip::NotARecord)?;
    if row.name.is_empty() {
        return Err(Skip::NoName);
    }
    event.source_ns = scaled(row.time.as_bytes(), 3).ok_or(Skip::NoTime)?;
    event.seq = row.seq.unwrap_or(0);
    event.group = event.keep(row.connection.as_bytes());
    match catalogue.events.get(row.name.as_bytes()) {
        Some(known) => {
            event.name = event.keep(known.name.as_bytes());
            event.kind = known.kind;
        }
        None => event.name = event.keep(row.name.as_bytes()),
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    event.shape.extend_from_slice(b"{\"time\":");
    event.shape.push(shape::TIME);
    event.shape.extend_from_slice(format!(",\"name\":{},\"data\":{{\"value\":", quoted(row.name)).as_bytes());
    event.shape.push(shape::MORE);
    event.shape.extend_from_slice(b"}}");
    let fields = catalogue.grammar.fields(row.name.as_bytes(), row.value);
    if fields.is_none() && catalogue.grammar.knows(row.name.as_bytes()) {
        event.next_is_unread();
    }
    leftover(event, "value", &quoted(row.value));
    for (field, token) in fields.into_iter().flatten() {
        set(event, field, token);
    }
    Ok(row.seq)
}

fn leftover(event: &mut Event, key: &str, json: &str) {
    let key = event.keep(key.as_bytes());
    let value = event.keep(json.as_bytes());
    event.more.push((key, value));
}

fn set(event: &mut Event, field: &Field, token: &str) {
    let number = match field.name.as_str() {
        "packet_num" | "largest_lost_packet_num" | "largest_sent" => Some(Number::PacketNumber),
        "packet_bytes" | "datagram_bytes" => Some(Number::PacketBytes),
        "cwnd_bytes" | "cwnd_bytes_effective" => Some(Number::CongestionWindow),
        "inflight_bytes" => Some(Number::BytesInFlight),
        "rtt_sample_us" => Some(Number::LatestRttUs),
        "ack_delay_us" => Some(Number::AckDelayUs),
        "min_rtt_us" => Some(Number::MinRttUs),
        "srtt_us" => Some(Number::SmoothedRttUs),
        "lost_bytes" => Some(Number::LostBytes),
        "lost_packets" => Some(Number::LostPackets),
        "stream_id" => Some(Number::StreamId),
        "pto_count_before" | "rto_count_before" => Some(Number::PtoCount),
        "acked_bytes" => Some(Number::Length),
        "ms_since_stream_created" => Some(Number::DeltaUs),
        _ => None,
    };
    if let (Some(number), Some(value)) = (number, whole(token.as_bytes())) {
        event.set(number, if number == Number::DeltaUs { value.saturating_mul(1000) } else { value });
        return;
    }
    match (field.name.as_str(), token) {
        ("pn_space", "InitialSpace") => event.set_word(Word::PacketType, b"initial"),
        ("pn_space", "HandshakeSpace") => event.set_word(Word::PacketType, b"handshake"),
        ("pn_space", "AppDataSpace") => event.set_word(Word::PacketType, b"1RTT"),
        ("kind", _) => event.set_word(Word::Trigger, token.as_bytes()),
        ("cubic_state" | "bbr_state", _) => event.set_word(Word::NewState, token.as_bytes()),
        _ => {
            let json = match field.kind.as_str() {
                "u64" | "i64" | "bool01" => token.to_owned(),
                _ => serde_json::Value::from(token).to_string(),
            };
            leftover(event, &field.name, &json);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_row_is_a_heading() {
        for heading in ["time\tevent\tvalue", "connection_id\tseq\ttime_us\tevent_name\tvalue", "|time_us|event|value|"]
        {
            assert!(is_heading(heading), "{heading}");
        }
        assert!(!is_heading("deadbeef00000001\t7\t100\tstream_event\ton_error, 4, 12, idle timeout"));
    }

    #[test]
    fn tabs_at_the_end_of_a_row_belong_to_its_value() {
        for ends in ["", "\t", "\t\t", "\t\t\t", " \t "] {
            let text = format!("100\tpacket_sent\t12{ends}");
            let found = row(&text).unwrap();
            assert_eq!((found.time, found.name, found.seq), ("100", "packet_sent", None), "{text:?}");
            assert_eq!(found.value.trim_end(), "12", "{text:?}");
            assert_eq!(found.value.len(), 2 + ends.len(), "the value is kept as it stands: {text:?}");
        }
    }

    #[test]
    fn a_last_text_may_be_empty_with_or_without_tabs_behind_it() {
        let catalogue = Catalogue::load().unwrap();
        for value in ["abort, 4, 12, ", "abort, 4, 12, \t", "abort, 4, 12, gone", "abort, 4, 12, gone\t \t"] {
            let fields = catalogue.grammar.fields(b"stream_event", value).unwrap();
            assert_eq!(
                fields[..3].iter().map(|(_, token)| *token).collect::<Vec<_>>(),
                ["abort", "4", "12"],
                "{value:?}"
            );
        }
    }

    #[test]
    fn a_row_has_a_time_and_a_seq_that_a_version_can_hold() {
        for row_text in
            ["-\tpacket_sent\t1", ".\tpacket_sent\t1", "5.\tpacket_sent\t1", "c\t274877906944\t1\tpacket_sent\t1"]
        {
            assert_eq!(row(row_text), None, "{row_text}");
        }
        assert_eq!(row("c\t274877906943\t1\tpacket_sent\t1").and_then(|row| row.seq), Some(SEQ_LIMIT - 1));
        assert_eq!(named(b"c\t274877906944\t1"), None);
    }
}
