//! Records of packets, for logs that tests make.

/// A packet that was `sent` or `received`.
pub fn record(time_us: usize, kind: &str, space: &str, number: usize, frames: &str) -> String {
    format!(
        r#"{{"time":{}.{:03},"name":"transport:packet_{kind}","data":{{"header":{{"packet_type":"{space}","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{frames}]}}}}"#,
        time_us / 1000,
        time_us % 1000
    )
}
