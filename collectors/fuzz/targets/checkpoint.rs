//! A reading that is put away and taken up between any two records gives the same rows; where records waited for older
//! ones then, it gives the same events and loses no stream. Any bytes are a state or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::records::Window;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::tables::Tables;
use quiclens_core::trace::SavedConnection;
use quiclens_fuzz::catalogue;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::records::{Records, Turn};
use quiclens_fuzz::rows::{Rows, lengthened, read, sequence, tables};
use std::collections::BTreeMap;

/// Connections as the journal holds them.
type ConnectionParts = BTreeMap<u64, Vec<u8>>;

fn again(mut records: Records<'static>, parts: &mut ConnectionParts) -> Records<'static> {
    let head = postcard::to_stdvec(&records.save()).expect("a head can be put away");
    for (number, state) in records.save_connections() {
        match state {
            Some(state) => drop(parts.insert(number, postcard::to_stdvec(&state).expect("so can a connection"))),
            None => drop(parts.remove(&number)),
        }
    }
    let saved = postcard::from_bytes(&head).expect("and taken up");
    let mut restored = Records::restore(catalogue(), saved).expect("by the same build");
    for (number, state) in parts.iter() {
        let state: SavedConnection<'_> = postcard::from_bytes(state).expect("each of them");
        restored.restore_connection(*number, state);
    }
    restored
}

/// Rows of a reading that is shown, put away and taken up again and again, as a follower does.
#[derive(Default)]
struct Interrupted {
    tables: Tables,
    /// Rows that were shown in between. Where records waited, those that are final are among them.
    shown: Tables,
    /// Records waited when it was put away.
    has_waited: bool,
}

fn interrupted(framing: Framing, text: &[u8], every: usize) -> Interrupted {
    let mut interrupted = Interrupted { tables: tables(), ..Interrupted::default() };
    let Interrupted { tables, shown, has_waited } = &mut interrupted;
    let (mut window, mut parts) = (Window::default(), ConnectionParts::new());
    window.space().extend_from_slice(text);
    let mut records = Records::new(catalogue(), framing, "input");
    for taken in 1.. {
        match records.next(&mut window, tables) {
            Turn::NeedMore => window.end = true,
            Turn::Taken => {}
            Turn::Over => break,
        }
        if taken % every == 0 {
            *has_waited |= records.trace().is_some_and(|trace| trace.is_waiting());
            records.show(shown);
            records = again(records, &mut parts);
        }
    }
    records.finish(true, tables);
    interrupted
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let (every, is_long) = (1 + usize::from(cuts.choice % 8), cuts.choice == 15);
    bounded(text.len(), 4096, || drop(Records::unpack(catalogue(), text, 0)));
    let Some(framing) = sequence(text) else { return };
    let text = if is_long { lengthened(text) } else { text.to_vec() };
    bounded(text.len(), 4096, || {
        let whole = Rows::of(read(framing, &text, Cuts::WHOLE));
        let Interrupted { tables, shown, has_waited } = interrupted(framing, &text, every);
        let (ours, how) = (Rows::of(tables), format!("{framing:?} every {every}"));
        if has_waited {
            ours.check_events_as(&whole, &how);
            assert_eq!(ours.stream_keys(&shown.streams), whole.stream_keys(&[]), "{how}: streams");
        } else {
            ours.check_same_as(&whole, &how);
        }
    });
});
