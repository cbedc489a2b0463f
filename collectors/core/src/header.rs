//! What the header of a trace says: vantage, clock, dimensions, declared ids.

use crate::reader::json::{Cursor, Fault};
use crate::reader::sniff::Framing;
use serde_json::{Map, Value, json};

/// Who logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[expect(missing_docs, reason = "qlog's words")]
pub enum Vantage {
    Server,
    Client,
    Network,
    #[default]
    Unknown,
}

impl Vantage {
    /// qlog's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Network => "network",
            Self::Unknown => "unknown",
        }
    }

    fn read(text: &str) -> Self {
        match text.to_lowercase().as_str() {
            "server" => Self::Server,
            "client" => Self::Client,
            "network" => Self::Network,
            _ => Self::Unknown,
        }
    }
}

/// Columns of `connections` that a trace's `common_fields` may name.
pub const DIMENSIONS: [&str; 13] = [
    "server",
    "cluster",
    "pop",
    "carrier",
    "asn",
    "country",
    "region",
    "city",
    "h3_cell",
    "network_type",
    "app_version",
    "device",
    "client_network",
];

/// The header of one trace.
#[derive(Clone, Debug)]
pub struct Header {
    /// Keys of the document under `file`, of the trace under `trace`.
    pub json: Value,
    /// Text of the header that comes before the events, for the trace's identity.
    pub text: Vec<u8>,
    /// How records lie in the file.
    pub framing: Framing,
    /// Values in it that are JSON but no values, one a line: their text stands in their place.
    pub unread: Vec<u8>,
}

/// JSON to a value, whatever stands in it: a scalar that is no value (a lone surrogate, 1e999, bytes that are no UTF-8)
/// is kept as its text, and added to `unread`.
fn read(text: &[u8], unread: &mut Vec<u8>) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|_| {
        let mut cursor = Cursor::new(text);
        each(&mut cursor, unread).unwrap_or_else(|_| scalar(text, unread))
    })
}

/// [`read`], value by value; the depth is the cursor's to bound.
fn each(cursor: &mut Cursor<'_>, unread: &mut Vec<u8>) -> Result<Value, Fault> {
    // Checked as a whole before any level is entered: the nesting is that of `MAX_DEPTH` at most.
    let mut ahead = *cursor;
    let text = ahead.value()?;
    if let Ok(value) = serde_json::from_slice(text) {
        *cursor = ahead;
        return Ok(value);
    }
    match cursor.peek()? {
        b'{' => {
            cursor.at += 1;
            let mut members = Map::new();
            let mut is_more = !cursor.empty(b'}')?;
            while is_more {
                cursor.peek()?;
                let start = cursor.at;
                cursor.string()?;
                let key = match scalar(&cursor.text[start..cursor.at], unread) {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                cursor.take(b':')?;
                members.insert(key, each(cursor, unread)?);
                is_more = cursor.more(b'}')?;
            }
            Ok(Value::Object(members))
        }
        b'[' => {
            cursor.at += 1;
            let mut members = Vec::new();
            let mut is_more = !cursor.empty(b']')?;
            while is_more {
                members.push(each(cursor, unread)?);
                is_more = cursor.more(b']')?;
            }
            Ok(Value::Array(members))
        }
        _ => Ok(scalar(cursor.value()?, unread)),
    }
}

fn scalar(text: &[u8], unread: &mut Vec<u8>) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|_| {
        unread.extend_from_slice(text);
        unread.push(b'\n');
        Value::String(String::from_utf8_lossy(text).into_owned())
    })
}

/// The inside of an object, which is JSON; see [`read`].
fn object(inside: &[u8], unread: &mut Vec<u8>) -> Value {
    let mut text = Vec::with_capacity(inside.len() + 2);
    text.push(b'{');
    text.extend_from_slice(inside);
    text.push(b'}');
    read(&text, unread)
}

impl Header {
    /// Of a contained document: the insides of its and the trace's objects; the first `before` bytes of both come
    /// before the events.
    pub fn contained(file: &[u8], trace: &[u8], before: (usize, usize)) -> Self {
        let mut text = file.get(..before.0).unwrap_or(file).to_vec();
        text.push(0);
        text.extend_from_slice(trace.get(..before.1).unwrap_or(trace));
        let mut unread = Vec::new();
        let json = json!({"file": object(file, &mut unread), "trace": object(trace, &mut unread)});
        Self { json, text, framing: Framing::Contained, unread }
    }

    /// Of a sequence: its first record. `None` when that is no JSON object.
    pub fn sequential(record: &[u8], framing: Framing) -> Option<Self> {
        let mut unread = Vec::new();
        let mut cursor = Cursor::new(record);
        cursor.value().ok()?;
        if !record[cursor.at..].iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let mut file = read(&record[..cursor.at], &mut unread);
        let trace = file.as_object_mut()?.shift_remove("trace").unwrap_or(Value::Null);
        Some(Self { json: json!({"file": file, "trace": trace}), text: record.to_vec(), framing, unread })
    }

    /// Of rows, which have none.
    pub fn rows(framing: Framing) -> Self {
        Self { json: json!({"file": {}, "trace": {}}), text: Vec::new(), framing, unread: Vec::new() }
    }

