//! Which format a file has: any bytes have one or none, and a byte order mark or a blank line before them changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::sniff::sniff;

const MARK: &[u8] = b"\xEF\xBB\xBF";

fuzz_target!(|data: &[u8]| {
    for whole in [false, true] {
        let framing = sniff(data, whole);
        if data.starts_with(MARK) {
            continue;
        }
        assert_eq!(sniff(&[MARK, data].concat(), whole), framing, "after a byte order mark");
        assert_eq!(sniff(&[b"\r\n", data].concat(), whole), framing, "after a blank line");
    }
});
