//! The congestion window: how much of it is in flight, and since when it is full.

pub mod delivery;
pub mod pacer;
pub mod paths;
pub mod stated_limit;

use crate::fold::attribution::saves::Room;
use crate::fold::moment::Moment;
use crate::fold::window::paths::{InstantTraffic, Paths};
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Congestion window and bytes in flight of a connection, now and in summary.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct CongestionWindow {
    paths: Paths,
    initial: Option<u64>,
    ssthresh: Option<u64>,
    largest_packet: u64,
    full_since: Option<Moment>,
    /// When something was sent last with nothing in flight before.
    busy_since_us: i64,
    in_flight_max: u64,
    disagreements: u64,
    /// Time with bytes in flight, and bytes times that time.
    flight_us: u64,
    flight_area: f64,
}

/// Room needed to send in logs of rows: until March 2020, mvfst sent nothing with 44 bytes or less (quic_trace.md 4.1).
const ROW_GATE: u64 = 45;

/// A packet is at least so large where none was seen (RFC 9000, 14).
const LEAST_PACKET: u64 = 1200;

impl CongestionWindow {
    /// A packet of ours has so many bytes.
    pub fn packet(&mut self, bytes: u64) {
        self.largest_packet = self.largest_packet.max(bytes);
    }

    /// Largest packet of ours.
    pub fn largest_packet(&self) -> u64 {
        self.largest_packet
    }

    /// The path that stands for `id`, and whether that is another one.
    pub fn stands_for(&mut self, id: u64) -> (u64, bool) {
        self.paths.stands_for(id)
    }

    /// A packet is on its way.
    pub fn send(&mut self, path: u64, bytes: u64) {
        self.paths.send(path, bytes);
        self.in_flight_max = self.in_flight_max.max(self.in_flight());
    }

    /// Bytes were acknowledged, lost or discarded; gives what was in flight on the path before.
    pub fn remove(&mut self, path: u64, bytes: u64) -> u64 {
        self.paths.remove(path, bytes)
    }

    /// The log states the window; true when it has grown.
    pub fn state(&mut self, path: u64, window: u64) -> bool {
        self.initial.get_or_insert(window);
        self.paths.state_window(path, window)
    }

