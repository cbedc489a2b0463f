//! Access logs: any line in any preset is a row or a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::record::columns::request_lines;
use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, Escape, Format, Preset, Syntax};
use quiclens_fuzz::memory::bounded;
use serde::de::IgnoredAny;
use std::sync::LazyLock;

const NGINX: &str = "$remote_addr:$remote_port [$time_iso8601] $msec $request_time \"$request\" $status $bytes_sent \
                     \"$http_user_agent\" $connection $tcpinfo_rtt $ssl_session_id";
const APACHE: &str = "%h:%{remote}p %{%d/%b/%Y:%H:%M:%S}t.%{usec_frac}t %D %{ms}T \"%r\" %>s %B \"%{User-Agent}i\" %L";
const PRESETS: [Preset; 7] = [
    Preset::NginxCombined,
    Preset::ApacheCombined,
    Preset::ApacheCommon,
    Preset::EnvoyDefault,
    Preset::Caddy,
    Preset::HaproxyHttplog,
    Preset::Json,
];

static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let mut configs = Vec::new();
    for redact in [Some(true), Some(false)] {
        let config = || AccessFormatConfig { redact, ..AccessFormatConfig::default() };
        configs.extend(PRESETS.map(|preset| AccessFormatConfig { preset: Some(preset), ..config() }));
        configs.extend([Escape::Default, Escape::Json, Escape::None].map(|escape| AccessFormatConfig {
            syntax: Some(Syntax::Nginx),
            format: Some(NGINX.to_owned()),
            escape,
            ..config()
        }));
        configs.push(AccessFormatConfig { syntax: Some(Syntax::Apache), format: Some(APACHE.to_owned()), ..config() });
    }
    configs.iter().map(|config| Format::compile(config).expect("a format of ours")).collect()
});

fuzz_target!(|line: &[u8]| {
    bounded(line.len(), 1024, || {
        for format in FORMATS.iter() {
            let Ok(read) = format.read(line) else { continue };
            assert!(
                matches!(read.row.get(request_lines::TIME), Some(Cell::Int(_))),
                "a row without a time: {:?}",
                read.row
            );
            let Some(Cell::List(more)) = read.row.get(request_lines::MORE) else {
                panic!("a row without more: {:?}", read.row)
            };
            for pair in more.chunks(2) {
                let [_, value] = pair else { panic!("a key without a value") };
                assert!(serde_json::from_str::<IgnoredAny>(value).is_ok(), "{value} is no JSON");
            }
        }
    });
});
