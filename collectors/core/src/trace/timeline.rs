//! The clock of a trace: the times of its records, however each of them writes its own, on one line.

use crate::dialect::Units;
use crate::event::Event;
use crate::header::{Header, TimeFormat};
use crate::reader::shape::keep_time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// 146 years: the time between any two records fits into an i64.
const FARTHEST_NS: u64 = 1 << 62;

/// Where source time 0 of a trace lies, and when its newest record was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TraceTimeline {
    /// Of records that do not say it themselves.
    format: TimeFormat,
    zero: Option<Zero>,
    last_ns: i64,
    /// The first record came, and times are not differences: those of records that say nothing else are as they stand.
    is_simple: bool,
}

/// Decided by the first record.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Zero {
    /// Wall clock, ns since 1970.
    epoch_ns: Option<i64>,
    is_absolute: bool,
}

/// A record whose time cannot be placed: nothing tells how far its clock is from that of the trace.
#[derive(Debug)]
pub(super) struct Unplaced;

impl TraceTimeline {
    /// Of a trace whose header says how its records write their times.
    pub fn new(format: TimeFormat) -> Self {
        Self { format, zero: None, last_ns: 0, is_simple: false }
    }

    /// The time of a record counts from the one before it.
    pub fn is_delta(&self, event: &Event) -> bool {
        self.format_of(event) == TimeFormat::Delta
    }

    fn format_of(&self, event: &Event) -> TimeFormat {
        event.time_format.unwrap_or(self.format)
    }

    /// Wall clock of source time 0, ns since 1970.
    pub fn epoch_ns(&self) -> Option<i64> {
        self.zero.and_then(|zero| zero.epoch_ns)
    }

    /// Puts the time of the next record on the line.
    #[inline]
    pub fn place(&mut self, event: &mut Event, header: &Header, units: &Units) -> Result<(), Unplaced> {
        if event.has_clock || !self.is_simple {
            self.convert(event, header, units)?;
            self.is_simple = self.format != TimeFormat::Delta;
        }
        if event.source_ns.unsigned_abs() > FARTHEST_NS {
            return Err(Unplaced);
        }
        self.last_ns = event.source_ns;
        Ok(())
    }

    #[cold]
    fn convert(&mut self, event: &mut Event, header: &Header, units: &Units) -> Result<(), Unplaced> {
        let format = self.format_of(event);
        let written_ns = event.source_ns;
        if format == TimeFormat::Delta && self.zero.is_some() {
            event.source_ns = self.last_ns.checked_add(written_ns).ok_or(Unplaced)?;
            return Ok(());
        }
        let own: Option<Value> = serde_json::from_slice(event.bytes(event.reference_time)).ok();
        let epoch_ns = header.epoch_ns(format, own.as_ref(), written_ns);
        let is_absolute = format == TimeFormat::Absolute;
        let zero = *self.zero.get_or_insert(Zero { epoch_ns, is_absolute });
        let shift_ns = match (epoch_ns, zero.epoch_ns) {
            (Some(own), Some(all)) => own.checked_sub(all),
            (None, None) => (own.is_none() && is_absolute == zero.is_absolute).then_some(0),
            _ => None,
        };
        event.source_ns = shift_ns.and_then(|shift| written_ns.checked_add(shift)).ok_or(Unplaced)?;
        if event.source_ns != written_ns {
            keep_time(event, written_ns, units);
        }
        Ok(())
    }
}
