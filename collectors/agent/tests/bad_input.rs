//! Bad input is normal: each kind is loaded as far as it goes, and the rest is counted with its reason.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use flate2::Compression;
use flate2::write::GzEncoder;
use running::{Metrics, Running};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

mod running;

struct Seen {
    events: u64,
    rejected: BTreeMap<String, u64>,
    peak_kib: u64,
}

fn load(path: &Path) -> Seen {
    let output = Command::new(env!("CARGO_BIN_EXE_quiclens-collector")).arg("bench").arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    Seen {
        events: seen["events"].as_u64().unwrap(),
        rejected: serde_json::from_value(seen["rejected"].clone()).unwrap(),
        peak_kib: seen["peak_kib"].as_u64().unwrap(),
    }
}

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad_input").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

fn reasons(wanted: &[(&str, u64)]) -> BTreeMap<String, u64> {
    wanted.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

const HEADER: &str =
    "{\"qlog_version\":\"0.3\",\"qlog_format\":\"NDJSON\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n";
const EVENT: &str = "{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}";

/// No process of a collector may hold more than this.
const MOST_KIB: u64 = 300 * 1024;

#[test]
fn a_file_cut_anywhere_in_its_last_record_loses_that_record_alone() {
    let whole = format!("{HEADER}{EVENT}\n{EVENT}");
    for cut in 0..=EVENT.len() {
        let path = scratch("cut.qlog", &whole.as_bytes()[..whole.len() - cut]);
        let seen = load(&path);
        let lost = cut > 0 && cut < EVENT.len();
        assert_eq!(seen.events, if cut == 0 { 2 } else { 1 }, "cut by {cut}");
        assert_eq!(seen.rejected, if lost { reasons(&[("truncated", 1)]) } else { reasons(&[]) }, "cut by {cut}");
    }
    let contained = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"vantage_point\":{{\"type\":\"server\"}},\"events\":[{EVENT},{EVENT}]}}]}}"
    );
    let last = contained.len() - "]}]}".len();
    for cut in contained.len() - "]}]}".len() - EVENT.len() + 1..contained.len() {
        let seen = load(&scratch("cut_document.qlog", &contained.as_bytes()[..cut]));
        assert_eq!(seen.events, if cut < last { 1 } else { 2 }, "cut at {cut}");
        assert_eq!(seen.rejected, if cut < last { reasons(&[("truncated", 1)]) } else { reasons(&[]) }, "cut at {cut}");
    }
}

#[test]
fn files_that_are_no_logs_say_so() {
    let mut noise = vec![0u8; 100_000];
    let mut state = 1u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = u8::try_from(state >> 56).unwrap();
    }
    for (name, bytes, reason) in [
        ("empty.qlog", &b""[..], "empty_file"),
        ("noise.qlog", &noise, "not_a_log"),
        ("prose.qlog", b"Dear reader, this is no log.\n", "not_a_log"),
        ("other.json", b"{\"some\":\"document\"}", "no_header"),
    ] {
        let seen = load(&scratch(name, bytes));
        assert_eq!((seen.events, seen.rejected), (0, reasons(&[(reason, 1)])), "{name}");
    }
    let seen = load(Path::new("/nonexistent/file.qlog"));
    assert_eq!(seen.rejected, reasons(&[("unreadable", 1)]));
}

#[test]
fn a_line_of_100_megabytes_is_one_reject_in_little_memory() {
    let mut file = format!("{HEADER}{EVENT}\n").into_bytes();
    file.extend_from_slice(b"{\"time\":2,\"name\":\"a:b\",\"data\":{\"x\":\"");
    file.resize(100 << 20, b'x');
    file.extend_from_slice(format!("\"}}}}\n{EVENT}\n").as_bytes());
    let seen = load(&scratch("long.qlog", &file));
    assert_eq!((seen.events, seen.rejected), (2, reasons(&[("too_long", 1)])));
    assert!(seen.peak_kib < MOST_KIB, "{} KiB", seen.peak_kib);
}

