//! Room 2, parse: bytes to [`crate::event::Event`], or a reason and a place.

mod frames;
pub mod json;
pub mod number;
pub mod qlog;
pub mod quic_trace;
pub mod records;
pub mod scan;
pub mod shape;
pub mod skip;
pub mod sniff;
mod spelling;
