//! Batches straight into a ClickHouse server's HTTP interface.

use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Refusal, Sink};
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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
    pub fn open(url: &str, user: Option<&str>, password: Option<String>) -> Result<Self, String> {
        let scheme = url.find("://").map(|at| at + 3).ok_or("sink.url has no scheme")?;
        let (base, database) = match url[scheme..].find('/') {
            Some(at) => (&url[..scheme + at], url[scheme + at + 1..].trim_end_matches('/')),
            None => (url, ""),
        };
        let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).http_status_as_error(false);
        Ok(Self {
            agent: config.build().into(),
            base: base.to_owned(),
            database: if database.is_empty() { "default".to_owned() } else { database.to_owned() },
            user: user.map(str::to_owned),
            password,
            is_told: AtomicBool::new(false),
        })
    }

    fn insert(&self, message: &Message) -> Result<(), Refusal> {
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
        let mut answer = request.send(&message.bytes[..]).map_err(|error| Refusal::Later(error.to_string()))?;
        let status = answer.status().as_u16();
        let summary = answer.headers().get("X-ClickHouse-Summary").and_then(|value| value.to_str().ok());
        let written = summary
            .and_then(|json| serde_json::from_str::<Summary>(json).ok())
            .and_then(|summary| summary.written_rows.parse::<usize>().ok());
        if status == 200 && written.is_some_and(|written| written >= message.rows) {
            if written != Some(message.rows) && !self.is_told.swap(true, Ordering::Relaxed) {
                // ClickHouse counts rows of materialized views too (its issue 18237).
                eprintln!(
                    "quiclens-collector: {}: more rows written than sent; has it a materialized view?",
                    message.table
                );
            }
            return Ok(());
        }
        let said = answer.body_mut().read_to_string().unwrap_or_default();
        let said = said.lines().next().unwrap_or_default();
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        Err(match (status, written) {
            (200, _) => Refusal::Never(format!("{place}: {} rows sent, {written:?} written", message.rows)),
            // Another catalogue, no such table, no permission: it will be the same next time.
            (400 | 401 | 403 | 404, _) => Refusal::Never(format!("{place}: {status} {said}")),
            _ => Refusal::Later(format!("{place}: {status} {said}")),
        })
    }
}

impl Sink for ClickHouse {
    fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Refusal> {
        messages.iter().try_for_each(|message| self.insert(message))
    }
}
