//! One end: a TQUIC endpoint with one connection and its application. The clock is set before the stack is called.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quiclens_injected::{Datagram, Request};
use quiclens_simulated::{Failure, Log};
use tquic::endpoint::Endpoint;
use tquic::{Config, Connection, PacketInfo, PacketSendHandler, TransportHandler};

use crate::application::Application;
use crate::clock;

/// How an application ends a connection without an error, as HTTP/3 has it.
const NO_ERROR: u64 = 0x100;

/// Where the stack hands its datagrams to.
struct DatagramOutbox {
    sent: RefCell<Vec<Datagram>>,
    log: Log,
}

impl PacketSendHandler for DatagramOutbox {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        let datagrams = packets.iter().map(|(data, _)| Datagram { data: data.clone(), logged: self.log.length() });
        self.sent.borrow_mut().extend(datagrams);
        Ok(packets.len())
    }
}

/// What the stack calls while it works.
struct Handler {
    application: Rc<RefCell<Application>>,
    /// Of its one connection.
    index: Rc<RefCell<Option<u64>>>,
    log: Option<Log>,
}

impl Handler {
    fn with_application(&self, work: impl FnOnce(&mut Application) -> Result<(), Failure>) {
        let mut application = self.application.borrow_mut();
        if let Err(failure) = work(&mut application) {
            application.failure.get_or_insert(failure);
        }
    }

    fn turn(&self, connection: &mut Connection) {
        self.with_application(|application| application.turn(connection, Instant::now()));
    }
}

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        *self.index.borrow_mut() = connection.index();
        if let Some(log) = &self.log {
            let about = format!("id={}", connection.trace_id());
            connection.set_qlog(Box::new(log.clone()), "server qlog".to_owned(), about);
        }
    }

    fn on_conn_established(&mut self, connection: &mut Connection) {
        self.with_application(|application| application.open(connection));
    }

    fn on_conn_closed(&mut self, _: &mut Connection) {
        *self.index.borrow_mut() = None;
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, connection: &mut Connection, _: u64) {
        self.turn(connection);
    }

    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        self.with_application(|application| {
            application.unblock(stream);
            Ok(())
        });
        self.turn(connection);
    }

    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

/// One end of the connection.
pub struct TquicEnd {
    endpoint: Endpoint,
    application: Rc<RefCell<Application>>,
    index: Rc<RefCell<Option<u64>>>,
    outbox: Rc<DatagramOutbox>,
    own: SocketAddr,
    peer: SocketAddr,
}

impl TquicEnd {
    /// A server that writes this log, or without one a client.
    pub fn new(
        config: Config,
        log: Option<Log>,
        (own, peer): (SocketAddr, SocketAddr),
        answers: BTreeMap<u64, Request>,
    ) -> Self {
        let is_server = log.is_some();
        let application = Rc::new(RefCell::new(Application::new(is_server, answers)));
        let index = Rc::new(RefCell::new(None));
        let outbox = Rc::new(DatagramOutbox { sent: RefCell::default(), log: log.clone().unwrap_or_default() });
        let handler = Handler { application: application.clone(), index: index.clone(), log };
        let endpoint = Endpoint::new(Box::new(config), is_server, Box::new(handler), outbox.clone());
        Self { endpoint, application, index, outbox, own, peer }
    }

    /// Begins a connection.
    pub fn connect(&mut self, name: &str) -> Result<(), Failure> {
        self.endpoint.connect(self.own, self.peer, Some(name), None, None, None)?;
        Ok(())
    }

    /// Has the application work with the connection, if there still is one.
    fn with_connection(
        &mut self,
        work: impl FnOnce(&mut Application, &mut Connection) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(index) = *self.index.borrow() else { return Ok(()) };
        let connection = self.endpoint.conn_get_mut(index).ok_or("no connection")?;
        work(&mut self.application.borrow_mut(), connection)
    }
}

impl quiclens_injected::End for TquicEnd {
    fn is_connected(&self) -> bool {
        self.application.borrow().is_connected
    }

    fn ask(&mut self, now: Instant, request: Request) -> Result<(), Failure> {
        clock::set(now);
        self.with_connection(|application, connection| application.ask(connection, request, now))
    }

    fn has_answer(&self, stream: u64) -> Result<bool, Failure> {
        self.application.borrow().has_answer(stream)
    }

    fn close(&mut self, now: Instant) -> Result<(), Failure> {
        clock::set(now);
        self.with_connection(|_, connection| Ok(connection.close(true, NO_ERROR, b"")?))
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        clock::set(now);
        // What is due already was not done by `work`: the stack waits for the next time that it is called.
        let transport = self.endpoint.timeout().map(|left| now + left.max(Duration::from_micros(1)));
        transport.into_iter().chain(self.application.borrow().wakes_at()).min()
    }

    fn receive(&mut self, now: Instant, mut data: Vec<u8>) -> Result<(), Failure> {
        clock::set(now);
        let about = PacketInfo { src: self.peer, dst: self.own, time: now };
        Ok(self.endpoint.recv(&mut data, &about)?)
    }

    fn work(&mut self, now: Instant) -> Result<Vec<Datagram>, Failure> {
        clock::set(now);
        self.endpoint.on_timeout(now);
        if self.application.borrow().wakes_at().is_some_and(|at| at <= now) {
            self.with_connection(|application, connection| application.turn(connection, now))?;
        }
        self.endpoint.process_connections()?;
        if let Some(failure) = self.application.borrow_mut().failure.take() {
            return Err(failure);
        }
        Ok(self.outbox.sent.take())
    }
}
