//! Damage of a log: records that are missing or out of order, counted by kind.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Kinds of damage, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DamageKind {
    /// Packets of ours without a record that were acknowledged, or whose data later packets skipped.
    SentMissing,
    /// Packets of the peer's that we acknowledged and are not in the log.
    ReceivedMissing,
    /// Times that data of ours was skipped and no missing packet explains it.
    DataMissing,
    /// Requests whose first packet is not in the log.
    RequestStartMissing,
    /// Times that a record was older than the one before by more than the reordering window.
    TimeWentBack,
    /// Steps of the log's clock.
    ClockStep,
    /// Packets with an acknowledgement or stream data of which something could not be read.
    ValuesUnread,
}

/// Names in `connections.damage`.
pub const NAMES: [&str; 7] = [
    "packets_sent_missing",
    "packets_received_missing",
    "data_missing",
    "request_start_missing",
    "time_went_back",
    "clock_step",
    "values_unread",
];

/// How often each kind of damage was met; most logs have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Damage(Option<Box<[u32; NAMES.len()]>>);

impl Damage {
    /// Met so often again.
    pub fn count(&mut self, kind: DamageKind, times: u64) {
        let count = &mut self.0.get_or_insert_default()[kind as usize];
        *count = count.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
    }

    /// Some was met.
    pub fn is_any(&self) -> bool {
        self.0.is_some()
    }

    /// Kinds that were met, by name.
    pub fn named(&self) -> Vec<(String, u64)> {
        let counts = self.0.iter().flat_map(|counts| counts.iter());
        let met = NAMES.iter().zip(counts).filter(|(_, count)| **count > 0);
        met.map(|(name, count)| ((*name).to_owned(), u64::from(*count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_met_is_named_and_counts_do_not_wrap() {
        let mut damage = Damage::default();
        assert!(!damage.is_any());
        damage.count(DamageKind::TimeWentBack, 1);
        damage.count(DamageKind::SentMissing, u64::MAX);
        damage.count(DamageKind::SentMissing, 1);
        let named = [("packets_sent_missing".to_owned(), u32::MAX.into()), ("time_went_back".to_owned(), 1)];
        assert_eq!((damage.named(), damage.is_any()), (named.to_vec(), true));
    }
}
