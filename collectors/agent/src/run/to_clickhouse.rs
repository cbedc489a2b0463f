//! Batches straight into a ClickHouse server's HTTP interface.

use crate::error::{Error, FailureKind};
use crate::run::https::{Post, PostRequest, agent};
use crate::run::secret::without_password;
use crate::run::sink::{Message, Patience, Sink};
use serde::Deserialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::warn;

/// A server.
pub struct ClickHouse {
    server: Box<dyn Post>,
    base: String,
    database: String,
    user: Option<String>,
    password: Option<String>,
    /// A warning has said that more rows were written than sent.
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
        Self::over(Box::new(agent(url, ca_file)?), url, user, password)
    }

    /// By a way that is there: see [`Self::open`].
    pub fn over(server: Box<dyn Post>, url: &str, user: Option<&str>, password: Option<String>) -> Result<Self, Error> {
        let scheme = url.find("://").map(|at| at + 3).ok_or_else(|| Error::configuration("sink.url has no scheme"))?;
        if url.contains(['?', '#']) {
            return Err(Error::configuration(
                "sink.url: only the database stands behind the host; see user and password_file",
            ));
        }
        let (base, database) = match url[scheme..].find('/') {
            Some(at) => (&url[..scheme + at], url[scheme + at + 1..].trim_end_matches('/')),
            None => (url, ""),
        };
        Ok(Self {
            server,
            base: base.to_owned(),
            database: if database.is_empty() { "default".to_owned() } else { database.to_owned() },
            user: user.map(str::to_owned),
            password,
            is_told: AtomicBool::new(false),
        })
    }

    fn insert(&self, message: &Message, is_patient: bool) -> Result<(), Error> {
        let mut headers = Vec::new();
        headers.extend(self.user.as_deref().map(|user| ("X-ClickHouse-User", user)));
        headers.extend(self.password.as_deref().map(|password| ("X-ClickHouse-Key", password)));
        let set = |key, value: &str| (key, value.to_owned());
        let request = PostRequest {
            url: format!("{}/", self.base),
            query: vec![
                set("database", &self.database),
                ("query", format!("INSERT INTO {} FORMAT ArrowStream", message.table)),
                // The insert is complete when the answer comes, `written_rows` counts the rows that were sent, and a
                // batch may have rows of many partitions (days).
                set("async_insert", "0"),
                set("wait_end_of_query", "1"),
                set("optimize_on_insert", "0"),
                set("max_partitions_per_insert_block", "0"),
            ],
            headers,
            body: &message.bytes,
            is_patient,
        };
        let answer = self
            .server
            .post(&request)
            .map_err(|error| Error::new(FailureKind::SinkAway, without_password(&self.base), error))?;
        let status = answer.status;
        let written = answer
            .summary
            .and_then(|json| serde_json::from_str::<Summary>(&json).ok())
            .and_then(|summary| summary.written_rows.parse::<usize>().ok());
        if status == 200 && written.is_some_and(|written| written >= message.rows) {
            if written != Some(message.rows) && !self.is_told.swap(true, Ordering::Relaxed) {
                // ClickHouse counts rows of materialized views too (its issue 18237).
                warn!(table = message.table, "more rows written than sent; has it a materialized view?");
            }
            return Ok(());
        }
        let said = answer.said.lines().next().unwrap_or_default();
        let place = format!("{}, table {}", without_password(&self.base), message.table);
        Err(match (status, written) {
            (200, Some(written)) => {
                Error::new(FailureKind::SinkRefuses, place, format!("{} rows sent, {written} written", message.rows))
            }
            // A gateway's page, perhaps, which passes.
            (200, None) => Error::new(FailureKind::SinkAway, place, "the answer is not one of ClickHouse"),
            (401 | 403, _) => Error::new(FailureKind::NotLetIn, place, format!("{status} {said}")),
            // Another catalogue, or no such table: a retry would get the same answer.
            (400 | 404, _) => Error::new(FailureKind::SinkRefuses, place, format!("{status} {said}")),
            _ => Error::new(FailureKind::SinkAway, place, format!("{status} {said}")),
        })
    }
}

