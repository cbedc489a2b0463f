//! What the collector adds on the host that has the logs: who a client is, what may be kept of it, and rows of the
//! access logs of the usual servers. Only [`enrich`] opens files, those of its configuration; the rest does no I/O.

pub mod access_format;
pub mod address;
pub mod deployment;
pub mod enrich;
pub mod peer;
pub mod redact;
