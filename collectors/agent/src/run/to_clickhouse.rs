//! Batches straight into a ClickHouse server's HTTP interface.

use crate::error::{Error, Kind};
use crate::run::https::agent;
use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Sink};
use serde::Deserialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::warn;
use ureq::Agent;

/// A server.
pub struct ClickHouse {
    agent: Agent,
    base: String,
    database: String,
    user: Option<String>,
    password: Option<String>,
    /// That more rows were written than sent.
    is_told: AtomicBool,
}

#[derive(Deserialize)]
struct Summary {
    written_rows: String,
}

impl ClickHouse {
    /// `url` is `http://host:port/database`. Nothing is asked of the server yet.
    pub fn open(
        url: &str,
        user: Option<&str>,
        password: Option<String>,
        ca_file: Option<&Path>,
    ) -> Result<Self, Error> {
        let scheme = url.find("://").map(|at| at + 3).ok_or_else(|| Error::configuration("sink.url has no scheme"))?;
        let (base, database) = match url[scheme..].find('/') {
            Some(at) => (&url[..scheme + at], url[scheme + at + 1..].trim_end_matches('/')),
            None => (url, ""),
        };
        Ok(Self {
            agent: agent(url, ca_file)?,
            base: base.to_owned(),
            database: if database.is_empty() { "default".to_owned() } else { database.to_owned() },
            user: user.map(str::to_owned),
            password,
            is_told: AtomicBool::new(false),
        })
    }

    fn insert(&self, message: &Message) -> Result<(), Error> {
        let mut request = self
            .agent
            .post(format!("{}/", self.base))
            .query("database", &self.database)
            .query("query", format!("INSERT INTO {} FORMAT ArrowStream", message.table))
            // Done when the answer comes; rows written must be countable; one batch may hold traces of many days.
            .query("async_insert", "0")
            .query("wait_end_of_query", "1")
            .query("optimize_on_insert", "0")
            .query("max_partitions_per_insert_block", "0");
        if let Some(user) = &self.user {
            request = request.header("X-ClickHouse-User", user);
        }
        if let Some(password) = &self.password {
            request = request.header("X-ClickHouse-Key", password);
        }
        let mut answer = request
            .send(&message.bytes[..])
            .map_err(|error| Error::new(Kind::SinkAway, without_password(&self.base), error))?;
        let status = answer.status().as_u16();
        let summary = answer.headers().get("X-ClickHouse-Summary").and_then(|value| value.to_str().ok());
        let written = summary
            .and_then(|json| serde_json::from_str::<Summary>(json).ok())
            .and_then(|summary| summary.written_rows.parse::<usize>().ok());
        if status == 200 && written.is_some_and(|written| written >= message.rows) {
            if written != Some(message.rows) && !self.is_told.swap(true, Ordering::Relaxed) {
                // ClickHouse counts rows of materialized views too (its issue 18237).
                warn!(table = message.table, "more rows written than sent; has it a materialized view?");
            }
            return Ok(());
        }
        let said = answer.body_mut().read_to_string().unwrap_or_default();
        let said = said.lines().next().unwrap_or_default();
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        Err(match status {
            200 => Error::new(Kind::SinkRefuses, place, format!("{} rows sent, {written:?} written", message.rows)),
            // Another catalogue, no such table, no permission: it will be the same next time.
            401 | 403 => Error::new(Kind::NotLetIn, place, format!("{status} {said}")),
            400 | 404 => Error::new(Kind::SinkRefuses, place, format!("{status} {said}")),
            _ => Error::new(Kind::SinkAway, place, format!("{status} {said}")),
        })
    }
}

impl Sink for ClickHouse {
    fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Error> {
        messages.iter().try_for_each(|message| self.insert(message))
    }
}
