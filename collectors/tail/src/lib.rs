//! Files to bytes. Compression is told by content, never by name; output is bounded.

use flate2::read::MultiGzDecoder;
use quiclens_core::limits::{DECOMPRESSED, DECOMPRESSED_RATIO};
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

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

/// Why a source gave no more bytes, or none.
#[derive(Debug)]
pub enum SourceFault {
    /// The file could not be opened or read.
    Unreadable(io::Error),
    /// It is no regular file: a pipe, a socket, a device.
    NotAFile,
    /// The compressed stream is corrupt.
    BadCompression(io::Error),
    /// The compressed stream ends too soon; what came before was given.
    Cut,
    /// It decompresses to more than the limits allow.
    TooLarge,
}

impl From<io::Error> for SourceFault {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Opens a regular file. A pipe, a socket or a device would wait for its writer, or never end; it is not opened, for a
/// pipe's writer would notice.
pub fn open_regular(path: &Path) -> Result<File, SourceFault> {
    let is_regular = |metadata: Metadata| if metadata.is_file() { Ok(()) } else { Err(SourceFault::NotAFile) };
    is_regular(path.metadata()?)?;
    // Another file may have taken the name meanwhile; the open does not block on it either.
    let file = open_at_once(path)?;
    is_regular(file.metadata()?)?;
    Ok(file)
}

/// As [`open_regular`], but a pipe, which the user named, is copied into an unnamed temporary file first: what is read
/// may be read twice. A pipe that nobody writes to is empty.
pub fn open_named(path: &Path) -> Result<File, SourceFault> {
    if !path.metadata()?.file_type().is_fifo() {
        return open_regular(path);
    }
    let mut pipe = open_at_once(path)?;
    rustix::io::ioctl_fionbio(&pipe, false).map_err(io::Error::from)?;
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut pipe, &mut copy)?;
    Ok(copy)
}

fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Appends at most `most` bytes of `file` from `offset` on to `buffer`; 0 at the end. Spare memory is filled without
/// zeroing it first, and the file's own offset is not moved.
pub fn append_at(file: &File, offset: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let start = buffer.len();
    buffer.reserve_exact(most);
    loop {
        match rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), offset) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => {
                // There may have been room for more than was asked for.
                buffer.truncate(start + most);
                return Ok(buffer.len() - start);
            }
        }
    }
}

/// An open file's bytes from their beginning, at a place of its own: other readers of the descriptor move nothing.
struct Beginning {
    file: Arc<File>,
    at: u64,
}

impl Read for Beginning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

enum Input {
    Plain(Beginning),
    Gzip(Box<MultiGzDecoder<Beginning>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, io::BufReader<Beginning>>>),
}

/// A file's bytes, decompressed.
pub struct Source {
    input: Input,
    compression: Compression,
    size: u64,
    given: u64,
}

impl Source {
    /// Looks at the first bytes of an open file. It is the file that is read, whatever becomes of its name.
    pub fn of(file: Arc<File>) -> Result<Self, SourceFault> {
        let size = file.metadata()?.len();
        let mut magic = Vec::with_capacity(4);
        Beginning { file: Arc::clone(&file), at: 0 }.take(4).read_to_end(&mut magic)?;
        let compression = match magic[..] {
            [0x1F, 0x8B, ..] => Compression::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD] => Compression::Zstd,
            _ => Compression::Plain,
        };
        let file = Beginning { file, at: 0 };
        let input = match compression {
            Compression::Plain => Input::Plain(file),
            Compression::Gzip => Input::Gzip(Box::new(MultiGzDecoder::new(file))),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(file).map_err(SourceFault::BadCompression)?;
                // A window of 128 MiB is what `zstd --long` needs; more would break the memory bound.
                decoder.window_log_max(27).map_err(SourceFault::BadCompression)?;
                Input::Zstd(Box::new(decoder))
            }
        };
        Ok(Self { input, compression, size, given: 0 })
    }

    /// Appends at most `most` bytes to `buffer`; 0 at the end. After a fault nothing more comes.
    pub fn read(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<usize, SourceFault> {
        let start = buffer.len();
        // `read_to_end` fills spare memory without zeroing it first; what came before an error stays.
        let limit = most as u64;
        let result = match &mut self.input {
            Input::Plain(file) => append_at(&file.file, file.at, buffer, most).inspect(|got| file.at += *got as u64),
            Input::Gzip(decoder) => decoder.take(limit).read_to_end(buffer),
            Input::Zstd(decoder) => decoder.take(limit).read_to_end(buffer),
        };
        let count = buffer.len() - start;
        self.given += count as u64;
        match result {
            Err(error) if self.compression == Compression::Plain => Err(SourceFault::Unreadable(error)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SourceFault::Cut),
            Err(error) => Err(SourceFault::BadCompression(error)),
            Ok(_) if self.is_bomb() => Err(SourceFault::TooLarge),
            Ok(_) => Ok(count),
        }
    }

    fn is_bomb(&self) -> bool {
        self.compression != Compression::Plain
            && self.given > DECOMPRESSED
            && self.given / DECOMPRESSED_RATIO > self.size
    }
}

/// Whether a file ends too soon: a compressed stream without its end, or a document of JSON without its last bracket.
/// Somebody may still be writing it. Reads all of it, as long as `goes_on`, which is asked between pieces; what was not
/// read to its end counts as cut, what cannot be read does not.
pub fn is_cut(file: Arc<File>, mut goes_on: impl FnMut() -> bool) -> bool {
    let Ok(mut source) = Source::of(file) else { return false };
    let (mut first, mut last, mut buffer) = (None, None, Vec::new());
    loop {
        if !goes_on() {
            return true;
        }
        buffer.clear();
        let read = source.read(&mut buffer, PIECE);
        let mut seen = buffer.iter().filter(|byte| !byte.is_ascii_whitespace());
        first = first.or_else(|| seen.next().copied());
        last = seen.next_back().copied().or(last);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(fault) => return matches!(fault, SourceFault::Cut),
        }
    }
    match first {
        Some(b'{') => last != Some(b'}'),
        Some(b'[') => last != Some(b']'),
        _ => false,
    }
}
