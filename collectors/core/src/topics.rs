//! Kafka topics, as `schema/topics` has them.

use crate::catalogue::{SchemaError, SchemaFault};
use std::collections::BTreeMap;

include!(concat!(env!("OUT_DIR"), "/topics.rs"));

/// A topic, and whether its messages are keyed by their collector, so that those of one stay in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "said above")]
pub struct Topic {
    pub name: &'static str,
    pub is_by_collector: bool,
}

/// Topic of each table that has one; the error names the file that cannot be read.
pub fn by_table() -> Result<BTreeMap<String, Topic>, SchemaError> {
    let mut topics = BTreeMap::new();
    for (topic, text) in TOPICS {
        let file: toml::Table = toml::from_str(text)
            .map_err(|error| SchemaFault::Syntax(error.to_string()).of(&format!("topics/{topic}.toml")))?;
        let text = |name| file.get(name).and_then(toml::Value::as_str);
        if let Some(table) = text("table") {
            let is_by_collector = text("key").is_some_and(|key| key.starts_with("collector"));
            topics.insert(table.to_owned(), Topic { name: topic, is_by_collector });
        }
    }
    Ok(topics)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    #[test]
    fn every_table_that_is_shipped_has_a_topic() {
        let topics = super::by_table().unwrap();
        let aliases = super::Topic { name: "quic.aliases.v1", is_by_collector: true };
        assert_eq!((topics["connection_aliases"], topics["events"].is_by_collector), (aliases, false));
        for table in ["events", "episodes", "streams", "connections", "request_lines", "rejects"] {
            assert!(topics.contains_key(table), "{table}");
        }
    }
}
