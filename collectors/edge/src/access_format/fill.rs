//! The row that the pieces of a line make.

use super::config::TimeIs;
use super::meaning::Meaning;
use super::time::{decimal, duration};
use crate::address::{self, Client, Prefix};
use crate::redact::{self, REDACTED};
use quiclens_core::header::normal_id;
use quiclens_core::reader::skip::Skip;
use quiclens_core::record::columns::request_lines::{self, RequestLines};
use quiclens_core::record::columns::{Nullable, TableColumn, Value, Whole};
use quiclens_core::record::rows::Row;

/// What holds for all lines of a log.
#[derive(Clone, Debug)]
pub(super) struct LineRules {
    pub redact: bool,
    pub prefix: Prefix,
    pub offset_minutes: i32,
    pub time_is: TimeIs,
    /// `-` and an empty text mean that there is no value.
    pub dash_is_none: bool,
    /// nginx counts HTTP/3 requests by their stream's number (`ngx_http_v3_request.c`: `(c->quic->id >> 2) + 1`).
    pub count_is_stream: bool,
}

/// One line: its row, and what is looked up and not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The row of `request_lines`, without `log_id` and `offset`.
    pub row: Row<RequestLines>,
    /// The client as the line names it.
    pub client: Client,
    /// Latitude and longitude in degrees, where the line gives them.
    pub location: Option<(f64, f64)>,
    /// Pieces that are not a valid value of their column: they are in `more`.
    pub values_unread: u64,
}

/// Makes a line's row, piece by piece.
#[derive(Debug)]
pub(super) struct Filler<'r> {
    rules: &'r LineRules,
    row: Row<RequestLines>,
    more: Vec<String>,
    client: Client,
    time: Option<i64>,
    fraction_us: i64,
    path: Option<(String, String)>,
    query: Option<(String, String)>,
    count: Option<u64>,
    external: Option<(u8, String, String)>,
    tcp: Vec<(TableColumn<RequestLines, Nullable<Whole>>, String, String)>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    values_unread: u64,
}

impl<'r> Filler<'r> {
    pub fn new(rules: &'r LineRules) -> Self {
        Self {
            rules,
            row: Row::of(28),
            more: Vec::with_capacity(16),
            client: Client::default(),
            time: None,
            fraction_us: 0,
            path: None,
            query: None,
            count: None,
            external: None,
            tcp: Vec::new(),
            latitude: None,
            longitude: None,
            values_unread: 0,
        }
    }

    /// Takes a piece. What its column cannot hold, or has already, goes to `more` under the piece's name.
    pub fn take(&mut self, name: &str, meaning: &Meaning, text: &str) {
        if self.rules.dash_is_none && matches!(text, "" | "-") {
            return;
        }
        if !self.set(name, meaning, text) {
            let private =
                matches!(meaning, Meaning::Private | Meaning::Address | Meaning::AddressPort | Meaning::Network);
            self.keep(name, text, private);
        }
    }

    /// Keeps a text in `more`.
    pub fn keep(&mut self, name: &str, text: &str, private: bool) {
        let kept = if private && self.rules.redact {
            quoted(REDACTED)
        } else {
            let scrubbed = if self.rules.redact { address::scrub(text, self.rules.prefix) } else { None };
            quoted(scrubbed.as_deref().unwrap_or(text))
        };
        self.more.extend([name.to_owned(), kept]);
    }

    /// Keeps JSON in `more`.
    pub fn keep_json(&mut self, path: &str, raw: &str) {
        let redacted = if self.rules.redact { redact::field("", path, raw, self.rules.prefix) } else { None };
        self.more.extend([path.to_owned(), redacted.unwrap_or_else(|| raw.to_owned())]);
    }

