//! How one writer's traces are to be read: a row of a table in `schema/catalogue/dialects`, chosen by the header.

use crate::catalogue::{SchemaError, SchemaFault};
use crate::reader::number::Places;
use get_size2::GetSize;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a stack reports lost packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[serde(rename_all = "lowercase")]
pub enum LossReporting {
    /// One event a packet.
    #[default]
    Packet,
    /// Nobody knows: one event a packet, if there are any.
    Unknown,
    /// One event for many packets, of which only the largest is named.
    Batch,
    /// A count in metrics.
    Counter,
    /// Not at all.
    None,
}

/// The unit of `pacing_rate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Pacing {
    #[default]
    #[serde(rename = "bit/s")]
    Bits,
    #[serde(rename = "B/s")]
    Bytes,
}

impl Pacing {
    fn name(self) -> &'static str {
        match self {
            Self::Bits => "bit/s",
            Self::Bytes => "B/s",
        }
    }

    /// Bits in its unit.
    fn bits(self) -> u64 {
        match self {
            Self::Bits => 1,
            Self::Bytes => 8,
        }
    }
}

fn a_unit<'de, D: Deserializer<'de>>(from: D) -> Result<Places, D::Error> {
    let text = String::deserialize(from)?;
    places(&text).ok_or_else(|| D::Error::custom(format!("unknown unit {text}")))
}

/// "Values above 20 are invalid" (RFC 9000, 18.2).
fn is_exponent(exponent: &u32) -> bool {
    *exponent <= 20
}

fn an_exponent<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let exponent = Some(u32::deserialize(from)?).filter(is_exponent);
    exponent.ok_or_else(|| D::Error::custom("ack_delay_exponent is at most 20"))
}

fn some_unit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Places>, D::Error> {
    a_unit(from).map(Some)
}

/// One dialect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// Name of its file.
    pub name: String,
    /// Place in the order of trying.
    pub order: u32,
    when: BTreeMap<String, String>,
    /// The writer.
    pub stack: String,
    #[serde(default, deserialize_with = "some_unit")]
    time: Option<Places>,
    #[serde(deserialize_with = "a_unit")]
    rtt: Places,
    rtt_first: Option<f64>,
    #[serde(deserialize_with = "a_unit")]
    delay: Places,
    /// The writer leaves `ack_delay` as the frame has it, to be multiplied by 2 to this power (RFC 9000, 19.3).
    #[serde(default, deserialize_with = "an_exponent")]
    ack_delay_exponent: u32,
    #[serde(default)]
    pacing: Pacing,
    /// Header fields of free text whose last word is the connection's id.
    #[serde(default)]
    pub id_in: Vec<String>,
    /// How losses are reported.
    #[serde(default)]
    pub losses: LossReporting,
}

/// The units of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Of event times and timer deltas.
    pub time: Places,
    /// Of RTTs.
    pub rtt: Places,
    /// Of `ack_delay`.
    pub delay: Places,
    /// `ack_delay` times this is a delay: a power of two, 1 where the writer has decoded it.
    pub delay_times: u64,
    /// `pacing_rate` times this is bits a second.
    pub pacing: u64,
}

impl Dialect {
    /// Reads one dialect file.
    pub fn read(text: &str) -> Result<Self, SchemaError> {
        toml::from_str(text).map_err(|error| SchemaFault::Syntax(error.to_string()).of("dialects"))
    }

    /// The header is of this dialect. `header` has the keys `file` and `trace`.
    pub fn holds(&self, header: &Value, event_fields: &str) -> bool {
        self.when.iter().all(|(path, pattern)| {
            let found = if path == "event_fields" {
                Some(event_fields.to_owned())
            } else {
                let mut at = Some(header);
                for key in path.split('.') {
                    at = at.and_then(|value| value.get(key));
                }
                at.filter(|value| !value.is_null()).map(|value| match value {
                    Value::String(text) => text.to_lowercase(),
                    other => other.to_string().to_lowercase(),
                })
            };
            match (found, pattern.as_str()) {
                (found, "!") => found.is_none(),
                (None, _) => false,
                (Some(text), pattern) => like(&text, &pattern.to_lowercase()),
            }
        })
    }

    /// The units, given the header's time unit and the trace's first smoothed RTT.
    pub fn units(&self, header_time: Places, first_rtt: Option<f64>) -> Units {
        let rtt = match (self.rtt_first, first_rtt) {
            (Some(limit), Some(first)) if first < limit => SECONDS,
            _ => self.rtt,
        };
        let time = self.time.unwrap_or(header_time);
        Units { time, rtt, delay: self.delay, delay_times: 1 << self.ack_delay_exponent, pacing: self.pacing.bits() }
    }
}

impl Units {
    /// One unit for all durations; delays are decoded, rates are bits a second.
    pub const fn all(unit: Places) -> Self {
        Self { time: unit, rtt: unit, delay: unit, delay_times: 1, pacing: 1 }
    }

    /// The units that [`Units::rule`] wrote down; `None` for anything else.
    pub fn from_rule(rule: &str) -> Option<Self> {
        let of = |key: &str| rule.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        let time = |key: &str| of(key).and_then(places);
        let pacing = [Pacing::Bits, Pacing::Bytes].into_iter().find(|pacing| of("pacing") == Some(pacing.name()))?;
        let exponent = of("ack_delay_exponent").map_or(Some(0), |text| text.parse().ok().filter(is_exponent))?;
        let (delay, delay_times) = (time("delay")?, 1 << exponent);
        Some(Self { time: time("time")?, rtt: time("rtt")?, delay, delay_times, pacing: pacing.bits() })
    }

    /// For people and for `connections.unit_rule`.
    pub fn rule(&self) -> String {
        let pacing = if self.pacing == Pacing::Bytes.bits() { Pacing::Bytes } else { Pacing::Bits }.name();
        let exponent = match self.delay_times.trailing_zeros() {
            0 => String::new(),
            exponent => format!(" ack_delay_exponent={exponent}"),
        };
        format!("time={} rtt={} delay={}{exponent} pacing={pacing}", unit(self.time), unit(self.rtt), unit(self.delay))
    }
}

const SECONDS: Places = 9;

/// Decimal places between a unit and a nanosecond.
pub fn places(unit: &str) -> Option<Places> {
    match unit {
        "s" => Some(9),
        "ms" => Some(6),
        "us" => Some(3),
        _ => None,
    }
}

/// The unit of so many places.
pub fn unit(places: Places) -> &'static str {
    match places {
        9 => "s",
        6 => "ms",
        _ => "us",
    }
}

/// `*` stands for any text; at most one at each end and any number between.
fn like(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return text == pattern };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn stars_match_any_text() {
        assert!(like("quic-go qlog", "quic-go*"));
        assert!(like("a quicx log", "*quicx*"));
        assert!(like("anything", "*"));
        assert!(like("converted from x.qtr", "converted from *.qtr"));
        assert!(!like("quic", "quic-go*"));
    }
}
