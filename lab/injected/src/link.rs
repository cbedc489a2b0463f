//! One direction of the path: a bottleneck with a queue that drops its tail, a delay behind it, and a script that changes
//! both with time.

use std::time::{Duration, Instant};

use clap::ValueEnum;

use quiclens_simulated::draw::fraction;

const IP_UDP_HEADER_BYTES: u64 = 28;
/// What another flow puts into the queue at once.
const CROSS_PACKET_BYTES: u64 = 1_250;
const CROSS_TURN: Duration = Duration::from_millis(60);

/// What the path does beside its rate and delay; times count from the moment at which the target is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Script {
    /// Nothing.
    Constant,
    /// A queue of ten packets.
    Shallow,
    /// A queue of 2 MB.
    Deep,
    /// Each datagram is up to 8 ms late, none overtakes another.
    Jitter,
    /// From 100 to 500 ms an eighth of the rate.
    DropAndBack,
    /// A quarter of the rate for the first 300 ms.
    LowAndUp,
    /// From 150 to 450 ms nothing passes, either way.
    BlackHole,
    /// Every other 60 ms another flow sends at seven tenths of the rate.
    CrossTraffic,
    /// From 300 to 500 ms nothing passes, either way.
    LateHole,
    /// From 200 ms to a second a fifth of the rate.
    HighAndLow,
    /// A queue of twenty packets, and each datagram is up to 15 ms late, none overtakes another.
    NarrowJitter,
}

impl Script {
    /// The share of the rate at a time after the target was asked for.
    fn share(self, at: Duration) -> f64 {
        match self {
            Self::DropAndBack if (100..500).contains(&at.as_millis()) => 0.125,
            Self::LowAndUp if at.as_millis() < 300 => 0.25,
            Self::HighAndLow if (200..1_000).contains(&at.as_millis()) => 0.2,
            _ => 1.0,
        }
    }

    /// When the share may change next.
    fn next_change(self, at: Duration) -> Option<Duration> {
        let changes: &[u64] = match self {
            Self::DropAndBack => &[100, 500],
            Self::LowAndUp => &[300],
            Self::HighAndLow => &[200, 1_000],
            _ => &[],
        };
        changes.iter().map(|each| Duration::from_millis(*each)).find(|change| *change > at)
    }

    fn queue_bytes(self, usual: u64) -> u64 {
        match self {
            Self::Shallow => 15_000,
            Self::Deep => 2_000_000,
            Self::NarrowJitter => 30_000,
            _ => usual,
        }
    }

    fn is_dark(self, at: Duration) -> bool {
        match self {
            Self::BlackHole => (150..450).contains(&at.as_millis()),
            Self::LateHole => (300..500).contains(&at.as_millis()),
            _ => false,
        }
    }

    fn longest_jitter(self) -> Duration {
        Duration::from_millis(match self {
            Self::Jitter => 8,
            Self::NarrowJitter => 15,
            _ => 0,
        })
    }
}

/// What a direction did since the target was asked for, as the lab knows it and no log says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Datagrams that a full queue or a dark path took.
    pub lost: u64,
    /// The longest stretch in which the bottleneck never stood still.
    pub busy: Duration,
}

/// A direction as a plan has it.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    pub bits_per_second: u64,
    pub delay: Duration,
    pub queue_bytes: u64,
}

/// A direction in use.
pub struct Link {
    spec: LinkSpec,
    script: Script,
    seed: u64,
    /// When the target was asked for: scripts begin there.
    origin: Option<Instant>,
    busy_until: Instant,
    last_arrival: Instant,
    cross_next: Option<Instant>,
    datagrams: u64,
    busy_since: Instant,
    carried: Carried,
}

impl Link {
    /// An idle link.
    pub fn new(spec: LinkSpec, script: Script, seed: u64, now: Instant) -> Self {
        Self {
            spec,
            script,
            seed,
            origin: None,
            busy_until: now,
            last_arrival: now,
            cross_next: None,
            datagrams: 0,
            busy_since: now,
            carried: Carried::default(),
        }
    }

