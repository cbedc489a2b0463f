//! What the header of a trace says: vantage, clock, dimensions, declared ids.

use crate::dialect::places;
use crate::limits::{HEADER_VALUES, NAME_BYTES};
use crate::reader::json::{Cursor, JsonFault};
use crate::reader::number::Places;
use crate::reader::sniff::Framing;
use crate::record::columns::connections::{self, Connections};
use crate::record::columns::{Nullable, TableColumn, Text};
use serde_json::{Map, Value, json};

/// Who logged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, get_size2::GetSize,
)]
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

    /// Of qlog's word, in any case.
    pub fn read(word: &str) -> Option<Self> {
        let all = [Self::Server, Self::Client, Self::Network, Self::Unknown];
        all.into_iter().find(|vantage| word.eq_ignore_ascii_case(vantage.name()))
    }
}

/// How times are written (draft-ietf-quic-qlog-main-schema, "Timestamps"; the first three words are those of the drafts
/// before October 2024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TimeFormat {
    /// Since 1970.
    Absolute,
    /// Since `reference_time`.
    Relative,
    /// Since the record before, in the trace; the first as `Relative`.
    Delta,
}

impl TimeFormat {
    /// The drafts' words.
    pub fn read(word: &[u8]) -> Option<Self> {
        let words = [
            (Self::Absolute, &["absolute"][..]),
            (Self::Relative, &["relative", "relative_to_epoch"]),
            (Self::Delta, &["delta", "relative_to_previous_event"]),
        ];
        let is = |known: &&str| word.eq_ignore_ascii_case(known.as_bytes());
        words.into_iter().find_map(|(format, known)| known.iter().any(is).then_some(format))
    }
}

/// Columns of `connections` that a trace's `common_fields` may name; beside them `asn`, the only number.
pub const DIMENSIONS: [TableColumn<Connections, Nullable<Text>>; 13] = [
    connections::SERVER,
    connections::CLUSTER,
    connections::POP,
    connections::SERVER_RELEASE,
    connections::CARRIER,
    connections::COUNTRY,
    connections::REGION,
    connections::CITY,
    connections::H3_CELL,
    connections::NETWORK_TYPE,
    connections::APP_VERSION,
    connections::DEVICE,
    connections::CLIENT_NETWORK,
];

/// Whether a word says something.
type IsKnown = fn(&str) -> bool;

/// The header of one trace.
#[derive(Clone, Debug)]
pub struct Header {
    /// Keys of the document under `file`, of the trace under `trace`.
    pub json: Value,
    /// Text of the header that comes before the events, for the trace's identity.
    pub text: Vec<u8>,
    /// How records lie in the file.
    pub framing: Framing,
    /// Values in it that are none that their field can have, one a line: their text stands in their place.
    pub unread: Vec<u8>,
}

/// JSON to a value, whatever stands in it: a scalar that is no value (a lone surrogate, 1e999, bytes that are no UTF-8)
/// is kept as its text, and added to `unread`.
fn read(text: &[u8], unread: &mut Vec<u8>) -> Value {
    let mut cursor = Cursor::new(text);
    let mut left = HEADER_VALUES;
    each(&mut cursor, HEADER_VALUES, &mut left, unread).unwrap_or_else(|_| {
        // Nested one level too deep for the cursor.
        if count_values(text, HEADER_VALUES) <= HEADER_VALUES { scalar(text, unread) } else { as_text(text, unread) }
    })
}

/// How many values there are in `text`, which is JSON, as far as they are no more than `most`.
fn count_values(text: &[u8], most: usize) -> usize {
    let begins = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    let at_most = text.iter().filter(begins).take(most).count();
    if at_most < most {
        // Brackets and commas in texts are counted too: there are fewer values then.
        return 1 + at_most;
    }
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
        if count > most {
            break;
        }
    }
    count
}

/// How many members the object has that `text` is, which is JSON, as far as they are no more than `most`.
fn count_members(text: &[u8], most: usize) -> Result<usize, JsonFault> {
    let mut cursor = Cursor::new(text);
    cursor.take(b'{')?;
    let mut count = 0;
    let mut is_more = !cursor.empty(b'}')?;
    while is_more && count <= most {
        count += 1;
        cursor.key()?;
        cursor.value()?;
        is_more = cursor.more(b'}')?;
    }
    Ok(count)
}

/// Values of one field of a header that has too many in all: others have room beside it.
const LARGE_FIELD: usize = HEADER_VALUES / 16;

