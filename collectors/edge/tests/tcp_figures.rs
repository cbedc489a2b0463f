//! What servers log of TCP, and where it goes: into columns on lines of HTTP/1.1 and HTTP/2, else into `more`.
#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::record::columns::request_lines;
use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, Format, Line};

const FIGURES: [&str; 5] = [
    "rtt_us",
    "rtt_variance_us",
    "tcp_congestion_window_packets",
    "tcp_packets_lost_outstanding",
    "tcp_packets_retransmitted_outstanding",
];

fn format(toml: &str) -> Format {
    Format::compile(&toml::from_str::<AccessFormatConfig>(toml).unwrap()).unwrap()
}

/// The five figures by spaces, and then what `more` has of the names.
fn read(format: &Format, line: &str, names: &[&str]) -> String {
    let line = format.read(line.as_bytes()).unwrap();
    let figures = FIGURES.iter().map(|name| match line.row.get_named(name) {
        Some(Cell::Whole(number)) => number.to_string(),
        Some(other) => format!("{other:?}"),
        None => "-".to_owned(),
    });
    figures.chain(names.iter().map(|name| more(&line, name))).collect::<Vec<_>>().join(" ")
}

fn more(line: &Line, name: &str) -> String {
    let Some(Cell::List(list)) = line.row.get(request_lines::MORE) else { return "-".to_owned() };
    list.chunks_exact(2).find(|pair| pair[0] == name).map_or_else(|| "-".to_owned(), |pair| pair[1].clone())
}

#[test]
fn nginx_logs_microseconds_and_packets_of_tcp_and_nothing_of_quic() {
    let text = format(
        r#"
        syntax = "nginx"
        format = '$msec "$request" $status $tcpinfo_rtt $tcpinfo_rttvar $tcpinfo_snd_cwnd $tcpinfo_rcv_space'
        "#,
    );
    let space = ["tcpinfo_rcv_space"];
    let line = r#"1795168800.123 "GET /a HTTP/2.0" 200 23456 11000 10 14600"#;
    assert_eq!(read(&text, line, &space), "23456 11000 10 - - \"14600\"");
    let line = r#"1795168800.123 "GET /a HTTP/3.0" 200 - - - -"#;
    assert_eq!(read(&text, line, &space), "- - - - - -");
    let json = format(
        r#"
        syntax = "nginx"
        escape = "json"
        format = '{"t":$msec,"rtt":"$tcpinfo_rtt","var":"$tcpinfo_rttvar","cwnd":"$tcpinfo_snd_cwnd","p":"$server_protocol"}'
        "#,
    );
    let line = r#"{"t":1795168800.123,"rtt":"900","var":"450","cwnd":"32","p":"HTTP/1.1"}"#;
    assert_eq!(read(&json, line, &[]), "900 450 32 - -");
    let line = r#"{"t":1795168800.123,"rtt":"","var":"","cwnd":"","p":"HTTP/3.0"}"#;
    assert_eq!(read(&json, line, &[]), "- - - - -");
}