    /// What it did since [`Link::begin`].
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// The target is asked for now.
    pub fn begin(&mut self, now: Instant) {
        self.origin = Some(now);
        self.carried = Carried::default();
        self.cross_next = (self.script == Script::CrossTraffic).then_some(now);
    }

    /// Takes a datagram and says when it arrives; nothing where the queue is full or the path dark.
    pub fn send(&mut self, now: Instant, payload_bytes: usize) -> Option<Instant> {
        self.cross_traffic(now);
        self.datagrams += 1;
        let is_dark = self.origin.is_some_and(|origin| self.script.is_dark(now - origin));
        let left = if is_dark { None } else { self.queue(now, payload_bytes as u64 + IP_UDP_HEADER_BYTES) };
        let Some(left) = left else {
            self.carried.lost += 1;
            return None;
        };
        let mut arrives = left + self.spec.delay;
        let longest_jitter = self.script.longest_jitter();
        if !longest_jitter.is_zero() {
            arrives += longest_jitter.mul_f64(fraction(self.seed, &format!("jitter {}", self.datagrams)));
        }
        self.last_arrival = arrives.max(self.last_arrival);
        Some(self.last_arrival)
    }

    /// What others have sent until now.
    fn cross_traffic(&mut self, now: Instant) {
        while let (Some(next), Some(origin)) = (self.cross_next, self.origin)
            && next <= now
        {
            let turn = (next - origin).as_nanos() / CROSS_TURN.as_nanos();
            if turn.is_multiple_of(2) {
                let _ = self.queue(next, CROSS_PACKET_BYTES); // a full queue drops theirs too
                let gap = CROSS_PACKET_BYTES as f64 * 8.0 / (0.7 * self.spec.bits_per_second as f64);
                self.cross_next = Some(next + Duration::from_secs_f64(gap));
            } else {
                self.cross_next = Some(origin + CROSS_TURN * (turn as u32 + 1));
            }
        }
    }

    /// Puts bytes into the queue and says when they have left the bottleneck, or nothing when it is full.
    fn queue(&mut self, now: Instant, bytes: u64) -> Option<Instant> {
        let starts = self.busy_until.max(now);
        let waiting = self.bytes_between(now, starts);
        if waiting + bytes as f64 > self.script.queue_bytes(self.spec.queue_bytes) as f64 {
            return None;
        }
        if starts > self.busy_until {
            self.busy_since = starts;
        }
        self.busy_until = self.carries(starts, bytes as f64 * 8.0);
        self.carried.busy = self.carried.busy.max(self.busy_until - self.busy_since);
        Some(self.busy_until)
    }

    /// The rate at a moment, in bits a second, and when it may change next.
    fn rate(&self, at: Instant) -> (f64, Option<Instant>) {
        let Some(origin) = self.origin.filter(|origin| at >= *origin) else {
            return (self.spec.bits_per_second as f64, self.origin);
        };
        let share = self.script.share(at - origin);
        (self.spec.bits_per_second as f64 * share, self.script.next_change(at - origin).map(|change| origin + change))
    }

    /// Bytes that leave the bottleneck between two moments of a busy link.
    fn bytes_between(&self, mut from: Instant, to: Instant) -> f64 {
        let mut bits = 0.0;
        while from < to {
            let (rate, change) = self.rate(from);
            let until = change.map_or(to, |change| change.min(to));
            bits += rate * (until - from).as_secs_f64();
            from = until;
        }
        bits / 8.0
    }

