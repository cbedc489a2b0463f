//! What the collector adds where the bytes are: who a client is, what may be kept of it, and rows out of the access
//! logs of the usual servers. Only [`enrich`] opens files, when it is told to; the rest is pure.

pub mod access_format;
pub mod address;
pub mod deployment;
pub mod enrich;
pub mod peer;
pub mod redact;
