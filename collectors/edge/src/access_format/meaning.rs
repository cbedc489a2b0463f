//! What the pieces of a line mean.

use super::config::{TimeIs, Unit};
use super::time::TimestampFormat;

/// What a piece of a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Something without a column.
    More,
    /// The value of a header field, or a user: not kept where addresses are not.
    Private,
    Time(TimestampFormat, TimeIs),
    /// A fraction of a second that belongs to the time.
    Fraction(Unit),
    TimeIs,
    Text(&'static str),
    /// A whole number up to a limit.
    Whole(&'static str, u64),
    Duration(&'static str, Unit),
    /// A number that only TCP has: on a line of anything else it is another figure, or none.
    Tcp(&'static str),
    /// Requests on the connection so far, this one counted.
    Count,
    ConnectionId,
    /// An id by which others know the request. Of several the one that ranks highest: X-Request-Id, traceparent, the
    /// server's own.
    ExternalId(u8),
    Protocol,
    /// Method, target, protocol.
    Request,
    Path,
    PathAlone,
    Query,
    Address,
    Port,
    AddressPort,
    Network,
    Latitude,
    Longitude,
}

impl Meaning {
    /// Of a column of `request_lines`, or of one of those that are handed out; `None` for any other name.
    pub fn of_column(name: &str, unit: Option<Unit>, time_is: TimeIs) -> Option<Self> {
        const TEXTS: [&str; 18] = [
            "method",
            "authority",
            "server",
            "cluster",
            "pop",
            "server_release",
            "carrier",
            "country",
            "region",
            "city",
            "h3_cell",
            "network_type",
            "app",
            "app_version",
            "device",
            "user_hash",
            "arm",
            "time_is",
        ];
        const NUMBERS: [(&str, u64); 6] = [
            ("stream_id", u64::MAX),
            ("status", u16::MAX as u64),
            ("request_bytes", u64::MAX),
            ("response_bytes", u64::MAX),
            ("asn", u32::MAX as u64),
            ("request_number", u32::MAX as u64),
        ];
        let us = unit.unwrap_or(Unit::Microseconds);
        Some(match name {
            "time" => Self::Time(TimestampFormat::Auto(unit.unwrap_or(Unit::Seconds)), time_is),
            "time_is" => Self::TimeIs,
            "duration_us" => Self::Duration("duration_us", us),
            "rtt_us" => Self::Duration("rtt_us", us),
            "rtt_variance_us" => Self::Duration("rtt_variance_us", us),
            "tcp_congestion_window_packets" => Self::Tcp("tcp_congestion_window_packets"),
            "tcp_packets_lost_outstanding" => Self::Tcp("tcp_packets_lost_outstanding"),
            "tcp_packets_retransmitted_outstanding" => Self::Tcp("tcp_packets_retransmitted_outstanding"),
            "connection_id" => Self::ConnectionId,
            "external_id" => Self::ExternalId(3),
            "protocol" => Self::Protocol,
            "path" => Self::Path,
            "client_network" => Self::Network,
            "client_address" => Self::AddressPort,
            "client_port" => Self::Port,
            "latitude" => Self::Latitude,
            "longitude" => Self::Longitude,
            _ => match NUMBERS.iter().find(|(known, _)| *known == name) {
                Some((name, limit)) => Self::Whole(name, *limit),
                None => Self::Text(TEXTS.iter().find(|known| **known == name)?),
            },
        })
    }
}