#[test]
fn haproxy_logs_milliseconds_unless_told_and_what_is_outstanding() {
    let format_of = |rtt: &str, variance: &str| {
        format(&format!(
            "syntax = \"haproxy\"\nformat = '[%tr] %ST %HV %[{rtt}] %[{variance}] %[fc_lost] %[fc_retrans] %[fc_unacked] %[fc_reordering]'"
        ))
    };
    let names = ["fc_lost", "fc_retrans", "fc_unacked", "fc_reordering"];
    let time = "[20/Nov/2026:10:00:00.000]";
    let tcp = format!("{time} 200 HTTP/2.0 62 15 2 1 9 3");
    for (rtt, variance) in [("fc_rtt", "fc_rttvar"), ("fc_rtt(ms)", "fc_rttvar(ms)")] {
        assert_eq!(read(&format_of(rtt, variance), &tcp, &names), r#"62000 15000 - 2 1 - - "9" "3""#);
    }
    let fine = format_of("fc_rtt(us)", "fc_rttvar(us)");
    assert_eq!(read(&fine, &tcp, &names), r#"62 15 - 2 1 - - "9" "3""#);
    // Of QUIC it knows the round trip, and counts all packets that were ever lost: that is no column of TCP's.
    let quic = format!("{time} 200 HTTP/3.0 41000 9000 7 - - 0");
    assert_eq!(read(&fine, &quic, &names), r#"41000 9000 - - - "7" - - "0""#);
}

#[test]
fn of_two_variances_the_finer_is_the_column() {
    let format = format("syntax = \"haproxy\"\nformat = '[%tr] %HV %[fc_rttvar] %[fc_rttvar(us)]'");
    let line = "[20/Nov/2026:10:00:00.000] HTTP/2.0 15 15250";
    assert_eq!(read(&format, line, &["fc_rttvar"]), "- 15250 - - - \"15\"");
}

#[test]
fn envoy_writes_zeros_for_what_it_does_not_know_of_tcp() {
    let format = format(
        r#"
        syntax = "envoy"
        format = '%START_TIME% %PROTOCOL% %RESPONSE_CODE% %PACKETS_RETRANSMITTED% %BYTES_RETRANSMITTED% %ROUNDTRIP_DURATION%'
        "#,
    );
    let names = ["PACKETS_RETRANSMITTED", "BYTES_RETRANSMITTED", "ROUNDTRIP_DURATION"];
    let line = "2026-11-20T10:00:00.000Z HTTP/2 200 0 0 -";
    assert_eq!(read(&format, line, &names), r#"- - - - - "0" "0" -"#);
    let line = "2026-11-20T10:00:00.000Z HTTP/3 200 4 900 31";
    assert_eq!(read(&format, line, &names), r#"- - - - - "4" "900" "31""#);
}

#[test]
fn h2o_has_no_round_trip_of_tcp() {
    let format = format("syntax = \"apache\"\nformat = '%{usec}t \"%r\" %s %{cc.name}x %{delivery-rate}x'");
    let line = r#"1795168800000000 "GET /a HTTP/2" 200 cubic 1250000"#;
    assert_eq!(read(&format, line, &["%{cc.name}x", "%{delivery-rate}x"]), r#"- - - - - "cubic" "1250000""#);
}

#[test]
fn a_log_of_ones_own_has_them_by_the_columns_names_or_a_table() {
    let preset = format("preset = \"json\"");
    let figures = r#""tcp_congestion_window_packets":10,"tcp_packets_lost_outstanding":2,"tcp_packets_retransmitted_outstanding":"1""#;
    let names = ["tcp_congestion_window_packets", "tcp_packets_lost_outstanding"];
    for (protocol, want) in [
        (r#""h2""#, "- 5 10 2 1 - -"),
        (r#""HTTP/1.0""#, "- 5 10 2 1 - -"),
        (r#""h3""#, r#"- 5 - - - "10" "2""#),
        (r#""hq-interop""#, r#"- 5 - - - "10" "2""#),
        ("null", r#"- 5 - - - "10" "2""#),
    ] {
        let line = format!(r#"{{"time":1795168800,{figures},"rtt_variance_us":5,"protocol":{protocol}}}"#);
        assert_eq!(read(&preset, &line, &names), want, "{protocol}");
    }
    let odd = r#"{"time":1795168800,"protocol":"h2","tcp_congestion_window_packets":-1,"tcp_packets_lost_outstanding":4294967296}"#;
    assert_eq!(read(&preset, odd, &names), r#"- - - - - "-1" "4294967296""#);
    let table = format(
        r#"
        syntax = "json"
        [columns]
        time = { from = "ts" }
        protocol = { from = "proto" }
        rtt_us = { from = "tcp.fc_rtt", unit = "ms" }
        rtt_variance_us = { from = "tcp.fc_rttvar", unit = "ms" }
        tcp_congestion_window_packets = { from = "tcp.cwnd" }
        tcp_packets_lost_outstanding = { from = "tcp.fc_lost" }
        "#,
    );
    let line = r#"{"ts":1795168800,"proto":"HTTP/2.0","tcp":{"fc_rtt":62,"fc_rttvar":15,"cwnd":10,"fc_lost":2},"tcp_packets_lost_outstanding":9}"#;
    assert_eq!(read(&table, line, &["tcp_packets_lost_outstanding"]), "62000 15000 10 2 - 9", "the table says where");
}
