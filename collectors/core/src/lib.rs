//! Pure parts of quiclens: parse, fold, record. Bytes in, values out; no I/O, clock, async or panic, and no global but the
//! counts of limits that were crossed.

pub mod catalogue;
#[cfg(test)]
mod chance;
pub mod client;
pub mod crossed;
pub mod dialect;
pub mod event;
pub mod fold;
pub mod header;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod qvis;
pub mod reader;
pub mod record;
pub mod retention;
mod seeded;
pub mod tables;
pub mod topics;
pub mod trace;
pub mod unread;