    fn set(&mut self, name: &str, meaning: &Meaning, text: &str) -> bool {
        match meaning {
            Meaning::More | Meaning::Private => false,
            Meaning::Time(clock, time_is) => {
                let Some(us) = clock.read(text, self.rules.offset_minutes) else { return self.unread() };
                let is_first = self.time.is_none();
                if is_first {
                    self.time = Some(us);
                    if self.row.get(request_lines::TIME_IS).is_none() {
                        self.row.set(request_lines::TIME_IS, time_is.name());
                    }
                }
                is_first
            }
            Meaning::Fraction(unit) => match decimal(text, unit.places()) {
                Some(us @ 0..1_000_000) => {
                    self.fraction_us = us;
                    true
                }
                _ => self.unread(),
            },
            Meaning::TimeIs => {
                let known = matches!(text, "start" | "end");
                if known {
                    self.row.replace(request_lines::TIME_IS, text);
                }
                known
            }
            Meaning::Text(column) => self.column(*column, text),
            Meaning::Whole(column, limit) => self.whole(*column, *limit, text),
            // The protocol may come later in the line.
            Meaning::Tcp(column) => {
                self.tcp.push((*column, name.to_owned(), text.to_owned()));
                true
            }
            Meaning::Duration(_, _) if is_none_or_not_final(text) => false,
            Meaning::Duration(column, unit) => match duration(text, *unit) {
                Some(us) => self.column(*column, us),
                None => self.unread(),
            },
            Meaning::Count => {
                let number = text.parse::<u64>().ok().and_then(|count| count.checked_sub(1));
                self.count = number.filter(|number| *number <= u64::from(u32::MAX));
                match self.count {
                    Some(number) => self.column(request_lines::REQUEST_NUMBER, number),
                    None => self.unread(),
                }
            }
            Meaning::ConnectionId => self.column(request_lines::CONNECTION_ID, normal_id(text)),
            Meaning::ExternalId(rank) => self.external(*rank, name, text),
            Meaning::Protocol => self.protocol(name, text),
            Meaning::Request => self.request(text),
            Meaning::Path => self.target(text),
            Meaning::PathAlone if self.path.is_none() => {
                self.path = Some((name.to_owned(), text.to_owned()));
                true
            }
            Meaning::Query if self.query.is_none() => {
                self.query = Some((name.to_owned(), text.to_owned()));
                true
            }
            Meaning::PathAlone | Meaning::Query => false,
            Meaning::Address => self.client(address::read(text)),
            Meaning::AddressPort => self.client(address::read_with_port(text)),
            Meaning::Port => match text.parse() {
                Ok(port) if self.client.port.is_none() => {
                    self.client.port = Some(port);
                    self.rules.redact
                }
                _ => false,
            },
            Meaning::Network => self.network(text),
            // A client's coordinates are redacted as its address is.
            Meaning::Latitude => {
                degrees(text).is_some_and(|degrees| self.latitude.replace(degrees).is_none()) && self.rules.redact
            }
            Meaning::Longitude => {
                degrees(text).is_some_and(|degrees| self.longitude.replace(degrees).is_none()) && self.rules.redact
            }
        }
    }

    /// Counts a piece that is not a valid value of its column.
    fn unread(&mut self) -> bool {
        self.values_unread += 1;
        false
    }

    fn column<K, V: Value<K>>(&mut self, column: TableColumn<RequestLines, Nullable<K>>, value: V) -> bool {
        let is_first = self.row.get(column).is_none();
        if is_first {
            self.row.set(column, Some(value));
        }
        is_first
    }

    fn whole(&mut self, column: TableColumn<RequestLines, Nullable<Whole>>, limit: u64, text: &str) -> bool {
        match text.parse::<u64>() {
            _ if is_none_or_not_final(text) => false,
            Ok(number) if number <= limit => self.column(column, number),
            _ => self.unread(),
        }
    }

    fn external(&mut self, rank: u8, name: &str, text: &str) -> bool {
        if self.external.as_ref().is_some_and(|(known, ..)| *known >= rank) {
            return false;
        }
        if let Some((_, name, text)) = self.external.replace((rank, name.to_owned(), text.to_owned())) {
            self.keep(&name, &text, false);
        }
        true
    }

    /// True where nothing of it needs to be kept: the address is handed out, and kept only where nothing is redacted.
    fn client(&mut self, read: Client) -> bool {
        let is_first = read.address.is_some() && self.client.address.is_none();
        if is_first {
            self.client = Client { address: read.address, port: read.port.or(self.client.port) };
        }
        is_first && self.rules.redact
    }

    /// A network that is small enough to be kept, or an address, which is truncated later.
    fn network(&mut self, text: &str) -> bool {
        let Some((base, bits)) = text.split_once('/') else { return self.client(address::read(text)) };
        let Some(base) = address::read(base).address else { return false };
        let limit = if base.is_ipv4() { self.rules.prefix.v4 } else { self.rules.prefix.v6 };
        match bits.parse::<u8>() {
            Ok(bits) if bits <= limit || !self.rules.redact => self.column(request_lines::CLIENT_NETWORK, text),
            Ok(_) => self.column(request_lines::CLIENT_NETWORK, self.rules.prefix.network(base)),
            Err(_) => false,
        }
    }

