//! Which format a file has: a byte order mark or a blank line before it changes nothing, nor does what comes after the
//! bytes that told it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::sniff::{Sniffed, sniff};
use quiclens_fuzz::cuts::split;

const MARK: &[u8] = b"\xEF\xBB\xBF";

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let all = sniff(text, true);
    assert_ne!(all, Sniffed::More, "more is asked for after the end");
    if !text.starts_with(MARK) {
        assert_eq!(sniff(&[MARK, text].concat(), true), all, "after a byte order mark");
        assert_eq!(sniff(&[b"\r\n", text].concat(), true), all, "after a blank line");
    }
    let Some(head) = cuts.pieces(text).next() else { return };
    let early = sniff(head, head.len() == text.len());
    assert!(early == Sniffed::More || early == all, "{early:?} of {} bytes, {all:?} of all", head.len());
});
