//! A file that somebody is still writing is told from one that has its end.

#![expect(clippy::unwrap_used, reason = "tests")]

use flate2::Compression;
use flate2::write::GzEncoder;
use quiclens_tail::{is_cut, open_regular};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("quiclens-cut-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn open(path: &Path) -> Arc<File> {
    Arc::new(open_regular(path).unwrap())
}

/// Looks at every beginning of these bytes, the whole among them; those that count as whole.
fn ended(name: &str, bytes: &[u8]) -> Vec<usize> {
    let found = (1..=bytes.len()).filter(|length| !is_cut(open(&file(name, &bytes[..*length])), || true)).collect();
    let _ = std::fs::remove_file(file(name, b""));
    found
}

#[test]
fn a_compressed_stream_ends_with_its_last_byte() {
    let text = b"\x1e{\"qlog_version\":\"0.3\"}\n\x1e{\"time\":1}\n".repeat(3);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_slice(), 3).unwrap();
    // One byte is not yet known to be compressed, and is text without brackets.
    assert_eq!(ended("gzip", &gzip), [1, gzip.len()]);
    assert_eq!(ended("zstd", &zstd), [1, 2, 3, zstd.len()]);
}

#[test]
fn a_document_ends_with_its_last_bracket() {
    let text = b" {\"traces\":[\n[1]] }\n";
    assert_eq!(ended("document", text), [1, text.len() - 1, text.len()]);
    assert_eq!(ended("array", b"[1] "), [3, 4]);
    assert_eq!(ended("lines", b"1\tpacket_sent\n"), (1..=14).collect::<Vec<_>>());
}

#[test]
fn who_is_told_to_stop_reads_no_more_and_takes_no_file_for_whole() {
    let mut document = b"{\"qlog_version\":\"".to_vec();
    document.resize(64 << 20, b'x');
    document.extend_from_slice(b"\"}");
    let path = file("told", &document);
    let mut left = 3;
    let goes_on = || {
        left -= 1;
        left > 0
    };
    assert!(is_cut(open(&path), goes_on));
    assert_eq!(left, 0, "it was asked once more than it read");
    assert!(!is_cut(open(&path), || true));
    std::fs::remove_file(path).unwrap();
}
