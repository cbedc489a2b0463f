//! Files to bytes, gzip and zstd among them: however many bytes are asked for at a time, the same ones, up to damage.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::cuts::split;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::memory_file;
use quiclens_tail::{Source, SourceFault, is_cut};
use std::fs::File;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

/// Most bytes that one reading is let give here.
const MOST: usize = 4 << 20;

fn read(file: &Arc<File>, most: usize) -> (Vec<u8>, Option<Discriminant<SourceFault>>) {
    let mut bytes = Vec::new();
    let mut source = match Source::of(Arc::clone(file)) {
        Ok(source) => source,
        Err(fault) => return (bytes, Some(discriminant(&fault))),
    };
    loop {
        match source.read(&mut bytes, most) {
            Ok(0) => return (bytes, None),
            Ok(count) => assert!(count <= most),
            Err(fault) => return (bytes, Some(discriminant(&fault))),
        }
        if bytes.len() >= MOST {
            return (bytes, None);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((data, _)) = split(data) else { return };
    let file = memory_file(data);
    // A zstd window of 128 MiB is allowed.
    bounded(data.len() + (140 << 20) / 64, 64, || {
        let (whole, fault) = read(&file, 256 << 10);
        if whole.len() < MOST {
            let (again, other) = read(&file, 1 + data.len() % 977);
            assert_eq!(other, fault);
            // How much comes out of a damaged stream before the damage is met depends on how much is asked for.
            let same = whole.len().min(again.len());
            assert!(whole[..same] == again[..same], "other bytes");
            assert!(fault.is_some() || whole.len() == again.len(), "{} and {} bytes", whole.len(), again.len());
        }
        let _ = is_cut(file, || true);
    });
});
