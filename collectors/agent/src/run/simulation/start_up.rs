//! What a start costs where many files are known: counted in calls of the system and bytes read, not in time.

use super::{Fixed, Schedule, make_folders};
use crate::machine::simulated::{self, PLACES};
use crate::run::followed::PREFIX;
use crate::run::simulation::store::Held;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Lines or records of each file: its first bytes are not all of it.
const RECORDS: usize = 80;

/// A file of each kind.
fn write(number: usize) {
    let line = |at| format!("{{\"time\":\"2026-11-22T00:00:00Z\",\"path\":\"/{number}/{at}\",\"status\":200}}\n");
    let event =
        |at| format!(r#"{{"time":{at},"name":"transport:packet_received","data":{{"raw":{{"length":{at}}}}}}}"#);
    let trace = format!(r#""vantage_point":{{"type":"server"}},"common_fields":{{"ODCID":"{number:08x}"}}"#);
    let records: String = (0..RECORDS).map(|at| format!("\u{1e}{}\n", event(at))).collect();
    let sequence =
        format!("\u{1e}{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{{{trace}}}}}\n{records}");
    let events = (0..RECORDS).map(event).collect::<Vec<_>>().join(",");
    let document = format!(r#"{{"qlog_version":"0.3","traces":[{{{trace},"events":[{events}]}}]}}"#);
    simulated::world(|world| {
        world.append(&format!("/logs/a/{number}.log"), (0..RECORDS).map(line).collect::<String>().as_bytes());
        world.append(&format!("/logs/s/{number}.sqlog"), sequence.as_bytes());
        world.append(&format!("/logs/d/{number}.qlog"), document.as_bytes());
    });
}

/// Calls by what is called on what, and bytes read.
fn work() -> (BTreeMap<(&'static str, &'static str), u64>, u64) {
    simulated::world(|world| {
        let made = PLACES.iter().zip(&world.made).map(|((call, place, ..), made)| ((*call, *place), *made));
        (made.collect(), world.read_bytes)
    })
}

/// What a start costs that finds `count` files of each kind as the last life has left them: calls of each kind, and bytes.
fn start(count: usize) -> (BTreeMap<(&'static str, &'static str), u64>, u64) {
    let fixed = Fixed::new();
    simulated::begin(1);
    make_folders();
    (0..count).for_each(write);
    // Access logs and sequences are open when it ends, documents are over.
    let mut schedule = Schedule { is_brief: false, ..Schedule::new(&fixed) };
    let (follower, spool) = schedule.start().unwrap();
    schedule.end(follower, &spool).unwrap();
    // All that was there is taken, also what lay in the window when rows were many: nothing more was written after it.
    assert_eq!(Held::read(&schedule.store, Path::new("/out")).lines.len(), count * RECORDS);
    simulated::world(|world| world.restart(false));
    let (calls, bytes) = work();
    let (mut follower, spool) = schedule.start().unwrap();
    while follower.turn(Duration::ZERO).unwrap() {}
    let (made, read) = work();
    // It has taken all of them up: what is written now is read, and nothing that was read before.
    (0..count).for_each(|number| {
        let line = format!("{{\"time\":\"2026-11-22T00:00:00Z\",\"path\":\"/{number}/after\"}}\n");
        simulated::world(|world| world.append(&format!("/logs/a/{number}.log"), line.as_bytes()));
    });
    schedule.end(follower, &spool).unwrap();
    let held = Held::read(&schedule.store, Path::new("/out"));
    assert_eq!(held.lines.len(), count * (RECORDS + 1));
    assert!(held.lines.values().all(|rows| rows.len() == 1) && held.rejects.is_empty());
    simulated::end();
    (made.into_iter().map(|(place, made)| (place, made - calls[&place])).collect(), read - bytes)
}

#[test]
fn a_start_costs_each_known_file_a_few_calls_and_its_first_bytes_however_many_there_are() {
    let (few, many) = (40, 160);
    let [(few_made, few_read), (many_made, many_read)] = [few, many].map(start);
    let more = (many - few) as u64;
    for (place @ (call, at), made) in &many_made {
        // Calls that the other files cost: by its name, when it is open, and in its turn; it is opened once, and its first
        // bytes are read once.
        let most = match (*call, *at) {
            ("look", "log" | "sequence") => 3 * more,
            ("look", "document") => 2 * more,
            ("open" | "read", "log" | "sequence" | "document") => more,
            // Of each file its state, and of a sequence that of its connection too: once to take them up, once for the
            // copy; the draft is written in blocks.
            ("read", "checkpoints") => 8 * more,
            ("write", "checkpoints draft") => more,
            _ => 0,
        };
        let (made, before) = (*made, few_made[place]);
        // A read that meets the end of a block is two.
        assert!(made <= before + most + 4, "{call} {at}: {before} for {few} files, {made} for {many}");
    }
    let of_each = (many_read - few_read) / (3 * more);
    assert!(of_each < PREFIX as u64 + 2048, "{of_each} bytes a file");
    assert_eq!(["log", "sequence", "document"].map(|at| many_made[&("open", at)]), [many as u64; 3]);
}
