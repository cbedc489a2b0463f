//! Every limit, in bytes or by count: what is beyond it costs itself and nothing else, and is counted where it is lost, as a reject or
//! in [`crate::crossed`].
//!
//! [`TABLE`] is what `collectors/README.md` shows; a test compares them.

use crate::crossed::Bound;
use crate::reader::skip::Skip;
use Counted::{Crossed, Not, Reject};

/// Largest record, and largest header field, that is read.
pub const RECORD_LIMIT: usize = 4 << 20;

/// Deepest nesting that is read; qlog needs about eight.
pub const MAX_DEPTH: u32 = 64;

/// Largest integer of QUIC (RFC 9000, 16): no count, length, offset or time of a log is larger.
pub const LARGEST: u64 = (1 << 62) - 1;

/// Declared sequence numbers are below this: a row's version holds one, with the version of the analysis above it.
pub const SEQ_LIMIT: u64 = 1 << 38;

/// Frames of one packet: a datagram of 1,500 bytes has room for as many of one byte, and stacks write runs of padding as
/// one frame.
pub const FRAMES: usize = 4096;

/// Most bytes of a reject that are kept.
pub const REJECT_BYTES: usize = 64 << 10;

/// Records that decide a trace's identity (a shorter file is decided at its end).
pub const PRELUDE: usize = 64;

/// Records whose bytes tell a trace without a wall clock from another.
pub const IDENTITY_RECORDS: usize = 8;

/// Traces of one file that are told from others with the same header and first record by their place among them.
pub const TRACES: usize = 1 << 16;

/// Bytes of the records that decide, and of what was rejected among them: the identity is decided from fewer then.
pub const PRELUDE_BYTES: usize = 16 << 20;

/// The same of all traces that a process follows, together.
pub const PRELUDES_BYTES: usize = 32 << 20;

/// Rejects among those records, likewise.
pub const PRELUDE_REJECTS: usize = 1024;

/// Connections of one trace that are open at once.
pub const CONNECTIONS: usize = 1 << 15;

/// Connections of a trace that could not begin and are remembered, so that one of them that begins later is incomplete.
pub const REFUSED: usize = 1 << 16;

/// Bytes of a name that records or a header give a connection, or its server. Ids have 20 bytes (RFC 9000, 17.2), 40 in hex.
pub const NAME_BYTES: usize = 1 << 10;

/// Bytes that the header of one trace may take in the rows of all its connections.
pub const HEADER_COPIES: usize = 256 << 20;

/// Requests of one connection that are open at once.
pub const OPEN_REQUESTS: usize = 10_000;

/// Bytes of memory that the states of all open connections of one trace take, about. A busy connection takes some ten
/// thousand.
pub const STATE_BYTES: usize = 124 << 20;

/// As much of it as those may take that have begun; the rest is for those that begin.
pub const STATE_TO_GROW: usize = STATE_BYTES / 16 * 15;

/// The same of all traces that a process follows, together.
pub const STATES_BYTES: usize = 192 << 20;

/// As much of that as files may take that can be packed: beyond it they are, whether they are silent or not.
pub const STATES_AT_REST: usize = STATES_BYTES / 4 * 3;

/// As much of that as those may take that have begun.
pub const STATES_TO_GROW: usize = STATES_BYTES / 16 * 15;

/// Requests of all connections of one trace that have ended and linger, since their last HTTP frames may still come.
pub const LINGERING_OF_ALL: usize = 25_000;

/// Paths of one connection; more of them share the last.
pub const PATHS: usize = 16;

/// Packets of one packet number space that are remembered without an acknowledgement.
pub const UNACKNOWLEDGED: usize = 1 << 16;

/// Packets of one packet number space behind which one with a lower number is still placed. Numbers never go back (RFC 9000,
/// 12.3); threads may log them so.
pub const BEHIND: usize = 1024;

/// Runs of packet numbers of one packet number space, in one direction, that the log does not show and that are remembered.
pub const HOLES: usize = 1024;

/// Records of one connection that wait for older ones, in a log whose records are out of order.
pub const HELD: usize = 8192;

/// Bytes of such records of all connections of all traces that a process follows, about.
pub const HELD_BYTES: usize = 32 << 20;

