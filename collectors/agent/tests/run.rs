//! `run`: how it begins and ends when something is in its way. Each test waits for a state, never for a time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use arrow_array::{Array, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use running::Running;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

mod running;

fn configure(folder: &Path, more: &str) {
    let text = format!(
        "state_dir = {:?}\ntraces = [{:?}]\nstop_timeout_s = 600\nwatch = \"poll\"\n{more}\n[log]\nlevel = \"debug\"\n[sink]\nkind = \"files\"\nfolder = {:?}\n",
        folder.join("state"),
        folder.join("logs"),
        folder.join("out")
    );
    std::fs::create_dir_all(folder.join("logs")).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn vector() -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors/aioquic_clean_server/input.qlog");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Starts a collector with the settings of `configure`; a word before it, as `exec` of a shell.
fn start(folder: &Path, shell: Option<&str>) -> Running {
    Running::start(&folder.join("config.toml"), shell)
}

/// Files of a table that the sink holds.
fn batches(folder: &Path, table: &str) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder.join("out").join(table)).into_iter().flatten();
    found.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()).collect()
}

#[test]
fn a_stop_during_a_large_document_ends_soon_and_it_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = vector();
    let events = document["traces"][0]["events"].as_array().unwrap().clone();
    // At a tenth of a core this takes longer than anybody waits.
    let many = events.iter().cycle().take(200_000).cloned().collect();
    document["traces"][0]["events"] = serde_json::Value::Array(many);
    configure(folder.path(), "cpu_cap = 0.02");
    std::fs::write(folder.path().join("logs/large.qlog"), document.to_string()).unwrap();
    let mut running = start(folder.path(), None);
    assert!(running.wait_for("read as a whole"), "{}", running.said);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("told to stop while it was read; it is read again at the next start"), "{said}");
    assert!(!said.contains("not everything"), "{said}");
    assert!(batches(folder.path(), "connections").is_empty(), "its connection was not over");
    configure(folder.path(), "cpu_cap = 0");
    let mut running = start(folder.path(), None);
    running.until(|| !batches(folder.path(), "connections").is_empty());
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

/// What a second of work costs is known when it was done: the cap says how long that must have taken.
#[test]
fn a_cap_holds_while_files_grow_and_while_sockets_bring_rows() {
    const CAP: f64 = 0.1;
    let row = |seq: u64| format!("8fae6946c7a60bf0\t{seq}\t{seq}10\tpacket_sent\tAppDataSpace, {seq}, 1232, 0, 0, 0\n");
    let rows: String = (0..150_000).map(row).collect();
    for is_file in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let listen = format!("[[listen]]\nkind = \"unix_stream\"\npath = {socket:?}\n");
        configure(folder.path(), &format!("cpu_cap = {CAP}\nmetrics_address = \"127.0.0.1:0\"\n{listen}"));
        let mut running = start(folder.path(), None);
        let metrics = running.metrics();
        running.until(|| metrics.scrape().value("files") == Some(0) && socket.exists());
        let (began, before_s) = (Instant::now(), running.used_s());
        if is_file {
            std::fs::write(folder.path().join("logs/a.log"), &rows).unwrap();
        } else {
            UnixStream::connect(&socket).unwrap().write_all(rows.as_bytes()).unwrap();
        }
        running.until(|| metrics.scrape().value("events_total").is_some_and(|events| events >= 150_000));
        let (took_s, used_s) = (began.elapsed().as_secs_f64(), running.used_s() - before_s);
        // A second may be saved up, and a turn is not parted.
        let least_s = (used_s - CAP - 0.1) / CAP * 0.8;
        assert!(least_s > 0.5, "{used_s} s of work tell nothing");
        assert!(took_s >= least_s, "{used_s} s of work in {took_s} s");
    }
}

#[test]
fn a_folder_that_appears_is_followed_and_is_no_reject() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let config = folder.path().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("watch = \"poll\"", "watch = \"auto\"");
    std::fs::write(&config, text).unwrap();
    let mut running = start(folder.path(), None);
    assert!(running.wait_for("following 1 places"), "{}", running.said);
    let inside = folder.path().join("logs/2026-11-23");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("a.qlog"), vector().to_string()).unwrap();
    running.until(|| !batches(folder.path(), "connections").is_empty());
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(batches(folder.path(), "rejects"), Vec::<PathBuf>::new(), "{said}");
}