/// A record is as long as it may be in a document as in a sequence.
#[test]
fn a_record_may_be_as_long_in_every_form() {
    let record = |length: usize| {
        let (begin, end) = ("{\"time\":2,\"name\":\"a:b\",\"data\":{\"x\":\"", "\"}}");
        format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()))
    };
    for (length, events, rejected) in [(4 << 20, 3, reasons(&[])), ((4 << 20) + 1, 2, reasons(&[("too_long", 1)]))] {
        let long = record(length);
        let lines = format!("{HEADER}{EVENT}\n{long}\n{EVENT}\n");
        let sequence = format!("\u{1e}{HEADER}\u{1e}{EVENT}\n\u{1e}{long}\n\u{1e}{EVENT}\n");
        let document = format!("{{\"traces\":[{{\"events\":[{EVENT},\n{long},\n{EVENT}]}}]}}");
        for (name, text) in [("long.ndjson", lines), ("long.sqlog", sequence), ("long.json", document)] {
            let seen = load(&scratch(name, text.as_bytes()));
            assert_eq!((seen.events, seen.rejected), (events, rejected.clone()), "{name}, {length}");
        }
    }
}

#[test]
fn a_trace_without_events_is_counted() {
    for (name, text) in [
        ("no_events.json", r#"{"traces":[{"events":[]}]}"#.to_owned()),
        ("no_events_key.json", r#"{"traces":[{"title":"x"}]}"#.to_owned()),
        ("no_events_at_top.json", r#"{"qlog_version":"0.1","fields":["time"],"events":[]}"#.to_owned()),
        ("header.ndjson", HEADER.to_owned()),
        ("header.sqlog", format!("\u{1e}{HEADER}")),
    ] {
        let seen = load(&scratch(name, text.as_bytes()));
        assert_eq!((seen.events, seen.rejected), (0, reasons(&[("no_events", 1)])), "{name}");
    }
}

#[test]
fn a_document_of_100_megabytes_on_one_line_is_read_in_little_memory() {
    let mut file = b"{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[".to_vec();
    let mut events = 0;
    while file.len() < 100 << 20 {
        file.extend_from_slice(EVENT.as_bytes());
        file.push(b',');
        events += 1;
    }
    file.pop();
    file.extend_from_slice(b"],\"vantage_point\":{\"type\":\"server\"}}]}");
    let seen = load(&scratch("document.qlog", &file));
    assert_eq!((seen.events, seen.rejected), (events, reasons(&[])));
    assert!(seen.peak_kib < MOST_KIB, "{} KiB", seen.peak_kib);
}

#[test]
fn a_gzip_bomb_stops_at_the_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(format!("{HEADER}{EVENT}\n{{\"time\":2,\"name\":\"").as_bytes()).unwrap();
    let spaces = vec![b' '; 16 << 20];
    for _ in 0..160 {
        encoder.write_all(&spaces).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let seen = load(&scratch("bomb.gz", &bomb));
    assert_eq!((seen.events, seen.rejected), (1, reasons(&[("too_large_decompressed", 1), ("too_long", 1)])));
    assert!(seen.peak_kib < MOST_KIB, "{} KiB", seen.peak_kib);
}

#[test]
fn compressed_logs_are_told_by_content_and_cut_ones_read_to_the_cut() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(format!("{HEADER}{EVENT}\n{EVENT}\n").as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    assert_eq!(load(&scratch("gzip_without_its_name", &whole)).events, 2);
    let seen = load(&scratch("cut.gz", &whole[..whole.len() - 9]));
    assert!(seen.rejected.get("truncated") == Some(&1), "{:?}", seen.rejected);
    let mut corrupt = whole;
    let at = corrupt.len() - 20;
    corrupt[at] ^= 0xFF;
    let seen = load(&scratch("corrupt.gz", &corrupt));
    assert!(seen.rejected.values().sum::<u64>() >= 1, "{:?}", seen.rejected);
}

/// Runs a command that must end by itself.
fn ends(command: &mut Command) -> std::process::Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    panic!("it does not end");
}

#[test]
fn what_is_no_file_is_counted_and_not_waited_for() {
    let folder = scratch("no_files/log.qlog", format!("{HEADER}{EVENT}\n").as_bytes()).parent().unwrap().to_owned();
    for name in ["pipe", "socket", "zero", "loop"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero")).unwrap();
    std::os::unix::fs::symlink(".", folder.join("loop")).unwrap();
    let collector = env!("CARGO_BIN_EXE_quiclens-collector");
    for (command, more) in [("load", vec![]), ("bench", vec![]), ("dump", vec!["--room", "check"])] {
        let done = ends(Command::new(collector).arg(command).arg(&folder).args(more));
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        let said = String::from_utf8_lossy(&done.stdout);
        let counted = if command == "dump" {
            said.matches("not_a_file").count() == 4
        } else {
            said.contains("{\"not_a_file\":4}")
        };
        assert!(counted, "{command}: {said}");
    }
    // Access logs are named, and nobody writes to this one.
    let done = ends(Command::new(collector).arg("load").arg("--requests").arg(folder.join("pipe")));
    assert!(String::from_utf8_lossy(&done.stdout).contains("{\"empty_file\":1}"));
}

#[test]
fn a_pipe_that_is_named_is_read() {
    let document = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{EVENT},{EVENT}]}}]}}");
    let path = scratch("piped.qlog", document.as_bytes());
    let script = "exec \"$0\" bench <(cat \"$1\")";
    let done = ends(Command::new("bash").arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_quiclens-collector")).arg(path));
    let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&seen["events"], seen["rejected"].as_object().unwrap().len()), (&Value::from(2), 0));
}

