//! What a deployment says of an access log.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[access_log.format]` of the collector's config: a preset, or a syntax and a format in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessFormatConfig {
    /// A format by name; then `syntax` and `format` are not given.
    pub preset: Option<Preset>,
    /// The server whose placeholders `format` uses.
    pub syntax: Option<Syntax>,
    /// The format as it stands in the server's own configuration, on one line. For `json` none.
    pub format: Option<String>,
    /// nginx: the `escape` of its `log_format`.
    pub escape: Escape,
    /// Column of `request_lines` to where the log has it: a placeholder's name, or a path of keys with `.` between.
    /// `client_address` and `client_port` are columns here too; they are handed out and not stored.
    pub columns: BTreeMap<String, ColumnSource>,
    /// Whether the logged time is the request's start or its end. The server's way unless given.
    pub time_is: Option<TimeIs>,
    /// Offset from UTC, in minutes, of times that are logged without one. 0.
    pub utc_offset_minutes: i32,
    /// Text up to and with which a line's beginning belongs to something else, such as the `]: ` of a syslog header.
    /// That beginning is kept as `prefix` in `more`. HAProxy's formats have `]: `.
    pub prefix_until: Option<String>,
    /// Keep no client address, header value or user name. The reader's own way unless given; on where it has none.
    pub redact: Option<bool>,
    /// Bits of an IPv4 address that are kept where one stands inside some other text. 24.
    pub prefix_v4_bits: u8,
    /// The same for IPv6. 48.
    pub prefix_v6_bits: u8,
    /// Longest line that is read, in bytes. 1 MiB.
    pub longest_line_bytes: u32,
}

impl Default for AccessFormatConfig {
    fn default() -> Self {
        Self {
            preset: None,
            syntax: None,
            format: None,
            escape: Escape::Default,
            columns: BTreeMap::new(),
            time_is: None,
            utc_offset_minutes: 0,
            prefix_until: None,
            redact: None,
            prefix_v4_bits: 24,
            prefix_v6_bits: 48,
            longest_line_bytes: 1 << 20,
        }
    }
}

/// Formats by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// nginx's predefined `combined`.
    NginxCombined,
    /// `combined` of Apache, H2O and LiteSpeed: their time is the request's start.
    ApacheCombined,
    /// `common` of the same.
    ApacheCommon,
    /// Envoy's default format string.
    EnvoyDefault,
    /// Caddy's JSON.
    Caddy,
    /// HAProxy's `option httplog`.
    HaproxyHttplog,
    /// JSON lines with the column names of `request_lines`.
    Json,
}

/// The server whose placeholders a format uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// `$request_method`; nginx and Angie.
    Nginx,
    /// `%m`; Apache, H2O, LiteSpeed.
    Apache,
    /// `%REQ(:METHOD)%`; a format that is a JSON object is Envoy's `json_format`.
    Envoy,
    /// `%HM`, `%[fs.id]`.
    Haproxy,
    /// JSON lines; `columns` says which key is which.
    Json,
}

/// nginx's ways to escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Escape {
    /// `\xXX`, and `-` for what is not there.
    #[default]
    Default,
    /// JSON's.
    Json,
    /// None at all.
    None,
}

/// What a logged time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeIs {
    /// The request's first byte.
    Start,
    /// The response's last byte, as far as the server knows.
    End,
}

impl TimeIs {
    /// The catalogue's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
        }
    }
}

/// Where a log has a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Source", deny_unknown_fields)]
pub struct ColumnSource {
    /// A placeholder's name, or a path of keys with `.` between.
    pub from: String,
    /// Unit of a duration, or of a time that is a number. A duration's is that of its column, a time's the second.
    pub unit: Option<Unit>,
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "SI")]
pub enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Unit {
    /// Decimal places between the unit and a microsecond.
    pub(super) fn places(self) -> i32 {
        match self {
            Self::Seconds => 6,
            Self::Milliseconds => 3,
            Self::Microseconds => 0,
            Self::Nanoseconds => -3,
        }
    }
}
