//! Loss recovery (RFC 9002): what was sent in each packet number space, what of it was acknowledged or lost, the round
//! trips and probe timeouts that follow from it, and the recovery periods of the congestion controller.

pub mod ack_delay;
pub mod clock_check;
pub mod holes;
pub mod packets;
pub mod period;
pub mod probe;
pub mod range_ends;
pub mod rtt;

use crate::event::{Event, Word};
use crate::fold::TURN_US;
use crate::fold::moment::Moment;
use crate::fold::recovery::ack_delay::MaxAckDelay;
use crate::fold::recovery::clock_check::{ClockCheck, STEP_US};
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::{Acknowledged, Chunk, Looks, Sent, Space};
use crate::fold::recovery::period::{Period, PeriodOver};
use crate::fold::recovery::probe::{Answered, ProbeTimer};
use crate::fold::recovery::range_ends::RangeEnds;
use crate::fold::recovery::rtt::{INITIAL_RTT_US, Rtt, StatedRtt};
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// A packet number space of a path (RFC 9000, 12.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct SpaceId {
    /// Initial, Handshake or application data.
    pub kind: SpaceKind,
    /// Path; 0 where there is only one.
    pub path: u64,
}

/// Which packets share numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub enum SpaceKind {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    #[default]
    Application,
    /// Packets of a type that nobody knows: nothing that they acknowledge is of another space.
    Unknown,
}

impl SpaceKind {
    /// The one that an event's packet is in.
    pub fn of(event: &Event) -> Self {
        if event.is(Word::PacketType, "initial") {
            Self::Initial
        } else if event.is(Word::PacketType, "handshake") {
            Self::Handshake
        } else if event.has_odd_packet_type {
            Self::Unknown
        } else {
            Self::Application
        }
    }
}

/// Packets were acknowledged that had not been.
#[derive(Clone, Debug)]
pub struct Acked {
    /// The packets.
    pub packets: Vec<Acknowledged>,
    /// Their number space.
    pub space_id: SpaceId,
    /// The series of probe timeouts that this answered.
    pub answered: Option<Answered>,
    /// The recovery period that this ended.
    pub period: Option<PeriodOver>,
}

impl Acked {
    /// The one with the highest number.
    pub fn newest(&self) -> Option<&Sent> {
        self.packets.iter().map(|acked| &acked.packet).max_by_key(|packet| packet.number)
    }
}

/// What an ACK frame names.
#[derive(Clone, Debug)]
pub struct NamedPackets {
    /// Packets that had not been acknowledged.
    pub acked: Option<Acked>,
    /// Packets that the log does not show.
    pub missing: Vec<Hole>,
}

/// Packets were declared lost.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Those of them that were on their way.
    pub packets: Vec<Sent>,
    /// Largest number that had been acknowledged.
    pub largest_acked: Option<u64>,
    /// The answer to a probe showed the loss.
    pub is_by_probe: bool,
}

/// Losses as the connection's row tells them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct LossCount {
    packets: u64,
    bytes: u64,
    spurious: u64,
    handshake: u64,
    data: u64,
    /// The log's own counter says how many.
    is_stated: bool,
}

/// What is known of our packets and their acknowledgements.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Recovery {
    spaces: Vec<(SpaceId, Space)>,
    range_ends: RangeEnds,
    rtt: Rtt,
    max_ack_delay: MaxAckDelay,
    probe: ProbeTimer,
    period: Period,
    /// Last loss declared.
    lost_us: Option<i64>,
    losses: LossCount,
    out_of_order: u64,
    clock: ClockCheck,
}

/// A packet below the largest acknowledged one counts as unanswered for so many round trips.
const TIMEOUTS: i64 = 10;

impl Recovery {
    fn space(&mut self, space_id: SpaceId) -> &mut Space {
        let at = self.spaces.iter().position(|(known, _)| *known == space_id).unwrap_or_else(|| {
            // There are few spaces, and each is large.
            self.spaces.reserve_exact(1);
            self.spaces.push((space_id, Space::default()));
            self.spaces.len() - 1
        });
        &mut self.spaces[at].1
    }

    /// The log's clock may have made a step in a silence of `gap_us`: round trips of application data are stated, and
    /// no timeout makes them doubtful.
    pub fn can_tell_step(&self, gap_us: i64) -> bool {
        gap_us >= STEP_US && self.clock.first_us().is_some() && self.rtt.is_stated() && !self.probe.is_running()
    }