impl Sink for ClickHouse {
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Error> {
        messages.iter().try_for_each(|message| self.insert(message, patience()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    /// Address and bytes of each request.
    type Asked = Vec<(String, Vec<u8>)>;

    /// Gives two batches of three rows to a server that has one answer to every insert, with these headers and this text:
    /// what came of it, and what the server was asked.
    fn asked(status: &str, headers: &str, said: &str) -> (Result<(), Error>, Asked) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let length = said.len();
        let answer =
            format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{said}");
        let server = std::thread::spawn(move || {
            let mut all = Vec::new();
            // A connection that asks nothing ends it.
            while let Ok((mut stream, _)) = listener.accept() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
                reader.read_line(&mut first).unwrap();
                while reader.read_line(&mut line).unwrap() > 2 {
                    let lower = line.to_ascii_lowercase();
                    length = lower.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
                    line.clear();
                }
                if first.is_empty() {
                    break;
                }
                let mut bytes = vec![0; length];
                reader.read_exact(&mut bytes).unwrap();
                all.push((first.split(' ').nth(1).unwrap().to_owned(), bytes));
                stream.write_all(answer.as_bytes()).unwrap();
            }
            all
        });
        let message = |table| Message {
            table,
            rows: 3,
            batch: "b".into(),
            made_us: 0,
            heartbeat_us: None,
            bytes: format!("rows of {table}").into_bytes(),
        };
        let mut sink = ClickHouse::open(&format!("http://{address}/quic"), None, None, None).unwrap();
        let given = sink.give(&[message("streams"), message("connections")], &|| true);
        drop(std::net::TcpStream::connect(address).unwrap());
        (given, server.join().unwrap())
    }

    fn with_written(rows: &str) -> (Result<(), Error>, Asked) {
        let summary = format!("X-ClickHouse-Summary: {{\"read_rows\":\"3\",\"written_rows\":\"{rows}\"}}\r\n");
        asked("200 OK", &summary, "")
    }

    #[test]
    fn as_many_rows_written_as_sent_or_more_is_no_error_and_each_batch_goes_once() {
        // A materialized view's rows are counted among those written.
        for rows in ["3", "4", "6000000000"] {
            let (given, asked) = with_written(rows);
            assert!(given.is_ok(), "{rows} written: {}", given.unwrap_err());
            assert_eq!(asked.len(), 2, "{rows} written");
            for ((url, bytes), table) in asked.iter().zip(["streams", "connections"]) {
                let query = format!("INSERT%20INTO%20{table}%20FORMAT%20ArrowStream");
                assert!(url.replace('+', "%20").contains(&query) && url.contains("database=quic"), "{url}");
                assert_eq!(bytes, format!("rows of {table}").as_bytes());
            }
        }
    }

    #[test]
    fn fewer_rows_written_than_sent_ends_it_with_both_counts_and_no_count_passes() {
        let away = (FailureKind::SinkAway, "not one of ClickHouse");
        let refuses = |said| (FailureKind::SinkRefuses, said);
        for (rows, (kind, says)) in [
            ("2", refuses("3 rows sent, 2 written")),
            ("0", refuses("3 rows sent, 0 written")),
            ("many", away),
            ("", away),
            ("-3", away),
        ] {
            let (given, asked) = with_written(rows);
            let error = given.unwrap_err();
            assert_eq!(error.kind, kind, "{rows}: {error}");
            assert!(error.said.contains(says), "{rows}: {error}");
            assert_eq!(asked.len(), 1, "nothing is given after what was refused");
        }
        let (given, _) = asked("200 OK", "", "");
        assert_eq!(given.unwrap_err().kind, FailureKind::SinkAway, "a page of a gateway has no summary");
        let (given, _) = asked("200 OK", "X-ClickHouse-Summary: {\r\n", "");
        assert_eq!(given.unwrap_err().kind, FailureKind::SinkAway, "a summary that is none");
    }

    #[test]
    fn an_address_with_parameters_is_refused() {
        for url in ["http://h:8123/quic?password=x", "http://h/#quic", "h:8123"] {
            let opened = ClickHouse::open(url, None, None, None);
            assert!(opened.is_err_and(|error| error.to_string().contains("sink.url")), "{url}");
        }
    }

    #[test]
    fn an_answer_that_is_an_error_is_one_however_many_rows_it_counts() {
        let summary = "X-ClickHouse-Summary: {\"written_rows\":\"3\"}\r\n";
        for (status, kind) in [
            ("400 Bad Request", FailureKind::SinkRefuses),
            ("403 Forbidden", FailureKind::NotLetIn),
            ("404 Not Found", FailureKind::SinkRefuses),
            ("500 Internal Server Error", FailureKind::SinkAway),
            ("503 Service Unavailable", FailureKind::SinkAway),
        ] {
            let (given, _) = asked(status, summary, "Code: 60. DB::Exception: no such table\nmore");
            let error = given.unwrap_err();
            assert_eq!(error.kind, kind, "{status}: {error}");
            assert!(error.said.contains("no such table") && !error.said.contains("more"), "{error}");
        }
    }
}
