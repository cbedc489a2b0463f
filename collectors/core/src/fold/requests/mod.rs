//! The requests of a connection: how they open, end and are released, and which of them have data that waits.

pub mod arrivals;
pub mod frameless;
pub mod http;
pub mod hunger;
pub mod imputation;
pub mod losses;
pub mod packet_count;
pub mod passed;
pub mod queue;
pub mod ranges;
pub mod side;
pub mod stream;
pub mod unrepaired;
pub mod wait;

use crate::crossed::Bound;
use crate::fold::attribution::{Attribution, Certain, most_undecided};
use crate::fold::cause::Cause;
use crate::fold::moment::Moment;
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::Chunk;
use crate::fold::recovery::rtt::Rtt;
use crate::fold::requests::frameless::Frameless;
use crate::fold::requests::hunger::Hunger;
use crate::fold::requests::losses::Repair;
use crate::fold::requests::passed::Passed;
use crate::fold::requests::queue::HandedOver;
use crate::fold::requests::ranges::Ranges;
use crate::fold::requests::stream::{RequestEnd, SentChunk, Stream};
use crate::fold::stats::Stats;
use crate::limits;
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Requests that are kept after they ended, because their last HTTP frames may still come.
const LINGERING: usize = 64;

/// The request streams of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Requests {
    /// A node of the map has room for eleven values, which are large: most connections have one.
    streams: BTreeMap<u64, Box<Stream>>,
    /// Those whose data waits, as far as is known. Boxed, as most connections of a large trace have none.
    hunger: Option<Box<Hunger>>,
    /// Which of them have bytes that a packet skipped. Few connections have any.
    passed: Option<Box<Passed>>,
    /// Those with lost data that was not sent again; some entries may be out of date.
    unsent: BTreeSet<u64>,
    /// What goes out, in a log of rows without frames.
    frameless: Option<Box<Frameless>>,
    /// Those that wait and that no other stream has passed since the wait began.
    unpassed: Vec<u64>,
    /// Facts about all requests opened so far; open requests are told when they end.
    of_all: OfAll,
    /// Since when none is open.
    idle_since: Option<Moment>,
    /// Those that ended and linger.
    ended: Vec<u64>,
    /// Those that have their rows, by a fourth of their ids.
    closed: Ranges,
    count: Count,
    /// How long after a packet what it had carried went out again.
    repairs: Option<Box<Stats>>,
    /// Losses that were looked at in streams that are closed: a measure of work.
    #[serde(skip)]
    steps: u64,
}

/// What the connection's row says of its requests.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct Count {
    requests: u64,
    complete: u64,
    retransmitted_bytes: u64,
    most_resent: u64,
}

/// For each fact, how many requests had been opened when it was noticed last.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct OfAll {
    /// A probe timeout was inferred.
    probe_inferred: u64,
    /// The clock made a step.
    clock_step: u64,
}

impl OfAll {
    /// Tells a request that is open.
    fn tell(self, stream: &mut Stream) {
        if stream.ordinal() < self.probe_inferred {
            stream.timeline_mut().infer(Cause::Pto);
        }
        if stream.ordinal() < self.clock_step {
            stream.note_clock_step();
        }
    }
}

/// Result of an attempt to open a request's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is open, or has ended a moment ago.
    Known,
    /// It is new; with it, since when the connection had no request.
    New(Option<Moment>),
    /// It is another kind of stream, or ended long ago.
    No,
    /// There are too many open requests already.
    Beyond,
}

impl Requests {
    /// Those of a log of rows without frames (`frameless`), or of another.
    pub fn of(frameless: bool) -> Self {
        Self { frameless: frameless.then(Box::default), ..Self::default() }
    }

    /// Opens the request stream `id` if it is new. Client-initiated bidirectional: RFC 9000, 2.1.
    /// `received_us`: when the peer's packet before came.
    pub fn open(&mut self, id: u64, now: Moment, credit: Option<u64>, received_us: Option<i64>) -> Opened {
        if !id.is_multiple_of(4) || self.closed.covers(id / 4, id / 4 + 1) {
            return Opened::No;
        }
        if self.streams.contains_key(&id) {
            return Opened::Known;
        }
        if self.streams.len() >= limits::OPEN_REQUESTS {
            return Opened::Beyond;
        }
        let stream = Stream::open(id, self.count.requests, now, credit, received_us);
        self.count.requests += 1;
        self.streams.insert(id, Box::new(stream));
        Opened::New(self.idle_since.take())
    }