/// Bytes that a record which waits takes beside its event and its text, with its place among the others.
pub const HELD_RECORD: usize = 112;

/// Bytes that the places of a connection's records take where one waits: as much as those of eleven.
pub const HELD_PLACES: usize = 368;

/// Records of one connection that wait for an acknowledgement behind a silence in which the log's clock may have been set.
/// It is usually the first of them; a client that downloads has thousands before it.
pub const BEHIND_SILENCE: usize = 8192;

/// Connection ids of one connection that are remembered.
pub const ALIASES: usize = 256;

/// Letters of such an id; RFC 9000, 17.2: 20 bytes.
pub const ALIAS_LETTERS: usize = 64;

/// Undecided intervals of a request, about: more are summed up although something older is still open.
pub const UNDECIDED: usize = 1 << 15;

/// Undecided intervals of all open requests of a connection, about: each request may have an equal share.
pub const UNDECIDED_OF_ALL: usize = 1 << 19;

/// Losses of a request that are not repaired: 8,192 packets are more than the longest fat path has on its way.
pub const LOSSES: usize = 8192;

/// Losses that are looked at for one packet that goes out or is acknowledged: it cannot have the bytes of more.
pub const LOSSES_BESIDE: usize = 128;

/// Looks at pieces of earlier packets, and at losses, that one packet costs whose data goes out again in a log that does
/// not say what is lost. A packet on its way counts as one more than it has pieces, and 4,096 of them are looked at.
pub const CARRIER_LOOKS: u64 = 1 << 14;

/// Stretches of bytes of a request that a packet skipped right behind received packets without a record.
pub const PASSED_OVER: usize = 64;

/// Requests of a connection with such stretches, one for each hole.
pub const PASSED_OVER_OF_ALL: usize = 4 * OPEN_REQUESTS;

/// Names of events, as a trace writes them, that are remembered.
pub const NAMES: usize = 512;

/// Names of events, and of fields of each, that nobody reads and that `check` counts one by one.
pub const UNREAD_NAMES: usize = 512;

/// Bytes that a compressed file may become.
pub const DECOMPRESSED: u64 = 2 << 30;

/// Times its own size that a compressed file may become, whatever [`DECOMPRESSED`] says: gzip reaches 1,032 on zeros
/// (RFC 1951), qlog at most about 30.
pub const DECOMPRESSED_RATIO: u64 = 200;

/// A line of a unix stream socket or of standard input; as much as a datagram of UDP may have.
pub const STREAM_LINE: usize = 64 << 10;

/// A datagram. UDP has at most 65,507 bytes, a unix socket what its buffer holds.
pub const DATAGRAM: usize = 256 << 10;

/// Bytes of the headers of a document that are looked for ahead of the events that they describe.
pub const HEADERS_AHEAD: usize = 64 << 20;

/// Bytes that each of those headers counts for beside its text.
pub const HEADER_AHEAD: usize = 128;

/// Bytes of a document's own header that are read once more for each of its traces, beyond as many as the file has.
pub const DOCUMENT_HEADERS: u64 = 64 << 20;

/// Values of a header that are read: each takes some ten times as much memory as its text.
pub const HEADER_VALUES: usize = 1 << 16;

/// Letters that are kept of a field of HTTP.
pub const HTTP_FIELD: usize = 2048;

/// Unidirectional streams of a connection whose bytes count towards its credit; HTTP/3 needs three.
pub const OTHER_STREAMS: usize = 256;

/// Packets of one instant that are judged together: a clock that stands still is no reason to keep all.
pub const DEPARTURES: usize = 4096;

/// Packets that one jump of a stream's offsets may impute.
pub const IMPUTED: u64 = 1024;

/// Keys of one connection's client: one a path.
pub const CLIENT_KEYS: usize = 32;

/// Kinds of connections that retention remembers, of which a first one is kept.
pub const KINDS: usize = 4096;

/// Bytes of a name in a database of networks. Names of carriers and cities are tens of bytes.
pub const DATABASE_TEXT: usize = 256;

/// Placeholders of an access log's format.
pub const FORMAT_PLACES: usize = 128;

