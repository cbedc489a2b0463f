//! Bytes in flight and window of each path: our own sum of what was sent, acknowledged, lost and discarded, compared
//! with the log's figure.

use crate::fold::window::stated_limit::StatedLimit;
use crate::limits::PATHS;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// One path. Without multipath there is only path 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Path {
    id: u64,
    /// Bytes in flight (RFC 9002, B.2).
    in_flight: u64,
    /// Congestion window.
    window: StatedLimit,
    /// Our sum when the instant began.
    before: u64,
    /// Our sum after all received packets of the instant.
    low: u64,
    /// The log's figure of bytes in flight.
    stated: Option<Stated>,
}

/// A figure of the log that is not yet compared, or that differed from our sum for a whole instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
enum Stated {
    /// Stated in the current instant, anywhere in the order of its records.
    Now(u64),
    /// Stated in an earlier instant as `bytes`, where our nearest sum was `ours`. Some stacks log the figure before the
    /// packet that it comes from, so the next packet is awaited.
    Before { bytes: u64, ours: u64 },
}

/// Packets of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after what they are")]
pub enum InstantTraffic {
    None,
    Received,
    Sent,
}

impl Path {
    /// At the end of an instant: within it our sum had any value between those before it, after the acknowledgements
    /// and after the sends. True where the log's figure is taken: if it is more than a `packet` outside of that range,
    /// one of the two is wrong (ATTRIBUTION, rule 3).
    fn settle(&mut self, packet: u64, traffic: InstantTraffic) -> bool {
        let low = self.low.min(self.before).min(self.in_flight);
        let high = self.in_flight.max(self.before);
        let apart = |bytes: u64| bytes.saturating_add(packet) < low || bytes > high.saturating_add(packet);
        match self.stated.take() {
            Some(Stated::Now(bytes)) if apart(bytes) => {
                let ours = bytes.clamp(low, high);
                if traffic == InstantTraffic::Sent {
                    return self.take(bytes, ours);
                }
                self.stated = Some(Stated::Before { bytes, ours });
            }
            Some(Stated::Before { bytes, ours }) if traffic != InstantTraffic::None && apart(bytes) => {
                return self.take(bytes, ours);
            }
            Some(stated @ Stated::Before { .. }) if traffic == InstantTraffic::None => self.stated = Some(stated),
            _ => {}
        }
        false
    }

    /// The log states `bytes` where our sum was `ours`: corrects the sum by the difference.
    fn take(&mut self, bytes: u64, ours: u64) -> bool {
        self.in_flight = self.in_flight.saturating_add(bytes).saturating_sub(ours);
        true
    }
}

/// The paths of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Paths(Vec<Path>);

