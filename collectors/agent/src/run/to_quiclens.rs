//! Batches to a store that `quiclens serve` holds: each to its table's address, without a statement.

use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Refusal, Sink};
use serde::Deserialize;
use std::time::Duration;
use ureq::Agent;

const STREAM: &str = "application/vnd.apache.arrow.stream";

/// A serving quiclens.
pub struct Quiclens {
    agent: Agent,
    base: String,
    token: Option<String>,
}

/// The answer to rows that were stored.
#[derive(Deserialize)]
struct Stored {
    rows: usize,
}

/// The answer to rows that were not: RFC 9457.
#[derive(Deserialize)]
struct Problem {
    title: String,
    #[serde(default)]
    detail: String,
}

impl Quiclens {
    /// `url` is `http://host:port`. Nothing is asked of the server yet.
    pub fn open(url: &str, token: Option<String>) -> Self {
        let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).http_status_as_error(false);
        Self { agent: config.build().into(), base: url.trim_end_matches('/').to_owned(), token }
    }

    fn send(&self, message: &Message) -> Result<(), Refusal> {
        let mut request = self
            .agent
            .post(format!("{}/store/tables/{}/rows", self.base, message.table))
            .query("rows", message.rows.to_string())
            .header("Content-Type", STREAM);
        if let Some(token) = &self.token {
            request = request.header("X-ClickHouse-Key", token);
        }
        let mut answer = request.send(&message.bytes[..]).map_err(|error| Refusal::Later(error.to_string()))?;
        let status = answer.status().as_u16();
        let said = answer.body_mut().read_to_string().unwrap_or_default();
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        if status == 200 {
            return match serde_json::from_str::<Stored>(&said) {
                Ok(stored) if stored.rows == message.rows => Ok(()),
                _ => Err(Refusal::Later(format!("{place}: what answers is no quiclens serve"))),
            };
        }
        let said = serde_json::from_str(&said)
            .map_or_else(|_| String::new(), |Problem { title, detail }| title + ": " + &detail);
        let told = format!("{place}: HTTP {status} {said}");
        Err(match status {
            // Another catalogue, no such table, no permission, too large: it will be the same next time.
            400 | 401 | 403 | 404 | 413 | 415 | 422 => Refusal::Never(told),
            _ => Refusal::Later(told),
        })
    }
}

impl Sink for Quiclens {
    fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Refusal> {
        messages.iter().try_for_each(|message| self.send(message))
    }
}
