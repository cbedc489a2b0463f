//! How often limits were crossed whose crossing makes no reject, in this process.
//!
//! The counts are static: limits stand deep in the fold, and what a process says of them is one sum over all its logs. A
//! log that is read twice is counted twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A limit of [`crate::limits::TABLE`] whose crossing is counted here. Each is a metric label, so renaming one is a
/// breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table of limits says what each is")]
pub enum Bound {
    PreludeBytes,
    PreludeRejects,
    Traces,
    Held,
    HeldBytes,
    BehindSilence,
    Holes,
    Unacknowledged,
    Behind,
    Aliases,
    AliasLetters,
    Undecided,
    UndecidedOfAll,
    Losses,
    LossesBeside,
    CarrierLooks,
    PassedOver,
    PassedOverOfAll,
    Names,
    UnreadNames,
    HeadersAhead,
    HttpField,
    OtherStreams,
    Departures,
    Imputed,
    ClientKeys,
    Kinds,
    FieldPath,
    MetricsPeers,
    Refused,
}

static TIMES: [AtomicU64; Bound::Refused as usize + 1] = [const { AtomicU64::new(0) }; Bound::Refused as usize + 1];

impl Bound {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::PreludeBytes,
        Self::PreludeRejects,
        Self::Traces,
        Self::Held,
        Self::HeldBytes,
        Self::BehindSilence,
        Self::Holes,
        Self::Unacknowledged,
        Self::Behind,
        Self::Aliases,
        Self::AliasLetters,
        Self::Undecided,
        Self::UndecidedOfAll,
        Self::Losses,
        Self::LossesBeside,
        Self::CarrierLooks,
        Self::PassedOver,
        Self::PassedOverOfAll,
        Self::Names,
        Self::UnreadNames,
        Self::HeadersAhead,
        Self::HttpField,
        Self::OtherStreams,
        Self::Departures,
        Self::Imputed,
        Self::ClientKeys,
        Self::Kinds,
        Self::FieldPath,
        Self::MetricsPeers,
        Self::Refused,
    ];

    /// What documents and metrics call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreludeBytes => "prelude_bytes",
            Self::PreludeRejects => "prelude_rejects",
            Self::Traces => "traces",
            Self::Held => "held",
            Self::HeldBytes => "held_bytes",
            Self::BehindSilence => "behind_silence",
            Self::Holes => "holes",
            Self::Unacknowledged => "unacknowledged",
            Self::Behind => "behind",
            Self::Aliases => "aliases",
            Self::AliasLetters => "alias_letters",
            Self::Undecided => "undecided",
            Self::UndecidedOfAll => "undecided_of_all",
            Self::Losses => "losses",
            Self::LossesBeside => "losses_beside",
            Self::CarrierLooks => "carrier_looks",
            Self::PassedOver => "passed_over",
            Self::PassedOverOfAll => "passed_over_of_all",
            Self::Names => "names",
            Self::UnreadNames => "unread_names",
            Self::HeadersAhead => "headers_ahead",
            Self::HttpField => "http_field",
            Self::OtherStreams => "other_streams",
            Self::Departures => "departures",
            Self::Imputed => "imputed",
            Self::ClientKeys => "client_keys",
            Self::Kinds => "kinds",
            Self::FieldPath => "field_path",
            Self::MetricsPeers => "metrics_peers",
            Self::Refused => "refused",
        }
    }

    /// It is crossed once more.
    #[cold]
    pub fn cross(self) {
        TIMES[self as usize].fetch_add(1, Relaxed);
    }

    /// How often it was crossed since the process began.
    pub fn times(self) -> u64 {
        TIMES[self as usize].load(Relaxed)
    }
}

/// Those that were crossed since the process began, and how often.
pub fn crossed() -> BTreeMap<&'static str, u64> {
    Bound::ALL.into_iter().map(|bound| (bound.name(), bound.times())).filter(|(_, times)| *times > 0).collect()
}

/// What `work` gives, which must cross that limit.
#[cfg(test)]
pub fn crosses<T>(bound: Bound, work: impl FnOnce() -> T) -> T {
    let before = bound.times();
    let out = work();
    assert!(bound.times() > before, "{} is not crossed", bound.name());
    out
}
