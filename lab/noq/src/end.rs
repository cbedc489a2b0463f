//! One end: a noq-proto endpoint with one connection and its application. Nothing here asks for the time; it is given.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FourTuple,
    ReadError, ServerConfig, StreamEvent, StreamId, VarInt, WriteError,
};

use quiclens_injected::{Datagram, MessageBytes, Request};
use quiclens_simulated::{Failure, Log};

/// What stands before every request's bytes.
const HEAD_BYTES: u64 = 40;
const CHUNK: [u8; 16_384] = [0; 16_384];

/// A request and its answer on one stream, as one end has them.
struct NoqExchange {
    stream: StreamId,
    request: Request,
    read_bytes: u64,
    has_read: bool,
    message: MessageBytes,
    has_finished: bool,
}

/// One end of the connection.
pub struct NoqEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    is_server: bool,
    /// What the server answers, by stream.
    answers: BTreeMap<u64, Request>,
    exchanges: BTreeMap<u64, NoqExchange>,
    is_connected: bool,
    /// Where this end's qlog goes.
    log: Log,
}

impl NoqEnd {
    /// A server, or without a configuration a client.
    pub fn new(
        server: Option<ServerConfig>,
        peer: SocketAddr,
        answers: BTreeMap<u64, Request>,
        seed: u64,
        log: Log,
    ) -> Self {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&seed.to_le_bytes());
        random[8] = u8::from(server.is_some());
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(random));
        let is_server = server.is_some();
        let endpoint = Endpoint::new(Arc::new(config), server.map(Arc::new), false);
        let exchanges = BTreeMap::new();
        Self { endpoint, connection: None, peer, is_server, answers, exchanges, is_connected: false, log }
    }

    /// Begins a connection.
    pub fn connect(&mut self, now: Instant, config: ClientConfig, name: &str) -> Result<(), Failure> {
        self.connection = Some(self.endpoint.connect(now, config, self.peer, name)?);
        Ok(())
    }
}

impl quiclens_injected::End for NoqEnd {
    fn is_connected(&self) -> bool {
        self.is_connected
    }

    fn ask(&mut self, now: Instant, request: Request) -> Result<(), Failure> {
        let (_, connection) = self.connection.as_mut().ok_or("no connection")?;
        let stream = connection.streams().open(Dir::Bi).ok_or("no stream can be opened")?;
        self.exchanges
            .insert(number(stream), NoqExchange::new(stream, request, HEAD_BYTES + request.request_bytes, Some(now)));
        Ok(())
    }

    fn has_answer(&self, stream: u64) -> Result<bool, Failure> {
        let Some(exchange) = self.exchanges.get(&stream).filter(|exchange| exchange.has_read) else { return Ok(false) };
        if exchange.read_bytes != exchange.request.response_bytes {
            return Err(format!("stream {stream}: {} bytes were read", exchange.read_bytes).into());
        }
        Ok(true)
    }

    fn close(&mut self, now: Instant) -> Result<(), Failure> {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, VarInt::from_u32(0), bytes::Bytes::new());
        }
        Ok(())
    }

    fn wakes_at(&self, _: Instant) -> Option<Instant> {
        let transport = self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        let application = self.exchanges.values().filter_map(|exchange| exchange.message.hands_at).min();
        transport.into_iter().chain(application).min()
    }

    fn receive(&mut self, now: Instant, data: Vec<u8>) -> Result<(), Failure> {
        let mut reply = Vec::new();
        match self.endpoint.handle(now, FourTuple::new(self.peer, None), None, BytesMut::from(&data[..]), &mut reply) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut reply, None);
                self.connection = Some(accepted.map_err(|error| error.cause)?);
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            // To a datagram that came after its connection had ended.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        Ok(())
    }

    fn work(&mut self, now: Instant) -> Result<Vec<Datagram>, Failure> {
        let Some((handle, mut connection)) = self.connection.take() else { return Ok(Vec::new()) };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        let mut events = VecDeque::new();
        while let Some(event) = connection.poll_endpoint_events() {
            events.extend(self.endpoint.handle_event(handle, event));
        }
        for event in events {
            connection.handle_event(event);
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) if self.is_server => {
                    while let Some(stream) = connection.streams().accept(Dir::Bi) {
                        let request = self.answers.get(&number(stream)).copied().ok_or("an unknown stream")?;
                        self.exchanges
                            .insert(number(stream), NoqExchange::new(stream, request, request.response_bytes, None));
                    }
                }
                _ => {}
            }
        }
        for exchange in self.exchanges.values_mut() {
            exchange.read(&mut connection, now, self.is_server)?;
            if exchange.message.hand_over(&exchange.request, now, self.is_server) {
                exchange.has_finished = false;
            }
            exchange.write(&mut connection)?;
        }
        let (mut sent, mut buffer) = (Vec::new(), Vec::new());
        while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut buffer) {
            sent.push(Datagram { data: buffer[..transmit.size].to_vec(), logged: self.log.length() });
            buffer.clear();
        }
        self.connection = Some((handle, connection));
        Ok(sent)
    }
}

impl NoqExchange {
    fn new(stream: StreamId, request: Request, left: u64, hands_at: Option<Instant>) -> Self {
        let message = MessageBytes::new(left, hands_at);
        Self { stream, request, read_bytes: 0, has_read: false, message, has_finished: false }
    }

    fn read(&mut self, connection: &mut Connection, now: Instant, is_server: bool) -> Result<(), Failure> {
        if self.has_read {
            return Ok(());
        }
        let mut receiving = connection.recv_stream(self.stream);
        let Ok(mut chunks) = receiving.read(true) else { return Ok(()) };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.read_bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.has_read = true;
                    if is_server {
                        self.message.hands_at = Some(now + self.request.think);
                    }
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let _ = chunks.finalize(); // whether to transmit: `work` transmits after this anyway
        Ok(())
    }

    fn write(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let mut sending = connection.send_stream(self.stream);
        while self.message.handed > 0 {
            match sending.write(&CHUNK[..CHUNK.len().min(self.message.handed as usize)]) {
                Ok(written) => self.message.handed -= written as u64,
                Err(WriteError::Blocked) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        let has_begun = self.message.hands_at.is_none() && (self.has_read || self.message.left == 0);
        if has_begun && self.message.left == 0 && !self.has_finished {
            sending.finish()?;
            self.has_finished = true;
        }
        Ok(())
    }
}

fn number(stream: StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}
