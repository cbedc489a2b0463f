//! The vocabulary of causes, in its order, which is also the order of precedence.

use serde::{Deserialize, Serialize};

/// Why a request waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
        let column = self.column();
        column.strip_suffix("_us").unwrap_or(column)
    }

    /// Column of its part.
    pub fn column(self) -> &'static str {
        match self {
            Self::Handshake => "handshake_us",
            Self::Amplification => "amplification_us",
            Self::Upload => "upload_us",
            Self::ServerThink => "server_think_us",
            Self::Pto => "pto_us",
            Self::LossRecovery => "loss_recovery_us",
            Self::ConnectionFlowControl => "connection_flow_control_us",
            Self::StreamFlowControl => "stream_flow_control_us",
            Self::StreamLimit => "stream_limit_us",
            Self::Scheduling => "scheduling_us",
            Self::Bandwidth => "bandwidth_us",
            Self::CwndBlocked => "cwnd_blocked_us",
            Self::Pacing => "pacing_us",
            Self::AppLimited => "app_limited_us",
            Self::Queueing => "queueing_us",
            Self::Network => "network_us",
            Self::RemoteWait => "remote_wait_us",
            Self::Receiving => "receiving_us",
            Self::ReceiverHol => "receiver_hol_us",
            Self::Unattributed => "unattributed_us",
        }
    }
}

/// A set of causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes(u32);

impl Causes {
    /// Takes one in.
    pub fn insert(&mut self, cause: Cause) {
        self.0 |= 1 << cause as u32;
    }

    /// It is in.
    pub fn contains(self, cause: Cause) -> bool {
        self.0 >> cause as u32 & 1 == 1
    }
}

/// A stretch of time in which a condition held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The condition.
    pub cause: Cause,
    /// First microsecond.
    pub start_us: i64,
    /// First microsecond after it.
    pub end_us: i64,
    /// The log states it: it outranks what is inferred of that time.
    pub is_stated: bool,
}

impl Interval {
    /// One that is inferred, or observed by what follows from it.
    pub const fn of(cause: Cause, start_us: i64, end_us: i64) -> Self {
        Self { cause, start_us, end_us, is_stated: false }
    }

    /// The same, stated by the log.
    pub const fn stated(self) -> Self {
        Self { is_stated: true, ..self }
    }
}
