//! What the collector adds where the bytes are: who a client is, and what may be kept of it. Only [`enrich`] opens
//! files, when it is told to; the rest is pure.

pub mod address;
pub mod enrich;
pub mod peer;
pub mod redact;