#[test]
fn a_document_that_lost_any_bracket_ends() {
    let document =
        format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{EVENT},{EVENT}],\"title\":\"x\"}}]}}");
    for (at, byte) in document.bytes().enumerate().filter(|(_, byte)| b"{}[]\",:".contains(byte)) {
        let mut lost = document.clone().into_bytes();
        lost.remove(at);
        let done =
            ends(Command::new(env!("CARGO_BIN_EXE_quiclens-collector")).arg("bench").arg(scratch("lost.qlog", &lost)));
        let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert!(seen["events"].as_u64().unwrap() <= 2, "{} lost at {at}: {seen}", char::from(byte));
    }
}

/// A row may say that its stream began after everything that was seen of it: the duration is 0, and nothing panics.
#[test]
fn a_stream_that_begins_after_its_end_is_read_without_a_panic() {
    let packet = "{\"time\":0,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":14},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"fin\":true}]}}";
    let late = "{\"time\":518,\"name\":\"stream_event\",\"data\":{\"stream_id\":0,\"delta\":0}}";
    for vantage in ["client", "server"] {
        let header = HEADER.replace("server", vantage);
        let path = scratch(&format!("late_{vantage}.qlog"), format!("{header}{packet}\n{late}\n").as_bytes());
        let seen = load(&path);
        assert_eq!((seen.events, seen.rejected), (2, reasons(&[])), "{vantage}");
    }
}

/// Settings of a collector that follows files; its state and its rows are in `folder`.
fn settings(folder: &Path, paths: &[PathBuf], idle_timeout_s: u64) -> PathBuf {
    let text = format!(
        "state_dir = {:?}\ntraces = {paths:?}\nidle_timeout_s = {idle_timeout_s}\ncpu_cap = 0\nwatch = \"poll\"\nmetrics_address = \"127.0.0.1:0\"\n[sink]\nkind = \"files\"\nfolder = {:?}\n",
        folder.join("state"),
        folder.join("out")
    );
    let config = folder.join("config.toml");
    std::fs::write(&config, text).unwrap();
    config
}

/// Follows files until all of them were read and all of their connections are over; gives the most memory that took, KiB.
fn follow(paths: &[PathBuf]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(&settings(folder.path(), paths, 1), None);
    let metrics = running.metrics();
    // Of a document the beginning alone is counted: the rest is read in one go.
    let counted = |path: &PathBuf| {
        let (mut begin, mut file) = ([0; 3], std::fs::File::open(path).unwrap());
        let is_document = file.read_exact(&mut begin).is_ok() && &begin == b"{\"t";
        std::fs::metadata(path).unwrap().len().min(if is_document { 256 << 10 } else { u64::MAX })
    };
    let size: u64 = paths.iter().map(counted).sum();
    running.until(|| {
        let told = metrics.scrape();
        told.value("read_bytes_total").is_some_and(|read| read >= size) && told.value("files") == Some(0)
    });
    running.peak_kib()
}

fn packet(at: usize, way: &str, number: usize, frames: &str) -> String {
    format!(
        "{{\"time\":{}.{},\"name\":\"transport:packet_{way}\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":1200}},\"frames\":[{frames}]}}}}\n",
        at / 10,
        at % 10
    )
}

