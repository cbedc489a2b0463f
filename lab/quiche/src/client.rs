//! One connection with its requests.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use quiche::h3::{Config, Event};
use quiche::{Connection, ConnectionId, RecvInfo};

use crate::Failure;
use crate::access_log::Request;
use crate::answer::Answer;

/// A connection, the id under which its client first spoke to it, and its own, as hex.
pub struct Client {
    connection: Connection,
    first_id: Vec<u8>,
    name: String,
    http: Option<quiche::h3::Connection>,
    answers: Vec<Answer>,
}

impl Client {
    pub const fn new(connection: Connection, first_id: Vec<u8>, name: String) -> Self {
        Self { connection, first_id, name, http: None, answers: Vec::new() }
    }

    /// Whether a packet to this id is ours.
    pub fn has(&self, id: &ConnectionId) -> bool {
        self.first_id == **id || self.connection.source_ids().any(|own| own == id)
    }

    /// When to look again, if nothing arrives before.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let due = self.answers.iter().map(|answer| answer.due.saturating_duration_since(now)).min();
        self.connection.timeout().into_iter().chain(due).min()
    }

    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Takes one datagram, and begins HTTP/3 as soon as it can.
    pub fn receive(&mut self, datagram: &mut [u8], info: RecvInfo, config: &Config) {
        if let Err(error) = self.connection.recv(datagram, info) {
            return eprintln!("quiche-server: {}: {error}", self.name);
        }
        if self.http.is_none() && self.connection.is_established() {
            match quiche::h3::Connection::with_transport(&mut self.connection, config) {
                Ok(http) => self.http = Some(http),
                Err(error) => eprintln!("quiche-server: {}: {error}", self.name),
            }
        }
    }

    /// Reads requests and goes on with answers; those that were handed over whole.
    pub fn answer(&mut self, now: Instant) -> Vec<Request> {
        let Some(http) = &mut self.http else { return Vec::new() };
        loop {
            match http.poll(&mut self.connection) {
                Ok((stream_id, Event::Headers { list, .. })) => match Answer::new(stream_id, &list, &self.name) {
                    Ok(answer) => self.answers.push(answer),
                    Err(error) => eprintln!("quiche-server: {}: {error}", self.name),
                },
                Ok(_) => {}
                Err(quiche::h3::Error::Done) => break,
                Err(error) => {
                    eprintln!("quiche-server: {}: {error}", self.name);
                    break;
                }
            }
        }
        let mut whole = Vec::new();
        self.answers.retain_mut(|answer| match answer.advance(http, &mut self.connection, now) {
            Ok(false) => true,
            Ok(true) => {
                whole.push(answer.request.clone());
                false
            }
            Err(error) => {
                eprintln!("quiche-server: {}: {error}", self.name);
                false
            }
        });
        whole
    }

    /// Sends what may be sent now.
    pub fn send(&mut self, socket: &UdpSocket) -> Result<(), Failure> {
        self.connection.on_timeout(); // does nothing before its time
        let mut datagram = [0; 1500];
        loop {
            match self.connection.send(&mut datagram) {
                Ok((size, info)) => {
                    socket.send_to(&datagram[..size], info.to)?;
                }
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
