//! Kafka topics, as `schema/topics` has them.

use std::collections::BTreeMap;

include!(concat!(env!("OUT_DIR"), "/topics.rs"));

/// Topic of each table that has one; the error names the file that cannot be read.
pub fn by_table() -> Result<BTreeMap<String, &'static str>, String> {
    let mut topics = BTreeMap::new();
    for (topic, text) in TOPICS {
        let file: toml::Table = toml::from_str(text).map_err(|error| format!("{topic}.toml: {error}"))?;
        if let Some(table) = file.get("table").and_then(toml::Value::as_str) {
            topics.insert(table.to_owned(), *topic);
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
        assert_eq!(topics["connection_aliases"], "quic.aliases.v1");
        for table in ["events", "episodes", "streams", "connections", "request_lines", "rejects"] {
            assert!(topics.contains_key(table), "{table}");
        }
    }
}
