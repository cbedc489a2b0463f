//! The vocabulary of causes, in its order, which is also the order of precedence.

use crate::record::columns::streams::{self, Streams};
use crate::record::columns::{TableColumn, Whole};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Why a request waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, GetSize)]
#[repr(u8)]
#[expect(missing_docs, reason = "schema/README.md says what each is")]
pub enum Cause {
    Handshake,
    Amplification,
    Upload,
    ServerThink,
    Pto,
    LossRecovery,
    ConnectionFlowControl,
    StreamFlowControl,
    StreamLimit,
    Scheduling,
    Bandwidth,
    CwndBlocked,
    Pacing,
    AppLimited,
    Queueing,
    Network,
    RemoteWait,
    Receiving,
    ReceiverHol,
    Unattributed,
}

/// Number of causes.
pub const CAUSES: usize = 20;

impl Cause {
    /// All, in order.
    pub const ALL: [Self; CAUSES] = [
        Self::Handshake,
        Self::Amplification,
        Self::Upload,
        Self::ServerThink,
        Self::Pto,
        Self::LossRecovery,
        Self::ConnectionFlowControl,
        Self::StreamFlowControl,
        Self::StreamLimit,
        Self::Scheduling,
        Self::Bandwidth,
        Self::CwndBlocked,
        Self::Pacing,
        Self::AppLimited,
        Self::Queueing,
        Self::Network,
        Self::RemoteWait,
        Self::Receiving,
        Self::ReceiverHol,
        Self::Unattributed,
    ];

    /// Name in columns and JSON.
    pub fn name(self) -> &'static str {
        let column = self.column().name();
        column.strip_suffix("_us").unwrap_or(column)
    }

    /// Column of its part.
    pub const fn column(self) -> TableColumn<Streams, Whole> {
        match self {
            Self::Handshake => streams::HANDSHAKE_US,
            Self::Amplification => streams::AMPLIFICATION_US,
            Self::Upload => streams::UPLOAD_US,
            Self::ServerThink => streams::SERVER_THINK_US,
            Self::Pto => streams::PTO_US,
            Self::LossRecovery => streams::LOSS_RECOVERY_US,
            Self::ConnectionFlowControl => streams::CONNECTION_FLOW_CONTROL_US,
            Self::StreamFlowControl => streams::STREAM_FLOW_CONTROL_US,
            Self::StreamLimit => streams::STREAM_LIMIT_US,
            Self::Scheduling => streams::SCHEDULING_US,
            Self::Bandwidth => streams::BANDWIDTH_US,
            Self::CwndBlocked => streams::CWND_BLOCKED_US,
            Self::Pacing => streams::PACING_US,
            Self::AppLimited => streams::APP_LIMITED_US,
            Self::Queueing => streams::QUEUEING_US,
            Self::Network => streams::NETWORK_US,
            Self::RemoteWait => streams::REMOTE_WAIT_US,
            Self::Receiving => streams::RECEIVING_US,
            Self::ReceiverHol => streams::RECEIVER_HOL_US,
            Self::Unattributed => streams::UNATTRIBUTED_US,
        }
    }
}

/// A set of causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Causes(u32);

impl Causes {
    /// Adds a cause.
    pub fn insert(&mut self, cause: Cause) {
        self.0 |= 1 << cause as u32;
    }

    /// It is in.
    pub fn contains(self, cause: Cause) -> bool {
        self.0 >> cause as u32 & 1 == 1
    }
}

/// A stretch of time in which a condition held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Interval {
    /// The condition.
    pub cause: Cause,
    /// First microsecond.
    pub start_us: i64,
    /// First microsecond after it.
    pub end_us: i64,
    /// The log states it: it takes precedence over inferred conditions of that time.
    pub is_stated: bool,
}

impl Interval {
    /// An interval that the log does not state: it is inferred, or observed by its effects.
    pub const fn of(cause: Cause, start_us: i64, end_us: i64) -> Self {
        Self { cause, start_us, end_us, is_stated: false }
    }

    /// The same, stated by the log.
    pub const fn stated(self) -> Self {
        Self { is_stated: true, ..self }
    }
}