/// Requests that stay open and take turns, one packet each, while the window changes.
fn windows(requests: usize, packets: usize, acknowledges: bool) -> String {
    let stream = |id: usize, offset: usize| {
        format!("{{\"frame_type\":\"stream\",\"stream_id\":{},\"offset\":{offset},\"length\":100}}", 4 * id)
    };
    let mut file = HEADER.to_owned();
    (0..requests).for_each(|id| file.push_str(&packet(0, "received", id, &stream(id, 0))));
    for number in 1..=packets {
        file.push_str(&packet(number, "sent", number, &stream(number % requests, number / requests * 100)));
        if let Some(acked) = number.checked_sub(100).filter(|_| acknowledges) {
            let ack = format!("{{\"frame_type\":\"ack\",\"acked_ranges\":[[{acked},{acked}]]}}");
            file.push_str(&packet(number, "received", requests + number, &ack));
        }
        if number % 3 == 0 {
            let (at, window, rtt) = (number / 10, 12_000 + number % 7 * 1000, 10 + number % 3);
            file.push_str(&format!(
                "{{\"time\":{at}.{},\"name\":\"recovery:metrics_updated\",\"data\":{{\"congestion_window\":{window},\"bytes_in_flight\":12000,\"smoothed_rtt\":{rtt},\"latest_rtt\":{rtt}}}}}\n",
                number % 10
            ));
        }
    }
    file
}

/// A response of which all is lost and nothing goes out again.
fn losses(packets: usize) -> String {
    let mut file = HEADER.to_owned();
    file.push_str(&packet(
        0,
        "received",
        0,
        "{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":30,\"fin\":true}",
    ));
    for number in 1..=packets {
        let frame = format!("{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":10}}", number * 10);
        file.push_str(&packet(number, "sent", number, &frame));
        let lost = number.saturating_sub(300).max(1);
        file.push_str(&format!(
            "{{\"time\":{}.{},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{lost}}}}}}}\n",
            number / 10,
            number % 10
        ));
    }
    file
}

/// Connections of one file, each with so many requests, in rounds of one record a request: it comes, and it is answered.
fn groups(connections: usize, requests: usize, rounds: usize) -> String {
    let mut file = HEADER.to_owned();
    for round in 0..rounds {
        for (connection, id) in (0..connections).flat_map(|each| (0..requests).map(move |id| (each, id))) {
            let frame = |offset: usize| {
                format!("{{\"frame_type\":\"stream\",\"stream_id\":{},\"offset\":{offset},\"length\":100}}", 4 * id)
            };
            let record = match round {
                0 => packet(1, "received", id, &frame(0)),
                3 => packet(4, "received", requests + id, "{\"frame_type\":\"ack\",\"acked_ranges\":[[1,1]]}"),
                _ => packet(1 + round, "sent", round, &frame(100 * round)),
            };
            file.push_str(&record.replacen("\"data\"", &format!("\"group_id\":\"{connection:016x}\",\"data\""), 1));
        }
    }
    file
}

/// Connections of which each has a record that is late, and one that waits.
fn late(connections: usize) -> String {
    let mut file = HEADER.to_owned();
    for ms in [50, 40, 100, 101] {
        (0..connections).for_each(|id| {
            file.push_str(&format!("{{\"time\":{ms},\"name\":\"a:b\",\"group_id\":\"{id:016x}\",\"data\":{{}}}}\n"));
        });
    }
    file
}

/// A field of a header that has as many values as fit into it.
fn values() -> String {
    format!("\"x\":[{}1]", "1,".repeat((4 << 20) / 2 - 200))
}

fn with_values(header: &str) -> String {
    header.replace("\"trace\"", &format!("{},\"trace\"", values()))
}

/// A document that has so many of these as its traces.
fn document(part: &str, count: usize) -> String {
    format!("{{\"traces\":[{}]}}", part.repeat(count).trim_end_matches(','))
}

/// Small files that once cost a gigabyte or more, loaded and followed.
#[test]
#[ignore = "long: make test-all"]
fn no_log_costs_more_memory_than_a_process_may_have() {
    memory_of_logs(|_| true);
}

/// One of each kind: what is rejected, what is kept of a log, of its connections and requests, and a document.
#[test]
fn some_logs_cost_no_more_memory_than_a_process_may_have() {
    memory_of_logs(|name| {
        ["rejects.qlog", "header.qlog", "keys.qlog", "groups.qlog", "no_events.qlog"].contains(&name)
    });
}

