//! Lines as the servers write them, and the rows that they make.
#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::limits::FORMAT_PLACES;
use quiclens_core::reader::skip::Skip;
use quiclens_core::record::columns::request_lines;
use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, Format, Line};
use quiclens_edge::address::Client;
use quiclens_edge::enrich::{EnrichConfig, Enricher};

/// 2026-11-20 10:00:00 UTC.
const TEN: i64 = 1_795_168_800_000_000;

fn format(toml: &str) -> Format {
    Format::compile(&toml::from_str::<AccessFormatConfig>(toml).unwrap()).unwrap()
}

fn preset(name: &str) -> Format {
    format(&format!("preset = \"{name}\""))
}

fn refused(toml: &str) -> String {
    Format::compile(&toml::from_str::<AccessFormatConfig>(toml).unwrap()).unwrap_err().to_string()
}

/// The row as `column=value` of the columns asked for, by spaces.
fn columns(line: &Line, names: &[&str]) -> String {
    let shown = |name: &&str| match line.row.get_named(name) {
        Some(Cell::Text(text)) => text.clone(),
        Some(Cell::Whole(number)) => number.to_string(),
        Some(Cell::Int(number)) => (number - TEN).to_string(),
        Some(other) => format!("{other:?}"),
        None => "-".to_owned(),
    };
    names.iter().map(shown).collect::<Vec<_>>().join(" ")
}

const USUAL: [&str; 8] = ["time", "time_is", "method", "path", "status", "duration_us", "response_bytes", "protocol"];

fn usual(line: &Line) -> String {
    columns(line, &USUAL)
}

fn more<'l>(line: &'l Line, name: &str) -> Option<&'l str> {
    let Some(Cell::List(list)) = line.row.get(request_lines::MORE) else { return None };
    list.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
}

fn client(text: &str) -> Client {
    let (address, port) = text.split_once(' ').map_or((text, None), |(address, port)| (address, port.parse().ok()));
    Client { address: Some(address.parse().unwrap()), port }
}