    /// When the packet of application data with that number was sent, if it is in flight and its round trip can show a
    /// clock step.
    pub fn on_its_way_since(&self, number: u64) -> Option<i64> {
        let (_, space) = self.spaces.iter().find(|(space_id, _)| space_id.kind == SpaceKind::Application)?;
        space.on_its_way_since(number).filter(|sent_us| Some(*sent_us) >= self.clock.first_us())
    }

    /// We sent a packet with this number. Gives the packets right before it that were acknowledged and have no record.
    pub fn number(&mut self, space_id: SpaceId, number: u64, now_us: i64) -> Option<Hole> {
        self.space(space_id).number(number, now_us)
    }

    /// Packets of ours behind packet `number` that the log does not show.
    pub fn unsent_behind(&mut self, space_id: SpaceId, number: u64) -> Vec<Hole> {
        self.space(space_id).unsent().behind(number).copied().collect()
    }

    /// The content of packet `number`, which has no record, is known: gives what is known of its time.
    pub fn take_unsent(&mut self, space_id: SpaceId, number: u64) -> Option<Hole> {
        self.space(space_id).unsent_mut().take(number)
    }

    /// Packets of the peer right before its newest that the log does not show.
    pub fn newest_unreceived(&mut self, space_id: SpaceId) -> Option<Hole> {
        self.space(space_id).unreceived().newest().copied()
    }

    /// Some packet of the peer is missing, or was lost on its way.
    pub fn is_any_unreceived(&mut self, space_id: SpaceId) -> bool {
        !self.space(space_id).unreceived().are_none()
    }

    /// A packet of the peer is missing since the last acknowledgement of anything new.
    fn is_any_unreceived_since_news(&self, space_id: SpaceId) -> bool {
        let space = self.spaces.iter().find(|(known, _)| *known == space_id);
        let last = space.and_then(|(_, space)| space.unreceived().last());
        last.is_some_and(|hole| self.probe.news_us().is_none_or(|news_us| hole.before_us > news_us))
    }

    /// We acknowledged `[from, to]`: gives the packets of them that the log does not show.
    pub fn acknowledge_own(&mut self, space_id: SpaceId, (from, to): (u64, u64), now_us: i64) -> Vec<Hole> {
        let mut missing = Vec::new();
        self.space(space_id).unreceived_mut().acknowledge(from, to, now_us, |hole| missing.push(hole));
        missing
    }

    /// The packet of application data after `number`, if it was acknowledged and is not in the log: of ours, or of the
    /// peer's.
    pub fn missing_after(&self, number: u64, is_ours: bool) -> Option<Hole> {
        let of_data = self.spaces.iter().filter(|(space_id, _)| space_id.kind == SpaceKind::Application);
        let holes = of_data.map(|(_, space)| if is_ours { space.unsent() } else { space.unreceived() });
        let next = holes.filter_map(|holes| holes.behind(number).next().copied());
        next.into_iter().find(|hole| hole.from == number.saturating_add(1) && hole.acked_us.is_some())
    }

    /// The packet is imputed.
    pub fn is_imputed(&mut self, space_id: SpaceId, number: u64) -> bool {
        let is_newest = self.space(space_id).largest_sent() == Some(number);
        !is_newest && self.space(space_id).is_imputed(number)
    }

    /// The record of an imputed packet comes late; true when the packet is acknowledged.
    pub fn replace_imputed(&mut self, space_id: SpaceId, packet: Sent) -> bool {
        self.space(space_id).replace_imputed(packet)
    }

    /// A packet of ours is on its way.
    pub fn send(&mut self, space_id: SpaceId, packet: Sent) {
        self.space(space_id).send(packet);
    }

    /// A packet of ours goes out that elicits an acknowledgement.
    pub fn elicit(&mut self, now_us: i64) {
        self.probe.elicit(now_us);
    }

    /// A packet of the peer came. Gives packets of the peer's before it that the log does not show, and that we had
    /// acknowledged.
    pub fn receive(&mut self, space_id: SpaceId, number: u64, now_us: i64) -> Option<Hole> {
        let (missing, is_late) = self.space(space_id).receive(number, now_us);
        self.out_of_order += u64::from(is_late);
        if space_id.kind != SpaceKind::Application {
            self.clock.receive_handshake(now_us);
        }
        missing
    }

