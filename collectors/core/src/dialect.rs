//! How one writer's traces are to be read: a row of a table in `schema/catalogue/dialects`, chosen by the header.

use crate::catalogue::{SchemaError, SchemaFault};
use crate::reader::number::Places;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a stack reports lost packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Losses {
    /// One event a packet.
    #[default]
    Packet,
    /// One event for many packets, of which only the largest is named.
    Batch,
    /// A count in metrics.
    Counter,
    /// Not at all.
    None,
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
    time: Option<String>,
    rtt: String,
    rtt_first: Option<f64>,
    delay: String,
    #[serde(default)]
    pacing: Option<String>,
    /// How losses are reported.
    #[serde(default)]
    pub losses: Losses,
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
    /// `pacing_rate` times this is bits a second.
    pub pacing: u64,
}

impl Dialect {
    /// Reads one dialect file.
    pub fn read(text: &str) -> Result<Self, SchemaError> {
        let dialect: Self =
            toml::from_str(text).map_err(|error| SchemaFault::Syntax(error.to_string()).of("dialects"))?;
        for unit in [Some(&dialect.rtt), Some(&dialect.delay), dialect.time.as_ref()].into_iter().flatten() {
            places(unit)
                .ok_or_else(|| SchemaFault::Unit(unit.clone()).of(&format!("dialects/{}.toml", dialect.name)))?;
        }
        Ok(dialect)
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
    pub fn units(&self, header_time: &str, first_rtt: Option<f64>) -> Units {
        let rtt = match (self.rtt_first, first_rtt) {
            (Some(limit), Some(first)) if first < limit => "s",
            _ => &self.rtt,
        };
        Units {
            time: self.time.as_deref().and_then(places).or_else(|| places(header_time)).unwrap_or(6),
            rtt: places(rtt).unwrap_or(6),
            delay: places(&self.delay).unwrap_or(6),
            pacing: if self.pacing.as_deref() == Some("B/s") { 8 } else { 1 },
        }
    }
}

impl Units {
    /// The units that [`Units::rule`] wrote down; milliseconds and bits for what it does not say.
    pub fn from_rule(rule: &str) -> Self {
        let of = |key: &str| rule.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        let time = |key: &str| of(key).and_then(places).unwrap_or(6);
        let pacing = if of("pacing") == Some("B/s") { 8 } else { 1 };
        Self { time: time("time"), rtt: time("rtt"), delay: time("delay"), pacing }
    }

    /// For people and for `connections.unit_rule`.
    pub fn rule(&self) -> String {
        let pacing = if self.pacing == 8 { "B/s" } else { "bit/s" };
        format!("time={} rtt={} delay={} pacing={pacing}", unit(self.time), unit(self.rtt), unit(self.delay))
    }
}

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
