//! A reading that is put away and taken up between any two records gives the same rows; any bytes are a state or none.
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
type Parts = BTreeMap<u64, Vec<u8>>;

fn again(mut records: Records<'static>, parts: &mut Parts) -> Records<'static> {
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

fn interrupted(framing: Framing, text: &[u8], every: usize) -> Tables {
    let (mut tables, mut window, mut parts) = (tables(), Window::default(), Parts::new());
    window.space().extend_from_slice(text);
    let mut records = Records::new(catalogue(), framing, "input");
    for taken in 1.. {
        match records.next(&mut window, &mut tables) {
            Turn::NeedMore => window.end = true,
            Turn::Taken => {}
            Turn::Over => break,
        }
        if taken % every == 0 {
            records = again(records, &mut parts);
        }
    }
    records.finish(true, &mut tables);
    tables
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let (every, is_long) = (1 + usize::from(cuts.choice % 8), cuts.choice == 15);
    bounded(text.len(), 4096, || drop(Records::unpack(catalogue(), text, 0)));
    let Some(framing) = sequence(text) else { return };
    let text = if is_long { lengthened(text) } else { text.to_vec() };
    bounded(text.len(), 4096, || {
        let whole = Rows::of(read(framing, &text, Cuts::WHOLE));
        Rows::of(interrupted(framing, &text, every)).check_same_as(&whole, &format!("{framing:?} every {every}"));
    });
});
