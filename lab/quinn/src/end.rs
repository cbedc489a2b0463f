//! One end: a quinn-proto endpoint with one connection. Nothing here asks for the time; it is always given.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId,
};

use quiclens_simulated::Failure;

/// What an end does with the request stream.
pub enum Role {
    /// Asks with this many bytes, then reads.
    Asks(usize),
    /// Reads to the end, then answers with this many bytes.
    Answers(usize),
}

/// One end of the connection.
pub struct QuinnEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    role: Role,
    stream: Option<StreamId>,
    left_to_write: Option<usize>,
    /// Whether the peer's half of the stream has been read to its end, and how many bytes that was.
    pub read: (bool, usize),
    /// Whether this end has something to answer: its datagrams from here on may hold the response.
    pub has_begun_to_answer: bool,
}

impl QuinnEnd {
    /// A server, or without a configuration a client.
    pub fn new(server: Option<ServerConfig>, peer: SocketAddr, role: Role, seed: u64) -> Self {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&seed.to_le_bytes());
        random[8] = u8::from(server.is_some());
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false, Some(random));
        let (connection, stream, left_to_write) = (None, None, None);
        Self { endpoint, connection, peer, role, stream, left_to_write, read: (false, 0), has_begun_to_answer: false }
    }

    /// Begins a connection.
    pub fn connect(&mut self, now: Instant, config: ClientConfig, name: &str) -> Result<(), Failure> {
        self.connection = Some(self.endpoint.connect(now, config, self.peer, name)?);
        Ok(())
    }

    /// When this end wants to be woken, if nothing arrives before.
    pub fn wakes_at(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout())
    }

    /// Takes one datagram; what is to be sent back at once goes to `out`.
    pub fn receive(&mut self, now: Instant, data: BytesMut, out: &mut VecDeque<Vec<u8>>) -> Result<(), Failure> {
        let mut reply = Vec::new();
        match self.endpoint.handle(now, self.peer, None, None, data, &mut reply) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut reply, None);
                self.connection = Some(accepted.map_err(|error| error.cause)?);
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => out.push_back(reply[..transmit.size].to_vec()),
            None => {}
        }
        Ok(())
    }

    /// Does all that can be done at this moment; datagrams to send go to `out`.
    pub fn work(&mut self, now: Instant, out: &mut VecDeque<Vec<u8>>) -> Result<(), Failure> {
        let Some((handle, mut connection)) = self.connection.take() else { return Ok(()) };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match (event, &self.role) {
                (Event::Connected, Role::Asks(bytes)) => {
                    self.left_to_write = Some(*bytes);
                    self.stream = connection.streams().open(Dir::Bi);
                }
                (Event::Stream(StreamEvent::Opened { dir: Dir::Bi }), Role::Answers(_)) => {
                    self.stream = connection.streams().accept(Dir::Bi);
                }
                (Event::ConnectionLost { reason }, _) if !self.read.0 => return Err(reason.into()),
                _ => {}
            }
        }
        if let Some(stream) = self.stream {
            self.read_some(&mut connection, stream)?;
            self.write_some(&mut connection, stream)?;
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
            out.push_back(buffer[..transmit.size].to_vec());
            buffer.clear();
        }
        self.connection = Some((handle, connection));
        Ok(())
    }

    fn read_some(&mut self, connection: &mut Connection, stream: StreamId) -> Result<(), Failure> {
        if self.read.0 {
            return Ok(());
        }
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return Ok(()) };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.read.1 += chunk.bytes.len(),
                Ok(None) => {
                    self.read.0 = true;
                    if let Role::Answers(bytes) = self.role {
                        self.left_to_write = Some(bytes);
                        self.has_begun_to_answer = true;
                    }
                    break;
                }
                Err(quinn_proto::ReadError::Blocked) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let _ = chunks.finalize(); // whether to transmit: `work` transmits after this anyway
        Ok(())
    }

    fn write_some(&mut self, connection: &mut Connection, stream: StreamId) -> Result<(), Failure> {
        while let Some(left) = self.left_to_write {
            let mut sending = connection.send_stream(stream);
            if left == 0 {
                sending.finish()?;
                self.left_to_write = None;
                break;
            }
            match sending.write(&[0; 4096][..left.min(4096)]) {
                Ok(written) => self.left_to_write = Some(left - written),
                Err(quinn_proto::WriteError::Blocked) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