    /// The first and last packets of ranges of an ACK frame, as this log writes them as far as is known.
    pub fn packets_of<'r>(&self, ranges: &'r [(u64, u64)]) -> impl Iterator<Item = (u64, u64)> + use<'r> {
        let ends = self.range_ends;
        ranges.iter().map(move |(from, to)| {
            let (from, to) = (*from.min(to), *from.max(to));
            (from, ends.last(from, to))
        })
    }

    /// Ranges of an ACK frame of ours: they show how this log writes them. Gives their first and last packets.
    pub fn see_own_ranges<'r>(&mut self, ranges: &'r [(u64, u64)]) -> impl Iterator<Item = (u64, u64)> + use<'r> {
        self.range_ends.look(ranges, None);
        self.packets_of(ranges)
    }

    /// An ACK frame came. In a log whose rows state recovery (`has_rows`), only such rows end a recovery period, unless
    /// it is known that no row does.
    pub fn acknowledge(
        &mut self,
        now_us: i64,
        space_id: SpaceId,
        ranges: &[(u64, u64)],
        has_rows: bool,
    ) -> NamedPackets {
        let newest = self.space(space_id).largest_sent();
        self.range_ends.look(ranges, newest);
        let (packets, mut newly, mut missing) = (self.packets_of(ranges), Vec::new(), Vec::new());
        let space = self.space(space_id);
        for (from, last) in packets {
            space.acknowledge(from, last, &mut newly);
            space.unsent_mut().acknowledge(from, last, now_us, |hole| missing.push(hole));
        }
        let acked = (!newly.is_empty()).then(|| self.acknowledged(now_us, space_id, newly, has_rows));
        NamedPackets { acked, missing }
    }

    /// A packet that the log does not show was imputed; it had been acknowledged already.
    pub fn acknowledge_imputed(&mut self, now_us: i64, space_id: SpaceId, number: u64) -> Option<Acked> {
        let mut newly = Vec::new();
        self.space(space_id).acknowledge(number, number, &mut newly);
        (!newly.is_empty()).then(|| self.acknowledged(now_us, space_id, newly, false))
    }

    /// A row says that something was acknowledged, not which packets.
    pub fn acknowledge_unnamed(&mut self, now_us: i64, has_rows: bool) -> Acked {
        self.acknowledged(now_us, SpaceId::default(), Vec::new(), has_rows)
    }

    fn acknowledged(&mut self, now_us: i64, space_id: SpaceId, packets: Vec<Acknowledged>, has_rows: bool) -> Acked {
        let mut acked = Acked { packets, space_id, answered: None, period: None };
        // "An RTT sample is generated only if the largest acknowledged packet number is newly acknowledged, and at least one
        // of the newly acknowledged packets was ack-eliciting" (RFC 9002, 5.1).
        let largest = self.space(space_id).largest_acked();
        let is_sample = acked.packets.iter().any(|Acknowledged { packet, .. }| packet.is_eliciting || packet.in_flight);
        let newest = acked.newest().filter(|newest| largest <= Some(newest.number) && !newest.is_imputed);
        if let Some(newest) = newest.filter(|_| is_sample) {
            if !self.probe.is_running() {
                self.clock.measure(newest.time_us, now_us, space_id.kind == SpaceKind::Application);
            }
            self.rtt.measure(now_us.saturating_sub(newest.time_us), now_us);
        }
        let is_behind_lost = self.probe.is_running() && self.is_any_unreceived_since_news(space_id);
        acked.answered = self.probe.acknowledged(now_us, &acked.packets, is_behind_lost);
        // "A recovery period ends and the sender enters congestion avoidance when a packet sent during the recovery
        // period is acknowledged" (RFC 9002, 7.3.2).
        if let Some(since_us) = self.period.since_us()
            && (!has_rows || self.period.is_by_packet())
            && acked.packets.iter().any(|acked| acked.packet.time_us > since_us)
        {
            acked.period = self.period.end();
        }
        acked
    }

    /// `count` packets were declared lost, of which `largest` has the highest number.
    pub fn lose(&mut self, now_us: i64, space_id: SpaceId, largest: u64, count: u64) -> Lost {
        let space = self.space(space_id);
        let numbers =
            if count > 1 { space.oldest(largest, usize::try_from(count).unwrap_or(usize::MAX)) } else { vec![largest] };
        let packets = numbers.iter().filter_map(|number| space.lose(*number).cloned()).collect();
        let largest_acked = space.largest_acked();
        self.lost_us = Some(now_us);
        Lost { packets, largest_acked, is_by_probe: self.probe.shows_losses(now_us) }
    }

    /// Something of a request was in a lost packet.
    pub fn lose_data(&mut self, stream_id: u64) {
        self.probe.lose(stream_id);
    }

    /// Packets were lost; `kind` is their number space, where it is known.
    pub fn count_lost(&mut self, packets: u64, bytes: u64, kind: Option<SpaceKind>) {
        self.losses.packets = self.losses.packets.saturating_add(packets);
        self.losses.bytes = self.losses.bytes.saturating_add(bytes);
        let of_kind = match kind {
            None => return,
            Some(SpaceKind::Application | SpaceKind::Unknown) => &mut self.losses.data,
            Some(SpaceKind::Initial | SpaceKind::Handshake) => &mut self.losses.handshake,
        };
        *of_kind = of_kind.saturating_add(packets);
    }

    /// Packets are taken for lost because their data is sent again. They do not count where the log states its own
    /// counter.
    pub fn count_inferred(&mut self, packets: u64, bytes: u64) {
        if !self.losses.is_stated {
            self.count_lost(packets, bytes, Some(SpaceKind::Application));
        }
    }

    /// The log's own counter has grown.
    pub fn count_stated(&mut self, packets: u64, bytes: u64) {
        self.losses.is_stated = true;
        self.count_lost(packets, bytes, Some(SpaceKind::Application));
    }

    /// "Packets declared lost can be acknowledged later" (RFC 9002, 6.1).
    pub fn count_spurious(&mut self) {
        self.losses.spurious += 1;
    }

    /// Unacknowledged packets, with their number spaces, that carried any of the bytes `[from, to)` of a stream, which
    /// are sent again.
    pub fn carriers(&self, chunk: &Chunk, to: u64, looks: &mut Looks) -> Vec<(SpaceId, &Sent)> {
        let mut found = Vec::new();
        for (space_id, space) in &self.spaces {
            let carriers = space.carriers(chunk.stream_id, chunk.from, to, looks);
            found.extend(carriers.into_iter().map(|packet| (*space_id, packet)));
        }
        found
    }

    /// What a packet carried goes out again, in a log that does not say what is lost.
    pub fn repeat(&mut self, space_id: SpaceId, number: u64) {
        self.space(space_id).repeat(number);
    }

    /// Keys were discarded: "the sender MUST discard all recovery state associated with those packets and MUST remove
    /// them from the count of bytes in flight" (RFC 9002, 6.4). Gives the bytes of each path.
    pub fn discard(&mut self, kind: SpaceKind) -> Vec<(u64, u64)> {
        let of_kind = self.spaces.iter_mut().filter(|(space_id, _)| space_id.kind == kind);
        of_kind.map(|(space_id, space)| (space_id.path, space.discard())).collect()
    }

    /// A recovery period begins, unless one goes on.
    pub fn begin_period(&mut self, now: Moment) {
        self.period.begin(now);
    }

    /// It ends.
    pub fn end_period(&mut self) -> Option<PeriodOver> {
        self.period.end()
    }

    /// Packets were lost: there is "no reaction if already in a recovery period", which depends on when the lost packet
    /// was sent (RFC 9002, B.6). The loss of a packet that was sent after the period began ends it and starts another.
    pub fn end_period_before(&mut self, lost: &[Sent]) -> Option<PeriodOver> {
        let since_us = self.period.since_us()?;
        lost.iter().any(|packet| packet.time_us > since_us).then(|| self.period.end()).flatten()
    }

    /// No row states when a recovery period is over: acknowledgements end it.
    pub fn period_ends_by_packet(&mut self) {
        self.period.ends_by_packet();
    }

    /// Time passed with bytes in flight.
    pub fn pass(&mut self, us: u64) {
        self.period.pass(us);
    }

    /// A recovery period is going on.
    pub fn is_in_period(&self) -> bool {
        self.period.since_us().is_some()
    }

    /// For logs without timer events: a whole probe timeout has passed since "time_of_last_ack_eliciting_packet"
    /// (RFC 9002, A.8), and something is unanswered.
    pub fn was_silent(&self, now_us: i64, has_rows_in_flight: bool) -> bool {
        let (Some(sent), Some(timeout)) = (self.probe.elicited_us(), self.rtt.probe_timeout_us()) else { return false };
        // A tenth is allowed for the difference between the log's figures and the stack's.
        now_us.saturating_sub(sent) >= timeout - timeout / 10 - 1000 && self.is_unanswered(now_us, has_rows_in_flight)
    }

    /// No loss timer explains what goes out now: it is set when an acknowledgement comes, to an eighth of a round trip
    /// from then at most (RFC 9002, 6.1.2).
    pub fn is_after_loss_timers(&self, now_us: i64) -> bool {
        let longest = self.rtt.smoothed_us().unwrap_or(0) / 4 + TURN_US;
        self.probe.news_us().is_none_or(|news| now_us.saturating_sub(news) > longest)
    }

    /// An ack-eliciting packet was sent and nothing new was acknowledged since. Rows without packet numbers show only
    /// whether anything is in flight.
    fn is_unanswered(&self, now_us: i64, has_rows_in_flight: bool) -> bool {
        let timeouts = self.rtt.smoothed_us().unwrap_or(INITIAL_RTT_US).saturating_mul(TIMEOUTS);
        let since_us = now_us.saturating_sub(timeouts);
        self.spaces.iter().any(|(_, space)| space.is_waiting(since_us))
            // aioquic declares its oldest packet lost when it probes.
            || self.lost_us.is_some_and(|lost| now_us.saturating_sub(lost) <= TURN_US)
            || has_rows_in_flight
            || self.probe.elicited_us() > self.probe.news_us()
    }

    /// A probe timer fired.
    pub fn fire_probe(&mut self, now: Moment, is_logged: bool, has_rows_in_flight: bool) {
        if self.is_unanswered(now.us, has_rows_in_flight) {
            self.probe.fire(now, is_logged, self.rtt.min_us().unwrap_or(0));
        }
    }

    /// The log gives a count of probe timeouts: true when it has grown.
    pub fn state_probes(&mut self, count: u64) -> bool {
        self.probe.state_count(count)
    }

    /// The log states RTT figures.
    pub fn state_rtt(&mut self, stated: StatedRtt, now_us: i64) {
        if let Some(sample_us) = self.rtt.state(stated, now_us) {
            self.clock.state(sample_us, now_us);
        }
    }

    /// The log says that the loss timer was set to fire then; `None`: that it was cancelled.
    pub fn set_loss_timer(&mut self, due_us: Option<i64>) {
        self.clock.set_timer(due_us);
    }

    /// The log says that it fired.
    pub fn fire_loss_timer(&mut self) {
        self.clock.fire_timer();
    }

    /// At the end of an instant: gives the times between which the log's clock made a step while a packet was on its
    /// way.
    pub fn clock_step(&mut self, now_us: i64) -> Option<(i64, i64)> {
        self.clock.step(now_us)
    }

    /// Time passes without a record.
    pub fn pass_in_silence(&mut self, us: u64, until_us: i64) {
        self.clock.pass(us, until_us);
    }

    /// The peer's transport parameter `max_ack_delay`, ms.
    pub fn state_max_ack_delay(&mut self, ms: u64) {
        self.max_ack_delay.state(ms);
    }

    /// How long the peer may hold its acknowledgements back.
    pub fn max_ack_delay(&self) -> MaxAckDelay {
        self.max_ack_delay
    }

    /// The peer states an acknowledgement delay.
    pub fn held_back(&mut self, told_us: i64, now_us: i64) {
        self.rtt.held_back(self.max_ack_delay.believed_us(told_us), now_us);
        self.clock.hold(told_us);
    }

    /// The connection moved to another path.
    pub fn restart_rtt(&mut self) {
        self.rtt.restart();
    }

    /// Round trips.
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Probe timeouts.
    pub fn probe(&self) -> &ProbeTimer {
        &self.probe
    }

    /// Something new was acknowledged within the last [`TURN_US`].
    pub fn is_by_ack(&self, now_us: i64) -> bool {
        self.probe.news_us().is_some_and(|news| now_us.saturating_sub(news) <= TURN_US)
    }

    /// The earliest of: the oldest packet that waits for an acknowledgement, the start of a series of probe timeouts,
    /// the last new acknowledgement. No condition that is found later can begin before this.
    pub fn certain_us(&mut self) -> Option<i64> {
        let oldest = self.spaces.iter_mut().filter_map(|(_, space)| space.oldest_us());
        oldest.chain(self.probe.since_us()).chain(self.probe.news_us()).min()
    }

    /// Packets that were lost.
    pub fn packets_lost(&self) -> u64 {
        self.losses.packets
    }

    /// Losses and probe timeouts in the connection's row.
    pub fn write(&self, row: &mut Row<Connections>) {
        row.set(connections::PACKETS_LOST, self.losses.packets);
        row.set(connections::BYTES_LOST, self.losses.bytes);
        row.set(connections::PACKETS_SPURIOUS, self.losses.spurious);
        row.set(connections::PACKETS_LOST_HANDSHAKE, self.losses.handshake);
        row.set(connections::PACKETS_LOST_DATA, self.losses.data);
        row.set(connections::PTOS, self.probe.count());
        row.set(connections::PTOS_SPURIOUS, self.probe.spurious());
    }

    /// Packets of the peer that came behind one with a higher number.
    pub fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// Packets that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.spaces.iter().map(|(_, space)| space.steps()).sum()
    }
}
