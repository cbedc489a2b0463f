//! What of a stream was lost and is not acknowledged yet, and the repairs of it.

use crate::fold::cause::{Cause, Interval};
use crate::fold::recovery::packets::{Chunk, Looks, Sent};
use crate::fold::requests::packet_count::PacketCount;
use crate::fold::requests::side::Side;
use crate::fold::requests::unrepaired::{Loss, Unrepaired};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// How a loss was found.
#[derive(Clone, Copy, Debug)]
pub struct Detection<'a> {
    /// When.
    pub us: i64,
    /// How: the trigger that the log states, or "inferred".
    pub trigger: &'a str,
    /// An acknowledgement after a probe timeout shows it.
    pub is_by_probe: bool,
}

/// A packet's loss that was repaired: all that it carried of the stream is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The lost packet.
    pub number: u64,
    /// When it was sent.
    pub sent_us: i64,
    /// By which event.
    pub sent_seq: u64,
    /// When its acknowledgement was due.
    pub due_us: i64,
    /// When it was declared lost.
    pub detected_us: i64,
    /// How it was found.
    pub trigger: String,
    /// First retransmission.
    pub resent_us: Option<i64>,
    /// Retransmissions.
    pub resent: u32,
    /// Bytes that were lost.
    pub bytes: u64,
    /// The lost packet has no record: its send time is not known.
    pub is_imputed: bool,
}

impl Repair {
    /// From the packet to its first retransmission.
    pub fn wait_us(&self) -> Option<u64> {
        self.resent_us.map(|resent_us| resent_us.abs_diff(self.sent_us))
    }
}

/// Losses of a stream's data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Losses {
    /// Most streams never have one.
    open: Option<Box<Unrepaired>>,
    /// Packets that were lost.
    packets: PacketCount,
    /// Longest detection.
    detection_us: Option<u64>,
    /// Most retransmissions of one loss.
    most_resent: u32,
}

impl Losses {
    /// A frame of the stream was in packet `number`, which was lost: a packet counts once.
    pub fn count_packet(&mut self, number: u64) {
        self.packets.frame_of(number);
    }

    /// Packets with the stream's data were lost.
    pub fn count(&mut self, packets: u64) {
        self.packets.add(packets);
    }

    /// A chunk was lost. Nothing is noted if all of it was acknowledged before this instant; what was in this instant
    /// (`is_repaired`) is repaired next.
    pub fn lose(&mut self, sent: &Side, packet: &Sent, chunk: &Chunk, found: Detection<'_>, is_repaired: bool) {
        if sent.has(chunk.from, chunk.to, chunk.fin) && !is_repaired {
            return;
        }
        let detection = found.us.abs_diff(packet.time_us);
        self.detection_us = self.detection_us.max(Some(detection));
        self.open.get_or_insert_default().add(Loss {
            from: chunk.from,
            to: chunk.to,
            fin: chunk.fin,
            number: packet.number,
            sent_us: packet.time_us,
            sent_seq: packet.seq,
            due_us: packet.time_us.saturating_add(packet.rtt_us).min(found.us),
            detected_us: found.us,
            trigger: found.trigger.to_owned(),
            resent_us: None,
            resent: 0,
            unsent: (chunk.from, chunk.to),
            repaired: 0,
            is_by_probe: found.is_by_probe,
            is_imputed: packet.is_imputed,
        });
    }

    /// A packet is taken for lost with all that it carried of the stream. False when all of that is acknowledged or
    /// already known to be lost, or where too few `looks` are left to tell.
    pub fn infer(&mut self, sent: &Side, stream_id: u64, packet: &Sent, now_us: i64, looks: &mut Looks) -> bool {
        if self.knows(packet.number) {
            return false;
        }
        let found = Detection { us: now_us, trigger: "inferred", is_by_probe: false };
        let chunks = packet.chunks().filter(|chunk| chunk.stream_id == stream_id);
        // The loss of one chunk of this packet must not hide that of another, so all are checked before any is added.
        let open = &mut self.open;
        let mut is_unknown = |chunk: &Chunk| {
            let Some(open) = open.as_mut() else { return looks.spend(1) };
            let before = open.steps();
            let meets = open.meets(chunk);
            looks.spend(1 + open.steps() - before) && !meets
        };
        let unknown: Vec<&Chunk> = chunks.filter(|chunk| is_unknown(chunk)).collect();
        unknown.into_iter().for_each(|chunk| self.lose(sent, packet, chunk, found, false));
        self.knows(packet.number)
    }

    /// Something that the packet carried is lost and not repaired.
    fn knows(&self, number: u64) -> bool {
        self.open.as_ref().is_some_and(|open| open.first_of(number).is_some())
    }

