//! One run: two ends, two links, and the heap of what is under way between them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quiclens_simulated::draw::whole;
use quiclens_simulated::{Failure, Log, NAME, TlsKeys, address};
use quinn_proto::{ClientConfig, QlogConfig, ServerConfig, TransportConfig, crypto::rustls::QuicClientConfig};

use crate::end::{QuinnEnd, Role};
use crate::path::PathDirection;

const LONGEST_RUN: Duration = Duration::from_secs(60);
const SETTLE: Duration = Duration::from_millis(500);

/// What one run is.
pub struct RunPlan {
    seed: u64,
    round_trip: Duration,
    response_bytes: usize,
    /// Numbers of the server's datagrams that are lost, counted from the first that may hold the response.
    lost: std::ops::Range<u64>,
}

impl RunPlan {
    /// The plan of a scenario; without its cause it is the same run that loses nothing.
    pub fn of(scenario: &str, is_with: bool, seed: u64) -> Self {
        let is_struck = scenario == "burst_loss" && is_with;
        let first = whole(5, 8, seed, "first lost");
        Self {
            seed,
            round_trip: Duration::from_micros(whole(30_000, 80_000, seed, "round trip")),
            response_bytes: whole(20_000, 40_000, seed, "size") as usize,
            lost: if is_struck { first..first + whole(2, 4, seed, "packets") } else { 0..0 },
        }
    }
}

/// A datagram on its way.
struct UnderWay {
    arrives: Instant,
    to_server: bool,
    data: Vec<u8>,
}

/// Runs a plan and returns the server's qlog. It fails when the request is not answered in full.
pub fn simulate(plan: &RunPlan) -> Result<Vec<u8>, Failure> {
    let start = Instant::now(); // where virtual time is hung up; it moves only by what happens below
    let log = Log::default();
    let (server_config, client_config) = configurations(log.clone(), start)?;
    let (server_address, client_address) = (address(1, 443), address(2, 50_000));
    let mut server = QuinnEnd::new(Some(server_config), client_address, Role::Answers(plan.response_bytes), plan.seed);
    let mut client = QuinnEnd::new(None, server_address, Role::Asks(400), plan.seed);
    let mut up = PathDirection::new(20_000_000, plan.round_trip / 2, start);
    let mut down = PathDirection::new(40_000_000, plan.round_trip / 2, start);
    let mut under_way: Vec<UnderWay> = Vec::new();
    let (mut now, mut answered, mut answer_datagrams) = (start, None, 0);
    client.connect(now, client_config, NAME)?;

    while now - start < LONGEST_RUN {
        let mut sent = VecDeque::new();
        client.work(now, &mut sent)?;
        under_way.extend(sent.drain(..).map(|data| UnderWay {
            arrives: up.send(now, data.len()),
            to_server: true,
            data,
        }));
        server.work(now, &mut sent)?;
        for data in sent {
            let arrives = down.send(now, data.len());
            let is_lost = server.has_begun_to_answer && plan.lost.contains(&answer_datagrams);
            answer_datagrams += u64::from(server.has_begun_to_answer);
            if !is_lost {
                under_way.push(UnderWay { arrives, to_server: false, data });
            }
        }
        if client.read.0 && answered.is_none() {
            answered = Some(now);
        }
        if answered.is_some_and(|at| now >= at + SETTLE) {
            break;
        }
        let wakes = [client.wakes_at(), server.wakes_at(), answered.map(|at| at + SETTLE)];
        let arrives = under_way.iter().map(|each| each.arrives).min();
        let Some(next) = wakes.into_iter().flatten().chain(arrives).min() else { break };
        now = next.max(now);
        let (here, later) = under_way.into_iter().partition(|each| each.arrives <= now);
        under_way = later;
        deliver(here, now, &mut client, &mut server)?;
    }
    if client.read != (true, plan.response_bytes) {
        return Err(format!("{} bytes of {}", client.read.1, plan.response_bytes).into());
    }
    drop(server);
    Ok(log.since(0))
}

fn deliver(here: Vec<UnderWay>, now: Instant, client: &mut QuinnEnd, server: &mut QuinnEnd) -> Result<(), Failure> {
    let mut replies = VecDeque::new();
    for each in here {
        let end = if each.to_server { &mut *server } else { &mut *client };
        end.receive(now, BytesMut::from(&each.data[..]), &mut replies)?;
    }
    if replies.is_empty() { Ok(()) } else { Err("an endpoint answered outside a connection".into()) }
}

fn configurations(log: Log, start: Instant) -> Result<(ServerConfig, ClientConfig), Failure> {
    let keys = TlsKeys::new()?;
    let mut qlog = QlogConfig::default();
    qlog.writer(Box::new(log)).start_time(start).title(Some("quinn-traces".to_owned()));
    let mut transport = TransportConfig::default();
    transport.qlog_stream(qlog.into_stream());
    let mut server = ServerConfig::with_single_cert(vec![keys.certificate], keys.key)?;
    server.transport_config(Arc::new(transport));
    let client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(keys.client)?));
    Ok((server, client))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(scenario: &str, is_with: bool, seed: u64) -> String {
        String::from_utf8(simulate(&RunPlan::of(scenario, is_with, seed)).expect("the request is answered"))
            .expect("UTF-8")
    }

    #[test]
    fn only_the_struck_run_has_lost_packets_and_none_has_frames() {
        for seed in 1..=20 {
            let lost = log("burst_loss", true, seed).matches("packet_lost").count() as u64;
            assert_eq!(lost, whole(2, 4, seed, "packets"), "seed {seed}");
            for (scenario, is_with) in [("burst_loss", false), ("clean", true)] {
                let without = log(scenario, is_with, seed);
                assert!(!without.contains("packet_lost") && !without.contains("frames"), "seed {seed}, {scenario}");
            }
        }
    }
}
