//! When something began: the time of an event, and which event it was.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Time and number of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Moment {
    /// Microseconds since the trace's first record.
    pub us: i64,
    /// Index among the connection's records.
    pub seq: u64,
}
