//! One run: two ends, two links, and what is under way between them, in virtual time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use quiclens_simulated::draw::fraction;
use quiclens_simulated::{Failure, Log};

use crate::aim::{Aim, StreamFrame};
use crate::link::{Carried, Link, Script};
use crate::logged::Sizes;
use crate::plan::{Plan, Request, Serves, WARM_UP};

const LONGEST_RUN: Duration = Duration::from_secs(120);
/// Of both ends: more is a storm.
const MOST_STEPS: usize = 1_000_000;
/// Between the warm-up's answer and the target.
const PAUSE: Duration = Duration::from_millis(300);
const SETTLE: Duration = Duration::from_millis(500);
const LATEST_TIMER: Duration = Duration::from_millis(1);

/// A datagram that an end sends.
pub struct Datagram {
    pub data: Vec<u8>,
    /// How long this end's log was once the datagram was in it.
    pub logged: usize,
}

/// One end of the connection with its application. Nothing in it asks what time it is; it is told.
pub trait End {
    fn is_connected(&self) -> bool;
    /// Asks on the next stream.
    fn ask(&mut self, now: Instant, request: Request) -> Result<(), Failure>;
    /// Whether the answer on a stream was read to its end; an error where it has another length.
    fn has_answer(&self, stream: u64) -> Result<bool, Failure>;
    /// Closes the connection as an application does.
    fn close(&mut self, now: Instant) -> Result<(), Failure>;
    /// When this end wants to be woken, if nothing arrives before.
    fn wakes_at(&self, now: Instant) -> Option<Instant>;
    /// Takes one datagram.
    fn receive(&mut self, now: Instant, data: Vec<u8>) -> Result<(), Failure>;
    /// Does all that can be done at this moment, and returns what is to be sent.
    fn work(&mut self, now: Instant) -> Result<Vec<Datagram>, Failure>;
}

/// A stack that is run.
pub trait Stack {
    const NAME: &'static str;
    /// How it logs sizes.
    const SIZES: Sizes;
    /// Whose bytes go first.
    const SERVES: Serves;
    type End: End;
    /// What decides how much may be in flight.
    type Controller: ValueEnum + Copy + std::fmt::Debug + Send + Sync + 'static;

    /// A server that writes `log`, and a client that has begun to connect to it. `answers` are what the server answers,
    /// by stream.
    fn ends(
        plan: &Plan,
        controller: Self::Controller,
        answers: BTreeMap<u64, Request>,
        log: Log,
        now: Instant,
    ) -> Result<(Self::End, Self::End), Failure>;

    /// Whether the stack says that a probe timer of it fired; nothing where it never says so.
    fn says_probed(log: &[u8]) -> Option<bool>;
}

/// What the machine and the writer of the log are like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions {
    /// Timers of both ends fire up to a millisecond late.
    pub late_timers: bool,
    /// Sizes of packets are those before they were sealed.
    pub without_tag: bool,
}

impl Conditions {
    /// As `truth.jsonl` has them.
    pub fn name(self) -> &'static str {
        match (self.late_timers, self.without_tag) {
            (false, false) => "",
            (true, false) => "late-timers",
            (false, true) => "without-tag",
            (true, true) => "late-timers without-tag",
        }
    }

    /// When a timer that is set for a moment fires: a hash of the seed, the end and that moment.
    fn fires(self, seed: u64, end: &str, start: Instant, at: Instant) -> Instant {
        if !self.late_timers {
            return at;
        }
        at + LATEST_TIMER.mul_f64(fraction(seed, &format!("late {end} {}", (at - start).as_nanos())))
    }
}

/// What a run left.
pub struct Run {
    /// The server's qlog.
    pub log: Vec<u8>,
    /// The target, at the client.
    pub took: Duration,
    /// Both directions since the target was asked for.
    pub up: Carried,
    pub down: Carried,
    /// A probe timer of the server fired after the target was asked for.
    pub has_probed: bool,
}

/// Packets that the server repeats at a timer though nothing told it of a loss.
#[derive(Default)]
struct Probes {
    /// Losses that the log has and nothing was repeated for yet.
    owed: usize,
    has_probed: bool,
}

impl Probes {
    fn see(&mut self, records: &[u8], is_timer: bool, repeats: bool) {
        self.owed += StreamFrame::lost(records);
        if repeats && self.owed > 0 {
            self.owed -= 1;
        } else if repeats && is_timer {
            self.has_probed = true;
        }
    }
}

/// A datagram on its way.
struct UnderWay {
    arrives: Instant,
    to_server: bool,
    data: Vec<u8>,
}