/// Bytes of a field's path that is looked through for addresses, name by name.
pub const FIELD_PATH: usize = 1024;

/// Points in such a path. Fields of events have about eight.
pub const FIELD_NAMES: usize = 32;

/// Peers that read metrics at once.
pub const METRICS_PEERS: usize = 16;

/// Bytes of the line and header fields of a request for metrics.
pub const METRICS_HEAD: usize = 4 << 10;

/// Rows of a batch of events, about; a block that ClickHouse sorts in one go.
pub const EVENT_ROWS: usize = 65_536;

/// Rows of a batch of any other table.
pub const SUMMARY_ROWS: usize = 4096;

/// Bytes of a batch, about: it must stay small where records are large.
pub const BATCH_BYTES: usize = 16 << 20;

/// How the crossing of a limit is counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    /// As a reject of that reason.
    Reject(Skip),
    /// In `limits_crossed`, by that name.
    Crossed(Bound),
    /// Nothing is lost, or another place says so.
    Not,
}

/// One limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Of what.
    pub of: &'static str,
    /// As many are still taken.
    pub value: u64,
    /// What is counted.
    pub unit: &'static str,
    /// How its crossing is counted.
    pub counted: Counted,
    /// What happens beyond it.
    pub beyond: &'static str,
}

const fn limit(of: &'static str, value: u64, unit: &'static str, counted: Counted, beyond: &'static str) -> Limit {
    Limit { of, value, unit, counted, beyond }
}

