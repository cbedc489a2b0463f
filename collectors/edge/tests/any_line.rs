//! Properties: whatever the bytes, a row or a reason; and what a server would have written is read back.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;
use quiclens_core::record::columns::request_lines;
use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, Format};
use quiclens_edge::address::{Prefix, scrub};
use quiclens_edge::redact;

fn formats() -> Vec<Format> {
    let presets =
        ["nginx-combined", "apache-combined", "apache-common", "envoy-default", "caddy", "haproxy-httplog", "json"];
    presets.iter().map(|name| compiled(&format!("preset = \"{name}\""))).collect()
}

fn compiled(toml: &str) -> Format {
    Format::compile(&toml::from_str::<AccessFormatConfig>(toml).unwrap()).unwrap()
}

const SEEDS: [&str; 5] = [
    r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a?b=c HTTP/3.0" 200 615 "-" "curl/8.7.1""#,
    r#"192.0.2.7:33317 [20/Nov/2026:10:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
    r#"[2026-11-20T10:00:00.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "192.0.2.28" "nsq2http" "cc21" "locations" "tcp://198.51.100.1:80""#,
    r#"{"ts":1795168800.52,"request":{"remote_ip":"192.0.2.7","remote_port":"41342","proto":"HTTP/3.0","headers":{"A":["b"]}},"duration":0.1}"#,
    r#"{"time":1795168800.25,"connection_id":"AABB","stream_id":"4","client_network":"192.0.2.7/32","x":{"y":[1,{"ip":"192.0.2.7"}]}}"#,
];

/// nginx's `escape=default`: `"`, `\`, and all outside 32 to 126.
fn nginx(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | 0..32 | 127.. => format!("\\x{byte:02X}"),
            _ => char::from(byte).to_string(),
        })
        .collect()
}

/// HAProxy's section 8.6.
fn haproxy(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'#' | 0..32 | 127.. => format!("#{byte:02X}"),
            _ => char::from(byte).to_string(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_a_row_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for format in formats() {
            let _ = format.read(&bytes);
        }
    }

    #[test]
    fn damaged_lines_make_a_row_or_a_reason(
        seed in 0..SEEDS.len(), at in 0..400usize, byte in any::<u8>(), cut in 0..400usize,
    ) {
        let mut line = SEEDS[seed].as_bytes().to_vec();
        let length = line.len();
        line[at % length] = byte;
        line.truncate(cut.max(1));
        for format in formats() {
            if let Ok(line) = format.read(&line) {
                prop_assert!(line.row.get(request_lines::TIME).is_some());
                let Some(Cell::List(more)) = line.row.get(request_lines::MORE) else { panic!("no more") };
                prop_assert!(more.len() % 2 == 0);
                for pair in more.chunks_exact(2) {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&pair[1]).is_ok(), "{}", pair[1]);
                }
            }
        }
    }

    #[test]
    fn lines_that_nginx_writes_are_read_back(
        path in "/\\PC{0,40}", agent in "\\PC{1,30}", status in 0..=999u16, bytes in any::<u32>(),
        ms in 978_307_200_000..4_102_444_800_000u64, duration in 0..10_000_000u64, port in any::<u16>(), address in any::<u32>(),
    ) {
        prop_assume!(agent != "-");
        let format = compiled(
            "syntax = \"nginx\"\nredact = false\nformat = '$remote_addr $remote_port $msec $request_time \"$request\" $status $bytes_sent \"$http_user_agent\"'",
        );
        let address = std::net::Ipv4Addr::from(address);
        let line = format!(
            "{address} {port} {}.{:03} {}.{:03} \"GET {} HTTP/3.0\" {status} {bytes} \"{}\"",
            ms / 1000, ms % 1000, duration / 1000, duration % 1000, nginx(&path), nginx(&agent)
        );
        let read = format.read(line.as_bytes()).unwrap();
        prop_assert_eq!(read.row.int(request_lines::TIME), Some(ms as i64 * 1000));
        prop_assert_eq!(read.row.whole(request_lines::DURATION_US), duration * 1000);
        prop_assert_eq!(read.row.whole(request_lines::STATUS), u64::from(status));
        prop_assert_eq!(read.row.whole(request_lines::RESPONSE_BYTES), u64::from(bytes));
        prop_assert_eq!(read.row.text(request_lines::PATH), Some(path.as_str()));
        prop_assert_eq!((read.client.address, read.client.port), (Some(address.into()), Some(port)));
        let Some(Cell::List(more)) = read.row.get(request_lines::MORE) else { panic!("no more") };
        let kept = more.chunks_exact(2).find(|pair| pair[0] == "http_user_agent").unwrap();
        prop_assert_eq!(serde_json::from_str::<String>(&kept[1]).unwrap(), agent);
    }

    #[test]
    fn lines_that_haproxy_writes_are_read_back(path in "/[^ ]{0,40}", address in any::<u128>(), port in any::<u16>(), ms in 0..1000u32) {
        let address = std::net::Ipv6Addr::from(address);
        let format = compiled("preset = \"haproxy-httplog\"");
        let line = format!(
            "{address}:{port} [20/Nov/2026:10:00:00.{ms:03}] a b/c 0/0/0/0/{ms} 200 9 - - ---- 1/1/1/1/0 0/0 \"GET {} HTTP/3.0\"",
            haproxy(&path)
        );
        let read = format.read(line.as_bytes()).unwrap();
        prop_assert_eq!(read.row.text(request_lines::PATH), Some(path.as_str()));
        prop_assert_eq!(read.row.whole(request_lines::DURATION_US), u64::from(ms) * 1000);
        let address = std::net::IpAddr::from(address).to_canonical();
        prop_assert_eq!((read.client.address, read.client.port), (Some(address), Some(port)));
    }

    #[test]
    fn redacting_ends_and_gives_json(path in "[a-z.]{0,20}", raw in "\\PC{0,60}") {
        if let Some(redacted) = redact::field("e", &path, &raw, Prefix::default()) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
        }
        let _ = scrub(&raw, Prefix::default());
    }

    #[test]
    fn no_address_survives_in_text(before in "[ =,;\"(]{0,3}", address in any::<std::net::IpAddr>(), after in "[ ,;\")]{0,3}") {
        let address = address.to_canonical();
        prop_assume!(!address.is_unspecified() && Prefix::default().network(address) != format!("{address}/24"));
        prop_assume!(address.to_string().bytes().any(|byte| byte.is_ascii_digit()));
        let scrubbed = scrub(&format!("{before}{address}{after}"), Prefix::default());
        prop_assert_eq!(scrubbed, Some(format!("{before}{}{after}", Prefix::default().network(address))));
    }
}

