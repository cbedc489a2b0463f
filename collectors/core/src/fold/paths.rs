//! Bytes in flight and window of each path: our own sum from what was sent, acknowledged, lost and discarded, held
//! against what the log states.

use crate::event::Event;
use crate::fold::Fold;
use crate::limits::PATHS;
use serde::{Deserialize, Serialize};

/// One path. Without multipath there is only path 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Path {
    /// Its id.
    pub id: u64,
    /// Bytes in flight (RFC 9002, B.2).
    pub in_flight: u64,
    /// Congestion window, once the log has named one.
    pub window: Option<u64>,
    /// A figure of the log that was far from our sum, and our sum then.
    stated: Option<(u64, u64)>,
}

/// The paths of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Paths(Vec<Path>);

impl Paths {
    /// The path `id`.
    pub fn path(&mut self, id: u64) -> &mut Path {
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

impl Fold {
    /// Our sum against the log's: more than a packet apart is a fault of either (ATTRIBUTION, rule 3). Some stacks log
    /// the figure before the packet that it comes from, so the next packet is waited for.
    pub(super) fn compare_in_flight(&mut self, event: &Event, stated: u64) {
        let packet = self.largest_packet.max(1200);
        let path = self.path(event);
        path.stated = (path.in_flight.abs_diff(stated) > packet).then_some((stated, path.in_flight));
    }

    /// After a packet: was the figure that one's? Else the log's is taken.
    pub(super) fn settle_in_flight(&mut self) {
        let packet = self.largest_packet.max(1200);
        for path in &mut self.paths.0 {
            let Some((stated, ours)) = path.stated.take() else { continue };
            if path.in_flight.abs_diff(stated) > packet {
                self.count.in_flight_disagreements += 1;
                self.instant.has_opened |= stated < ours;
                path.in_flight = path.in_flight.saturating_add(stated).saturating_sub(ours);
            }
        }
    }
}
