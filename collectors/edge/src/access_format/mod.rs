//! Lines of access logs in the servers' own formats, to rows of `request_lines`.
//!
//! A format string is compiled once; a line is then read by a search for the literal texts between its placeholders.

mod apache;
mod config;
mod envoy;
mod fill;
mod haproxy;
mod json;
mod meaning;
mod nginx;
mod pattern;
mod time;

pub use config::{AccessFormatConfig, ColumnSource, Escape, Preset, Syntax, TimeIs, Unit};
pub use fill::Line;

use crate::address::Prefix;
use crate::enrich::{Enricher, Facts};
use fill::{Filler, LineRules};
use json::Node;
use meaning::Meaning;
use pattern::{Escapes, Pattern, Piece};
use quiclens_core::reader::skip::Skip;
use quiclens_core::record::columns::request_lines;

/// A compiled format.
#[derive(Clone, Debug)]
pub struct Format {
    body: Body,
    rules: LineRules,
    longest: usize,
}

#[derive(Clone, Debug)]
enum Body {
    Text(Pattern),
    Json(Node),
}

/// Columns that a JSON line may have under their own names.
const COLUMNS: [&str; 39] = [
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
    "server_release",
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
    "rtt_variance_us",
    "tcp_congestion_window_packets",
    "tcp_packets_lost_outstanding",
    "tcp_packets_retransmitted_outstanding",
    "arm",
    "client_address",
    "client_port",
    "latitude",
];

/// Caddy's keys: `marshalers.go` and `server.go` of 2.11.4. `remote_ip` is the connection's other end; `client_ip`
/// may be what a proxy said. The line is written when the request is done.
const CADDY: [(&str, &str, Option<Unit>); 13] = [
    ("ts", "time", Some(Unit::Seconds)),
    ("duration", "duration_us", Some(Unit::Seconds)),
    ("status", "status", None),
    ("size", "response_bytes", None),
    ("bytes_read", "request_bytes", None),
    ("uuid", "external_id", None),
    ("request.remote_ip", "client_address", None),
    ("request.remote_port", "client_port", None),
    ("request.proto", "protocol", None),
    ("request.method", "method", None),
    ("request.host", "authority", None),
    ("request.uri", "path", None),
    ("request.headers.X-Request-Id", "external_id", None),
];

/// Why a format cannot be used, and which key of its configuration that is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// A setting that cannot be, by its key, or that contradicts others.
    Setting(&'static str, &'static str),
    /// `columns` names what cannot be a column, or what the format has not.
    Columns(String),
    /// The format itself.
    Format(String),
}

impl FormatError {
    /// The key of the configuration.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Setting(key, _) => key,
            Self::Columns(_) => "columns",
            Self::Format(_) => "format",
        }
    }
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(_, said) => f.write_str(said),
            Self::Columns(said) => write!(f, "columns: {said}"),
            Self::Format(said) => f.write_str(said),
        }
    }
}

impl std::error::Error for FormatError {}

impl From<String> for FormatError {
    fn from(said: String) -> Self {
        Self::Format(said)
    }
}

impl From<&str> for FormatError {
    fn from(said: &str) -> Self {
        Self::Format(said.to_owned())
    }
}

