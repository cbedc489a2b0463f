//! Room 1, tail: files to bytes. Compression is told by content, never by name; output is bounded.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that a file may decompress to, and how many times its size that must be for it to count as a bomb: gzip
/// reaches 1,032 on zeros (RFC 1951), qlog at most about 30.
pub const LARGEST: u64 = 2 << 30;
/// See [`LARGEST`].
pub const RATIO: u64 = 200;

/// Bytes read at a time where nobody says how many.
const PIECE: usize = 256 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// RFC 1952, several members allowed.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// Why a source gave no more bytes.
#[derive(Debug)]
pub enum Fault {
    /// The file could not be opened or read.
    Unreadable(io::Error),
    /// The compressed stream is corrupt.
    BadCompression(io::Error),
    /// The compressed stream ends too soon; what came before was given.
    Cut,
    /// It decompresses to more than the limits allow.
    TooLarge,
}

enum Input {
    Plain(File),
    Gzip(Box<MultiGzDecoder<File>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, io::BufReader<File>>>),
}

/// An open file.
pub struct Source {
    input: Input,
    compression: Compression,
    size: u64,
    given: u64,
}

impl Source {
    /// Opens a file and looks at its first bytes.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let unreadable = Fault::Unreadable;
        let mut file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut magic = [0u8; 4];
        let mut known = 0;
        while known < magic.len() {
            match file.read(&mut magic[known..]).map_err(unreadable)? {
                0 => break,
                count => known += count,
            }
        }
        io::Seek::rewind(&mut file).map_err(unreadable)?;
        let compression = match magic {
            [0x1F, 0x8B, ..] if known >= 2 => Compression::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD] if known == 4 => Compression::Zstd,
            _ => Compression::Plain,
        };
        let input = match compression {
            Compression::Plain => Input::Plain(file),
            Compression::Gzip => Input::Gzip(Box::new(MultiGzDecoder::new(file))),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(file).map_err(Fault::BadCompression)?;
                // A window of 128 MiB is what `zstd --long` needs; more would break the memory bound.
                decoder.window_log_max(27).map_err(Fault::BadCompression)?;
                Input::Zstd(Box::new(decoder))
            }
        };
        Ok(Self { input, compression, size, given: 0 })
    }

    /// Appends at most `most` bytes to `buffer`; 0 at the end. After a fault nothing more comes.
    pub fn read(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<usize, Fault> {
        let start = buffer.len();
        // `read_to_end` fills spare memory without zeroing it first; what came before an error stays.
        let most = most as u64;
        let result = match &mut self.input {
            Input::Plain(file) => file.take(most).read_to_end(buffer),
            Input::Gzip(decoder) => decoder.take(most).read_to_end(buffer),
            Input::Zstd(decoder) => decoder.take(most).read_to_end(buffer),
        };
        let count = buffer.len() - start;
        self.given += count as u64;
        match result {
            Err(error) if self.compression == Compression::Plain => Err(Fault::Unreadable(error)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Fault::Cut),
            Err(error) => Err(Fault::BadCompression(error)),
            Ok(_) if self.is_bomb() => Err(Fault::TooLarge),
            Ok(_) => Ok(count),
        }
    }

    fn is_bomb(&self) -> bool {
        self.compression != Compression::Plain && self.given > LARGEST && self.given / RATIO > self.size
    }
}

/// Whether a file ends too soon: a compressed stream without its end, or a document of JSON without its last bracket.
/// Somebody may still be writing it. Reads all of it; what cannot be read is not cut.
pub fn is_cut(path: &Path) -> bool {
    let Ok(mut source) = Source::open(path) else { return false };
    let (mut first, mut last, mut buffer) = (None, None, Vec::new());
    loop {
        buffer.clear();
        let read = source.read(&mut buffer, PIECE);
        let mut seen = buffer.iter().filter(|byte| !byte.is_ascii_whitespace());
        first = first.or_else(|| seen.next().copied());
        last = seen.next_back().copied().or(last);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(fault) => return matches!(fault, Fault::Cut),
        }
    }
    match first {
        Some(b'{') => last != Some(b'}'),
        Some(b'[') => last != Some(b']'),
        _ => false,
    }
}
