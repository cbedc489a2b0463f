//! Bytes in flight and window of each path: our own sum from what was sent, acknowledged, lost and discarded, held
//! against what the log states.

use crate::limits::PATHS;
use serde::{Deserialize, Serialize};

/// One path. Without multipath there is only path 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Path {
    id: u64,
    /// Bytes in flight (RFC 9002, B.2).
    in_flight: u64,
    /// Congestion window, once the log has named one.
    window: Option<u64>,
    /// A figure of the log that was far from our sum, and our sum then.
    stated: Option<(u64, u64)>,
}

/// The paths of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Paths(Vec<Path>);

impl Paths {
    fn path(&mut self, id: u64) -> &mut Path {
        let at = self.0.iter().position(|path| path.id == id).unwrap_or_else(|| {
            if self.0.len() < PATHS {
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
        self.path(id).window.replace(window).is_some_and(|known| known < window)
    }

    /// The log states what is in flight at this moment; gives our sum, which it replaces.
    pub fn replace(&mut self, id: u64, stated: u64) -> u64 {
        std::mem::replace(&mut self.path(id).in_flight, stated)
    }

    /// The log states what is in flight, of this moment or of the one before the packet that comes next: more than
    /// `tolerated` apart is a fault of either. So the next packet is waited for.
    pub fn compare(&mut self, id: u64, stated: u64, tolerated: u64) {
        let path = self.path(id);
        path.stated = (path.in_flight.abs_diff(stated) > tolerated).then_some((stated, path.in_flight));
    }

    /// After a packet: was a stated figure that one's? Else the log's is taken. Gives, for each such path, whether that made
    /// room.
    pub fn settle(&mut self, tolerated: u64) -> impl Iterator<Item = bool> + '_ {
        self.0.iter_mut().filter_map(move |path| {
            let (stated, ours) = path.stated.take()?;
            (path.in_flight.abs_diff(stated) > tolerated).then(|| {
                path.in_flight = path.in_flight.saturating_add(stated).saturating_sub(ours);
                stated < ours
            })
        })
    }

    /// Bytes in flight on all paths.
    pub fn in_flight(&self) -> u64 {
        self.0.iter().fold(0, |sum, path| sum.saturating_add(path.in_flight))
    }

    /// Window of all paths, once one is known.
    pub fn window(&self) -> Option<u64> {
        self.0.iter().filter_map(|path| path.window).reduce(u64::saturating_add)
    }

    /// Whether no path has room for `gate` bytes; `None` while no window is known.
    pub fn are_full(&self, gate: u64) -> Option<bool> {
        let mut known = self.0.iter().filter_map(|path| path.window.map(|window| (window, path.in_flight))).peekable();
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

    #[test]
    fn a_stated_figure_far_from_ours_is_taken_once_a_packet_has_not_explained_it() {
        let mut paths = Paths::default();
        paths.send(0, 5_000);
        paths.compare(0, 6_000, 1_200);
        assert_eq!(paths.settle(1_200).count(), 0);
        paths.compare(0, 7_000, 1_200);
        paths.send(0, 2_000);
        assert_eq!(paths.settle(1_200).count(), 0, "the packet came behind the figure");
        paths.compare(0, 1_000, 1_200);
        assert_eq!(paths.settle(1_200).collect::<Vec<_>>(), [true]);
        assert_eq!((paths.in_flight(), paths.settle(1_200).count()), (1_000, 0));
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