#[test]
fn nginx_combined() {
    let format = preset("nginx-combined");
    for (line, want) in [
        (
            r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a?b=c HTTP/3.0" 200 615 "-" "curl/8.7.1""#,
            "0 end GET /a?b=c 200 - 615 h3",
        ),
        (
            r#"2001:db8::7 - alice [20/Nov/2026:11:00:00 +0100] "POST /\xC3\xA9 HTTP/2.0" 499 0 "https://example.net/" "a \x22b\x22 - [x]""#,
            "0 end POST /é 499 - 0 h2",
        ),
        // What came to a port of TLS without it.
        (r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "\x16\x03\x01" 400 157 "-" "-""#, "0 end - - 400 - 157 -"),
        (r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "" 400 0 "-" "-""#, "0 end - - 400 - 0 -"),
        (
            r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /with space here HTTP/1.1" 200 5 "-" "-""#,
            "0 end GET /with space here 200 - 5 h1",
        ),
    ] {
        let read = format.read(line.as_bytes()).unwrap();
        assert_eq!(usual(&read), want, "{line}");
        assert!(read.client.address.is_some());
        let stored = format!("{:?}", read.row);
        for private in ["192.0.2.7", "2001:db8::7", "curl", "alice", "example.net"] {
            assert!(!stored.contains(private), "{private} in {stored}");
        }
    }
}

#[test]
fn nginx_with_everything_that_helps() {
    let format = format(
        r#"
        syntax = "nginx"
        format = '$remote_addr:$remote_port [$time_iso8601] $msec "$request" $host $status $body_bytes_sent $request_length $request_time $http3 $connection $connection_requests $request_id $http_x_request_id $tcpinfo_rtt $tcpinfo_rttvar $upstream_addr'
        "#,
    );
    let line = b"192.0.2.7:50000 [2026-11-20T10:00:00+00:00] 1795168800.123 \"GET /a HTTP/3.0\" example.net 200 5 40 0.250 h3 77 3 0f0f - - - 198.51.100.9:8080";
    let read = format.read(line).unwrap();
    assert_eq!(usual(&read), "123000 end GET /a 200 250000 5 h3");
    assert_eq!(read.client, client("192.0.2.7 50000"));
    // For HTTP/3 nginx counts by streams: the third request is on stream 8.
    let names = ["authority", "request_bytes", "external_id", "request_number", "stream_id", "connection_id", "rtt_us"];
    assert_eq!(columns(&read, &names), "example.net 40 0f0f 2 8 - -");
    assert_eq!(more(&read, "connection"), Some("\"77\""), "nginx's own number is no connection id");
    assert_eq!(more(&read, "upstream_addr"), Some("\"198.51.100.0/24:8080\""));
    assert_eq!(more(&read, "time_iso8601"), Some("\"2026-11-20T10:00:00+00:00\""));

    let line = b"192.0.2.7:50000 [2026-11-20T10:00:00+00:00] 1795168800.123 \"GET /a HTTP/1.1\" example.net 200 5 40 0.250 - 77 3 0f0f given-by-the-client 23456 11 -";
    let read = format.read(line).unwrap();
    assert_eq!(columns(&read, &names), "example.net 40 given-by-the-client 2 - - 23456");
    assert_eq!(more(&read, "request_id"), Some("\"0f0f\""));
    assert_eq!(columns(&read, &["rtt_variance_us"]), "11");
}

#[test]
fn nginx_as_json_and_with_its_path_in_parts() {
    let format = format(
        r#"
        syntax = "nginx"
        escape = "json"
        format = '{"t":$msec,"a":"$remote_addr","m":"$request_method","u":"$uri$is_args$args","s":$status,"ua":"$http_user_agent"}'
        "#,
    );
    let line = r#"{"t":1795168800.000,"a":"192.0.2.7","m":"GET","u":"/a\"b?c=d","s":200,"ua":"x\u00e9"}"#;
    let read = format.read(line.as_bytes()).unwrap();
    assert_eq!(usual(&read), "0 end GET /a\"b?c=d 200 - - -");
    assert_eq!(more(&read, "http_user_agent"), Some("\"[redacted]\""));
}

#[test]
fn redaction_off_keeps_everything() {
    let format = format("preset = \"nginx-combined\"\nredact = false");
    let line = br#"192.0.2.7 - alice [20/Nov/2026:10:00:00 +0000] "GET / HTTP/2.0" 200 5 "-" "curl""#;
    let read = format.read(line).unwrap();
    assert_eq!(more(&read, "remote_addr"), Some("\"192.0.2.7\""));
    assert_eq!(more(&read, "remote_user"), Some("\"alice\""));
    assert_eq!(more(&read, "http_user_agent"), Some("\"curl\""));
    assert_eq!(read.client, client("192.0.2.7"));
}

#[test]
fn apache_h2o_and_litespeed() {
    let line = br#"192.0.2.7 - - [20/Nov/2026:03:00:00 -0700] "GET /a HTTP/1.0" 304 - "-" "x \"y\" z""#;
    let read = preset("apache-combined").read(line).unwrap();
    assert_eq!(usual(&read), "0 start GET /a 304 - - h1");
    assert_eq!(more(&read, "server_protocol"), Some("\"HTTP/1.0\""), "h1 does not say which");
    let common = preset("apache-common").read(&line[..line.len() - " \"-\" \"x \\\"y\\\" z\"".len()]).unwrap();
    assert_eq!(usual(&common), "0 start GET /a 304 - - h1");

    let h2o = format(
        r#"
        syntax = "apache"
        format = '%h:%{remote}p %{%Y/%m/%d:%H:%M:%S}t.%{msec_frac}t "%r" %s %b %{duration}x %{connection-id}x %{http3.stream-id}x "%{x-request-id}i"'
        "#,
    );
    let read =
        h2o.read(br#"[2001:db8::7]:50000 2026/11/20:10:00:00.250 "GET /a HTTP/3" 200 5 0.012345 9 16 "r-1""#).unwrap();
    assert_eq!(usual(&read), "250000 start GET /a 200 12345 5 h3");
    assert_eq!(read.client, client("2001:db8::7 50000"));
    assert_eq!(columns(&read, &["stream_id", "connection_id", "external_id"]), "16 - r-1");
    assert_eq!(more(&read, "%{connection-id}x"), Some("\"9\""));

    let apache = format(
        r#"syntax = "apache"
        format = '%a %{end:usec}t %m %U%q %H %>s %O %D %k'"#,
    );
    let read = apache.read(b"192.0.2.7 1795168800000001 GET /a?b HTTP/2 200 99 1234 0").unwrap();
    assert_eq!(usual(&read), "1 end GET /a?b 200 1234 99 h2");
    assert_eq!(columns(&read, &["request_number"]), "0");
}

#[test]
fn envoy_default() {
    let format = preset("envoy-default");
    let line = br#"[2026-11-20T10:00:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "192.0.2.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://198.51.100.1:80"
"#;
    let read = format.read(line).unwrap();
    assert_eq!(usual(&read), "310000 start POST /api/v1/locations 204 226000 0 h2");
    assert_eq!(
        columns(&read, &["authority", "external_id", "request_bytes"]),
        "locations cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2 154"
    );
    assert_eq!(more(&read, "REQ(X-FORWARDED-FOR)"), Some("\"[redacted]\""));
    assert_eq!(more(&read, "UPSTREAM_HOST"), Some("\"tcp://198.51.100.0/24:80\""));
    // Envoy does not escape quotes: a user agent with them could make up fields.
    let forged = String::from_utf8_lossy(line).replace("nsq2http", "x\" \"forged-id\" \"forged");
    assert_eq!(format.read(forged.as_bytes()), Err(Skip::BadLine));
}

#[test]
fn envoy_custom_text_and_json() {
    let text = format(
        r#"
        syntax = "envoy"
        format = '%START_TIME(%s.%3f)% %COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)% %DURATION% %PROTOCOL% %RESPONSE_CODE% %REQ(X-REQUEST-ID)% %CONNECTION_ID% %STREAM_ID% %DOWNSTREAM_REMOTE_ADDRESS% %DOWNSTREAM_DIRECT_REMOTE_ADDRESS% %REQ(:METHOD)% %REQ(:PATH)%\n'
        "#,
    );
    let line = b"1795168800.250 1234 1 HTTP/3 200 - 17 6b1a 203.0.113.5:0 [2001:db8::7]:50000 GET /a";
    let read = text.read(line).unwrap();
    assert_eq!(usual(&read), "250000 start GET /a 200 1234 - h3");
    assert_eq!(read.client, client("2001:db8::7 50000"), "not what a header said");
    // CONNECTION_ID and STREAM_ID are not QUIC's.
    assert_eq!(columns(&read, &["connection_id", "stream_id", "external_id"]), "- - 6b1a");
    assert_eq!(more(&read, "CONNECTION_ID"), Some("\"17\""));
    assert_eq!(more(&read, "DOWNSTREAM_REMOTE_ADDRESS"), Some("\"[redacted]\""));

    let json = format(
        r#"
        syntax = "envoy"
        format = '{"start":"%START_TIME%","ms":"%DURATION%","http":{"m":"%REQ(:METHOD)%","p":"%REQ(:PATH)%","code":"%RESPONSE_CODE%"},"client":"%DOWNSTREAM_REMOTE_ADDRESS%","x":"a %PROTOCOL%","ua":"%REQ(USER-AGENT)%"}'
        "#,
    );
    let line = br#"{"ms":12,"x":"a HTTP/3","start":"2026-11-20T10:00:00.000Z","http":{"m":"GET","p":"/a","code":200,"new":1},"client":"192.0.2.7:5","ua":"secret agent","gone":null}"#;
    let read = json.read(line).unwrap();
    assert_eq!(usual(&read), "0 start GET /a 200 12000 - -");
    assert_eq!((more(&read, "x"), more(&read, "http.new")), (Some("\"a HTTP/3\""), Some("1")));
    assert_eq!(more(&read, "ua"), Some("\"[redacted]\""));
    assert_eq!(read.client, client("192.0.2.7 5"));
}

#[test]
fn caddy() {
    let line = br#"{"level":"info","ts":1795168800.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.7","remote_port":"41342","client_ip":"203.0.113.5","proto":"HTTP/3.0","method":"GET","host":"example.net","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"X-Request-Id":["r-1"]},"tls":{"resumed":false,"version":772,"proto":"h3"}},"bytes_read":3,"user_id":"alice","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;
    let read = preset("caddy").read(line).unwrap();
    assert_eq!(usual(&read), "524102 end GET /a?b 200 929 10900 h3");
    assert_eq!(columns(&read, &["authority", "external_id", "request_bytes"]), "example.net r-1 3");
    assert_eq!(read.client, client("192.0.2.7 41342"));
    let stored = format!("{:?}", read.row);
    for private in ["192.0.2.7", "203.0.113.5", "curl", "alice"] {
        assert!(!stored.contains(private), "{private} in {stored}");
    }
    assert_eq!(more(&read, "request.tls"), Some(r#"{"resumed":false,"version":772,"proto":"h3"}"#));
    assert_eq!(more(&read, "resp_headers"), Some(r#"{"Server":"[redacted]"}"#));
    let milliseconds = format(
        "preset = \"caddy\"\n[columns]\nduration_us = { from = \"duration\", unit = \"ms\" }\ntime = { from = \"ts\", unit = \"ms\" }",
    );
    let read = milliseconds.read(br#"{"ts":1795168800524,"duration":12.5}"#).unwrap();
    assert_eq!(columns(&read, &["time", "duration_us"]), "524000 12500");
}

#[test]
fn haproxy_httplog() {
    let format = preset("haproxy-httplog");
    for (line, want, who) in [
        (
            r#"192.0.2.7:33317 [20/Nov/2026:10:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu|a b} {} "GET /index.html HTTP/1.1""#,
            "655000 start GET /index.html 200 109000 2750 h1",
            "192.0.2.7 33317",
        ),
        // In a file of syslog, no headers captured, IPv6, and HTTP/3's absolute target.
        (
            r#"Nov 20 10:00:01 localhost haproxy[14389]: 2001:db8::7:33317 [20/Nov/2026:10:00:00.655] http-in~ static/<NOSRV> 0/-1/-1/-1/1 503 217 - - SC-- 1/1/0/0/0 0/0 "GET https://example.net/a?b HTTP/3.0""#,
            "655000 start GET /a?b 503 1000 217 h3",
            "2001:db8::7 33317",
        ),
        (
            r#"192.0.2.7:1 [20/Nov/2026:10:00:00.000] a b/c 0/0/0/0/+9 200 +99 - - ---- 1/1/1/1/0 0/0 "GET /#22x#C3#A9 HTTP/1.1""#,
            "0 start GET /\"xé 200 - - h1",
            "192.0.2.7 1",
        ),
        (
            r#"192.0.2.7:1 [20/Nov/2026:10:00:00.000] a a/<NOSRV> -1/-1/-1/-1/5 400 0 - - CR-- 1/1/0/0/0 0/0 "<BADREQ>""#,
            "0 start - - 400 5000 0 -",
            "192.0.2.7 1",
        ),
        // Cut by syslog, and by HAProxy itself: a target that is not whole is none.
        (
            r#"192.0.2.7:1 [20/Nov/2026:10:00:00.000] a b/c 0/0/0/0/5 200 9 - - ---- 1/1/1/1/0 0/0 "GET /long"#,
            "0 start - - 200 5000 9 -",
            "192.0.2.7 1",
        ),
        (
            r#"192.0.2.7:1 [20/Nov/2026:10:00:00.000] a b/c 0/0/0/0/5 200 9 - - ---- 1/1/1/1/0 0/0 "GET /long""#,
            "0 start - - 200 5000 9 -",
            "192.0.2.7 1",
        ),
    ] {
        let read = format.read(line.as_bytes()).unwrap();
        assert_eq!(usual(&read), want, "{line}");
        assert_eq!(read.client, client(who), "{line}");
        assert_eq!(read.values_unread, 0, "{line}");
        assert!(!format!("{:?}", read.row).contains("1wt.eu"));
    }
    let east = crate::format("preset = \"haproxy-httplog\"\nutc_offset_minutes = 120");
    let line =
        br#"192.0.2.7:1 [20/Nov/2026:12:00:00.000] a b/c 0/0/0/0/5 200 9 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1""#;
    assert_eq!(columns(&east.read(line).unwrap(), &["time"]), "0");
}

#[test]
fn haproxy_custom() {
    let format = format(
        r#"
        syntax = "haproxy"
        format = '%ci:%cp [%trg] %HM %HP%HQ %HV %ST %B %U %Ta %ID %[fs.id] %[fc_rtt(us)] %{+Q}[capture.req.hdr(0)]'
        "#,
    );
    let line = br#"192.0.2.7:5 [20/Nov/2026:10:00:00 +0000] GET /a?b=c HTTP/3.0 200 100 20 15 id-1 12 2500 "curl""#;
    let read = format.read(line).unwrap();
    assert_eq!(usual(&read), "0 start GET /a?b=c 200 15000 100 h3");
    assert_eq!(columns(&read, &["external_id", "stream_id", "rtt_us", "request_bytes"]), "id-1 12 2500 20");
    assert_eq!(more(&read, "capture.req.hdr(0)"), Some("\"[redacted]\""));
}

#[test]
fn json_of_any_server_by_a_table() {
    let format = format(
        r#"
        syntax = "json"
        time_is = "start"
        [columns]
        time = { from = "ts", unit = "ms" }
        duration_us = { from = "duration_ms", unit = "ms" }
        connection_id = { from = "quic.cid" }
        stream_id = { from = "quic.stream" }
        client_address = { from = "peer" }
        external_id = { from = "trace.id" }
        "#,
    );
    let line = br#"{"ts":1795168800250,"duration_ms":12.3456,"quic":{"cid":"AABBCCDD","stream":4},"peer":"[2001:db8::7]:5","method":"GET","trace":{"id":"t-1"},"duration_us":9,"latitude":52.5,"longitude":"13.4","via":"192.0.2.9"}"#;
    let read = format.read(line).unwrap();
    assert_eq!(columns(&read, &["time", "time_is", "duration_us", "method"]), "250000 start 12345 GET");
    assert_eq!(columns(&read, &["connection_id", "stream_id", "external_id"]), "aabbccdd 4 t-1");
    assert_eq!(read.client, client("2001:db8::7 5"));
    assert_eq!(read.location, Some((52.5, 13.4)));
    assert_eq!(more(&read, "duration_us"), Some("9"), "the table says where it is");
    assert_eq!(more(&read, "via"), Some("\"192.0.2.0/24\""));
}

#[test]
fn json_with_the_columns_names_needs_a_time_and_keeps_what_it_cannot_type() {
    let format = preset("json");
    let read = |line: &str| format.read(line.as_bytes());
    let odd = read(r#"{"time":"2026-11-20T10:00:00.5Z","time_is":"start","status":99999,"odd":[1]}"#).unwrap();
    assert_eq!(columns(&odd, &["time", "time_is", "status"]), "500000 start -");
    assert_eq!(
        odd.row.get(request_lines::MORE),
        Some(&Cell::List(["status", "\"99999\"", "odd", "[1]"].map(str::to_owned).to_vec()))
    );
    let typed = read(
        r#"{"time":1795168800.25,"connection_id":"AABB","stream_id":"4","status":200,"duration_us":5,"rtt_us":7,"log_id":"x","client_key":"k"}"#,
    )
    .unwrap();
    let names = ["time", "time_is", "connection_id", "stream_id", "status", "duration_us", "rtt_us", "client_key"];
    assert_eq!(columns(&typed, &names), "250000 end aabb 4 200 5 7 -");
    assert_eq!((more(&typed, "log_id"), more(&typed, "client_key")), (Some("\"x\""), Some("\"k\"")));
    let later = read(
        r#"{"time":"2026-11-20T12:00:00+02:00","time_is":"later","cluster":null,"asn":64500,"app":true,"carrier":""}"#,
    )
    .unwrap();
    assert_eq!(columns(&later, &["time", "time_is", "cluster", "asn", "app", "carrier"]), "0 end - 64500 - ");
    assert_eq!((more(&later, "app"), more(&later, "time_is")), (Some("true"), Some("\"later\"")));
    assert_eq!(read(r#"{"status":200}"#), Err(Skip::NoTime));
    for line in ["not json", r#"{"time":1795168800} x"#, r#"{"time":1795168800"#] {
        assert_eq!(read(line), Err(Skip::BadLine), "{line}");
    }
}

#[test]
fn where_a_client_stands_is_kept_only_where_its_address_is() {
    let line = br#"{"time":1795168800,"client_address":"192.0.2.7","client_port":5,"latitude":52.5,"longitude":13.4}"#;
    for (toml, kept) in [("preset = \"json\"", None), ("preset = \"json\"\nredact = false", Some("\"52.5\""))] {
        let read = format(toml).read(line).unwrap();
        assert_eq!((read.location, more(&read, "latitude")), (Some((52.5, 13.4)), kept));
        assert_eq!(more(&read, "client_address"), kept.map(|_| "\"192.0.2.7\""));
        assert_eq!(read.client, client("192.0.2.7 5"));
    }
}

#[test]
fn every_column_that_a_log_can_fill_can_be_filled() {
    for column in Catalogue::load().unwrap().columns("request_lines") {
        let ours = matches!(column.name.as_str(), "log_id" | "offset" | "line_day" | "more" | "client_key");
        let toml = format!("syntax = \"json\"\n[columns]\n{} = {{ from = \"x\" }}", column.name);
        let compiled = Format::compile(&toml::from_str(&toml).unwrap());
        assert_eq!(compiled.is_err(), ours, "{}", column.name);
        // The preset has them all under their own names.
        let value = if column.name == "client_network" { "192.0.2.0/24" } else { "1" };
        let protocol = if column.name.starts_with("tcp_") { "\"protocol\":\"h2\"," } else { "" };
        let line = format!("{{\"time\":1795168800,{protocol}\"{}\":\"{value}\"}}", column.name);
        let found = preset("json").read(line.as_bytes()).unwrap();
        let is_taken = more(&found, &column.name).is_none() || matches!(column.name.as_str(), "time" | "time_is");
        assert_eq!(is_taken, !ours, "{}", column.name);
    }
}

#[test]
fn networks_in_a_line_are_no_finer_than_allowed() {
    let format = preset("json");
    for (given, kept, who) in [
        ("192.0.2.0/24", "192.0.2.0/24", None),
        ("192.0.0.0/16", "192.0.0.0/16", None),
        ("192.0.2.7/32", "192.0.2.0/24", None),
        ("192.0.2.7", "-", Some("192.0.2.7")),
    ] {
        let read = format.read(format!(r#"{{"time":1795168800,"client_network":"{given}"}}"#).as_bytes()).unwrap();
        assert_eq!(columns(&read, &["client_network"]), kept);
        assert_eq!(read.client, who.map_or(Client::default(), client));
    }
}

#[test]
fn a_line_is_enriched_by_its_server_the_host_or_its_authority() {
    let config: EnrichConfig = toml::from_str(
        "[hosts.\"example.net\"]\npop = \"ber1\"\n[hosts.\"edge-9\"]\npop = \"nyc9\"\n[hosts.\"*\"]\npop = \"none\"",
    )
    .unwrap();
    let enricher = Enricher::with_secret(&config, Some("a secret of the deployment")).unwrap();
    let mut read = preset("caddy")
        .read(br#"{"ts":1795168800,"request":{"remote_ip":"192.0.2.7","remote_port":"5","host":"example.net:443"}}"#)
        .unwrap();
    read.enrich(&enricher, "edge-1");
    assert_eq!(columns(&read, &["pop", "client_network"]), "ber1 192.0.2.0/24");
    assert!(read.row.text(request_lines::CLIENT_KEY).is_some());
    let mut read = preset("json").read(br#"{"time":1795168800,"authority":"elsewhere"}"#).unwrap();
    read.enrich(&enricher, "example.net");
    assert_eq!(columns(&read, &["pop"]), "ber1", "else where the log is read");
    for (line, host, pop) in [
        (r#"{"time":1795168800,"authority":"edge-9"}"#, "example.net", "ber1"), // the client does not choose its server
        (r#"{"time":1795168800,"authority":"edge-9","server":"example.net"}"#, "edge-1", "ber1"),
        (r#"{"time":1795168800,"authority":"anything"}"#, "edge-9", "nyc9"), // not the rest
        (r#"{"time":1795168800,"authority":"anything"}"#, "edge-1", "none"),
        (r#"{"time":1795168800}"#, "", "-"),
    ] {
        let mut read = preset("json").read(line.as_bytes()).unwrap();
        read.enrich(&enricher, host);
        assert_eq!(columns(&read, &["pop"]), pop, "{line} of {host}");
    }
}

#[test]
fn odd_lines_are_skipped_with_a_reason() {
    let formats = ["nginx-combined", "apache-common", "envoy-default", "caddy", "haproxy-httplog", "json"].map(preset);
    for format in &formats {
        assert_eq!(format.read(b"\xff\xfe"), Err(Skip::InvalidUtf8));
        assert_eq!(format.read(&vec![b'a'; 2 << 20]), Err(Skip::TooLong));
        for line in ["", " ", "\0\0\0", "hello", "{", "[]", "null", "\"", "- - - [] \"\" - -"] {
            assert!(format.read(line.as_bytes()).is_err(), "{line}");
        }
    }
    let line = br#"192.0.2.7 - - [20/Foo/2026:10:00:00 +0000] "GET / HTTP/2.0" 200 5 "-" "-""#;
    assert_eq!(formats[0].read(line), Err(Skip::NoTime));
    let deep = format!("{{\"time\":1,\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(formats[5].read(deep.as_bytes()), Err(Skip::TooDeep));
    let wide =
        format!(r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /{} HTTP/2.0" 200 5 "-" "-""#, "a".repeat(900_000));
    assert!(formats[0].read(wide.as_bytes()).is_ok());
}

#[test]
fn configs_that_cannot_work_are_refused_in_one_sentence() {
    for (toml, part) in [
        ("", "a preset or a syntax"),
        ("preset = \"json\"\nsyntax = \"json\"", "brings its own"),
        ("syntax = \"nginx\"", "needs a format"),
        ("syntax = \"nginx\"\nformat = '$status'", "no time"),
        ("syntax = \"nginx\"\nformat = '$msec$status'", "nothing stands between"),
        ("syntax = \"nginx\"\nformat = 'plain'", "placeholders"),
        ("syntax = \"nginx\"\nformat = '${msec'", "without }"),
        ("syntax = \"envoy\"\nformat = '%START_TIME'", "without its second"),
        ("syntax = \"envoy\"\nformat = '{'", "no JSON"),
        ("syntax = \"apache\"\nformat = '%t %'", "without a letter"),
        ("syntax = \"haproxy\"\nformat = '%{+Q}o %tr'", "not read"),
        ("syntax = \"haproxy\"\nformat = '%t %ST'", "no time"),
        ("syntax = \"json\"\nformat = 'x'", "columns, not a format"),
        ("syntax = \"json\"\n[columns]\nnonsense = { from = \"x\" }", "nonsense"),
        ("preset = \"nginx-combined\"\n[columns]\nstream_id = { from = \"nowhere\" }", "has no nowhere"),
        ("preset = \"json\"\nutc_offset_minutes = 9999", "one day"),
        ("preset = \"json\"\nprefix_v4_bits = 33", "at most 32"),
    ] {
        let error = refused(toml);
        assert!(error.contains(part) && !error.contains('\n'), "{toml}: {error}");
    }
    let places = |count: usize| format!("syntax = \"nginx\"\nformat = '$msec{}'", " $status".repeat(count - 1));
    format(&places(FORMAT_PLACES));
    assert!(refused(&places(FORMAT_PLACES + 1)).contains("from 1 to 128 placeholders, not 129"));
    assert!(toml::from_str::<AccessFormatConfig>("preset = \"iis\"").is_err());
    assert!(toml::from_str::<AccessFormatConfig>("unknown_key = 1").is_err());
}