#[test]
fn an_access_log_in_a_folder_of_traces_is_one_at_every_start() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("logs/access.jsonl");
    configure(folder.path(), &format!("[[access_log]]\npath = {log:?}\nformat = {{ preset = \"json\" }}\n"));
    let line = |number: u32| format!("{{\"time\":179516880{number},\"path\":\"/{number}\"}}\n");
    for lines in 1..=3 {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&log).unwrap();
        file.write_all(line(lines).as_bytes()).unwrap();
        let before = batches(folder.path(), "request_lines").len();
        let mut running = start(folder.path(), None);
        running.until(|| batches(folder.path(), "request_lines").len() > before);
        let (code, said) = running.end();
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(batches(folder.path(), "rejects"), Vec::<PathBuf>::new());
}

/// Whoever may write into a folder of logs does not choose what else is read; and a wrong name is told.
#[test]
fn a_linked_folder_is_refused_and_a_place_without_anything_is_told() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    configure(folder.path(), "metrics_address = \"127.0.0.1:0\"");
    let config = folder.path().join("config.toml");
    let wrong = folder.path().join("lgos");
    let text = std::fs::read_to_string(&config).unwrap().replace("traces = [", &format!("traces = [{wrong:?}, "));
    std::fs::write(&config, text).unwrap();
    std::fs::write(other.path().join("other.qlog"), vector().to_string()).unwrap();
    std::os::unix::fs::symlink(other.path(), folder.path().join("logs/linked")).unwrap();
    let mut running = start(folder.path(), None);
    let metrics = running.metrics();
    running.until(|| {
        let now = metrics.scrape();
        now.value("places_missing") == Some(1) && now.has("rejects_total")
    });
    std::fs::write(folder.path().join("logs/own.qlog"), vector().to_string()).unwrap();
    std::fs::create_dir(&wrong).unwrap();
    running.until(|| {
        !batches(folder.path(), "connections").is_empty() && metrics.scrape().value("places_missing") == Some(0)
    });
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(batches(folder.path(), "connections").len(), 1, "{said}");
    for words in ["nothing is there", "lgos", "not followed", "linked"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A limit of the size of files stands for a disk without room: both will pass, and are met by every write.
#[test]
fn a_start_without_room_waits_for_some_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let mut running = start(folder.path(), Some("trap '' XFSZ; ulimit -S -f 0"));
    assert!(running.wait_for("nothing is read before; trying again"), "{}", running.said);
    assert!(running.wait_for("nothing is read before; trying again"), "{}", running.said);
    let none = Rlimit { current: None, maximum: None };
    prlimit(Some(running.pid()), Resource::Fsize, none).unwrap();
    assert!(running.wait_for("following 1 places"), "{}", running.said);
    std::fs::write(folder.path().join("logs/a.qlog"), vector().to_string()).unwrap();
    running.until(|| !batches(folder.path(), "connections").is_empty());
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

/// More files than the process may open: the sink has its descriptors all the same, and the others are read when the
/// first are over.
#[test]
fn files_without_descriptors_wait_and_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "idle_timeout_s = 1\ncpu_cap = 0");
    let ids: BTreeSet<String> = (0..80).map(|number| format!("{number:016x}")).collect();
    for id in &ids {
        let header = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"},"common_fields":{"group_id":"ID"}}}"#;
        let event =
            r#"{"time":1,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":1}}}"#;
        let text = format!("\u{1e}{}\n\u{1e}{event}\n", header.replace("ID", id));
        std::fs::write(folder.path().join(format!("logs/{id}.sqlog")), text).unwrap();
    }
    let mut running = start(folder.path(), Some("ulimit -n 64"));
    assert!(running.wait_for("no descriptors for more files"), "{}", running.said);
    let mut found = BTreeSet::new();
    running.until(|| {
        for batch in batches(folder.path(), "connections") {
            let batch = StreamReader::try_new(std::fs::File::open(batch).unwrap(), None).unwrap();
            for rows in batch {
                let rows = rows.unwrap();
                let column = arrow_cast::cast(rows.column_by_name("connection_id").unwrap(), &DataType::Utf8).unwrap();
                let column = column.as_any().downcast_ref::<StringArray>().unwrap();
                found.extend(column.iter().map(|id| id.unwrap().to_owned()));
            }
        }
        assert!(found.is_subset(&ids), "{found:?}");
        found == ids
    });
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("Too many open files"), "{said}");
}

