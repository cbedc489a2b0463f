//! Any bytes as a file: rows or rejects, and no byte that vanishes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::tables::Tables;
use quiclens_fuzz::file::Files;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::{catalogue, memory_file, rows};

fuzz_target!(|data: &[u8]| {
    let file = memory_file(data);
    bounded(data.len(), 4096, || {
        let mut flush = |_: &mut Tables, _: bool| Ok(());
        let mut files = Files::new(catalogue(), true, &mut flush);
        if let Err(error) = files.read("input", &file) {
            panic!("a file ends the run: {error}");
        }
        let counted = files.tables.counted + files.tables.rejected.values().sum::<u64>();
        assert!(counted > 0 || !files.tables.connections.is_empty() || is_blank(data), "an input that vanished");
        rows::check(&mut files.tables, rows::sequence(data), data.len().is_multiple_of(16));
    });
});

/// Nothing stands in the file, or a header alone.
fn is_blank(data: &[u8]) -> bool {
    let pieces = data.split(|byte| *byte == b'\n' || *byte == 0x1E);
    pieces.filter(|piece| !piece.trim_ascii().is_empty()).count() <= 3
}