/// Addresses with what tells each from its network.
const ADDRESSES: [(&str, &[&str]); 7] = [
    ("203.0.113.77", &["113.77"]),
    ("203.000.113.077", &["113.077"]),
    ("2001:db8:77:991::7788", &["991", "7788"]),
    ("2001:DB8:77:991:222:333:444:7788", &["991", "222", "333", "444", "7788"]),
    ("2a00:db8:77:991:222:333:203.0.113.77", &["991", "222", "333", "113.77"]),
    ("::ffff:203.0.113.77", &["113.77"]),
    ("fe80::991:222:7788", &["991", "222", "7788"]),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever an address stands behind a word and a sign, nothing but its network is left.
    #[test]
    fn no_address_stays_behind_a_word_and_a_sign(
        words in proptest::collection::vec(("[a-z]{0,6}|[a-f]{1,4}|[0-9]{1,2}|[A-Z]{2}[0-9]", "[:=@,|\"(;_<\\[ ]|%3A|%253a|\\\\u003a|::"), 1..4),
        which in proptest::sample::select(&ADDRESSES[..]),
        behind in "|:|:[0-9]{1,2}|[,;)\"> _]|/32|%eth0|:[g-z]{3}|\\.log|: [a-z]{4}|[:]203\\.0\\.113\\.77",
    ) {
        let (address, needles) = which;
        let words: String = words.iter().map(|(word, sign)| format!("{word}{sign}")).collect();
        let text = format!("{words}{address}{behind}");
        let kept = scrub(&text, Prefix::default());
        let kept = kept.as_deref().unwrap_or(&text);
        for needle in needles {
            prop_assert!(!kept.contains(needle), "{needle} in {kept}, of {text}");
        }
        prop_assert!(!kept.contains("113.77"), "{kept}, of {text}");
        prop_assert_eq!(scrub(kept, Prefix::default()), None, "again: {}", kept);
    }
}

/// Each of them took hours where a byte cost a look at all that follow it.
#[test]
fn a_long_text_of_what_stands_in_addresses_costs_little_a_byte() {
    for part in [
        ":", ".", "1:", "11:", "a:", "aa:", "1.", "::1", "1::", "0:", "1.2.3.4", "1.2.3.4.", "a.1.", "a", "%3A",
        "1:2.", "::a:",
    ] {
        for end in ["", "/", "/48", "x", "203.0.113.77"] {
            let text = format!("{}{end}", part.repeat((1 << 20) / part.len()));
            let kept = scrub(&text, Prefix::default());
            assert!(kept.is_none_or(|kept| kept.len() < 4 * text.len()), "{part}, {end}");
        }
    }
}