/// Runs a plan. It fails when a request is not answered in full.
pub fn simulate<S: Stack>(
    plan: &Plan,
    controller: S::Controller,
    script: Script,
    conditions: Conditions,
) -> Result<Run, Failure> {
    let start = Instant::now(); // where virtual time is hung up; it moves only by what happens below
    let log = Log::default();
    let asked = plan.asked(S::SERVES);
    let answers: BTreeMap<u64, _> =
        (WARM_UP..).step_by(4).zip([plan.warm_up].into_iter().chain(asked.iter().copied())).collect();
    let streams: Vec<u64> = answers.keys().copied().collect();
    let (mut server, mut client) = S::ends(plan, controller, answers, log.clone(), start)?;
    let mut up = Link::new(plan.up, script, plan.seed, start);
    let mut down = Link::new(plan.down, script, plan.seed + 1, start);
    let (mut aim, mut probes) = (Aim::new(&plan.strikes), Probes::default());
    let (mut under_way, mut seen): (Vec<UnderWay>, usize) = (Vec::new(), 0);
    let (mut has_warmed_up, mut has_closed, mut asks_at, mut ends_at) = (false, false, None, None);
    let (mut now, mut has_reached_server, mut took) = (start, false, None);

    for step in 0.. {
        if now - start >= LONGEST_RUN || step >= MOST_STEPS {
            break;
        }
        if client.is_connected() && !has_warmed_up {
            client.ask(now, plan.warm_up)?;
            has_warmed_up = true;
        }
        if asks_at.is_none() && client.has_answer(WARM_UP)? {
            asks_at = Some(now + PAUSE);
        }
        if asks_at == Some(now) {
            up.begin(now);
            down.begin(now);
            probes = Probes::default();
            for request in &asked {
                client.ask(now, *request)?;
            }
        }
        for Datagram { data, .. } in client.work(now)? {
            let arrives = up.send(now, data.len()).filter(|_| !aim.is_dark(now));
            under_way.extend(arrives.map(|arrives| UnderWay { arrives, to_server: true, data }));
        }
        for Datagram { data, logged } in server.work(now)? {
            let records = log.between(seen, logged);
            seen = logged;
            let frames = StreamFrame::sent(&records)?;
            probes.see(&records, !has_reached_server, aim.repeats(&frames));
            let is_struck = aim.strikes(now, &frames);
            let arrives = down.send(now, data.len()).filter(|_| !is_struck);
            under_way.extend(arrives.map(|arrives| UnderWay { arrives, to_server: false, data }));
        }
        if let Some(at) = asks_at
            && took.is_none()
            && client.has_answer(plan.target_stream(S::SERVES))?
        {
            took = Some(now - at);
        }
        if ends_at.is_none() && answered(&client, &streams)? {
            ends_at = Some(now + SETTLE);
        }
        if ends_at.is_some_and(|at| now >= at + SETTLE) {
            break;
        }
        if ends_at == Some(now) && !has_closed {
            has_closed = true;
            client.close(now)?;
            continue;
        }
        let arrives = under_way.iter().map(|each| each.arrives).min();
        let fires = |at: Option<Instant>, end| at.map(|at| conditions.fires(plan.seed, end, start, at.max(start)));
        let timers = [fires(client.wakes_at(now), "client"), fires(server.wakes_at(now), "server")];
        let wakes = timers.into_iter().chain([arrives, asks_at, ends_at, ends_at.map(|at| at + SETTLE)]);
        let Some(next) = wakes.flatten().filter(|at| *at > now || Some(*at) == arrives).min() else {
            break;
        };
        now = next.max(now);
        let (mut here, later): (Vec<_>, Vec<_>) = under_way.into_iter().partition(|each| each.arrives <= now);
        under_way = later;
        here.sort_by_key(|each| each.arrives);
        has_reached_server = here.iter().any(|each| each.to_server);
        for each in here {
            let end = if each.to_server { &mut server } else { &mut client };
            end.receive(now, each.data)?;
        }
    }
    let Some(took) = took.filter(|_| ends_at.is_some()) else {
        return Err(format!("not all of {streams:?} are answered after {:?}", now - start).into());
    };
    drop(server);
    let written = log.since(0);
    let has_probed = S::says_probed(&written).unwrap_or(probes.has_probed);
    let log = if conditions.without_tag { S::SIZES.without_tag(&written)? } else { written };
    Ok(Run { log, took, up: up.carried(), down: down.carried(), has_probed })
}

fn answered(client: &impl End, streams: &[u64]) -> Result<bool, Failure> {
    for stream in streams {
        if !client.has_answer(*stream)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_timer_is_late_by_less_than_a_millisecond_and_always_by_the_same() {
        let start = Instant::now();
        let late = Conditions { late_timers: true, without_tag: false };
        let fires = |ms| late.fires(7, "server", start, start + Duration::from_millis(ms));
        let lateness: Vec<Duration> = (0..100).map(|ms| fires(ms) - start - Duration::from_millis(ms)).collect();
        assert!(lateness.iter().all(|each| *each < LATEST_TIMER) && lateness.iter().any(|each| !each.is_zero()));
        assert_eq!(fires(5), fires(5));
        assert_eq!(Conditions::default().fires(7, "server", start, start), start);
    }

    #[test]
    fn a_packet_repeated_by_a_timer_that_no_loss_explains_is_a_probe() {
        const LOST: &[u8] = b"\x1e{\"name\":\"recovery:packet_lost\",\"data\":{}}\n";
        let mut probes = Probes::default();
        probes.see(LOST, false, true);
        probes.see(b"", false, true); // what an acknowledgement brought about
        probes.see(LOST, true, false);
        probes.see(b"", true, true); // a loss that the pacer held back
        assert!(!probes.has_probed);
        probes.see(b"", true, true);
        assert!(probes.has_probed);
    }
}