/// All of them.
pub const TABLE: [Limit; 61] = [
    limit("a record, a header field", RECORD_LIMIT as u64, "B", Reject(Skip::TooLong), "it is passed over"),
    limit("nesting", MAX_DEPTH as u64, "levels", Reject(Skip::TooDeep), "the record is passed over"),
    limit("an integer", LARGEST, "", Not, "it has no column and is kept as it was written, in `more`"),
    limit("`seq` of a row of line v1", SEQ_LIMIT - 1, "", Reject(Skip::NotARecord), "the row is passed over"),
    limit("frames of a packet", FRAMES as u64, "frames", Reject(Skip::TooManyFrames), "the record is passed over"),
    limit("bytes kept of a reject", REJECT_BYTES as u64, "B", Not, "its length says how many there were"),
    limit("records that decide what a trace is", PRELUDE as u64, "records", Not, "it is decided, units and id with it"),
    limit(
        "bytes of those, and of rejects among them",
        PRELUDE_BYTES as u64,
        "B",
        Crossed(Bound::PreludeBytes),
        "it is decided from fewer",
    ),
    limit(
        "bytes of those of all traces that a collector follows",
        PRELUDES_BYTES as u64,
        "B",
        Not,
        "those of files that do not grow are let go, and read again with what comes",
    ),
    limit(
        "rejects among those",
        PRELUDE_REJECTS as u64,
        "rejects",
        Crossed(Bound::PreludeRejects),
        "it is decided from fewer",
    ),
    limit(
        "records that tell one trace from another",
        IDENTITY_RECORDS as u64,
        "records",
        Not,
        "they tell nothing more",
    ),
    limit(
        "headers with their first record, of one file",
        TRACES as u64,
        "traces",
        Crossed(Bound::Traces),
        "equal ones beyond it are taken for one trace",
    ),
    limit(
        "open connections of a trace",
        CONNECTIONS as u64,
        "connections",
        Reject(Skip::TooManyConnections),
        "the oldest that is closed ends, and is not complete; where none is, records of others are passed over",
    ),
    limit(
        "a connection's name in its records",
        NAME_BYTES as u64,
        "B",
        Reject(Skip::TooLong),
        "the record is passed over",
    ),
    limit(
        "an id, or the server's name, that a header gives",
        NAME_BYTES as u64,
        "B",
        Reject(Skip::HeaderValue),
        "it names nothing",
    ),
    limit(
        "values of a header, each of the document's and the trace's",
        HEADER_VALUES as u64,
        "values",
        Reject(Skip::HeaderValue),
        "a list or an object with more is kept as its text",
    ),
    limit(
        "a trace's header, in the rows of all its connections",
        HEADER_COPIES as u64,
        "B",
        Reject(Skip::TooManyConnections),
        "records of more connections are passed over",
    ),
    limit(
        "connections of a trace that were passed over, and are remembered",
        REFUSED as u64,
        "connections",
        Crossed(Bound::Refused),
        "all that begin after that are taken for incomplete",
    ),
    limit(
        "open requests of a connection",
        OPEN_REQUESTS as u64,
        "requests",
        Reject(Skip::TooManyRequests),
        "the record is stored as an event; the request has no row",
    ),
    limit(
        "memory of all open connections of a trace",
        STATE_BYTES as u64,
        "B",
        Reject(Skip::TooMuchState),
        "a connection may take as much as is free: beyond it its records are stored as events, and nothing is made of them",
    ),
    limit(
        "memory of those of all traces that a collector follows",
        STATES_BYTES as u64,
        "B",
        Reject(Skip::TooMuchState),
        "the same",
    ),
    limit(
        "requests of all connections of a trace that have ended, and whose last frames may still come",
        LINGERING_OF_ALL as u64,
        "requests",
        Not,
        "they become rows at once",
    ),
    limit(
        "paths of a connection",
        PATHS as u64,
        "paths",
        Reject(Skip::TooManyPaths),
        "the record is stored as an event; it counts for the last path",
    ),
    limit(
        "records that wait for older ones, of a connection",
        HELD as u64,
        "records",
        Crossed(Bound::Held),
        "the oldest goes on: one that is older still is out of order",
    ),
    limit(
        "bytes of those of all connections that a collector follows",
        HELD_BYTES as u64,
        "B",
        Crossed(Bound::HeldBytes),
        "those of the newest one's connection go on",
    ),
    limit(
        "records that wait behind a silence, of a connection",
        BEHIND_SILENCE as u64,
        "records",
        Crossed(Bound::BehindSilence),
        "they go on: a clock that was set forward is noticed later, and not put right",
    ),
    limit(
        "runs of missing packet numbers of a number space",
        HOLES as u64,
        "runs",
        Crossed(Bound::Holes),
        "the oldest is forgotten: its packets are not counted as missing",
    ),
    limit(
        "packets of a number space without an acknowledgement",
        UNACKNOWLEDGED as u64,
        "packets",
        Crossed(Bound::Unacknowledged),
        "the oldest is forgotten: no acknowledgement or loss of it is seen",
    ),
    limit(
        "packets of a number space before which one with a lower number is placed",
        BEHIND as u64,
        "packets",
        Crossed(Bound::Behind),
        "it is forgotten at once",
    ),
    limit(
        "ids of a connection",
        ALIASES as u64,
        "ids",
        Crossed(Bound::Aliases),
        "others have no row in `connection_aliases`",
    ),
    limit("such an id", ALIAS_LETTERS as u64, "letters", Crossed(Bound::AliasLetters), "it has no row there"),
    limit(
        "undecided intervals of a request",
        UNDECIDED as u64,
        "intervals",
        Crossed(Bound::Undecided),
        "they are summed up, whatever is still open; none waits for data after the last byte",
    ),
    limit(
        "undecided intervals of all open requests of a connection",
        UNDECIDED_OF_ALL as u64,
        "intervals",
        Crossed(Bound::UndecidedOfAll),
        "likewise: each request may have as many as another",
    ),
    limit(
        "losses of a request that are not repaired",
        LOSSES as u64,
        "losses",
        Crossed(Bound::Losses),
        "the oldest is forgotten: no repair of it is seen",
    ),
    limit(
        "losses that one packet repairs",
        LOSSES_BESIDE as u64,
        "losses",
        Crossed(Bound::LossesBeside),
        "those of the last bytes are: repairs of others are not seen",
    ),
    limit(
        "looks for what a packet sends again, in a log that does not say what is lost",
        CARRIER_LOOKS,
        "looks",
        Crossed(Bound::CarrierLooks),
        "further earlier packets of the same data are not taken for lost",
    ),
    limit(
        "stretches of a request that packets passed over, behind received packets without a record",
        PASSED_OVER as u64,
        "stretches",
        Crossed(Bound::PassedOver),
        "what those packets brought of others is not known, should an acknowledgement of ours show that they came",
    ),
    limit(
        "such requests of a connection, each counted once for each gap in the record",
        PASSED_OVER_OF_ALL as u64,
        "requests",
        Crossed(Bound::PassedOverOfAll),
        "likewise of the oldest",
    ),
    limit(
        "names of events that are remembered",
        NAMES as u64,
        "names",
        Crossed(Bound::Names),
        "others are looked up each time",
    ),
    limit(
        "names of events, and of fields of each, that nobody reads",
        UNREAD_NAMES as u64,
        "names",
        Crossed(Bound::UnreadNames),
        "others are counted as one in `check`",
    ),
    limit(
        "a file, decompressed",
        DECOMPRESSED,
        "B",
        Reject(Skip::TooLargeDecompressed),
        "the rest is not read where the next limit is crossed too",
    ),
    limit(
        "a file, decompressed",
        DECOMPRESSED_RATIO,
        "times its size",
        Reject(Skip::TooLargeDecompressed),
        "the rest is not read where the limit before is crossed too",
    ),
    limit(
        "a line of a stream socket, of standard input",
        STREAM_LINE as u64,
        "B",
        Reject(Skip::TooLong),
        "it is passed over",
    ),
    limit("a datagram", DATAGRAM as u64, "B", Reject(Skip::TooLong), "it is passed over"),
    limit(
        "headers of a document that are looked for ahead of their events",
        HEADERS_AHEAD as u64,
        "B",
        Crossed(Bound::HeadersAhead),
        "none is: what stands behind events says nothing of them",
    ),
    limit(
        "a document's own header, once more for each of its traces, beyond the file's own size",
        DOCUMENT_HEADERS,
        "B",
        Reject(Skip::TooLong),
        "records of further traces are passed over",
    ),
    limit(
        "a field of HTTP",
        HTTP_FIELD as u64,
        "letters",
        Crossed(Bound::HttpField),
        "it is cut; the event has all of it",
    ),
    limit(
        "unidirectional streams of a connection",
        OTHER_STREAMS as u64,
        "streams",
        Crossed(Bound::OtherStreams),
        "bytes of others do not count towards the connection's credit",
    ),
    limit(
        "packets that go out at one instant",
        DEPARTURES as u64,
        "packets",
        Crossed(Bound::Departures),
        "they are judged before the instant ends",
    ),
    limit(
        "packets that one jump of a stream's offsets imputes",
        IMPUTED,
        "packets",
        Crossed(Bound::Imputed),
        "none is: the bytes stay unexplained",
    ),
    limit(
        "keys of a connection's client",
        CLIENT_KEYS as u64,
        "keys",
        Crossed(Bound::ClientKeys),
        "the client is not followed further",
    ),
    limit(
        "kinds of connections that retention knows",
        KINDS as u64,
        "kinds",
        Crossed(Bound::Kinds),
        "the oldest is new again",
    ),
    limit("a name in a database of networks", DATABASE_TEXT as u64, "B", Not, "it is a fault and not taken"),
    limit("placeholders of an access log's format", FORMAT_PLACES as u64, "placeholders", Not, "it is refused"),
    limit(
        "a field's path in which addresses are looked for",
        FIELD_PATH as u64,
        "B",
        Crossed(Bound::FieldPath),
        "a longer one is redacted as a whole",
    ),
    limit(
        "names that such a path joins by points",
        FIELD_NAMES as u64,
        "points",
        Not,
        "one with more is redacted as a whole, and counted as one that is too long",
    ),
    limit(
        "peers that read metrics",
        METRICS_PEERS as u64,
        "peers",
        Crossed(Bound::MetricsPeers),
        "the oldest makes room",
    ),
    limit("a request for metrics", METRICS_HEAD as u64, "B", Not, "it is refused"),
    limit("a batch of events", EVENT_ROWS as u64, "rows", Not, "it is sent"),
    limit("a batch of any other table", SUMMARY_ROWS as u64, "rows", Not, "it is sent"),
    limit("a batch", BATCH_BYTES as u64, "B", Not, "it is sent"),
];