/// What the collector answers to a GET of a path.
fn asked(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// A process without a descriptor for a peer answers when it has one again.
#[test]
fn metrics_and_health_outlive_a_lack_of_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "metrics_address = \"127.0.0.1:0\"");
    let mut running = start(folder.path(), None);
    let said = running.line_with("metrics are served").unwrap();
    let address = said.split("address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(running.wait_for("following 1 places"), "{}", running.said);
    assert!(asked(&address, "/healthz").starts_with("HTTP/1.1 200 OK"));
    // No descriptor above those of the standard streams is given any more.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let few = Rlimit { current: Some(3), maximum };
    let before = prlimit(Some(running.pid()), Resource::Nofile, few).unwrap();
    let waiting = std::thread::spawn({
        let address = address.clone();
        move || asked(&address, "/metrics")
    });
    assert!(running.wait_for("nobody can be let in to read metrics"), "{}", running.said);
    prlimit(Some(running.pid()), Resource::Nofile, before).unwrap();
    assert!(waiting.join().unwrap().ends_with("# EOF\n"));
    assert!(asked(&address, "/healthz").starts_with("HTTP/1.1 200 OK"));
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_stop_while_there_is_no_room_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let mut running = start(folder.path(), Some("trap '' XFSZ; ulimit -S -f 0"));
    assert!(running.wait_for("nothing is read before; trying again"), "{}", running.said);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("told to stop before anything was begun"), "{said}");
}

#[test]
fn what_cannot_pass_by_itself_ends_the_process_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let mut first = start(folder.path(), None);
    assert!(first.wait_for("following 1 places"));
    let mut second = start(folder.path(), None);
    assert!(second.wait_for("in use by another collector"), "{}", second.said);
    assert_eq!(second.ended().0, Some(3));
    assert_eq!(first.end().0, Some(0));
    std::fs::remove_dir_all(folder.path().join("state")).unwrap();
    std::fs::write(folder.path().join("state"), "no folder").unwrap();
    let mut blocked = start(folder.path(), None);
    assert!(blocked.wait_for("state: "), "{}", blocked.said);
    assert_eq!(blocked.ended().0, Some(3));
    configure(folder.path(), "cpu_cap = -1");
    let mut wrong = start(folder.path(), None);
    assert!(wrong.wait_for("cpu_cap is -1, the least is 0"), "{}", wrong.said);
    assert_eq!(wrong.ended().0, Some(3));
}

#[test]
fn output_that_cannot_be_written_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
    let done = command.arg("check").arg(folder.path().join("config.toml")).stdout(Stdio::from(full)).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write: No space left"), "{said}");
}

#[test]
fn an_error_that_cannot_be_said_has_its_exit_code() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
    let done = command.args(["run", "/nowhere/config.toml"]).stderr(Stdio::from(full)).status().unwrap();
    assert_eq!(done.code(), Some(3));
}

#[test]
fn a_command_whose_output_nobody_reads_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "");
    let config = folder.path().join("config.toml");
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors/aioquic_clean_server/input.qlog");
    let (config, log) = (Some(config.as_path()), Some(log.as_path()));
    for (command, path) in [("check", config), ("dump", log), ("bench", log), ("load", log), ("--help", None)] {
        // A pipe whose reader has gone.
        let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let unread = reader.stdin.take().unwrap();
        reader.wait().unwrap();
        let mut collector = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
        let done = collector.arg(command).args(path).stdout(Stdio::from(unread)).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.as_ref()), (Some(0), ""), "{command}");
    }
}
