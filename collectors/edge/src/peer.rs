//! Which address is the client's, in what a trace says of its connection.
//!
//! Seen in files: quic-go of 2020 to 2024 and qperf-go write `src_ip` for their own end, whichever that is, and
//! `dst_ip` for the peer's; quic-go since v0.5x `local` and `remote` with `ip_v4` or `address_v4.ip`; iroh and the
//! drafts `local`, `remote` with `ip_v6`, `port_v6`; pcap2qlog `src_ip` for the sender of the flow; picoquic
//! `addr_from` and `addr_to` of each datagram; quicker `local_address`, `remote_address`. quiche, mvfst, aioquic,
//! ngtcp2 and QUIC_TRACE log none: then it is the access log's to say.

use crate::address::{self, Client};
use quiclens_core::event::Event;
use quiclens_core::header::{Header, Vantage};
use serde_json::Value;

/// Which end of a connection the log calls its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionEnd {
    Own,
    Peer,
}

/// Names of the two ends' fields; whole objects, or beginnings of names.
const OWN: [&str; 6] = ["local", "path_local", "tuple_local", "src", "local_address", "source"];
const PEER: [&str; 6] = ["remote", "path_remote", "tuple_remote", "dst", "remote_address", "destination"];

/// The client's address that an event tells. `more` are its fields without a column: path and raw JSON.
/// Empty for an event that tells none, and where the log does not say which end is the client's.
pub fn of_event<'a>(
    vantage: Vantage,
    flow_is_client: bool,
    name: &str,
    more: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Client {
    let Some(end) = client_end(vantage, flow_is_client) else { return Client::default() };
    let kind = name.rsplit(':').next().unwrap_or(name);
    let names: &[&str] = match (kind, end) {
        ("connection_started" | "connection_new" | "new_connection" | "path_update", ConnectionEnd::Own)
        | ("path_assigned" | "tuple_assigned", ConnectionEnd::Own) => &OWN,
        ("connection_started" | "connection_new" | "new_connection" | "path_update", ConnectionEnd::Peer)
        | ("path_assigned" | "tuple_assigned", ConnectionEnd::Peer) => &PEER,
        ("udp_datagrams_received" | "datagrams_received" | "datagram_received", ConnectionEnd::Peer) => &["addr_from"],
        ("udp_datagrams_received" | "datagrams_received" | "datagram_received", ConnectionEnd::Own) => &["addr_to"],
        ("udp_datagrams_sent" | "datagrams_sent" | "datagram_sent", ConnectionEnd::Peer) => &["addr_to"],
        ("udp_datagrams_sent" | "datagrams_sent" | "datagram_sent", ConnectionEnd::Own) => &["addr_from"],
        _ => return Client::default(),
    };
    let mut found = Client::default();
    for (path, raw) in more {
        if raw.len() <= 4096
            && let Some(rest) = names.iter().find_map(|name| field_of(name, path))
            && let Ok(value) = serde_json::from_str(raw)
        {
            take(rest, &value, &mut found);
        }
    }
    known(found)
}

/// The same for an [`Event`].
pub fn of(vantage: Vantage, flow_is_client: bool, event: &Event) -> Client {
    let more = event.more.iter().map(|(path, raw)| (event.str(*path), event.str(*raw)));
    of_event(vantage, flow_is_client, event.str(event.name), more)
}

/// The client's address that a header's `common_fields` tell: `client_address` or `client_ip` and `client_port`, else
/// the peer's of a server's trace.
pub fn of_header(header: &Header) -> Client {
    let mut found = Client::default();
    for (name, rest) in [("client_address", ""), ("client_ip", ""), ("client_port", "port")] {
        take(rest, header.common(name), &mut found);
    }
    if found.address.is_some() {
        return known(found);
    }
    let Some(end) = client_end(header.vantage(), header.flow_is_client()) else { return Client::default() };
    let names = if end == ConnectionEnd::Own { ["local", "src"] } else { ["remote", "dst"] };
    for name in names {
        for field in ["_address", "_ip", "_port"] {
            let rest = if field == "_port" { "port" } else { "" };
            take(rest, header.common(&format!("{name}{field}")), &mut found);
        }
        take("", header.common(name), &mut found);
    }
    known(found)
}

fn client_end(vantage: Vantage, flow_is_client: bool) -> Option<ConnectionEnd> {
    match vantage {
        Vantage::Server => Some(ConnectionEnd::Peer),
        Vantage::Client => Some(ConnectionEnd::Own),
        Vantage::Network if flow_is_client => Some(ConnectionEnd::Own),
        Vantage::Network => Some(ConnectionEnd::Peer),
        Vantage::Unknown => None,
    }
}

/// A port alone says nothing, and an unspecified address is one that its writer does not know.
fn known(client: Client) -> Client {
    client.address.filter(|address| !address.is_unspecified()).map_or(Client::default(), |_| client)
}

/// What of `path` comes after the end's name: `src_ip` and `remote.ip_v4` give `ip` and `ip_v4`.
fn field_of<'a>(name: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(['.', '_']) }
}

