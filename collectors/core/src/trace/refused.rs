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
}

impl RefusedConnections {
    /// A record of this connection is passed over.
    pub fn note(&mut self, name: &str) {
        if self.names.len() < REFUSED {
            self.names.insert(xxh3_64(name.as_bytes()));
        } else if !self.names.contains(&xxh3_64(name.as_bytes())) {
            Bound::Refused.cross();
            self.is_any = true;
        }
    }

    /// The connection begins: true where records of it may have been passed over.
    pub fn begins(&mut self, name: &str) -> bool {
        let is_known = !self.names.is_empty() && self.names.remove(&xxh3_64(name.as_bytes()));
        is_known || self.is_any
    }
}
