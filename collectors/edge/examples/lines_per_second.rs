//! Lines a second on one core, for each preset: `cargo run --release -p quiclens-edge --example lines_per_second`.
#![expect(clippy::unwrap_used, reason = "a measurement")]

use quiclens_edge::access_format::{AccessFormatConfig, Format};
use quiclens_edge::enrich::{EnrichConfig, Enricher};
use std::time::Instant;

const LINES: [(&str, &str); 5] = [
    (
        "nginx-combined",
        r#"192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /static/app/main.js?v=12 HTTP/3.0" 200 61512 "https://www.example.net/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36""#,
    ),
    (
        "envoy-default",
        r#"[2026-11-20T10:00:00.310Z] "POST /api/v1/locations HTTP/3" 204 - 154 0 226 100 "192.0.2.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://198.51.100.1:80""#,
    ),
    (
        "haproxy-httplog",
        r#"Nov 20 10:00:01 localhost haproxy[14389]: 192.0.2.7:33317 [20/Nov/2026:10:00:00.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {www.example.net} {} "GET /index.html HTTP/3.0""#,
    ),
    (
        "caddy",
        r#"{"level":"info","ts":1795168800.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.7","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/3.0","method":"GET","host":"example.net","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h3","server_name":"example.net"}},"bytes_read":3,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"],"Content-Type":["text/html"]}}"#,
    ),
    (
        "json",
        r#"{"time":"2026-11-20T10:00:00.250Z","connection_id":"a05f8937cc01ab12","stream_id":4,"method":"GET","authority":"example.net","path":"/a?b","status":200,"duration_us":12345,"response_bytes":10900,"protocol":"h3","client_address":"192.0.2.7","client_port":41342}"#,
    ),
];

fn main() {
    let enricher = Enricher::with_secret(&EnrichConfig::default(), Some("a secret only for measuring")).unwrap();
    let count = 500_000u32;
    for (name, line) in LINES {
        let config =
            AccessFormatConfig { preset: serde_json::from_str(&format!("\"{name}\"")).ok(), ..Default::default() };
        let format = Format::compile(&config).unwrap();
        let mut rates = [0.0f64; 2];
        for (rate, enriched) in rates.iter_mut().zip([false, true]) {
            let started = Instant::now();
            let mut cells = 0;
            for _ in 0..count {
                let mut read = format.read(std::hint::black_box(line.as_bytes())).unwrap();
                if enriched {
                    read.enrich(&enricher, "");
                }
                cells += read.row.named().count();
            }
            std::hint::black_box(cells);
            *rate = f64::from(count) / started.elapsed().as_secs_f64();
        }
        println!(
            "{name:16} {:>9.0} lines/s, {:>9.0} with key and network, {} B a line",
            rates[0],
            rates[1],
            line.len()
        );
    }
}