/// Takes address and port out of a value found under `name`, in whatever form it stands.
fn take(name: &str, value: &Value, found: &mut Client) {
    let last = name.rsplit('.').next().unwrap_or(name);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| take(key, value, found)),
        Value::String(text) if matches!(last, "port" | "port_v4" | "port_v6") => {
            found.port = found.port.or(text.parse().ok());
        }
        Value::Number(number) if matches!(last, "port" | "port_v4" | "port_v6") => {
            found.port = found.port.or(number.as_u64().and_then(|port| port.try_into().ok()));
        }
        Value::String(text) if !last.contains("cid") => {
            let read = address::read(text);
            // An unspecified address beside a real one (both families listed) is not the one.
            let better = found.address.is_none_or(|address| address.is_unspecified());
            if read.address.is_some() && better {
                found.address = read.address;
                found.port = found.port.or(read.port);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use Vantage::{Network, Server, Unknown};

    fn client(text: &str) -> Client {
        let client = address::read(text);
        assert!(client.address.is_some(), "{text}");
        client
    }

    #[test]
    fn every_dialect_that_logs_addresses_is_understood() {
        let quic_go_2020: &[(&str, &str)] = &[
            ("ip_version", "\"ipv4\""),
            ("src_ip", "\"198.51.100.1\""),
            ("src_port", "8081"),
            ("dst_ip", "\"192.0.2.7\""),
            ("dst_port", "41981"),
            ("src_cid", "\"5af1522f\""),
            ("dst_cid", "\"\""),
        ];
        let quic_go_065: &[(&str, &str)] = &[
            ("local", r#"{"address_v4":{"ip":"198.51.100.1","port":443}}"#),
            ("remote", r#"{"address_v4":{"ip":"192.0.2.7","port":41981}}"#),
        ];
        let quic_go_now: &[(&str, &str)] = &[
            ("local", r#"{"ip_v4":"198.51.100.1","port_v4":443}"#),
            ("remote", r#"{"ip_v4":"192.0.2.7","port_v4":41981}"#),
        ];
        let exploded: &[(&str, &str)] = &[("remote.ip_v4", "\"192.0.2.7\""), ("remote.port_v4", "41981")];
        let quicker: &[(&str, &str)] = &[
            ("local_address", "\"198.51.100.1\""),
            ("local_port", "4433"),
            ("remote_address", "\"192.0.2.7\""),
            ("remote_port", "41981"),
        ];
        for (name, more) in [
            ("quic:connection_started", quic_go_2020),
            ("quic:connection_started", quic_go_065),
            ("transport:connection_started", quic_go_now),
            ("quic:connection_started", exploded),
            ("transport:path_update", quicker),
        ] {
            let found = of_event(Server, true, name, more.iter().copied());
            assert_eq!(found, client("192.0.2.7:41981"), "{more:?}");
        }
        let assigned = [("tuple_id", "\"a\""), ("tuple_remote", r#"{"ip_v6":"2001:db8::7","port_v6":5}"#)];
        assert_eq!(of_event(Server, true, "quic:tuple_assigned", assigned), client("[2001:db8::7]:5"));
    }

    #[test]
    fn datagrams_of_picoquic_and_flows_of_captures_tell_the_client() {
        let received = [
            ("addr_from", r#"{"ip_v4":"192.0.2.7","port_v4":37666}"#),
            ("addr_to", r#"{"ip_v4":"198.51.100.1","port_v4":443}"#),
        ];
        let name = "quic:udp_datagrams_received";
        assert_eq!(of_event(Server, true, name, received), client("192.0.2.7:37666"));
        assert_eq!(of_event(Vantage::Client, true, name, received), client("198.51.100.1:443"));
        let flow = [("src_ip", "\"192.0.2.7\""), ("src_port", "\"36588\""), ("dst_ip", "\"198.51.100.1\"")];
        let started = "connectivity:connection_new";
        assert_eq!(of_event(Network, true, started, flow), client("192.0.2.7:36588"));
        assert_eq!(of_event(Network, false, started, flow), client("198.51.100.1"));
    }

    #[test]
    fn what_does_not_say_whose_it_is_gives_none() {
        let fields = [("src_ip", "\"::\""), ("src_port", "50299"), ("dst_ip", "\"192.0.2.7\"")];
        let started = "quic:connection_started";
        assert_eq!(of_event(Vantage::Client, true, started, fields), Client::default(), "unspecified");
        assert_eq!(of_event(Unknown, true, started, fields), Client::default());
        assert_eq!(of_event(Server, true, "quic:packet_sent", fields), Client::default());
        assert_eq!(of_event(Server, true, started, [("dst_ip", "{")]), Client::default());
        assert_eq!(of_event(Server, true, started, [("dst_port", "99999")]), Client::default());
    }

    #[test]
    fn a_header_may_name_the_client() {
        use quiclens_core::reader::sniff::Framing;
        let header = |text: &str| Header::sequential(text.as_bytes(), Framing::Sequential).unwrap();
        let own = header(r#"{"trace":{"common_fields":{"client_ip":"192.0.2.7","client_port":"5"}}}"#);
        assert_eq!(of_header(&own), client("192.0.2.7:5"));
        let peer = header(
            r#"{"trace":{"vantage_point":{"type":"server"},"common_fields":{"dst_ip":"192.0.2.7","dst_port":5}}}"#,
        );
        assert_eq!(of_header(&peer), client("192.0.2.7:5"));
        assert_eq!(of_header(&header(r#"{"trace":{}}"#)), Client::default());
    }
}
