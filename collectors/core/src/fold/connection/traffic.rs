//! What a connection sent and received, counted.

use crate::fold::recovery::packets::Repetition;
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Packets and bytes of both directions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Traffic {
    packets_sent: u64,
    packets_received: u64,
    packets_dropped: u64,
    bytes_sent: u64,
    bytes_received: u64,
    pure_acks_sent: u64,
    data_packets_sent: u64,
    stream_bytes_sent: u64,
    retransmitted_packets: u64,
    /// Longest time without a record.
    idle_max_us: u64,
    /// Last packet received.
    received_us: Option<i64>,
}

impl Traffic {
    /// A packet goes out.
    pub fn send(&mut self, bytes: u64) {
        self.packets_sent += 1;
        self.bytes_sent = self.bytes_sent.saturating_add(bytes);
    }

    /// Counts a sent packet by its content.
    pub fn sort(&mut self, is_pure_ack: bool, has_data: bool) {
        self.pure_acks_sent += u64::from(is_pure_ack);
        self.data_packets_sent += u64::from(has_data);
    }

    /// Counts a sent packet with data that had been sent before.
    pub fn repeat(&mut self, repetition: Repetition) {
        self.retransmitted_packets += u64::from(repetition.is_again());
    }

    /// Stream data goes out; gives how much went before.
    pub fn send_data(&mut self, bytes: u64) -> u64 {
        let before = self.stream_bytes_sent;
        self.stream_bytes_sent = before.saturating_add(bytes);
        before
    }

    /// Stream bytes that were sent, repeated ones too.
    pub fn stream_bytes_sent(&self) -> u64 {
        self.stream_bytes_sent
    }

    /// A packet comes.
    pub fn receive(&mut self, bytes: u64, now_us: i64) {
        self.packets_received += 1;
        self.bytes_received = self.bytes_received.saturating_add(bytes);
        self.received_us = Some(now_us);
    }

    /// A packet is dropped.
    pub fn discard(&mut self) {
        self.packets_dropped += 1;
    }

    /// Time passes without a record.
    pub fn pass(&mut self, us: u64) {
        self.idle_max_us = self.idle_max_us.max(us);
    }

    /// No packet has been seen.
    pub fn is_none(&self) -> bool {
        self.packets_sent == 0 && self.packets_received == 0
    }

    /// Packets of both directions: sent, received.
    pub fn packets(&self) -> (u64, u64) {
        (self.packets_sent, self.packets_received)
    }

    /// When a packet was received last.
    pub fn received_us(&self) -> Option<i64> {
        self.received_us
    }

    /// What was sent and received, in the connection's row. `unique` of the stream bytes sent were sent once.
    pub fn write(&self, row: &mut Row<Connections>, unique: u64, retransmitted_bytes: u64, out_of_order: u64) {
        row.set(connections::PACKETS_SENT, self.packets_sent);
        row.set(connections::PACKETS_RECEIVED, self.packets_received);
        row.set(connections::BYTES_SENT, self.bytes_sent);
        row.set(connections::BYTES_RECEIVED, self.bytes_received);
        row.set(connections::PURE_ACKS_SENT, self.pure_acks_sent);
        row.set(connections::DATA_PACKETS_SENT, self.data_packets_sent);
        row.set(connections::STREAM_BYTES_SENT, self.stream_bytes_sent);
        row.set(connections::UNIQUE_STREAM_BYTES_SENT, unique);
        row.set(connections::RETRANSMITTED_PACKETS, self.retransmitted_packets);
        row.set(connections::RETRANSMITTED_BYTES, retransmitted_bytes);
        row.set(connections::PACKETS_OUT_OF_ORDER, out_of_order);
        row.set(connections::PACKETS_DROPPED, self.packets_dropped);
    }

    /// Longest time without a record.
    pub fn idle_max_us(&self) -> u64 {
        self.idle_max_us
    }
}