/// [`read`], value by value; the depth is the cursor's to bound. `most`: as many values may be in it; `left`: in the whole
/// header from here on.
fn each(cursor: &mut Cursor<'_>, most: usize, left: &mut usize, unread: &mut Vec<u8>) -> Result<Value, JsonFault> {
    // Checked as a whole before any level is entered: the nesting is that of `MAX_DEPTH` at most.
    let mut ahead = *cursor;
    let text = ahead.value()?;
    let (first, most) = (cursor.peek()?, most.min(*left));
    let count = if matches!(first, b'{' | b'[') { count_values(text, most) } else { 0 };
    if count <= most
        && let Ok(value) = serde_json::from_slice(text)
    {
        *left -= count;
        *cursor = ahead;
        return Ok(value);
    }
    // Of a large object the members are read that are not.
    let is_too_large = count > most && (first == b'[' || count_members(text.trim_ascii_start(), most)? >= most);
    if is_too_large {
        *cursor = ahead;
        return Ok(as_text(text, unread));
    }
    let most = if count > most { LARGE_FIELD } else { most };
    match first {
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
                *left = left.saturating_sub(1);
                members.insert(key, each(cursor, most, left, unread)?);
                is_more = cursor.more(b'}')?;
            }
            Ok(Value::Object(members))
        }
        b'[' => {
            cursor.at += 1;
            let mut members = Vec::new();
            let mut is_more = !cursor.empty(b']')?;
            while is_more {
                *left = left.saturating_sub(1);
                members.push(each(cursor, most, left, unread)?);
                is_more = cursor.more(b']')?;
            }
            Ok(Value::Array(members))
        }
        _ => Ok(scalar(cursor.value()?, unread)),
    }
}

fn scalar(text: &[u8], unread: &mut Vec<u8>) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|_| as_text(text, unread))
}