/// A file's name, what makes its content, and how many records of it are rejected, by reason.
type Input<'a> = (&'a str, &'a dyn Fn() -> String, &'a [(&'a str, u64)]);

fn memory_of_logs(is_asked: impl Fn(&str) -> bool) {
    let lines = |header: &str, count: usize, line: &dyn Fn(usize) -> String| {
        let mut file = header.to_owned();
        (0..count).for_each(|number| file.push_str(&line(number)));
        file
    };
    let long = HEADER.replace("\"trace\"", &format!("\"title\":\"{}\",\"trace\"", "p".repeat(1 << 20)));
    let stream = |number: usize| {
        let frame = format!("{{\"frame_type\":\"stream\",\"stream_id\":{},\"offset\":0,\"length\":1}}", number * 4);
        format!(
            "{{\"time\":{number},\"name\":\"transport:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"frames\":[{frame}]}}}}\n"
        )
    };
    let named = |length: usize| {
        move |number: usize| {
            format!("{{\"time\":1,\"name\":\"a:b\",\"data\":{{\"{number}{}\":1}}}}\n", "k".repeat(length))
        }
    };
    let group =
        |number: usize| format!("{{\"time\":1,\"name\":\"a:b\",\"group_id\":\"{number:016x}\",\"data\":{{}}}}\n");
    let spaces = |_| format!("{{\"time\":1,\"name\":\"a:b\",{}\"data\":{{}}}}\n", " ".repeat(4_000_000));
    let frames = |_| stream(1).replace("[{", &format!("[{}{{", "{},".repeat(1_300_000)));
    let long_name =
        |number: usize| group(number).replace("\"group_id\":\"", &format!("\"group_id\":\"{}", "n".repeat(1 << 20)));
    let row = |number: usize| format!("{number:016x}\t0\t0\tclock_anchor\t1700000000000000, host, 1, server\n");
    let long_title = format!("{{\"title\":\"{}\",\"traces", "t".repeat(2 << 20));
    let (connections, requests, state) = ("too_many_connections", "too_many_requests", "too_much_state");
    let inputs: [Input; 23] = [
        ("rejects.qlog", &|| lines(HEADER, 1_000_000, &|_| "x\n".to_owned()), &[("not_json", 1_000_000)]),
        ("header.qlog", &|| lines(&long, 1000, &group), &[(connections, 745)]),
        ("connections.log", &|| lines("", 100_000, &row), &[(connections, 67_232)]),
        ("streams.qlog", &|| lines(HEADER, 100_000, &stream), &[(requests, 90_000)]),
        ("keys.qlog", &|| lines(HEADER, 50, &named(3 << 20)), &[]),
        ("spaces.qlog", &|| lines(HEADER, 100, &spaces), &[]),
        ("frames.qlog", &|| lines(HEADER, 1, &frames), &[("too_many_frames", 1)]),
        ("windows.qlog", &|| windows(9_000, 100_000, true), &[]),
        ("no_acks.qlog", &|| windows(9_000, 100_000, false), &[]),
        ("losses.qlog", &|| losses(100_000), &[]),
        ("groups.qlog", &|| groups(60_000, 1, 4), &[(connections, 108_928), (state, 98_304)]),
        ("requests.qlog", &|| groups(20, 9_000, 1), &[(state, 65_579)]),
        ("connections_and_requests.qlog", &|| groups(30_000, 5, 4), &[(connections, 153_840), (state, 343_022)]),
        ("answers.qlog", &|| groups(6_000, 25, 4), &[(state, 474_075)]),
        ("late.qlog", &|| late(32_768), &[]),
        ("names.qlog", &|| lines(HEADER, 150, &long_name), &[("too_long", 150)]),
        ("header_values.qlog", &|| format!("{}{EVENT}\n", with_values(HEADER)), &[("header_value", 1)]),
        (
            "never_closed.qlog",
            &|| document("{\"vantage_point\":", 1_000_000),
            &[("no_events", 1), ("not_json", 64), ("too_deep", 999_935)],
        ),
        ("no_events.qlog", &|| document("{\"events\":[]},", 600_000), &[("no_events", 600_000)]),
        (
            "long_header.qlog",
            &|| document("{\"events\":[]},", 600_000).replace("{\"traces", &long_title),
            &[("no_events", 37), ("too_long", 599_963)],
        ),
        (
            "long_header_and_events.qlog",
            &|| document(&format!("{{\"events\":[{EVENT},{EVENT}]}},"), 1000).replace("{\"traces", &long_title),
            &[("too_long", 2901)],
        ),
        ("damaged.qlog", &|| document("{\"events\":[{]},", 1_100_000), &[("not_json", 1_100_000)]),
        ("behind.qlog", &|| document(&format!("{{\"events\":[{EVENT}],{}}},", values()), 6), &[("header_value", 6)]),
    ];
    for (name, file, wanted) in inputs {
        if !is_asked(name) {
            continue;
        }
        let path = scratch(name, file().as_bytes());
        let seen = load(&path);
        let wanted = reasons(wanted);
        assert_eq!(seen.rejected, wanted, "{name}");
        assert!(seen.peak_kib < MOST_KIB, "{name}: {} KiB", seen.peak_kib);
        let peak_kib = follow(&[path]);
        assert!(peak_kib < MOST_KIB, "{name}, followed: {peak_kib} KiB");
    }
}

/// A server that writes a file for each connection lets a client fill as many as it opens connections. What systemd lets
/// a collector have, `MemoryMax` of its unit, is never reached.
#[test]
fn many_logs_cost_no_more_memory_than_the_unit_allows() {
    let files: Vec<PathBuf> = (0..6)
        .map(|number| {
            let id = format!("\"group_id\":\"{number}");
            scratch(&format!("many_{number}.qlog"), groups(20, 9_000, 1).replace("\"group_id\":\"0", &id).as_bytes())
        })
        .collect();
    let peak_kib = follow(&files);
    assert!(peak_kib < of_the_unit(), "{peak_kib} KiB");
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

/// Nine tenths of what systemd lets a collector have, KiB.
fn of_the_unit() -> u64 {
    let unit = include_str!("../../../deploy/systemd/quiclens-collector.service");
    let most = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")?.strip_suffix('M')).unwrap();
    most.parse::<u64>().unwrap() * 1024 / 10 * 9
}

/// A header that no other log has.
fn header_of(number: u64) -> String {
    HEADER.replace("\"vantage_point\"", &format!("\"title\":\"{number}\",\"vantage_point\""))
}

/// A folder of logs by their numbers, beside the state and the rows of the collector that follows it.
struct Logs(tempfile::TempDir);

impl Logs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        Self(folder)
    }

    fn append(&self, number: u64, text: &str) {
        let path = self.0.path().join(format!("logs/{number}.qlog"));
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    /// No connection is over for want of records.
    fn settings(&self) -> PathBuf {
        settings(self.0.path(), &[self.0.path().join("logs")], 600)
    }
}

/// Connections in a file each, all of which are silent, and then not: what was packed is not unpacked at once, neither
/// then nor when a collector starts that was killed.
#[test]
fn many_silent_logs_cost_as_little_when_they_wake_and_at_a_start() {
    const FILES: u64 = 5_000;
    const RECORDS: u64 = 70;
    let logs = Logs::new();
    for number in 0..FILES {
        let mut log = header_of(number);
        (0..RECORDS).for_each(|id| log.push_str(&packet(1, "received", id as usize, &open_stream(id))));
        logs.append(number, &log);
    }
    let wake = |number: usize| {
        let ping = packet(2, "received", number, "{\"frame_type\":\"ping\"}");
        (0..FILES).for_each(|file| logs.append(file, &ping));
    };
    let config = logs.settings();
    let records = |metrics: Metrics| metrics.scrape().value("records_total").unwrap_or(0);
    let mut running = Running::start(&config, None);
    let metrics = running.metrics();
    running.until(|| records(metrics) >= FILES * (RECORDS + 1));
    wake(100);
    running.until(|| records(metrics) >= FILES * (RECORDS + 2));
    assert!(running.peak_kib() < of_the_unit(), "{} KiB", running.peak_kib());
    assert!(!metrics.scrape().has("rejects_total"), "nothing was passed over");
    running.kill();
    let mut running = Running::start(&config, None);
    let metrics = running.metrics();
    running.until(|| metrics.scrape().value("files") == Some(FILES));
    wake(101);
    running.until(|| records(metrics) >= FILES);
    assert!(running.peak_kib() < of_the_unit(), "{} KiB after a start", running.peak_kib());
    assert!(!metrics.scrape().has("rejects_total"), "nothing was passed over");
}

/// More logs than are read again at one time, all of whose connections fail at their end: the events of each are kept.
#[test]
fn many_logs_are_read_again_and_cost_little() {
    const FILES: u64 = 70;
    const RECORDS: u64 = 500;
    let logs = Logs::new();
    for number in 0..FILES {
        let mut log = header_of(number);
        let long = EVENT.replace("\"data\"", &format!("\"{}\":1,\"data\"", "x".repeat(6_000)));
        (1..RECORDS).for_each(|_| log = std::mem::take(&mut log) + &long + "\n");
        let close = r#"{"connection_code":"internal_error","owner":"remote"}"#;
        log += &format!("{{\"time\":9,\"name\":\"connectivity:connection_closed\",\"data\":{close}}}\n");
        logs.append(number, &log);
    }
    let config = logs.settings();
    let retention = "[retention]\nfailed = true\nshare = 0\n";
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[sink]", &format!("{retention}[sink]"))).unwrap();
    let mut running = Running::start(&config, None);
    let metrics = running.metrics();
    let value = |name: &str| metrics.scrape().value(name);
    let kept = || value("rows_total{table=\"events\"}").unwrap_or(0);
    running.until(|| value("behind_bytes") == Some(0) && kept() >= FILES * RECORDS);
    running.until(|| value("replay_behind_bytes") == Some(0));
    assert_eq!((value("records_total"), kept()), (Some(FILES * (RECORDS + 1)), FILES * RECORDS));
    assert!(running.peak_kib() < MOST_KIB, "{} KiB", running.peak_kib());
}

/// Records that are long and written in two halves, in many files at once: none is kept in memory until it ends, and each
/// is taken.
#[test]
fn halves_of_records_cost_little_and_each_record_is_taken() {
    const FILES: u64 = 80;
    let logs = Logs::new();
    for number in 0..FILES {
        let header = header_of(number);
        let half = EVENT.replace("\"data\"", &format!("\"{}\":1,\"data\"", "x".repeat(4_000_000)));
        logs.append(number, &(header + half.trim_end_matches('}')));
    }
    let mut running = Running::start(&logs.settings(), None);
    let metrics = running.metrics();
    let value = |name: &str| metrics.scrape().value(name);
    running.until(|| value("records_total") == Some(FILES) && value("behind_bytes") == Some(0));
    (0..FILES).for_each(|number| logs.append(number, "}}}\n"));
    running.until(|| value("records_total") == Some(2 * FILES));
    assert!(!metrics.scrape().has("rejects_total"), "each is whole");
    assert!(running.peak_kib() < MOST_KIB, "{} KiB", running.peak_kib());
}

fn open_stream(id: u64) -> String {
    format!("{{\"frame_type\":\"stream\",\"stream_id\":{},\"offset\":0,\"length\":100}}", 4 * id)
}

/// Names of files and values of a log are strangers' text: what is printed for people has none of their characters that
/// a terminal obeys, and JSON has the same values.
#[test]
fn no_name_and_no_value_speaks_to_a_terminal() {
    let hostile = "a\u{1b}[2J\u{7}\u{9b}31m\u{202e}\u{2066}";
    let event = EVENT.replace("packet_sent", "packet_sent\u{9b}\u{202e}\\u001b[2J");
    let path = scratch(&format!("{hostile}.qlog"), format!("{HEADER}{event}\n").as_bytes());
    let collector = env!("CARGO_BIN_EXE_quiclens-collector");
    let missing = path.with_extension("none");
    for (args, is_good) in [
        (vec!["dump", "--room", "events"], true),
        (vec!["dump", "--room", "summaries"], true),
        (vec!["dump", "--room", "check"], true),
        (vec!["load", "--requests-format"], false),
        (vec!["run"], false),
    ] {
        let named = if is_good { &path } else { &missing };
        let done = ends(Command::new(collector).args(&args).arg(named));
        assert_eq!(done.status.success(), is_good, "{args:?}");
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        let is_obeyed = |found: char| found.is_control() && found != '\n' || "\u{202e}\u{2066}".contains(found);
        assert!(!said.contains(is_obeyed), "{args:?}: {said:?}");
        if is_good {
            let values: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let wanted = if args[2] == "events" { "packet_sent\u{9b}\u{202e}\u{1b}[2J" } else { hostile };
            let has = |value: &Value| value.to_string().contains(Value::from(wanted).to_string().trim_matches('"'));
            assert!(values.iter().any(has), "{args:?}: {said:?}");
        } else {
            assert!(said.contains("\\u001b[2J\\u0007\\u009b31m\\u202e\\u2066"), "{args:?}: {said:?}");
        }
    }
}