    /// When so many bits have left the bottleneck that begin at a moment.
    fn carries(&self, mut from: Instant, mut bits: f64) -> Instant {
        loop {
            let (rate, change) = self.rate(from);
            let ends = from + Duration::from_secs_f64(bits / rate);
            match change.filter(|change| *change < ends) {
                Some(change) => {
                    bits -= rate * (change - from).as_secs_f64();
                    from = change;
                }
                None => return ends,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: LinkSpec =
        LinkSpec { bits_per_second: 8_000_000, delay: Duration::from_millis(10), queue_bytes: 30_000 };

    fn link(script: Script) -> (Link, Instant) {
        let now = Instant::now();
        let mut made = Link::new(SPEC, script, 1, now);
        made.begin(now);
        (made, now)
    }

    fn at(now: Instant, ms: u64) -> Instant {
        now + Duration::from_millis(ms)
    }

    #[test]
    fn a_datagram_takes_its_bytes_and_the_delay() {
        let (mut link, now) = link(Script::Constant);
        assert_eq!(link.send(now, 972), Some(at(now, 11)));
        assert_eq!(link.send(now, 972), Some(at(now, 12)), "behind the first");
        assert_eq!(link.send(at(now, 50), 972), Some(at(now, 61)), "the queue is empty again");
    }

    #[test]
    fn a_full_queue_drops_its_tail() {
        let (mut link, now) = link(Script::Constant);
        assert_eq!((0..40).filter(|_| link.send(now, 972).is_some()).count(), 30);
        assert!(link.send(at(now, 1), 972).is_some(), "one has left");
        let (mut shallow, now) = super::tests::link(Script::Shallow);
        assert_eq!((0..40).filter(|_| shallow.send(now, 972).is_some()).count(), 15);
    }

    #[test]
    fn a_rate_that_changes_holds_for_what_is_on_its_way() {
        let (mut link, now) = link(Script::DropAndBack);
        assert_eq!(link.send(at(now, 99), 1_972), Some(at(now, 118)), "1 ms whole, then 1 ms at an eighth");
        let (mut link, now) = super::tests::link(Script::LowAndUp);
        assert_eq!(link.send(at(now, 296), 1_972), Some(at(now, 311)), "4 ms at a quarter, then 1 ms whole");
        let (mut link, now) = super::tests::link(Script::HighAndLow);
        assert_eq!(link.send(at(now, 199), 1_972), Some(at(now, 215)), "1 ms whole, then 1 ms at a fifth");
    }

    #[test]
    fn the_lab_knows_what_was_lost_and_how_long_the_bottleneck_was_busy() {
        let (mut link, now) = link(Script::Constant);
        assert_eq!((0..40).filter(|_| link.send(now, 972).is_some()).count(), 30);
        assert_eq!((link.carried().lost, link.carried().busy), (10, Duration::from_millis(30)));
        link.begin(at(now, 100));
        assert!(link.send(at(now, 100), 972).is_some());
        assert_eq!((link.carried().lost, link.carried().busy), (0, Duration::from_millis(1)));
    }

    #[test]
    fn nothing_passes_a_black_hole() {
        let (mut link, now) = link(Script::BlackHole);
        let passes: Vec<bool> = [149, 150, 449, 450].iter().map(|ms| link.send(at(now, *ms), 100).is_some()).collect();
        assert_eq!(passes, [true, false, false, true]);
        let (mut link, now) = super::tests::link(Script::LateHole);
        let passes: Vec<bool> = [299, 300, 499, 500].iter().map(|ms| link.send(at(now, *ms), 100).is_some()).collect();
        assert_eq!(passes, [true, false, false, true]);
    }

    #[test]
    fn others_take_their_share_in_their_turn() {
        let (mut link, now) = link(Script::CrossTraffic);
        let waits = |link: &mut Link, ms: u64| link.send(at(now, ms), 97).unwrap() - at(now, ms);
        let (with, without) = (waits(&mut link, 59), waits(&mut link, 100));
        assert!(with > without, "{with:?} {without:?}");
        assert!(waits(&mut link, 121) > without);
    }

    #[test]
    fn jitter_lets_nothing_overtake() {
        let (mut link, now) = link(Script::Jitter);
        let arrivals: Vec<Instant> = (0..100).map(|ms| link.send(at(now, ms), 97).unwrap()).collect();
        assert!(arrivals.is_sorted());
        assert!(arrivals.iter().zip(0..).any(|(arrival, ms)| *arrival > at(now, ms + 14)), "some are late");
    }
}