impl Format {
    /// Compiles a format. The error is one sentence: what in the config cannot be used.
    pub fn compile(config: &AccessFormatConfig) -> Result<Self, FormatError> {
        if config.preset.is_some() && (config.syntax.is_some() || config.format.is_some()) {
            return Err(FormatError::Setting("preset", "a preset brings its own syntax and format"));
        }
        if config.prefix_v4_bits > 32 || config.prefix_v6_bits > 128 {
            let said = "prefix_v4_bits is at most 32, prefix_v6_bits at most 128";
            return Err(FormatError::Setting("prefix_v4_bits", said));
        }
        if config.utc_offset_minutes.abs() > 24 * 60 {
            let said = "utc_offset_minutes is of one day at most";
            return Err(FormatError::Setting("utc_offset_minutes", said));
        }
        let (syntax, format) = match config.preset {
            Some(Preset::NginxCombined) => (Syntax::Nginx, Some(nginx::COMBINED)),
            Some(Preset::ApacheCombined) => (Syntax::Apache, Some(apache::COMBINED)),
            Some(Preset::ApacheCommon) => (Syntax::Apache, Some(apache::COMMON_LOG)),
            Some(Preset::EnvoyDefault) => (Syntax::Envoy, Some(envoy::DEFAULT)),
            Some(Preset::HaproxyHttplog) => (Syntax::Haproxy, Some(haproxy::HTTPLOG)),
            Some(Preset::Caddy | Preset::Json) => (Syntax::Json, None),
            None => (
                config.syntax.ok_or(FormatError::Setting("syntax", "a preset or a syntax is needed"))?,
                config.format.as_deref(),
            ),
        };
        let text = || format.ok_or(FormatError::Setting("format", "this syntax needs a format"));
        let prefix = |default: Option<&str>| config.prefix_until.clone().or_else(|| default.map(str::to_owned));
        let time_is = config.time_is.unwrap_or(match syntax {
            Syntax::Nginx | Syntax::Json => TimeIs::End,
            Syntax::Apache | Syntax::Envoy | Syntax::Haproxy => TimeIs::Start,
        });
        let escapes = match config.escape {
            Escape::Default => Escapes::Backslash,
            Escape::Json => Escapes::Json,
            Escape::None => Escapes::None,
        };
        let of_text = |pieces, escapes, default| compiled(pieces, escapes, prefix(default), config, time_is);
        let body = match syntax {
            Syntax::Nginx => of_text(nginx::pieces(text()?)?, escapes, None)?,
            Syntax::Apache => of_text(apache::pieces(text()?)?, Escapes::Backslash, None)?,
            Syntax::Haproxy => of_text(haproxy::pieces(text()?)?, Escapes::Hash, Some("]: "))?,
            Syntax::Envoy if text()?.trim_start().starts_with('{') => {
                let mut places = Vec::new();
                for (path, leaf) in json::leaves(text()?)? {
                    places.push((path, envoy::leaf(&leaf)?));
                }
                of_json(places, config, time_is)?
            }
            Syntax::Envoy => of_text(envoy::pieces(text()?)?, Escapes::None, None)?,
            Syntax::Json if format.is_some() => {
                return Err(FormatError::Setting("format", "json has columns, not a format"));
            }
            Syntax::Json => of_json(own_keys(config.preset, time_is), config, time_is)?,
        };
        let is_plain_json = syntax == Syntax::Json && config.preset != Some(Preset::Caddy);
        let rules = LineRules {
            redact: config.redact.unwrap_or(true),
            prefix: Prefix { v4: config.prefix_v4_bits, v6: config.prefix_v6_bits },
            offset_minutes: config.utc_offset_minutes,
            time_is,
            dash_is_none: !is_plain_json,
            count_is_stream: syntax == Syntax::Nginx,
        };
        Ok(Self { body, rules, longest: config.longest_line_bytes as usize })
    }

    /// Reads one line, with or without its end. Nothing of it is lost: what has no column is in `more`, and a line
    /// that is no row is the caller's to keep, with the reason.
    pub fn read(&self, line: &[u8]) -> Result<Line, Skip> {
        if line.len() > self.longest {
            return Err(Skip::TooLong);
        }
        let text = core::str::from_utf8(line).map_err(|_| Skip::InvalidUtf8)?.trim_end_matches(['\n', '\r']);
        let mut filler = Filler::new(&self.rules);
        match &self.body {
            Body::Text(pattern) => pattern.read(text, &mut filler)?,
            Body::Json(node) => node.read(text, &mut filler)?,
        }
        filler.finish()
    }
}

impl Line {
    /// Looks the client up and fills in the row's dimensions, key and network. The log's own values stay. Which server
    /// it was is told by the line's server, else by `host`, where the log is read, else by the line's authority, which
    /// the client chooses.
    pub fn enrich(&mut self, enricher: &Enricher, host: &str) -> Facts {
        let of_line = |column| self.row.text(column).unwrap_or("");
        let names = [of_line(request_lines::SERVER), host, of_line(request_lines::AUTHORITY)];
        let facts = enricher.enrich_client(self.client, self.location, &names);
        facts.fill(&mut self.row);
        facts
    }
}

fn own_keys(preset: Option<Preset>, time_is: TimeIs) -> Vec<(Vec<String>, Meaning)> {
    let keys: Vec<(&str, &str, Option<Unit>)> = match preset {
        Some(Preset::Caddy) => CADDY.to_vec(),
        _ => COLUMNS.iter().chain(&["longitude"]).map(|column| (*column, *column, None)).collect(),
    };
    let path = |from: &str| from.split('.').map(str::to_owned).collect::<Vec<_>>();
    let mut places: Vec<_> = keys
        .into_iter()
        .filter_map(|(from, column, unit)| Some((path(from), Meaning::of_column(column, unit, time_is)?)))
        .collect();
    if preset == Some(Preset::Caddy) {
        places.push((path("user_id"), Meaning::Private));
        places.push((path("request.headers.Traceparent"), Meaning::ExternalId(1)));
    }
    places
}

/// `[columns]` as meanings, by where each is from.
fn asked(config: &AccessFormatConfig, time_is: TimeIs) -> Result<Vec<(&str, Meaning)>, FormatError> {
    config
        .columns
        .iter()
        .map(|(column, source)| {
            let meaning = Meaning::of_column(column, source.unit, time_is)
                .ok_or_else(|| FormatError::Columns(format!("{column} is none that a log can fill")))?;
            Ok((source.from.as_str(), meaning))
        })
        .collect()
}

