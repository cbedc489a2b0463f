//! Bytes to [`crate::event::Event`], or a reason and a place.

pub mod brackets;
pub mod document;
mod frames;
pub mod json;
mod key_order;
pub mod number;
pub mod qlog;
pub mod quic_trace;
pub mod records;
pub mod shape;
pub mod skip;
pub mod sniff;
mod spelling;
