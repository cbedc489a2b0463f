//! A store behind HTTP: `quiclens serve`, or a ClickHouse, that answers late, twice, wrongly or not at all, breaks off
//! before or after it has stored what it was sent, stores a part of it, refuses, or lets nobody in.

use super::store::SharedStore;
use crate::machine::simulated;
use crate::run::https::{Post, PostRequest, Reply};
use crate::run::sink::Message;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use quiclens_core::record::Batch;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// What such a store does that is not storing and saying so.
pub const DEEDS: [&str; 14] = [
    "away",
    "unavailable",
    "too_large",
    "refused",
    "password_changed",
    "timed_out",
    "stored_and_timed_out",
    "stored_and_broken_off",
    "stored_late",
    "stored_twice",
    "stored_in_part_and_failed",
    "fewer_rows_said",
    "more_rows_said",
    "no_rows_said",
];

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// `quiclens serve`.
    Quiclens,
    /// ClickHouse.
    ClickHouse,
}

/// The way to it.
pub struct Served {
    /// Which.
    pub server: ServerKind,
    /// What it holds.
    pub store: SharedStore,
}

/// What becomes of a request.
#[derive(Clone, Copy)]
struct RequestFate {
    /// Rows that are stored: of all of them, so many parts of two; and how often.
    halves: usize,
    times: usize,
    /// How long it takes, ms.
    takes_ms: u64,
    /// Status, and by how many rows the answer differs from those that were sent; none: nothing is said of rows.
    said: Result<(u16, Option<i64>), ErrorKind>,
}

const STORED: RequestFate = RequestFate { halves: 2, times: 1, takes_ms: 1, said: Ok((200, Some(0))) };
const SAID: RequestFate = RequestFate { halves: 0, times: 0, ..STORED };

impl Served {
    /// The fate depends only on what a server knows of a request: its table, its rows and its credentials.
    fn fate(&self, request: &PostRequest<'_>, rows: usize) -> RequestFate {
        let now = simulated::world(|world| world.elapsed());
        let mut store = self.store.lock().unwrap();
        if store.is_healthy {
            return if is_let_in(request, store.password) {
                STORED
            } else {
                RequestFate { said: Ok((401, None)), ..SAID }
            };
        }
        let most_ms = if store.is_away { 20_000 } else { 3000 };
        let times = if store.is_away { 8 } else { 30 };
        if store.chance.one_in(times) {
            store.served("away");
            store.down_until = now + Duration::from_millis(store.chance.below(most_ms));
        }
        if now < store.down_until {
            return RequestFate { said: Err(ErrorKind::ConnectionRefused), ..SAID };
        }
        if store.chance.one_in(60) {
            store.served("password_changed");
            store.password += 1;
        }
        if !is_let_in(request, store.password) {
            return RequestFate { said: Ok((401, None)), ..SAID };
        }
        let parts = if rows > 1 { 1 } else { 0 };
        let (what, fate) = match store.chance.below(90) {
            0 => ("too_large", RequestFate { said: Ok((413, None)), ..SAID }),
            1 => ("refused", RequestFate { said: Ok((if store.chance.one_in(2) { 400 } else { 404 }, None)), ..SAID }),
            2..=5 => ("unavailable", RequestFate { said: Ok((503, None)), ..SAID }),
            6..=8 => ("timed_out", RequestFate { takes_ms: 120_000, said: Err(ErrorKind::TimedOut), ..SAID }),
            9..=11 => {
                ("stored_and_timed_out", RequestFate { takes_ms: 120_000, said: Err(ErrorKind::TimedOut), ..STORED })
            }
            12..=15 => ("stored_and_broken_off", RequestFate { said: Err(ErrorKind::ConnectionReset), ..STORED }),
            16..=19 => ("stored_late", RequestFate { takes_ms: store.chance.below(5000), ..STORED }),
            20..=22 => ("stored_twice", RequestFate { times: 2, ..STORED }),
            23..=26 => ("stored_in_part_and_failed", RequestFate { halves: parts, said: Ok((500, None)), ..STORED }),
            27 => ("fewer_rows_said", RequestFate { halves: parts, said: Ok((200, Some(-1))), ..STORED }),
            28..=29 => ("more_rows_said", RequestFate { said: Ok((200, Some(1))), ..STORED }),
            30 => ("no_rows_said", RequestFate { said: Ok((200, None)), ..STORED }),
            _ => return STORED,
        };
        store.served(what);
        fate
    }

    fn reply(&self, (status, more): (u16, Option<i64>), rows: usize) -> Reply {
        let rows = more.and_then(|more| usize::try_from(i64::try_from(rows).unwrap() + more).ok());
        let (summary, said) = match (self.server, rows.filter(|_| status == 200)) {
            (_, None) if status != 200 => (None, r#"{"title":"simulated"}"#.to_owned()),
            (_, None) => (None, String::new()),
            (ServerKind::Quiclens, Some(rows)) => (None, format!(r#"{{"rows":{rows}}}"#)),
            (ServerKind::ClickHouse, Some(rows)) => (Some(format!(r#"{{"written_rows":"{rows}"}}"#)), String::new()),
        };
        Reply { status, summary, said }
    }

    /// The refusals that the sink has to take for final.
    fn is_final(&self, (status, more): (u16, Option<i64>)) -> bool {
        match self.server {
            ServerKind::Quiclens => matches!(status, 400 | 404 | 413),
            ServerKind::ClickHouse => matches!(status, 400 | 404) || status == 200 && more.is_none_or(|more| more < 0),
        }
    }
}

fn is_let_in(request: &PostRequest<'_>, password: u64) -> bool {
    request.headers.iter().any(|(key, value)| *key == "X-ClickHouse-Key" && *value == password.to_string())
}

/// The table that a request is about.
fn table(request: &PostRequest<'_>, server: ServerKind) -> &'static str {
    let query = |key: &str| request.query.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str());
    let name = match server {
        ServerKind::Quiclens => request.url.split('/').rev().nth(1),
        ServerKind::ClickHouse => query("query").and_then(|query| query.split(' ').nth(2)),
    };
    name.and_then(Message::known_table).unwrap_or_else(|| panic!("of no table: {request:?}"))
}

impl Post for Served {
    fn post(&self, request: &PostRequest<'_>) -> io::Result<Reply> {
        let table = table(request, self.server);
        simulated::over_network("send", &[request.url.as_bytes(), request.body])?;
        let batches: Vec<RecordBatch> =
            StreamReader::try_new(request.body, None).unwrap().map(Result::unwrap).collect();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let fate = self.fate(request, rows);
        crate::machine::sleep(Duration::from_millis(fate.takes_ms));
        for _ in 0..fate.times {
            let mut store = self.store.lock().unwrap();
            match (fate.halves, &batches[..]) {
                (2, _) => store.hold(table, request.body.to_vec()),
                (1, [batch]) => {
                    let mut bytes = Vec::new();
                    let part = batch.slice(0, batch.num_rows() / 2);
                    Batch { table, rows: part }.encode_compressed(&mut bytes).unwrap();
                    store.hold(table, bytes);
                }
                _ => {}
            }
        }
        simulated::over_network("receive", &[])?;
        let said = fate.said?;
        if self.is_final(said) {
            self.store.lock().unwrap().refusals += 1;
        }
        Ok(self.reply(said, rows))
    }
}
