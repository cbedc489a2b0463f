//! Batches to a store that `quiclens serve` holds: each to its table's address, without a statement.

use crate::error::{Error, FailureKind};
use crate::run::https::{Post, PostRequest, agent};
use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Sink};
use serde::Deserialize;
use std::path::Path;

const STREAM: &str = "application/vnd.apache.arrow.stream";

/// A serving quiclens.
pub struct Quiclens {
    server: Box<dyn Post>,
    base: String,
    token: Option<String>,
}

/// The answer to rows that were stored.
#[derive(Deserialize)]
struct StoredAnswer {
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
        Ok(Self::over(Box::new(agent(url, ca_file)?), url, token))
    }

    /// By a way that is there: see [`Self::open`].
    pub fn over(server: Box<dyn Post>, url: &str, token: Option<String>) -> Self {
        Self { server, base: url.trim_end_matches('/').to_owned(), token }
    }

    fn send(&self, message: &Message, is_patient: bool) -> Result<(), Error> {
        let mut headers = vec![("Content-Type", STREAM)];
        headers.extend(self.token.as_deref().map(|token| ("X-ClickHouse-Key", token)));
        let request = PostRequest {
            url: format!("{}/store/tables/{}/rows", self.base, message.table),
            query: vec![("rows", message.rows.to_string())],
            headers,
            body: &message.bytes,
            is_patient,
        };
        let answer = self
            .server
            .post(&request)
            .map_err(|error| Error::new(FailureKind::SinkAway, without_password(&self.base), error))?;
        let (status, said) = (answer.status, answer.said);
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        if status == 200 {
            return match serde_json::from_str::<StoredAnswer>(&said) {
                Ok(stored) if stored.rows == message.rows => Ok(()),
                _ => Err(Error::new(FailureKind::SinkAway, place, "the answer is not one of quiclens serve")),
            };
        }
        let said = serde_json::from_str(&said)
            .map_or_else(|_| String::new(), |Problem { title, detail }| title + ": " + &detail);
        let kind = match status {
            401 | 403 => FailureKind::NotLetIn,
            // Another catalogue, no such table, too large: a retry would get the same answer.
            400 | 404 | 413 | 415 | 422 => FailureKind::SinkRefuses,
            _ => FailureKind::SinkAway,
        };
        Err(Error::new(kind, place, format!("HTTP {status} {said}")))
    }
}

impl Sink for Quiclens {
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Error> {
        messages.iter().try_for_each(|message| self.send(message, patience()))
    }
}
