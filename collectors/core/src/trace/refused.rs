//! Connections of which records were passed over, since too many were open.

use crate::crossed::Bound;
use crate::limits::REFUSED;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// Names of connections that could not begin: one that begins later lacks its first records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RefusedConnections {
    names: BTreeSet<u64>,
    /// There were more than are remembered: any that begins later may be one of them.
    is_any: bool,
    /// When a record was passed over last, by the reader's clock.
    #[serde(skip)]
    noted_s: Option<u64>,
}

impl RefusedConnections {
    /// A record of this connection is passed over.
    pub fn note(&mut self, name: &str) {
        self.noted_s = None;
        if self.names.len() < REFUSED {
            self.names.insert(xxh3_64(name.as_bytes()));
        } else if !self.names.contains(&xxh3_64(name.as_bytes())) {
            Bound::Refused.cross();
            self.is_any = true;
        }
    }

    /// Nothing is remembered once no record was passed over for `idle_s`: those connections are over.
    pub fn forget(&mut self, now_s: u64, idle_s: u64) {
        if now_s.saturating_sub(*self.noted_s.get_or_insert(now_s)) >= idle_s {
            (self.names, self.is_any) = (BTreeSet::new(), false);
        }
    }

    /// The connection begins: true where records of it may have been passed over.
    pub fn begins(&mut self, name: &str) -> bool {
        let is_known = !self.names.is_empty() && self.names.remove(&xxh3_64(name.as_bytes()));
        is_known || self.is_any
    }
}
