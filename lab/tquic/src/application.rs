//! What both ends do with HTTP/3: the client asks and reads, the server reads, thinks and answers.

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use quiclens_injected::{MessageBytes, Request};
use quiclens_simulated::{Failure, NAME};
use tquic::Connection;
use tquic::h3::connection::Http3Connection;
use tquic::h3::{Header, Http3Config, Http3Error, Http3Event};

static ZEROS: [u8; 65_536] = [0; 65_536];

/// A request and its answer on one stream, as one end has them.
struct TquicExchange {
    request: Request,
    read_bytes: u64,
    has_read: bool,
    has_sent_headers: bool,
    message: MessageBytes,
    /// The transport took less than it was given, and has not said since that it takes more.
    is_blocked: bool,
    has_finished: bool,
}

/// The application of one end.
pub struct Application {
    is_server: bool,
    /// What the server answers, by stream.
    answers: BTreeMap<u64, Request>,
    exchanges: BTreeMap<u64, TquicExchange>,
    http: Option<Http3Connection>,
    pub is_connected: bool,
    /// What a callback of the stack could not return.
    pub failure: Option<Failure>,
}

impl Application {
    pub fn new(is_server: bool, answers: BTreeMap<u64, Request>) -> Self {
        Self { is_server, answers, exchanges: BTreeMap::new(), http: None, is_connected: false, failure: None }
    }

    /// The handshake is done.
    pub fn open(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        self.http = Some(Http3Connection::new_with_quic_conn(connection, &Http3Config::new()?)?);
        self.is_connected = true;
        Ok(())
    }

    /// Asks on the next stream.
    pub fn ask(&mut self, connection: &mut Connection, request: Request, now: Instant) -> Result<(), Failure> {
        let http = self.http.as_mut().ok_or("no connection")?;
        let stream = http.stream_new(connection)?;
        let exchange = TquicExchange::new(request, request.request_bytes, Some(now));
        self.exchanges.insert(stream, exchange);
        self.turn(connection, now)
    }

    /// Whether the answer on a stream was read to its end; an error where it has another length.
    pub fn has_answer(&self, stream: u64) -> Result<bool, Failure> {
        let Some(exchange) = self.exchanges.get(&stream).filter(|exchange| exchange.has_read) else { return Ok(false) };
        if exchange.read_bytes != exchange.request.response_bytes {
            return Err(format!("stream {stream}: {} bytes were read", exchange.read_bytes).into());
        }
        Ok(true)
    }

    /// When the application has something to hand over next.
    pub fn wakes_at(&self) -> Option<Instant> {
        self.exchanges.values().filter_map(|exchange| exchange.message.hands_at).min()
    }

    /// The transport takes more of a stream: it says DATA_BLOCKED each time that it is asked before.
    pub fn unblock(&mut self, stream: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&stream) {
            exchange.is_blocked = false;
        }
    }

    /// Reads what is there, and writes what is due and goes.
    pub fn turn(&mut self, connection: &mut Connection, now: Instant) -> Result<(), Failure> {
        let Some(http) = self.http.as_mut() else { return Ok(()) };
        loop {
            match http.poll(connection) {
                Ok((stream, Http3Event::Headers { .. })) if self.is_server => {
                    let request = self.answers.get(&stream).copied().ok_or("an unknown stream")?;
                    self.exchanges.insert(stream, TquicExchange::new(request, request.response_bytes, None));
                }
                Ok((stream, Http3Event::Data)) => {
                    let exchange = self.exchanges.get_mut(&stream).ok_or("data before its headers")?;
                    exchange.read(http, connection, stream)?;
                }
                Ok((stream, Http3Event::Finished)) => {
                    let exchange = self.exchanges.get_mut(&stream).ok_or("an end before its headers")?;
                    exchange.has_read = true;
                    if self.is_server {
                        exchange.message.hands_at = Some(now + exchange.request.think);
                    }
                }
                Ok((stream, Http3Event::Reset(code))) => {
                    return Err(format!("stream {stream} was reset: {code}").into());
                }
                Ok(_) => {}
                Err(Http3Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        for (stream, exchange) in &mut self.exchanges {
            exchange.message.hand_over(&exchange.request, now, self.is_server);
            exchange.write(http, connection, *stream, self.is_server)?;
        }
        Ok(())
    }
}

impl TquicExchange {
    fn new(request: Request, left: u64, hands_at: Option<Instant>) -> Self {
        let (read_bytes, has_read, has_sent_headers) = (0, false, false);
        let message = MessageBytes::new(left, hands_at);
        let (is_blocked, has_finished) = (false, false);
        Self { request, read_bytes, has_read, has_sent_headers, message, is_blocked, has_finished }
    }

    fn read(&mut self, http: &mut Http3Connection, connection: &mut Connection, stream: u64) -> Result<(), Failure> {
        let mut buffer = [0; 65_536];
        loop {
            match http.recv_body(connection, stream, &mut buffer) {
                Ok(read) => self.read_bytes += read as u64,
                Err(Http3Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn write(
        &mut self,
        http: &mut Http3Connection,
        connection: &mut Connection,
        stream: u64,
        is_server: bool,
    ) -> Result<(), Failure> {
        // A server answers when it has read and thought.
        let has_begun = self.message.handed > 0
            || (self.message.left == 0 && self.message.hands_at.is_none() && (self.has_read || !is_server));
        if self.has_finished || self.is_blocked || !has_begun {
            return Ok(());
        }
        if !self.has_sent_headers {
            let is_whole = self.message.handed + self.message.left == 0;
            self.has_sent_headers = true;
            match http.send_headers(connection, stream, &self.headers(is_server), is_whole) {
                // Blocked ones go out with the body.
                Ok(()) | Err(Http3Error::StreamBlocked) => {}
                Err(error) => return Err(error.into()),
            }
            self.has_finished = is_whole;
        }
        while self.message.handed > 0 && !self.is_blocked {
            let size = self.message.handed.min(ZEROS.len() as u64) as usize;
            let is_last = self.message.left == 0 && self.message.handed == size as u64;
            match http.send_body(connection, stream, Bytes::from_static(&ZEROS[..size]), is_last) {
                Ok(written) => {
                    self.message.handed -= written as u64;
                    self.is_blocked = written < size;
                }
                Err(Http3Error::NoError) => {} // the headers that were blocked
                Err(Http3Error::Done) => self.is_blocked = true,
                Err(error) => return Err(error.into()),
            }
        }
        self.has_finished = self.message.handed + self.message.left == 0;
        Ok(())
    }

    fn headers(&self, is_server: bool) -> Vec<Header> {
        let header = |name: &str, value: &str| Header::new(name.as_bytes(), value.as_bytes());
        if is_server {
            return vec![header(":status", "200"), header("content-length", &self.request.response_bytes.to_string())];
        }
        let method = if self.request.request_bytes > 0 { "POST" } else { "GET" };
        let mut headers = vec![header(":method", method), header(":scheme", "https"), header(":authority", NAME)];
        headers.push(header(":path", "/"));
        if self.request.request_bytes > 0 {
            headers.push(header("content-length", &self.request.request_bytes.to_string()));
        }
        headers
    }
}