    /// The log states the slow start threshold.
    pub fn state_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = Some(ssthresh);
    }

    /// A recovery period is over: the current window becomes the slow start threshold.
    pub fn end_period(&mut self) {
        self.ssthresh = self.size().or(self.ssthresh);
    }

    /// The log states what is in flight, at some moment of this instant.
    pub fn compare_in_flight(&mut self, path: u64, stated: u64) {
        self.paths.state(path, stated);
    }

    /// The received packets of this instant are complete; sent packets come next.
    pub fn begin_sending(&mut self) {
        self.paths.begin_sending();
    }

    /// The instant is over: the log's figure replaces our sum if they differed by too much for the whole instant. True
    /// when that made room.
    pub fn settle_in_flight(&mut self, traffic: InstantTraffic) -> bool {
        let (tolerated, disagreements) = (self.tolerated(), &mut self.disagreements);
        let has_opened = self.paths.settle(tolerated, traffic).fold(false, |has_opened, opens| {
            *disagreements += 1;
            has_opened | opens
        });
        self.in_flight_max = self.in_flight_max.max(self.in_flight());
        has_opened
    }

    /// The log states what is in flight at this moment.
    pub fn state_in_flight(&mut self, path: u64, stated: u64) {
        let ours = self.paths.replace(path, stated);
        self.disagreements += u64::from(ours.abs_diff(stated) > self.tolerated());
    }

    fn tolerated(&self) -> u64 {
        self.largest_packet.max(LEAST_PACKET)
    }

    /// Time passes; true when bytes were in flight.
    pub fn pass(&mut self, us: u64) -> bool {
        self.paths.begin_instant();
        let in_flight = self.in_flight();
        if in_flight == 0 || us == 0 {
            return false;
        }
        self.flight_us += us;
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let area = in_flight as f64 * us as f64;
        self.flight_area += area;
        true
    }

    /// Bytes in flight on all paths.
    pub fn in_flight(&self) -> u64 {
        self.paths.in_flight()
    }

    /// The window of all paths, once one is known.
    pub fn size(&self) -> Option<u64> {
        self.paths.window()
    }

    /// Window and its room for a response that begins now; a window that is not known counts as 0.
    pub fn room(&self) -> Room {
        let window = self.size().unwrap_or(0);
        Room {
            bytes: window.saturating_sub(self.in_flight()),
            window,
            ssthresh: self.ssthresh.unwrap_or(u64::MAX),
            packet: self.largest_packet,
        }
    }

    /// Whether a packet more would not fit: "An endpoint MUST NOT send a packet if it would cause bytes_in_flight to be
    /// larger than the congestion window" (RFC 9002, 7). `None` while no window is known.
    pub fn is_full(&self, has_rows: bool) -> Option<bool> {
        let packet = if has_rows { ROW_GATE } else { self.largest_packet.max(1) };
        // Our sum differed too much from the log's figure before, so it may be off by one more packet (e.g. sizes
        // without the AEAD tag).
        let is_off = self.disagreements > 0 && !has_rows;
        self.paths.are_full(if is_off { packet.saturating_add(self.tolerated()) } else { packet })
    }

    /// Data waits for the full window, from now on if it did not before.
    pub fn begin_wait(&mut self, now: Moment) {
        self.full_since.get_or_insert(now);
    }

    /// No data waits for the window any more; gives since when it did.
    pub fn end_wait(&mut self) -> Option<Moment> {
        self.full_since.take()
    }

    /// Since when data waits for the full window.
    pub fn full_since(&self) -> Option<Moment> {
        self.full_since
    }

    /// Something goes out while nothing is on its way.
    pub fn begin_busy(&mut self, now_us: i64) {
        self.busy_since_us = now_us;
    }

    /// When something was sent last with nothing in flight before.
    pub fn busy_since_us(&self) -> i64 {
        self.busy_since_us
    }

    /// Paths that were used.
    pub fn paths(&self) -> u64 {
        self.paths.count()
    }

    /// Its columns of the connection's row.
    pub fn write(&self, row: &mut Row<Connections>) {
        row.set(connections::INITIAL_CONGESTION_WINDOW, self.initial);
        row.set(connections::BYTES_IN_FLIGHT_MAX, self.in_flight_max);
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        row.set(connections::BYTES_IN_FLIGHT_MEAN, self.flight_area / self.flight_us.max(1) as f64);
        row.set(connections::IN_FLIGHT_DISAGREEMENTS, self.disagreements);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_full_when_no_further_packet_fits() {
        let mut window = CongestionWindow::default();
        window.packet(1_200);
        window.state(0, 12_000);
        window.send(0, 10_800);
        assert_eq!(window.is_full(false), Some(false));
        window.send(0, 1);
        assert_eq!((window.is_full(false), window.is_full(true)), (Some(true), Some(false)));
        let since = Moment { us: 5, seq: 1 };
        window.begin_wait(since);
        window.begin_wait(Moment { us: 9, seq: 2 });
        assert_eq!((window.end_wait(), window.end_wait()), (Some(since), None));
        window.end_period();
        let room = Room { bytes: 1_199, window: 12_000, ssthresh: 12_000, packet: 1_200 };
        assert_eq!(window.room(), room);
    }

    #[test]
    fn a_sum_that_differed_too_much_once_may_be_off_by_one_more_packet() {
        let mut window = CongestionWindow::default();
        window.packet(1_200);
        window.state(0, 12_000);
        window.send(0, 9_700);
        window.state_in_flight(0, 9_700);
        assert_eq!(window.is_full(false), Some(false));
        window.state_in_flight(0, 7_000);
        window.state_in_flight(0, 9_700);
        assert_eq!(window.is_full(false), Some(true));
        window.state_in_flight(0, 9_600);
        assert_eq!(window.is_full(false), Some(false));
    }

    #[test]
    fn the_mean_counts_the_time_with_bytes_in_flight_alone() {
        let mut window = CongestionWindow::default();
        assert!(!window.pass(100));
        window.send(0, 1_000);
        assert!(window.pass(10) && !window.pass(0));
        window.send(0, 1_000);
        assert!(window.pass(10));
        let mut row = Row::default();
        window.write(&mut row);
        let mean = crate::record::rows::Cell::Float(1_500.0);
        assert_eq!(
            (row.get(connections::BYTES_IN_FLIGHT_MEAN), row.whole(connections::BYTES_IN_FLIGHT_MAX)),
            (Some(&mean), 2_000)
        );
    }

    #[test]
    fn a_figure_of_the_moment_replaces_ours_and_is_counted_when_it_is_far_off() {
        let mut window = CongestionWindow::default();
        window.send(0, 10_000);
        window.state_in_flight(0, 9_000);
        window.state_in_flight(0, 3_000);
        let mut row = Row::default();
        window.write(&mut row);
        assert_eq!((window.in_flight(), row.whole(connections::IN_FLIGHT_DISAGREEMENTS)), (3_000, 1));
    }
}
