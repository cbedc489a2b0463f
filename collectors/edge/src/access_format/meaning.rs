//! What the pieces of a line mean.

use super::config::{TimeIs, Unit};
use super::time::TimestampFormat;
use quiclens_core::record::columns::request_lines::{self, RequestLines};
use quiclens_core::record::columns::{Nullable, TableColumn, Text, Whole};

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
    Text(TableColumn<RequestLines, Nullable<Text>>),
    /// A whole number up to a limit.
    Whole(TableColumn<RequestLines, Nullable<Whole>>, u64),
    Duration(TableColumn<RequestLines, Nullable<Whole>>, Unit),
    /// A number that only TCP has: on a line of anything else it is another figure, or none.
    Tcp(TableColumn<RequestLines, Nullable<Whole>>),
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
        const TEXTS: [TableColumn<RequestLines, Nullable<Text>>; 17] = [
            request_lines::METHOD,
            request_lines::AUTHORITY,
            request_lines::SERVER,
            request_lines::CLUSTER,
            request_lines::POP,
            request_lines::SERVER_RELEASE,
            request_lines::CARRIER,
            request_lines::COUNTRY,
            request_lines::REGION,
            request_lines::CITY,
            request_lines::H3_CELL,
            request_lines::NETWORK_TYPE,
            request_lines::APP,
            request_lines::APP_VERSION,
            request_lines::DEVICE,
            request_lines::USER_HASH,
            request_lines::ARM,
        ];
        const NUMBERS: [(TableColumn<RequestLines, Nullable<Whole>>, u64); 6] = [
            (request_lines::STREAM_ID, u64::MAX),
            (request_lines::STATUS, u16::MAX as u64),
            (request_lines::REQUEST_BYTES, u64::MAX),
            (request_lines::RESPONSE_BYTES, u64::MAX),
            (request_lines::ASN, u32::MAX as u64),
            (request_lines::REQUEST_NUMBER, u32::MAX as u64),
        ];
        let us = unit.unwrap_or(Unit::Microseconds);
        Some(match name {
            "time" => Self::Time(TimestampFormat::Auto(unit.unwrap_or(Unit::Seconds)), time_is),
            "time_is" => Self::TimeIs,
            "duration_us" => Self::Duration(request_lines::DURATION_US, us),
            "rtt_us" => Self::Duration(request_lines::RTT_US, us),
            "rtt_variance_us" => Self::Duration(request_lines::RTT_VARIANCE_US, us),
            "tcp_congestion_window_packets" => Self::Tcp(request_lines::TCP_CONGESTION_WINDOW_PACKETS),
            "tcp_packets_lost_outstanding" => Self::Tcp(request_lines::TCP_PACKETS_LOST_OUTSTANDING),
            "tcp_packets_retransmitted_outstanding" => Self::Tcp(request_lines::TCP_PACKETS_RETRANSMITTED_OUTSTANDING),
            "connection_id" => Self::ConnectionId,
            "external_id" => Self::ExternalId(3),
            "protocol" => Self::Protocol,
            "path" => Self::Path,
            "client_network" => Self::Network,
            "client_address" => Self::AddressPort,
            "client_port" => Self::Port,
            "latitude" => Self::Latitude,
            "longitude" => Self::Longitude,
            _ => match NUMBERS.iter().find(|(known, _)| known.name() == name) {
                Some((column, limit)) => Self::Whole(*column, *limit),
                None => Self::Text(*TEXTS.iter().find(|known| known.name() == name)?),
            },
        })
    }
}