    /// `h3`, `h2`, `h1`; how a version that the short form does not give back was written is kept too.
    fn protocol(&mut self, name: &str, text: &str) -> bool {
        let short = match text {
            "HTTP/3.0" | "HTTP/3" | "h3" => "h3",
            "HTTP/2.0" | "HTTP/2" | "h2" => "h2",
            "HTTP/1.1" | "h1" => "h1",
            _ if text.eq_ignore_ascii_case("http/1.1") => "h1",
            _ if text.eq_ignore_ascii_case("http/2") => "h2",
            _ if text.eq_ignore_ascii_case("http/3") || text.starts_with("h3-") => "h3",
            "h2c" => "h2",
            "HTTP/1.0" => "h1",
            _ => text,
        };
        if !self.column(request_lines::PROTOCOL, short) {
            // The same protocol again, as `$http3` beside `$server_protocol`, needs no place in `more`.
            return self.row.text(request_lines::PROTOCOL) == Some(short);
        }
        if matches!(text, "HTTP/1.0" | "h2c") || text.starts_with("h3-") {
            self.keep(name, text, false);
        }
        true
    }

    /// `GET /path HTTP/1.1`. Anything else is kept whole.
    fn request(&mut self, text: &str) -> bool {
        let parts = text.split_once(' ').and_then(|(method, rest)| Some((method, rest.rsplit_once(' ')?)));
        match parts {
            Some((method, (target, protocol)))
                if is_token(method) && !target.is_empty() && protocol.starts_with("HTTP/") =>
            {
                self.column(request_lines::METHOD, method);
                self.target(target);
                self.protocol("server_protocol", protocol);
                true
            }
            _ => false,
        }
    }

    /// A request's target; its absolute form, in which HAProxy writes HTTP/2's and HTTP/3's, is taken apart.
    fn target(&mut self, text: &str) -> bool {
        let absolute = text
            .split_once("://")
            .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
            .map(|(_, rest)| rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())));
        match absolute {
            Some((authority, path)) if !authority.is_empty() => {
                self.column(request_lines::AUTHORITY, authority);
                self.column(request_lines::PATH, if path.is_empty() { "/" } else { path })
            }
            _ => self.column(request_lines::PATH, text),
        }
    }

    /// The row. A line without a time makes no row.
    pub fn finish(mut self) -> Result<Line, Skip> {
        let time = self.time.ok_or(Skip::NoTime)?;
        let time = if time % 1_000_000 == 0 { time + self.fraction_us } else { time };
        self.row.set(request_lines::TIME, time);
        if self.row.get(request_lines::TIME_IS).is_none() {
            self.row.set(request_lines::TIME_IS, self.rules.time_is.name());
        }
        self.row.set(request_lines::LINE_DAY, time.div_euclid(86_400_000_000));
        if let Some((_, _, text)) = self.external.take() {
            self.row.set(request_lines::EXTERNAL_ID, Some(text));
        }
        self.join_path();
        self.fill_tcp();
        if let Some(number) = self.count
            && self.rules.count_is_stream
            && self.row.text(request_lines::PROTOCOL) == Some("h3")
        {
            self.column(request_lines::STREAM_ID, number * 4);
        }
        let Self { mut row, more, client, latitude, longitude, values_unread, .. } = self;
        row.set(request_lines::MORE, more);
        Ok(Line { row, client, location: latitude.zip(longitude), values_unread })
    }

    /// TCP's figures, where the line says that it came over TCP; else they are kept under their names.
    fn fill_tcp(&mut self) {
        let is_tcp = matches!(self.row.text(request_lines::PROTOCOL), Some("h1" | "h2"));
        for (column, name, text) in std::mem::take(&mut self.tcp) {
            if !is_tcp || !self.whole(column, u32::MAX.into(), &text) {
                self.keep(&name, &text, false);
            }
        }
    }

    /// Puts path and query together where the line has no whole target; else keeps them as they are.
    fn join_path(&mut self) {
        let (path, query) = (self.path.take(), self.query.take());
        if self.row.get(request_lines::PATH).is_some() {
            for (name, text) in [path, query].into_iter().flatten() {
                if self.row.text(request_lines::PATH) != Some(text.as_str()) {
                    self.keep(&name, &text, false);
                }
            }
            return;
        }
        match (path, query) {
            (Some((_, path)), Some((_, query))) => {
                let mark = if query.starts_with('?') { "" } else { "?" };
                self.target(&format!("{path}{mark}{query}"));
            }
            (Some((_, path)), None) => {
                self.target(&path);
            }
            (None, Some((name, query))) => self.keep(&name, &query, false),
            (None, None) => {}
        }
    }
}

/// A JSON string; most texts are one between quotes.
fn quoted(text: &str) -> String {
    if text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        return serde_json::Value::from(text).to_string();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    out.push_str(text);
    out.push('"');
    out
}

/// As HAProxy writes figures: `-1` of a request that never came so far, `+5` of one that was logged before its end.
fn is_none_or_not_final(text: &str) -> bool {
    text == "-1" || text.starts_with('+')
}

fn degrees(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|degrees| degrees.is_finite())
}

/// A method, RFC 9110 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