    /// Of a row of `connections`: its column `header`.
    pub fn stored(json: &str) -> Self {
        let mut header = Self::rows(Framing::Contained);
        header.json = serde_json::from_str(json).unwrap_or(header.json);
        header
    }

    /// It says that it is the header of a log, and is no record that lacks something.
    pub fn begins_a_log(&self) -> bool {
        ["qlog_version", "qlog_format", "file_schema"].iter().any(|key| self.json["file"][key].is_string())
    }

    fn trace(&self, key: &str) -> &Value {
        &self.json["trace"][key]
    }

    /// A value of `common_fields`, whatever the case of its name.
    pub fn common(&self, key: &str) -> &Value {
        let fields = &self.json["trace"]["common_fields"];
        fields
            .as_object()
            .and_then(|fields| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)))
            .map_or(&Value::Null, |(_, value)| value)
    }

    /// Who logged.
    pub fn vantage(&self) -> Vantage {
        if matches!(self.framing, Framing::QuicTrace | Framing::LineV1) {
            return Vantage::Server;
        }
        let point = self.trace("vantage_point");
        point["type"].as_str().or_else(|| self.trace("vantagepoint").as_str()).map_or(Vantage::Unknown, Vantage::read)
    }

    /// `flow` of a network vantage: the sent packets are the client's.
    pub fn flow_is_client(&self) -> bool {
        self.trace("vantage_point")["flow"].as_str().is_none_or(|flow| flow.eq_ignore_ascii_case("client"))
    }

    /// Columns of the array form, empty when the trace does not name any.
    pub fn event_fields(&self) -> Vec<String> {
        let fields = self.trace("event_fields").as_array().or_else(|| self.trace("fields").as_array());
        fields.map(|list| list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()).unwrap_or_default()
    }

    /// Unit of time, milliseconds unless the header says otherwise.
    pub fn time_unit(&self) -> &str {
        if matches!(self.framing, Framing::QuicTrace | Framing::LineV1) {
            return "us";
        }
        let unit = self.trace("configuration")["time_units"].as_str().or_else(|| self.common("time_units").as_str());
        unit.unwrap_or("ms")
    }

    /// Times are differences to the record before.
    pub fn is_delta(&self) -> bool {
        let format = self.common("time_format").as_str().unwrap_or("");
        let first = self.event_fields().first().is_some_and(|field| field.eq_ignore_ascii_case("delta_time"));
        first || matches!(format, "delta" | "relative_to_previous_event")
    }

    /// Wall clock in ns since 1970 of source time 0, given the first record's source time; `None` when the trace has
    /// no wall clock. An epoch is told from a span by its size: no connection lasts 30 years.
    pub fn epoch_ns(&self, first_ns: i64) -> Option<i64> {
        if plausible(first_ns) {
            return Some(0);
        }
        let reference = self.common("reference_time");
        let text = reference["wall_clock_time"].as_str().or_else(|| reference.as_str());
        if let Some(at) = text.and_then(|text| text.parse::<jiff::Timestamp>().ok()) {
            return i64::try_from(at.as_nanosecond()).ok().filter(|ns| plausible(*ns));
        }
        let starttime = self.trace("starttime");
        let number = [reference, starttime].into_iter().find_map(|value| match value {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text.clone()),
            _ => None,
        })?;
        // Written in s, ms or us: an instant of this century has one reading.
        [9, 6, 3]
            .into_iter()
            .filter_map(|places| crate::reader::number::scaled(number.as_bytes(), places))
            .find(|ns| plausible(*ns))
    }

    /// Ids that the header declares, in the order of `DESIGN` 3: ODCID, group_id.
    pub fn declared(&self) -> Option<String> {
        ["ODCID", "group_id"]
            .iter()
            .filter_map(|key| self.common(key).as_str())
            .find(|id| !id.is_empty() && *id != "(empty)")
            .map(normal_id)
    }

    /// An id somewhere in the header's free text that is hex: the last resort before `t-`.
    pub fn described(&self) -> Option<String> {
        let texts = [
            self.trace("connectionid"),
            self.trace("description"),
            &self.json["file"]["description"],
            self.trace("title"),
        ];
        texts.into_iter().filter_map(Value::as_str).find_map(|text| {
            let word = text.rsplit(['=', ' ']).next().unwrap_or(text);
            let hex = word.len() >= 8
                && word.len() <= 40
                && word.len() % 2 == 0
                && word.bytes().all(|b| b.is_ascii_hexdigit());
            hex.then(|| word.to_lowercase())
        })
    }

    /// Text of a field of `common_fields`, else of the document.
    pub fn text_of(&self, key: &str) -> String {
        let file = &self.json["file"];
        [self.common(key), &file[key], &file["configuration"][key]]
            .into_iter()
            .find_map(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// Hex in lower case; any other id as it is.
pub fn normal_id(id: &str) -> String {
    if id.bytes().all(|byte| byte.is_ascii_hexdigit()) { id.to_lowercase() } else { id.to_owned() }
}

/// Between 2001 and 2100.
fn plausible(ns: i64) -> bool {
    (978_307_200_000_000_000..4_102_444_800_000_000_000).contains(&ns)
}