impl Paths {
    fn path(&mut self, id: u64) -> &mut Path {
        let at = self.0.iter().position(|path| path.id == id).unwrap_or_else(|| {
            if self.0.len() < PATHS {
                // Nearly all connections have one.
                self.0.reserve_exact(1);
                self.0.push(Path { id, ..Path::default() });
            }
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The path that stands for `id`, and whether that is another one.
    pub fn stands_for(&mut self, id: u64) -> (u64, bool) {
        let known = self.path(id).id;
        (known, known != id)
    }

    /// Bytes go out on a path.
    pub fn send(&mut self, id: u64, bytes: u64) {
        let flight = &mut self.path(id).in_flight;
        *flight = flight.saturating_add(bytes);
    }

    /// Bytes leave the flight; gives what was in flight before.
    pub fn remove(&mut self, id: u64, bytes: u64) -> u64 {
        let flight = &mut self.path(id).in_flight;
        std::mem::replace(flight, flight.saturating_sub(bytes))
    }

    /// The log states a window; true when it is larger than the last.
    pub fn state_window(&mut self, id: u64, window: u64) -> bool {
        self.path(id).window.state(window)
    }

    /// The log states what is in flight at this moment; gives our sum, which it replaces.
    pub fn replace(&mut self, id: u64, stated: u64) -> u64 {
        std::mem::replace(&mut self.path(id).in_flight, stated)
    }

    /// The log states what is in flight, at any moment of this instant or before the packet that comes next.
    pub fn state(&mut self, id: u64, bytes: u64) {
        self.path(id).stated = Some(Stated::Now(bytes));
    }

    /// A new instant begins.
    pub fn begin_instant(&mut self) {
        for path in &mut self.0 {
            path.before = path.in_flight;
            path.window.begin_instant();
        }
    }

    /// The received packets of this instant are complete; sent packets come next.
    pub fn begin_sending(&mut self) {
        self.0.iter_mut().for_each(|path| path.low = path.in_flight);
    }

    /// The instant is over: compares our sums with the log's figures. Gives, for each path where the log's figure is
    /// taken, whether that made room.
    pub fn settle(&mut self, tolerated: u64, traffic: InstantTraffic) -> impl Iterator<Item = bool> + '_ {
        self.0.iter_mut().filter_map(move |path| {
            let ours = path.in_flight;
            let is_taken = path.settle(tolerated, traffic);
            is_taken.then_some(path.in_flight < ours)
        })
    }

    /// Bytes in flight on all paths.
    pub fn in_flight(&self) -> u64 {
        self.0.iter().fold(0, |sum, path| sum.saturating_add(path.in_flight))
    }

    /// Window of all paths, once one is known.
    pub fn window(&self) -> Option<u64> {
        self.0.iter().filter_map(|path| path.window.get()).reduce(u64::saturating_add)
    }

    /// Whether no path has room for `gate` bytes; `None` while no window is known.
    pub fn are_full(&self, gate: u64) -> Option<bool> {
        let mut known =
            self.0.iter().filter_map(|path| path.window.get().map(|window| (window, path.in_flight))).peekable();
        known.peek()?;
        Some(known.all(|(window, in_flight)| window.saturating_sub(in_flight) < gate && in_flight > 0))
    }

    /// Paths that were used.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instant with a stated figure, acknowledged and sent bytes. Gives the bytes in flight at its end, and how
    /// often the log's figure was taken.
    fn instant(paths: &mut Paths, stated: Option<u64>, acked: u64, sent: u64) -> (u64, usize) {
        paths.begin_instant();
        if let Some(stated) = stated {
            paths.state(0, stated);
        }
        paths.remove(0, acked);
        paths.begin_sending();
        paths.send(0, sent);
        let traffic = match (acked, sent) {
            (_, 1..) => InstantTraffic::Sent,
            (1.., _) => InstantTraffic::Received,
            _ => InstantTraffic::None,
        };
        let taken = paths.settle(1_200, traffic).count();
        (paths.in_flight(), taken)
    }

    #[test]
    fn a_stated_figure_is_of_any_moment_of_its_instant() {
        let mut paths = Paths::default();
        assert_eq!(instant(&mut paths, Some(0), 0, 5_000), (5_000, 0));
        assert_eq!(instant(&mut paths, Some(2_500), 4_000, 6_000), (7_000, 0), "after the acknowledgement");
        assert_eq!(instant(&mut paths, Some(10_000), 0, 1_500), (10_000, 1), "as much more as at its nearest");
    }

    #[test]
    fn a_stated_figure_may_be_of_the_next_packet() {
        let mut paths = Paths::default();
        assert_eq!(instant(&mut paths, Some(5_000), 0, 0), (0, 0));
        assert_eq!(instant(&mut paths, None, 0, 5_000), (5_000, 0));
        assert_eq!(instant(&mut paths, Some(1_000), 0, 0), (5_000, 0));
        assert_eq!(instant(&mut paths, None, 0, 2_000), (3_000, 1));
    }

    #[test]
    fn paths_are_full_when_none_of_them_has_room() {
        let mut paths = Paths::default();
        assert_eq!(paths.are_full(1_200), None);
        assert!(!paths.state_window(0, 10_000) && paths.state_window(0, 12_000) && !paths.state_window(1, 12_000));
        paths.send(0, 11_000);
        assert_eq!((paths.are_full(1_200), paths.window()), (Some(false), Some(24_000)));
        paths.send(1, 11_000);
        assert_eq!(paths.are_full(1_200), Some(true));
        assert_eq!((paths.remove(1, 11_000), paths.are_full(1_200), paths.count()), (11_000, Some(false), 2));
    }
}
