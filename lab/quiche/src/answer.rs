//! The answer to one `GET /<bytes>/<think in us>`.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use quiche::h3::{Header, NameValue as _};

use crate::Failure;
use crate::access_log::Request;

/// An answer on its way out.
pub struct Answer {
    pub request: Request,
    /// When the application is done thinking.
    pub due: Instant,
    has_head: bool,
    sent: usize,
}

impl Answer {
    /// Reads a request; one that asks for something else is an error.
    pub fn new(stream_id: u64, headers: &[Header], connection_id: &str) -> Result<Self, Failure> {
        let path = value(headers, b":path").ok_or("a request without a path")?;
        let mut parts = path.split('/').skip(1);
        let (Some(bytes), Some(think_us)) = (parts.next(), parts.next()) else {
            return Err(format!("{path} is not /<bytes>/<think in us>").into());
        };
        let (response_bytes, think_us) = (bytes.parse()?, think_us.parse()?);
        let began = Instant::now();
        let request = Request {
            began_at: Timestamp::now(),
            began,
            connection_id: connection_id.to_owned(),
            stream_id,
            method: value(headers, b":method").unwrap_or_default(),
            authority: value(headers, b":authority").unwrap_or_default(),
            path,
            external_id: value(headers, b"x-request-id"),
            response_bytes,
        };
        Ok(Self { request, due: began + Duration::from_micros(think_us), has_head: false, sent: 0 })
    }

    /// Hands over as much as the connection takes; whether that was the rest.
    pub fn advance(
        &mut self,
        http: &mut quiche::h3::Connection,
        connection: &mut quiche::Connection,
        now: Instant,
    ) -> Result<bool, Failure> {
        if now < self.due {
            return Ok(false);
        }
        let (stream_id, size) = (self.request.stream_id, self.request.response_bytes);
        if !self.has_head {
            let length = size.to_string();
            let head = [Header::new(b":status", b"200"), Header::new(b"content-length", length.as_bytes())];
            match http.send_response(connection, stream_id, &head, false) {
                Ok(()) => self.has_head = true,
                Err(quiche::h3::Error::StreamBlocked) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        match http.send_body(connection, stream_id, &vec![0; size - self.sent], true) {
            Ok(taken) => self.sent += taken,
            Err(quiche::h3::Error::Done) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.sent == size)
    }
}

fn value(headers: &[Header], name: &[u8]) -> Option<String> {
    let header = headers.iter().find(|header| header.name() == name)?;
    String::from_utf8(header.value().to_vec()).ok()
}