fn compiled(
    pieces: Vec<Piece>,
    escapes: Escapes,
    prefix_until: Option<String>,
    config: &AccessFormatConfig,
    time_is: TimeIs,
) -> Result<Body, FormatError> {
    let mut pattern = Pattern::new(pieces, escapes, prefix_until)?;
    for (from, meaning) in asked(config, time_is)? {
        let mut found = false;
        for place in pattern.places().filter(|place| place.name.eq_ignore_ascii_case(from)) {
            place.meaning = meaning.clone();
            found = true;
        }
        if !found {
            return Err(FormatError::Columns(format!("the format has no {from}")));
        }
    }
    let mut meanings: Vec<_> = pattern.places().map(|place| (place.name.clone(), &mut place.meaning)).collect();
    choose(&mut meanings, config.time_is)?;
    Ok(Body::Text(pattern))
}

fn of_json(
    mut places: Vec<(Vec<String>, Meaning)>,
    config: &AccessFormatConfig,
    time_is: TimeIs,
) -> Result<Body, FormatError> {
    for (from, meaning) in asked(config, time_is)? {
        let path: Vec<_> = from.split('.').map(str::to_owned).collect();
        // The column is where the config says, and nowhere else.
        let column = std::mem::discriminant(&meaning);
        let is_same = |known: &Meaning| match (known, &meaning) {
            (Meaning::Text(a), Meaning::Text(b)) => a == b,
            (Meaning::Duration(a, _), Meaning::Duration(b, _))
            | (Meaning::Whole(a, _), Meaning::Whole(b, _))
            | (Meaning::Tcp(a), Meaning::Tcp(b)) => a == b,
            (Meaning::ExternalId(_), _) => false,
            _ => std::mem::discriminant(known) == column,
        };
        places.retain(|(known, meaning)| *known != path && !is_same(meaning));
        places.push((path, meaning));
    }
    let mut meanings: Vec<_> = places.iter_mut().map(|(path, meaning)| (path.join("."), meaning)).collect();
    choose(&mut meanings, config.time_is)?;
    let mut root = Node::default();
    for (path, meaning) in places {
        let keys: Vec<_> = path.iter().map(String::as_str).collect();
        root.insert(&keys, meaning);
    }
    Ok(Body::Json(root))
}

/// Of several times, durations or addresses in one format the best is the column; the others go to `more`.
fn choose(places: &mut [(String, &mut Meaning)], time_is: Option<TimeIs>) -> Result<(), FormatError> {
    if let Some(time_is) = time_is {
        for (_, meaning) in places.iter_mut() {
            if let Meaning::Time(_, known) = meaning {
                *known = time_is;
            }
        }
    }
    let is_time = |meaning: &Meaning| matches!(meaning, Meaning::Time(..));
    if !places.iter().any(|(_, meaning)| is_time(meaning)) {
        return Err("the format has no time of the request: without one a line is no row".into());
    }
    keep_best(places, is_time, |_, meaning| match meaning {
        Meaning::Time(clock, _) => clock.rank(),
        _ => 0,
    });
    for column in [request_lines::DURATION_US, request_lines::RTT_US, request_lines::RTT_VARIANCE_US] {
        let fits = |meaning: &Meaning| matches!(meaning, Meaning::Duration(known, _) if *known == column);
        keep_best(places, fits, |_, meaning| match meaning {
            Meaning::Duration(_, Unit::Seconds) => 0,
            Meaning::Duration(_, Unit::Milliseconds) => 1,
            Meaning::Duration(_, Unit::Nanoseconds | Unit::Microseconds) => 2,
            _ => 0,
        });
    }
    // The peer of the connection outranks an address that a proxy has stated.
    let direct = |name: &str| u8::from(name.contains("realip") || name.contains("DIRECT") || name.contains("{c}"));
    let is_address = |meaning: &Meaning| matches!(meaning, Meaning::Address | Meaning::AddressPort);
    keep_best(places, is_address, |name, meaning| direct(name) * 2 + u8::from(*meaning == Meaning::AddressPort));
    keep_best(places, |meaning| *meaning == Meaning::Port, |name, _| direct(name));
    Ok(())
}

/// Of the places that fit, the best one (of equals, the first) keeps its meaning; the others go to `more`.
fn keep_best(
    places: &mut [(String, &mut Meaning)],
    fits: impl Fn(&Meaning) -> bool,
    rank: impl Fn(&str, &Meaning) -> u8,
) {
    let best = places
        .iter()
        .enumerate()
        .filter(|(_, (_, meaning))| fits(meaning))
        .max_by_key(|(index, (name, meaning))| (rank(name, meaning), std::cmp::Reverse(*index)))
        .map(|(index, _)| index);
    for (index, (_, meaning)) in places.iter_mut().enumerate() {
        if Some(index) != best && fits(meaning) {
            let is_private = matches!(meaning, Meaning::Address | Meaning::AddressPort | Meaning::Port);
            **meaning = if is_private { Meaning::Private } else { Meaning::More };
        }
    }
}