    /// A chunk is sent: losses of its bytes are being repaired. True when there are any.
    pub fn resend(&mut self, chunk: &Chunk, now_us: i64) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mended = open.mended_by(chunk);
        for place in &mended {
            self.most_resent = self.most_resent.max(open.send(*place, chunk, now_us));
        }
        !mended.is_empty()
    }

    /// Some lost data has not been sent again.
    pub fn is_any_unsent(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_any_unsent())
    }

    /// A packet without a record was sent between `after_us` and `before_us`. It carried data that was declared lost by
    /// `before_us` and was not sent again, oldest loss first, up to `room` bytes but one loss at least. Gives that
    /// data.
    pub fn resend_unseen(&mut self, stream_id: u64, (after_us, before_us): (i64, i64), room: u64) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let Some(open) = &mut self.open else { return chunks };
        let mut left = room;
        while let Some((place, loss)) = open.first_unsent(before_us) {
            let (from, to) = loss.unsent;
            if to - from > left && !chunks.is_empty() {
                break;
            }
            left = left.saturating_sub(to - from);
            let chunk = Chunk { stream_id, from, to, fin: loss.fin && to == loss.to };
            let resent_us = loss.detected_us.max(after_us);
            self.most_resent = self.most_resent.max(open.send(place, &chunk, resent_us));
            chunks.push(chunk);
        }
        chunks
    }

    /// `chunk` of `sent` was acknowledged. Gives a repair for each lost packet whose last missing data this
    /// acknowledges. `held` gets the interval for which each repaired loss held the stream.
    pub fn repair(&mut self, sent: &Side, chunk: &Chunk, now_us: i64, mut held: impl FnMut(Interval)) -> Vec<Repair> {
        let mut repairs: Vec<Repair> = Vec::new();
        let Some(open) = &mut self.open else { return repairs };
        for loss in open.take(chunk, |loss| sent.has(loss.from, loss.to, loss.fin)) {
            // The answer to a probe showed the loss, so all of the wait counts as the probe timeout's.
            let cause = if loss.is_by_probe { Cause::Pto } else { Cause::LossRecovery };
            held(Interval::of(cause, loss.due_us, now_us));
            let bytes = (loss.to - loss.from).saturating_add(loss.repaired);
            if let Some(place) = open.first_of(loss.number) {
                open.change(place, |rest| {
                    rest.repaired = rest.repaired.saturating_add(bytes);
                    rest.resent = rest.resent.max(loss.resent);
                    rest.resent_us = rest.resent_us.into_iter().chain(loss.resent_us).min();
                });
            } else if let Some(known) = repairs.iter_mut().find(|known| known.number == loss.number) {
                known.bytes = known.bytes.saturating_add(bytes);
                known.resent = known.resent.max(loss.resent);
            } else {
                repairs.push(Repair {
                    number: loss.number,
                    sent_us: loss.sent_us,
                    sent_seq: loss.sent_seq,
                    due_us: loss.due_us,
                    detected_us: loss.detected_us,
                    trigger: loss.trigger,
                    resent_us: loss.resent_us,
                    resent: loss.resent,
                    bytes,
                    is_imputed: loss.is_imputed,
                });
            }
        }
        repairs
    }

    /// The packet was declared lost and arrived all the same: nothing had to be repaired (RFC 9002, 6.1: "spuriously
    /// declared as lost"). True when its bytes still waited for a repair.
    pub fn was_not_lost(&mut self, number: u64) -> bool {
        self.open.as_mut().is_some_and(|open| open.forget(number))
    }

    /// The timeout that fired at `fired_us` was spurious: no loss since then counts as its.
    pub fn not_by_probe(&mut self, fired_us: i64) {
        if let Some(open) = &mut self.open {
            open.not_by_probe(fired_us);
        }
    }

    /// Most retransmissions of one loss so far.
    pub fn most_resent(&self) -> u64 {
        u64::from(self.most_resent)
    }

    /// When the acknowledgements of unrepaired losses were due.
    pub fn due_us(&self) -> impl Iterator<Item = i64> + '_ {
        self.open.iter().flat_map(|open| open.all()).map(|loss| loss.due_us)
    }

    /// The earliest of those times.
    pub fn first_due_us(&self) -> Option<i64> {
        self.open.as_ref()?.first_due_us()
    }

    /// Losses that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.steps())
    }

    /// Packets that were lost.
    pub fn packets(&self) -> u64 {
        self.packets.get()
    }

    /// Longest detection.
    pub fn detection_us(&self) -> Option<u64> {
        self.detection_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn chunk(from: u64, to: u64) -> Chunk {
        Chunk { stream_id: 0, from, to, fin: false }
    }

    fn packet(number: u64, chunks: &[Chunk]) -> Sent {
        Sent { number, time_us: 1_000, rtt_us: 50, seq: 4, chunks: chunks.to_vec(), ..Sent::default() }
    }

    const FOUND: Detection<'_> = Detection { us: 1_200, trigger: "packet_threshold", is_by_probe: false };

    #[test]
    fn a_lost_packet_is_repaired_when_all_that_it_carried_is_acknowledged() {
        let (mut losses, mut sent, mut held) = (Losses::default(), Side::default(), Vec::new());
        let lost = packet(7, &[chunk(0, 100), chunk(300, 400)]);
        lost.chunks().for_each(|chunk| losses.lose(&sent, &lost, chunk, FOUND, false));
        assert!(losses.resend(&chunk(0, 100), 1_300) && losses.resend(&chunk(250, 350), 1_350));
        assert_eq!((losses.most_resent(), losses.due_us().collect::<Vec<_>>()), (1, vec![1_050, 1_050]));
        sent.take(&chunk(0, 100));
        assert_eq!(losses.repair(&sent, &chunk(0, 100), 1_500, |interval| held.push(interval)), []);
        sent.take(&chunk(300, 400));
        let repairs = losses.repair(&sent, &chunk(300, 400), 1_600, |interval| held.push(interval));
        let figures: Vec<_> = repairs.iter().map(|repair| (repair.number, repair.bytes, repair.wait_us())).collect();
        assert_eq!(figures, [(7, 200, Some(300))]);
        let cause = Cause::LossRecovery;
        let wanted = [1_500, 1_600].map(|end_us| Interval::of(cause, 1_050, end_us));
        assert_eq!((held, losses.detection_us()), (wanted.to_vec(), Some(200)));
    }

    #[test]
    fn data_that_is_acknowledged_or_known_to_be_lost_is_not_lost_again() {
        let (mut losses, mut sent) = (Losses::default(), Side::default());
        sent.take(&chunk(0, 100));
        let lost = packet(7, &[chunk(0, 100)]);
        assert!(!losses.infer(&sent, 0, &lost, 1_200, &mut Looks::of_a_packet()) && !losses.was_not_lost(7));
        let lost = packet(8, &[chunk(100, 200)]);
        assert!(
            losses.infer(&sent, 0, &lost, 1_200, &mut Looks::of_a_packet())
                && !losses.infer(&sent, 0, &lost, 1_300, &mut Looks::of_a_packet())
        );
        assert!(!losses.infer(&sent, 0, &packet(9, &[chunk(150, 200)]), 1_400, &mut Looks::of_a_packet()));
        assert!(losses.was_not_lost(8) && losses.due_us().next().is_none());
    }

    #[test]
    fn a_loss_that_a_probe_found_counts_as_the_timeouts_unless_that_was_spurious() {
        for (fired_us, cause) in [(1_300, Cause::Pto), (1_200, Cause::LossRecovery)] {
            let (mut losses, mut sent, mut held) = (Losses::default(), Side::default(), Vec::new());
            let lost = packet(7, &[chunk(0, 100)]);
            losses.lose(&sent, &lost, &chunk(0, 100), Detection { is_by_probe: true, ..FOUND }, false);
            losses.not_by_probe(fired_us);
            sent.take(&chunk(0, 100));
            losses.repair(&sent, &chunk(0, 100), 1_500, |interval| held.push(interval.cause));
            assert_eq!(held, [cause]);
        }
    }

    #[test]
    fn a_packet_without_a_record_carried_unsent_losses_oldest_first() {
        let (mut losses, sent) = (Losses::default(), Side::default());
        let end = Chunk { fin: true, ..chunk(3_000, 3_000) };
        let all = [chunk(0, 1_000), chunk(1_000, 2_000), chunk(2_000, 2_300), end];
        for (number, lost) in (7..).zip(all) {
            losses.lose(&sent, &packet(number, &[lost]), &lost, FOUND, false);
        }
        let late = Detection { us: 1_300, ..FOUND };
        losses.lose(&sent, &packet(20, &[chunk(100, 200)]), &chunk(100, 200), late, false);
        let mut resent = |room| losses.resend_unseen(0, (1_190, 1_250), room);
        assert_eq!(resent(0), [chunk(0, 1_000)], "one loss is taken whatever the room");
        assert_eq!(resent(1_300), [chunk(1_000, 2_000), chunk(2_000, 2_300), end]);
        assert_eq!(resent(1_000), [], "the last loss was declared after the packet");
        assert_eq!((losses.is_any_unsent(), losses.most_resent()), (true, 1));
    }

    #[test]
    fn a_loss_that_is_resent_in_part_stays_unsent_in_part() {
        let unsent = |again: &[Chunk]| {
            let (mut losses, sent) = (Losses::default(), Side::default());
            losses.lose(&sent, &packet(7, &[chunk(100, 200)]), &chunk(100, 200), FOUND, false);
            again.iter().for_each(|chunk| assert!(losses.resend(chunk, 1_250)));
            let left = losses.resend_unseen(0, (1_200, 1_300), 1_200);
            assert!(!losses.is_any_unsent());
            left
        };
        assert_eq!(unsent(&[]), [chunk(100, 200)]);
        assert_eq!(unsent(&[chunk(0, 150)]), [chunk(150, 200)]);
        assert_eq!(unsent(&[chunk(150, 300)]), [chunk(100, 150)]);
        assert_eq!(unsent(&[chunk(150, 300), chunk(120, 150)]), [chunk(100, 120)]);
        assert_eq!(unsent(&[chunk(120, 180)]), [chunk(100, 200)], "only its ends are tracked, no hole within");
        assert_eq!(unsent(&[chunk(150, 300), chunk(0, 150)]), []);
        assert_eq!(unsent(&[chunk(100, 200)]), []);
    }
}
