//! Lines of HTTP access logs: JSON objects whose keys are columns of `request_lines`.

use crate::catalogue::Column;
use crate::reader::skip::Skip;
use crate::record::rows::{Cell, Row};
use serde_json::{Map, Value};

/// Reads one line. A key without a column is kept in `more`; so is a value that its column cannot hold.
/// Without a time the line is no row: a request must be somewhere on the clock.
pub fn read(columns: &[Column], line: &[u8]) -> Result<Row, Skip> {
    let text = core::str::from_utf8(line).map_err(|_| Skip::InvalidUtf8)?;
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(|_| Skip::BadLine)?;
    let mut row = Row::default();
    let mut more = Vec::new();
    let mut time_us = None;
    for (key, value) in fields {
        let column = columns.iter().find(|column| column.name == key && !is_ours(&column.name));
        match column.and_then(|column| Some((name(&column.name)?, cell(&column.kind, &value)?))) {
            Some(("time", cell)) => {
                time_us = instant(&value);
                row.set("time", cell);
            }
            Some((name, cell)) => row.set(name, cell),
            None if value.is_null() => {}
            None => more.extend([key, value.to_string()]),
        }
    }
    let time_us = time_us.ok_or(Skip::NoTime)?;
    if !matches!(row.get("time_is"), Some(Cell::Text(word)) if word == "start" || word == "end") {
        row.0.retain(|(name, _)| *name != "time_is");
        // What most servers log (nginx $msec, Apache %t is the exception) is the end.
        row.set("time_is", "end");
    }
    for (name, cell) in &mut row.0 {
        if *name == "connection_id"
            && let Cell::Text(id) = cell
        {
            *id = crate::header::normal_id(id);
        }
    }
    row.set("line_day", time_us.div_euclid(86_400_000_000));
    row.set("more", Cell::List(more));
    Ok(row)
}

/// Columns that the collector fills, whatever a line says.
fn is_ours(column: &str) -> bool {
    matches!(column, "log_id" | "offset" | "line_day" | "more" | "client_key")
}

fn cell(kind: &str, value: &Value) -> Option<Cell> {
    if kind.contains("DateTime64") {
        return instant(value).map(Cell::Int);
    }
    if kind.contains("UInt") {
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        let limit = if kind.contains("UInt16") {
            u64::from(u16::MAX)
        } else if kind.contains("UInt32") {
            u64::from(u32::MAX)
        } else {
            u64::MAX
        };
        return (number <= limit).then_some(Cell::Whole(number));
    }
    match value {
        Value::String(text) => Some(Cell::Text(text.clone())),
        Value::Number(number) => Some(Cell::Text(number.to_string())),
        _ => None,
    }
}

/// Microseconds since 1970 of an RFC 3339 text, or of a number of seconds since then.
fn instant(value: &Value) -> Option<i64> {
    let us = match value {
        Value::String(text) => match text.parse::<jiff::Timestamp>() {
            Ok(at) => at.as_microsecond(),
            Err(_) => crate::reader::number::scaled(text.as_bytes(), 6)?,
        },
        Value::Number(number) => crate::reader::number::scaled(number.to_string().as_bytes(), 6)?,
        _ => return None,
    };
    // ClickHouse's DateTime64 ends in 2299.
    (0..=10_000_000_000_000_000).contains(&us).then_some(us)
}

fn name(column: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| **name == column).copied()
}

const NAMES: [&str; 31] = [
    "time",
    "time_is",
    "external_id",
    "connection_id",
    "stream_id",
    "method",
    "authority",
    "path",
    "status",
    "duration_us",
    "request_bytes",
    "response_bytes",
    "protocol",
    "server",
    "cluster",
    "pop",
    "client_network",
    "carrier",
    "asn",
    "country",
    "region",
    "city",
    "h3_cell",
    "network_type",
    "app",
    "app_version",
    "device",
    "user_hash",
    "request_number",
    "rtt_us",
    "arm",
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn every_column_of_a_line_can_be_read() {
        let catalogue = Catalogue::load().unwrap();
        let columns = catalogue.columns("request_lines");
        let unread: Vec<_> = columns
            .iter()
            .map(|column| column.name.as_str())
            .filter(|column| !is_ours(column) && name(column).is_none())
            .collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn a_line_needs_a_time_and_keeps_what_it_cannot_type() {
        let catalogue = Catalogue::load().unwrap();
        let columns = catalogue.columns("request_lines");
        let row =
            read(columns, br#"{"time":"2026-11-20T10:00:00.5Z","time_is":"start","status":99999,"odd":[1]}"#).unwrap();
        assert_eq!(row.get("time"), Some(&Cell::Int(1_795_168_800_500_000)));
        assert_eq!(
            row.get("more"),
            Some(&Cell::List(vec!["status".into(), "99999".into(), "odd".into(), "[1]".into()]))
        );
        assert_eq!(read(columns, b"{\"status\":200}"), Err(Skip::NoTime));
        assert_eq!(read(columns, b"not json"), Err(Skip::BadLine));
    }
}