    /// A stream that is open or lingers.
    pub fn get(&self, id: u64) -> Option<&Stream> {
        self.streams.get(&id).map(|stream| &**stream)
    }

    /// Likewise.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Stream> {
        let stream = self.streams.get_mut(&id)?;
        if let Some(frameless) = &mut self.frameless {
            frameless.tell(stream);
            frameless.note(stream);
        }
        Some(stream)
    }

    /// All of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        let frameless = &mut self.frameless;
        self.streams.values_mut().map(move |stream| {
            if let Some(frameless) = frameless {
                frameless.tell(stream);
            }
            &mut **stream
        })
    }

    /// All of them, to be looked at.
    pub fn all(&self) -> impl Iterator<Item = &Stream> {
        self.streams.values().map(|stream| &**stream)
    }

    /// An event names a stream.
    pub fn touch(&mut self, id: u64, seq: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.touch(seq);
        }
    }

    /// A request ends, if it has not.
    pub fn end(&mut self, id: u64, now: Moment, time_us: i64, why: RequestEnd, rtt: &Rtt) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.is_open()) else { return };
        self.of_all.tell(stream);
        if let Some(frameless) = &mut self.frameless {
            frameless.tell(stream);
            frameless.forget(id);
        }
        stream.end_now(now.us, time_us, why, rtt);
        stream.measure(self.hunger.as_mut().and_then(|hunger| hunger.remove(id)));
        self.ended.push(id);
        if self.streams.len() == self.ended.len() {
            // Mvfst calls a connection idle that has no open stream but control streams (quic_trace.md 4.1).
            self.idle_since = Some(now);
        }
    }

    /// Some request is open or lingers.
    pub fn is_any(&self) -> bool {
        !self.is_empty()
    }

    /// Since when none is open.
    pub fn idle_since(&self) -> Option<Moment> {
        self.idle_since
    }

    /// Data of a stream may have begun or ceased to wait.
    pub fn note_hunger(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(frameless) = &mut self.frameless {
            frameless.note(stream);
        }
        if stream.is_hungry() {
            self.hunger.get_or_insert_default().add(id, stream.queue().known_to_wait_since());
        } else {
            stream.measure(self.hunger.as_mut().and_then(|hunger| hunger.remove(id)));
        }
    }

    /// Its response begins again: rates that were measured before do not count for it.
    pub fn begin_again(&mut self, id: u64) {
        self.hunger.as_mut().and_then(|hunger| hunger.remove(id));
    }

    /// Rows without frames: a packet goes out, which may have some of each response under way.
    pub fn row_sent(&mut self, now_us: i64) {
        if let Some(frameless) = &mut self.frameless {
            frameless.send(&mut self.streams, now_us);
        }
    }

    /// Rows without frames: all that had gone out by then is acknowledged. Gives the requests that this ends.
    pub fn rows_acknowledged(&mut self, acked_us: i64) -> Vec<u64> {
        let frameless = self.frameless.as_mut();
        frameless.map(|frameless| frameless.acknowledge(&mut self.streams, acked_us)).unwrap_or_default()
    }

    /// Data of some stream waits.
    pub fn is_hungry(&self) -> bool {
        self.hunger.as_ref().is_some_and(|hunger| !hunger.is_none())
    }

    /// Data of the stream, or of any, is known to wait since `us` at least.
    pub fn is_known_to_wait_since(&mut self, stream_id: Option<u64>, us: i64) -> bool {
        let (streams, Some(hunger)) = (&self.streams, &mut self.hunger) else { return false };
        let since = |id: u64| streams.get(&id).and_then(|stream| stream.queue().known_to_wait_since());
        match stream_id {
            Some(id) => hunger.has(id) && since(id).is_some_and(|since_us| since_us <= us),
            None => hunger.is_known_since(us, |id, since_us| since(id) == Some(since_us)),
        }
    }

    /// The path is the bottleneck and delivers at this rate, while these have data.
    pub fn measure_hungry(&mut self, rate: Option<f64>) {
        if let (Some(rate), Some(hunger)) = (rate, &mut self.hunger) {
            hunger.measure(rate);
        }
    }

    /// A probe timeout was inferred, which any of them may have waited for.
    pub fn infer_probe(&mut self) {
        self.of_all.probe_inferred = self.count.requests;
        for id in &self.ended {
            if let Some(stream) = self.streams.get_mut(id) {
                stream.timeline_mut().infer(Cause::Pto);
            }
        }
    }

    /// Something of a stream was lost.
    pub fn note_lost(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(|stream| stream.is_any_unsent()) {
            self.unsent.insert(id);
        }
    }

    /// A packet without a record, of `hole`, was acknowledged: gives the lost data that was sent again in it. It is the
    /// data of one stream, and only a bounded number of streams is looked at.
    pub fn resend_unseen(&mut self, hole: &Hole) -> Vec<Chunk> {
        let (mut chunks, mut done, mut looked_at) = (Vec::new(), Vec::new(), 0);
        for id in &self.unsent {
            if looked_at == limits::LOSSES_BESIDE {
                Bound::LossesBeside.cross();
                break;
            }
            looked_at += 1;
            match self.streams.get_mut(id).filter(|stream| stream.is_any_unsent()) {
                Some(stream) => chunks = stream.resend_unseen(hole),
                None => done.push(*id),
            }
            if !chunks.is_empty() {
                break;
            }
        }
        self.steps += looked_at as u64;
        for id in done {
            self.unsent.remove(&id);
        }
        chunks
    }

    /// The log's clock made a step.
    pub fn note_clock_step(&mut self) {
        self.of_all.clock_step = self.count.requests;
    }

    /// Data of a stream waits from now on, where a pacer may make it wait for `paced_us`.
    pub fn wait(&mut self, id: u64, now_us: i64, paced_us: u64) {
        if self.streams.get_mut(&id).is_some_and(|stream| stream.queue_mut().wait(now_us, paced_us)) {
            self.unpassed.push(id);
        }
    }

    /// Some stream waits that no other has passed.
    pub fn is_any_unpassed(&self) -> bool {
        !self.unpassed.is_empty()
    }

    /// Some streams sent a packet: the other waiting streams were passed. The turn of the senders began at `began_us`;
    /// `in_flight` is the bytes in flight of all streams, and counts where the log has a rate (`has_rate`).
    pub fn pass(&mut self, has_sent: impl Fn(u64) -> bool, began_us: i64, in_flight: u64, has_rate: bool) {
        let streams = &mut self.streams;
        self.unpassed.retain(|id| {
            streams.get_mut(id).is_some_and(|stream| stream.pass(has_sent(*id), began_us, in_flight, has_rate))
        });
    }

    /// The application queued more of a response. Gives since when it had queued nothing.
    pub fn hand_over(&mut self, id: u64, more: HandedOver, now_us: i64, paced_us: u64) -> Option<Moment> {
        let stream = self.streams.get_mut(&id)?;
        if !stream.hand_over(more) {
            return None;
        }
        let empty_since = stream.queue_mut().end_empty();
        if empty_since.is_some() || (stream.queue().ready().is_none() && stream.may_wait()) {
            self.wait(id, now_us, paced_us);
        }
        empty_since
    }

    /// A chunk of a request went out.
    pub fn count_sent(&mut self, sent: &SentChunk) {
        self.count.retransmitted_bytes = self.count.retransmitted_bytes.saturating_add(sent.repeated);
        self.count.most_resent = self.count.most_resent.max(sent.most_resent);
    }

    /// A chunk of the peer's comes in the packet right after packets without a record.
    pub fn pass_over(&mut self, chunk: &Chunk, hole: &Hole) {
        if self.get_mut(chunk.stream_id).is_some_and(|stream| stream.pass_over(chunk, hole)) {
            self.passed.get_or_insert_default().add(hole, chunk.stream_id);
        }
    }

    /// Packets of the peer without a record did come: gives the stream data that they brought.
    pub fn came(&mut self, hole: &Hole) -> Vec<Chunk> {
        let ids = self.passed.as_mut().map(|passed| passed.take(hole)).unwrap_or_default();
        ids.into_iter().filter_map(|id| self.streams.get_mut(&id)?.came(hole)).collect()
    }

    /// A loss was repaired.
    pub fn count_repair(&mut self, repair: &Repair) {
        if let Some(wait_us) = repair.wait_us() {
            self.repairs.get_or_insert_default().add(wait_us);
        }
    }

    /// Sums up what no later event can change.
    pub fn sum_up(&mut self, attribution: &mut Attribution, certain: Certain) {
        let requests = self.streams.len();
        if attribution.settle(certain, requests) {
            attribution.sum_up(self.all_mut(), certain, requests);
        }
    }

    /// A request has so many intervals of its own that they must be summed up.
    pub fn is_long(&self, id: u64) -> bool {
        let most = most_undecided(self.streams.len());
        self.get(id).is_some_and(|stream| stream.timeline().is_long(most))
    }

    /// Sums up what no later event can change of it.
    pub fn sum_up_one(&mut self, id: u64, attribution: &mut Attribution, certain: Certain) {
        let requests = self.streams.len();
        if let Some(stream) = self.get_mut(id) {
            attribution.sum_up_one(stream, certain, requests);
        }
    }

    /// Losses, and streams of rows without frames, that were looked at so far.
    pub fn steps(&self) -> u64 {
        let steps = self.frameless.as_ref().map_or(0, |frameless| frameless.steps()).saturating_add(self.steps);
        self.all().fold(steps, |sum, stream| sum.saturating_add(stream.steps()))
    }

    /// Some request ended and lingers.
    pub fn is_any_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// It ended and lingers.
    pub fn has_ended(&self, id: u64) -> bool {
        self.ended.contains(&id)
    }

    /// How many have ended, and wait for their last HTTP frames.
    pub fn lingering(&self) -> usize {
        self.ended.len()
    }

    /// Streams that ended before the current moment: their last HTTP frames have been seen.
    pub fn let_go(&mut self, now_us: i64) -> Vec<Box<Stream>> {
        let are_many = self.ended.len() > LINGERING;
        let streams = &mut self.streams;
        let mut gone = Vec::new();
        self.ended.retain(|id| {
            if streams.get(id).is_some_and(|stream| !are_many && !stream.is_over(now_us)) {
                return true;
            }
            gone.extend(streams.remove(id));
            false
        });
        gone
    }

    /// All streams, as the trace ends.
    pub fn take_all(&mut self) -> impl Iterator<Item = Box<Stream>> + use<> {
        self.ended.clear();
        let mut streams = std::mem::take(&mut self.streams);
        for (id, stream) in &mut streams {
            stream.measure(self.hunger.as_mut().and_then(|hunger| hunger.remove(*id)));
            if stream.is_open() {
                self.of_all.tell(stream);
            }
            if let Some(frameless) = &mut self.frameless {
                frameless.tell(stream);
            }
        }
        streams.into_values()
    }

    /// Streams that are open or linger.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// None is.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// A stream becomes its row.
    pub fn close(&mut self, stream: &Stream) {
        self.closed.add(stream.id() / 4, stream.id() / 4 + 1);
        self.count.complete += u64::from(stream.is_complete());
        self.steps = self.steps.saturating_add(stream.steps());
    }

    /// Requests that were opened.
    pub fn count(&self) -> u64 {
        self.count.requests
    }

    /// Bytes that went out again.
    pub fn retransmitted_bytes(&self) -> u64 {
        self.count.retransmitted_bytes
    }

    /// Its columns of the connection's row.
    pub fn write(&self, row: &mut Row<Connections>) {
        row.set(connections::RETRANSMISSIONS_MAX, self.count.most_resent);
        let repairs = self.repairs.as_deref().copied().unwrap_or_default();
        row.set(connections::RETRANSMISSION_DELAY_MIN_US, repairs.min());
        row.set(connections::RETRANSMISSION_DELAY_MAX_US, repairs.max());
        row.set(connections::RETRANSMISSION_DELAY_MEAN_US, repairs.mean());
        row.set(connections::RETRANSMISSION_DELAY_STDEV_US, repairs.deviation());
        row.set(connections::REQUESTS, self.count.requests);
        row.set(connections::REQUESTS_COMPLETE, self.count.complete);
    }
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::crossed::crosses;
    use crate::fold::attribution::saves::Room;
    use crate::fold::recovery::packets::{Looks, Sent};
    use crate::fold::requests::losses::Detection;
    use crate::fold::requests::stream::Outgoing;

    const fn at(us: i64) -> Moment {
        Moment { us, seq: 0 }
    }

    fn opened(ids: &[u64]) -> Requests {
        let mut requests = Requests::default();
        ids.iter().for_each(|id| assert!(matches!(requests.open(*id, at(0), None, None), Opened::New(_))));
        requests
    }

    #[test]
    fn a_request_is_opened_once_and_not_again_when_it_has_its_row() {
        let mut requests = opened(&[0]);
        assert_eq!(
            [0, 1, 2, 3].map(|id| requests.open(id, at(1), None, None)),
            [Opened::Known, Opened::No, Opened::No, Opened::No]
        );
        requests.end(0, at(10), 10, RequestEnd::Acked, &Rtt::default());
        assert!(requests.has_ended(0) && requests.let_go(1_000).is_empty());
        let gone = requests.let_go(2_000);
        gone.iter().for_each(|stream| requests.close(stream));
        assert_eq!((gone.len(), requests.open(0, at(2_000), None, None)), (1, Opened::No));
        assert_eq!(requests.open(4, at(3_000), None, None), Opened::New(Some(at(10))), "the connection was idle");
        assert!(requests.is_any() && !requests.is_any_ended());
    }

    #[test]
    fn too_many_lingering_requests_are_released_at_once() {
        let ids: Vec<u64> = (0..=LINGERING as u64).map(|number| 4 * number).collect();
        let mut requests = opened(&ids);
        ids.iter().for_each(|id| requests.end(*id, at(5), 5, RequestEnd::Acked, &Rtt::default()));
        assert_eq!(requests.let_go(5).len(), LINGERING + 1);
        assert!(requests.is_empty() && requests.count() == 1 + LINGERING as u64);
    }

    #[test]
    fn a_packet_without_a_record_brings_again_what_one_of_so_many_streams_lost() {
        // Loses the data of streams, and sees that all but the last is sent again.
        let lost = |streams: u64| {
            let ids: Vec<u64> = (0..streams).map(|number| 4 * number).collect();
            let mut requests = opened(&ids);
            for id in &ids {
                let chunk = Chunk { stream_id: *id, from: 0, to: 100, fin: false };
                let packet = Sent { number: *id, chunk: Some(chunk), ..Sent::default() };
                let stream = requests.streams.get_mut(id).expect("open");
                stream.lose(&packet, &chunk, Detection { us: 10, trigger: "inferred", is_by_probe: false }, false);
                requests.note_lost(*id);
                if *id != 4 * (streams - 1) {
                    let stream = requests.streams.get_mut(id).expect("open");
                    let again = Outgoing { is_server: true, room: Room::default(), sent_before: 0, number: None };
                    stream.send(&chunk, at(20), again, &[], &mut Looks::of_a_packet());
                }
            }
            requests
        };
        let hole = Hole { from: 9, to: 9, after_us: 30, before_us: 40, acked_us: Some(50) };
        let most = limits::LOSSES_BESIDE as u64;
        assert_eq!(lost(most).resend_unseen(&hole).len(), 1);
        let mut requests = lost(most + 1);
        assert!(crosses(Bound::LossesBeside, || requests.resend_unseen(&hole)).is_empty());
        assert_eq!(requests.resend_unseen(&hole).len(), 1, "those that lack nothing are not looked at again");
    }

    #[test]
    fn data_waits_from_when_the_application_queued_it_until_the_end() {
        let mut requests = opened(&[0, 4]);
        if let Some(stream) = requests.get_mut(0) {
            stream.begin_response(1, Room::default());
        }
        assert_eq!(requests.hand_over(0, HandedOver { offset: None, bytes: 1_000 }, 2, 0), None);
        [0, 4].into_iter().for_each(|id| requests.note_hunger(id));
        assert!(requests.is_hungry() && requests.is_known_to_wait_since(None, 2));
        assert!(!requests.is_known_to_wait_since(None, 1) && !requests.is_known_to_wait_since(Some(4), 2));
        assert!(requests.is_any_unpassed());
        requests.pass(|id| id == 4, 2, 0, false);
        assert!(!requests.is_any_unpassed());
        requests.end(0, at(9), 9, RequestEnd::Reset, &Rtt::default());
        assert!(!requests.is_hungry());
    }
}