fn as_text(text: &[u8], unread: &mut Vec<u8>) -> Value {
    unread.extend_from_slice(text);
    unread.push(b'\n');
    Value::String(String::from_utf8_lossy(text).into_owned())
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
        Self { json, text, framing: Framing::Contained, unread }.checked()
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
        Some(Self { json: json!({"file": file, "trace": trace}), text: record.to_vec(), framing, unread }.checked())
    }

    /// Adds to `unread` the values of fields that say how records are read, where they say nothing that is known.
    fn checked(mut self) -> Self {
        let says = |value: &Value, is_known: IsKnown| value.is_null() || value.as_str().is_some_and(is_known);
        let is_instant = |text: &str| text == "unknown" || instant(text).is_some();
        let is_vantage = |text: &str| Vantage::read(text).is_some();
        let is_format = |text: &str| TimeFormat::read(text.as_bytes()).is_some();
        let is_unit = |text: &str| places(text).is_some();
        let reference = self.common("reference_time");
        let is_name = |text: &str| text.len() <= NAME_BYTES;
        let told: [(&Value, IsKnown); 7] = [
            (&self.trace("vantage_point")["type"], is_vantage),
            (self.trace("vantagepoint"), is_vantage),
            (self.common("time_format"), is_format),
            (&self.trace("configuration")["time_units"], is_unit),
            (self.common("time_units"), is_unit),
            (&reference["epoch"], is_instant),
            (&reference["wall_clock_time"], is_instant),
        ];
        let unread = told.into_iter().filter(|(value, is_known)| !says(value, *is_known));
        let mut found: Vec<String> = unread.map(|(value, _)| value.to_string()).collect();
        let names = ["ODCID", "group_id", "server"].map(|key| self.common(key));
        found.extend(names.into_iter().filter_map(Value::as_str).filter(|name| !is_name(name)).map(str::to_owned));
        let fields = self.fields().into_iter().flatten();
        found.extend(fields.filter(|field| !field.is_string()).map(Value::to_string));
        for text in found {
            self.unread.extend_from_slice(text.as_bytes());
            self.unread.push(b'\n');
        }
        self
    }

    fn fields(&self) -> Option<&Vec<Value>> {
        self.trace("event_fields").as_array().or_else(|| self.trace("fields").as_array())
    }

    /// Of rows, which have none.
    pub fn rows(framing: Framing) -> Self {
        Self { json: json!({"file": {}, "trace": {}}), text: Vec::new(), framing, unread: Vec::new() }
    }

    /// Of a row of `connections`: its column `header`.
    pub fn stored(json: &str) -> Option<Self> {
        Some(Self { json: serde_json::from_str(json).ok()?, ..Self::rows(Framing::Contained) })
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
        let word = point["type"].as_str().or_else(|| self.trace("vantagepoint").as_str());
        word.and_then(Vantage::read).unwrap_or(Vantage::Unknown)
    }

    /// `flow` of a network vantage: the sent packets are the client's.
    pub fn flow_is_client(&self) -> bool {
        self.trace("vantage_point")["flow"].as_str().is_none_or(|flow| flow.eq_ignore_ascii_case("client"))
    }

    /// Columns of the array form, empty when the trace does not name any. One without a name keeps its place.
    pub fn event_fields(&self) -> Vec<String> {
        let name = |field: &Value| field.as_str().map(str::to_owned).unwrap_or_default();
        self.fields().map(|list| list.iter().map(name).collect()).unwrap_or_default()
    }

    /// Places of the unit of time: the drafts' milliseconds unless the header says otherwise.
    pub fn time_places(&self) -> Places {
        if matches!(self.framing, Framing::QuicTrace | Framing::LineV1) {
            return 3;
        }
        let unit = self.trace("configuration")["time_units"].as_str().or_else(|| self.common("time_units").as_str());
        unit.and_then(places).unwrap_or(6)
    }

    /// How records write their time that do not say it themselves: the newest draft's `relative_to_epoch`, which is also
    /// how a time since 1970 is read, unless the header says otherwise.
    pub fn time_format(&self) -> TimeFormat {
        if self.event_fields().iter().any(|field| field.eq_ignore_ascii_case("delta_time")) {
            return TimeFormat::Delta;
        }
        let word = self.common("time_format").as_str();
        word.and_then(|word| TimeFormat::read(word.as_bytes())).unwrap_or(TimeFormat::Relative)
    }

    /// Wall clock in ns since 1970 from which the time `at_ns` of a record counts that has this format, and perhaps a
    /// `reference_time` of its own; `None` when nothing tells. An epoch is told from a span by its size: no connection
    /// lasts 30 years.
    pub fn epoch_ns(&self, format: TimeFormat, own: Option<&Value>, at_ns: i64) -> Option<i64> {
        let reference = own.unwrap_or_else(|| self.common("reference_time"));
        if format == TimeFormat::Absolute {
            return is_plausible(at_ns).then_some(0);
        }
        let epoch = reference["epoch"].as_str().and_then(instant);
        if let Some(epoch) = epoch.filter(|epoch| epoch.checked_add(at_ns).is_some_and(is_plausible)) {
            return Some(epoch);
        }
        if is_plausible(at_ns) {
            return Some(0);
        }
        let text = reference["wall_clock_time"].as_str().or_else(|| reference.as_str());
        if let Some(at) = text.and_then(instant) {
            return Some(at).filter(|ns| is_plausible(*ns));
        }
        let starttime = if own.is_some() { &Value::Null } else { self.trace("starttime") };
        let number = [reference, starttime].into_iter().find_map(|value| match value {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text.clone()),
            _ => None,
        })?;
        // Written in s, ms or us: an instant of this century has one reading.
        [9, 6, 3]
            .into_iter()
            .filter_map(|places| crate::reader::number::scaled(number.as_bytes(), places))
            .find(|ns| is_plausible(*ns))
    }

    /// The server's name.
    pub fn server(&self) -> Option<&str> {
        self.common("server").as_str().filter(|name| name.len() <= NAME_BYTES)
    }

    /// Ids that the header declares, in the order of `DESIGN` 3: ODCID, group_id.
    pub fn declared(&self) -> Option<String> {
        ["ODCID", "group_id"]
            .iter()
            .filter_map(|key| self.common(key).as_str())
            .find(|id| (1..=NAME_BYTES).contains(&id.len()) && *id != "(empty)")
            .map(normal_id)
    }

    /// The id in the header's fields where writers put one: `connectionid`, and free text that the dialect names, of
    /// which it is the last word. Any other text may end in a date.
    pub fn described(&self, paths: &[String]) -> Option<String> {
        let texts = paths.iter().map(|path| path.split('.').fold(&self.json, |at, key| &at[key]));
        std::iter::once(self.trace("connectionid")).chain(texts).filter_map(Value::as_str).find_map(|text| {
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

/// RFC 3339, to ns since 1970.
fn instant(text: &str) -> Option<i64> {
    i64::try_from(text.parse::<jiff::Timestamp>().ok()?.as_nanosecond()).ok()
}

/// A time of a log, in ns since 1970, is between 2001 and 2100: what is outside is a clock that was never set, or another
/// unit, and days of the store end in 2149.
pub fn is_plausible(ns: i64) -> bool {
    (978_307_200_000_000_000..4_102_444_800_000_000_000).contains(&ns)
}
