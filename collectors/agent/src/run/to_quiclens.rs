//! Batches to a store that `quiclens serve` holds: each to its table's address, without a statement.

use crate::error::{Error, Kind};
use crate::run::https::agent;
use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Sink};
use serde::Deserialize;
use std::path::Path;
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
    /// `url` is `http://host:port` or `https://host:port`. Nothing is asked of the server yet.
    pub fn open(url: &str, token: Option<String>, ca_file: Option<&Path>) -> Result<Self, Error> {
        Ok(Self { agent: agent(url, ca_file)?, base: url.trim_end_matches('/').to_owned(), token })
    }

    fn send(&self, message: &Message) -> Result<(), Error> {
        let mut request = self
            .agent
            .post(format!("{}/store/tables/{}/rows", self.base, message.table))
            .query("rows", message.rows.to_string())
            .header("Content-Type", STREAM);
        if let Some(token) = &self.token {
            request = request.header("X-ClickHouse-Key", token);
        }
        let mut answer = request
            .send(&message.bytes[..])
            .map_err(|error| Error::new(Kind::SinkAway, without_password(&self.base), error))?;
        let status = answer.status().as_u16();
        let said = answer.body_mut().read_to_string().unwrap_or_default();
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        if status == 200 {
            return match serde_json::from_str::<Stored>(&said) {
                Ok(stored) if stored.rows == message.rows => Ok(()),
                _ => Err(Error::new(Kind::SinkAway, place, "what answers is no quiclens serve")),
            };
        }
        let said = serde_json::from_str(&said)
            .map_or_else(|_| String::new(), |Problem { title, detail }| title + ": " + &detail);
        let kind = match status {
            // Another catalogue, no such table, no permission, too large: it will be the same next time.
            401 | 403 => Kind::NotLetIn,
            400 | 404 | 413 | 415 | 422 => Kind::SinkRefuses,
            _ => Kind::SinkAway,
        };
        Err(Error::new(kind, place, format!("HTTP {status} {said}")))
    }
}

impl Sink for Quiclens {
    fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Error> {
        messages.iter().try_for_each(|message| self.send(message))
    }
}
