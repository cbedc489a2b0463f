//! Why something could not become a row.

use crate::reader::json::JsonFault;

/// A reason of `schema/catalogue/rejects.toml`. Each is a metric label, so renaming one is a breaking
/// change; spools and checkpoints hold its place in this list, so a new one comes last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, get_size2::GetSize,
)]
#[expect(missing_docs, reason = "the catalogue says what each is")]
pub enum Skip {
    EmptyFile,
    Unreadable,
    NotALog,
    BadCompression,
    TooLargeDecompressed,
    NoHeader,
    Truncated,
    EmptyRecord,
    NotJson,
    InvalidUtf8,
    TooLong,
    TooDeep,
    NotARecord,
    NoName,
    NoTime,
    BadLine,
    SourceLost,
    SpoolCorrupt,
    SpoolFull,
    NotAFile,
    HeaderValue,
    NoEvents,
    TraceError,
    TooManyFrames,
    TooManyConnections,
    TooManyRequests,
    TooManyPaths,
    TooMuchState,
}

impl Skip {
    /// All of them, in the catalogue's order.
    pub const ALL: [Self; 28] = [
        Self::EmptyFile,
        Self::Unreadable,
        Self::NotAFile,
        Self::NotALog,
        Self::BadCompression,
        Self::TooLargeDecompressed,
        Self::NoHeader,
        Self::HeaderValue,
        Self::NoEvents,
        Self::TraceError,
        Self::Truncated,
        Self::EmptyRecord,
        Self::NotJson,
        Self::InvalidUtf8,
        Self::TooLong,
        Self::TooDeep,
        Self::TooManyFrames,
        Self::TooManyConnections,
        Self::TooManyRequests,
        Self::TooManyPaths,
        Self::TooMuchState,
        Self::NotARecord,
        Self::NoName,
        Self::NoTime,
        Self::BadLine,
        Self::SourceLost,
        Self::SpoolCorrupt,
        Self::SpoolFull,
    ];

    /// The catalogue's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyFile => "empty_file",
            Self::Unreadable => "unreadable",
            Self::NotAFile => "not_a_file",
            Self::NotALog => "not_a_log",
            Self::BadCompression => "bad_compression",
            Self::TooLargeDecompressed => "too_large_decompressed",
            Self::NoHeader => "no_header",
            Self::HeaderValue => "header_value",
            Self::NoEvents => "no_events",
            Self::TraceError => "trace_error",
            Self::Truncated => "truncated",
            Self::EmptyRecord => "empty_record",
            Self::NotJson => "not_json",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::TooLong => "too_long",
            Self::TooDeep => "too_deep",
            Self::TooManyFrames => "too_many_frames",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyRequests => "too_many_requests",
            Self::TooManyPaths => "too_many_paths",
            Self::TooMuchState => "too_much_state",
            Self::NotARecord => "not_a_record",
            Self::NoName => "no_name",
            Self::NoTime => "no_time",
            Self::BadLine => "bad_line",
            Self::SourceLost => "source_lost",
            Self::SpoolCorrupt => "spool_corrupt",
            Self::SpoolFull => "spool_full",
        }
    }
}

/// Why parsing a record stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text ended: more bytes may mend it.
    End,
    /// The record is no event.
    Skip(Skip),
}

impl From<JsonFault> for Stop {
    fn from(fault: JsonFault) -> Self {
        match fault {
            JsonFault::End => Self::End,
            JsonFault::Syntax => Self::Skip(Skip::NotJson),
            JsonFault::Depth => Self::Skip(Skip::TooDeep),
            JsonFault::Frames => Self::Skip(Skip::TooManyFrames),
        }
    }
}
