//! One trace event: typed columns, frames as arrays, whatever is left as raw JSON, and the shape that puts it together again.

use crate::header::TimeFormat;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A whole-number column of `events`, in the catalogue's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the catalogue says what each is")]
pub enum Number {
    PathId,
    PacketNumber,
    PacketBytes,
    PayloadBytes,
    StreamId,
    Offset,
    Length,
    CongestionWindow,
    BytesInFlight,
    PacketsInFlight,
    Ssthresh,
    PacingRate,
    PtoCount,
    MinRttUs,
    SmoothedRttUs,
    LatestRttUs,
    RttVarianceUs,
    AckDelayUs,
    DeltaUs,
    LostPackets,
    LostBytes,
    Count,
    AppLimited,
}

/// Catalogue names of [`Number`], by its value.
pub const NUMBERS: [&str; 23] = [
    "path_id",
    "packet_number",
    "packet_bytes",
    "payload_bytes",
    "stream_id",
    "offset",
    "length",
    "congestion_window",
    "bytes_in_flight",
    "packets_in_flight",
    "ssthresh",
    "pacing_rate",
    "pto_count",
    "min_rtt_us",
    "smoothed_rtt_us",
    "latest_rtt_us",
    "rtt_variance_us",
    "ack_delay_us",
    "delta_us",
    "lost_packets",
    "lost_bytes",
    "count",
    "app_limited",
];

impl Number {
    /// All, in order.
    pub const ALL: [Self; NUMBERS.len()] = [
        Self::PathId,
        Self::PacketNumber,
        Self::PacketBytes,
        Self::PayloadBytes,
        Self::StreamId,
        Self::Offset,
        Self::Length,
        Self::CongestionWindow,
        Self::BytesInFlight,
        Self::PacketsInFlight,
        Self::Ssthresh,
        Self::PacingRate,
        Self::PtoCount,
        Self::MinRttUs,
        Self::SmoothedRttUs,
        Self::LatestRttUs,
        Self::RttVarianceUs,
        Self::AckDelayUs,
        Self::DeltaUs,
        Self::LostPackets,
        Self::LostBytes,
        Self::Count,
        Self::AppLimited,
    ];
}

/// A column of few, short strings, in the catalogue's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the catalogue says what each is")]
pub enum Word {
    PacketType,
    Trigger,
    NewState,
    OldState,
    TimerType,
    EventType,
    Owner,
    HttpFrameType,
    Dcid,
    Scid,
}

/// Catalogue names of [`Word`], by its value.
pub const WORDS: [&str; 10] = [
    "packet_type",
    "trigger",
    "new_state",
    "old_state",
    "timer_type",
    "event_type",
    "owner",
    "http_frame_type",
    "dcid",
    "scid",
];

impl Word {
    /// All, in order.
    pub const ALL: [Self; WORDS.len()] = [
        Self::PacketType,
        Self::Trigger,
        Self::NewState,
        Self::OldState,
        Self::TimerType,
        Self::EventType,
        Self::Owner,
        Self::HttpFrameType,
        Self::Dcid,
        Self::Scid,
    ];
}

/// A whole-number column of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the catalogue says what each is")]
pub enum FrameNumber {
    StreamId,
    Offset,
    Length,
    Maximum,
    AckDelayUs,
}

/// Catalogue names of [`FrameNumber`], by its value.
pub const FRAME_NUMBERS: [&str; 5] = ["stream_id", "offset", "length", "maximum", "ack_delay_us"];

/// A piece of [`Event::text`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

/// One QUIC frame of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    /// Lower-case `frame_type` as written.
    pub frame_type: Span,
    /// The frame without its values.
    pub shape: Span,
    /// Values by [`FrameNumber`]; 0 where `present` has no bit.
    pub numbers: [u64; 5],
    /// One bit a [`FrameNumber`].
    pub present: u8,
    /// Likewise, of those that the frame names with a value that is none; [`Frame::UNREAD_OTHER`] for what is no number.
    pub unread: u8,
    /// `fin` of a STREAM frame.
    pub fin: bool,
    /// How many of [`Event::acked`] are this frame's.
    pub ack_ranges: u16,
}

impl Frame {
    /// In `unread`: a `fin`, ranges or a type that could not be read.
    pub const UNREAD_OTHER: u8 = 1 << 7;

    /// The value, where the frame has it.
    #[inline]
    pub fn get(&self, number: FrameNumber) -> Option<u64> {
        (self.present >> number as u8 & 1 == 1).then_some(self.numbers[number as usize])
    }

    /// Where the data of a STREAM frame begins and ends; `None` where the frame names one of both with a value that is
    /// none. A frame without an offset begins the stream (RFC 9000, 19.8).
    pub fn range(&self) -> Option<(u64, u64)> {
        let [from, length] = [FrameNumber::Offset, FrameNumber::Length]
            .map(|number| if self.is_unread(number) { None } else { Some(self.get(number).unwrap_or(0)) });
        let from = from?;
        Some((from, from.saturating_add(length?)))
    }

    /// The frame names it, with a value that is none: it is not absent, and no default holds.
    pub fn is_unread(&self, number: FrameNumber) -> bool {
        self.get(number).is_none() && self.unread >> number as u8 & 1 == 1
    }
}

/// One event. Its buffers are reused from record to record: [`Event::clear`] empties it.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Index among its own connection's records.
    pub seq: u64,
    /// The source's time, in ns of whatever base it uses.
    pub source_ns: i64,
    /// Whole microseconds since the trace's first record, rounded down.
    pub time_us: i64,
    /// Nanoseconds that rounding down left.
    pub time_ns: u16,
    /// Canonical name.
    pub name: Span,
    /// What the fold makes of it.
    pub kind: Kind,
    /// The record without its values; see `schema/README.md`.
    pub shape: Vec<u8>,
    /// Everything that a [`Span`] points to.
    pub text: Vec<u8>,
    numbers: [u64; NUMBERS.len()],
    present: u32,
    unread_numbers: u32,
    /// It names a packet type that nobody knows: its number space is not known either.
    pub has_odd_packet_type: bool,
    words: [Span; WORDS.len()],
    /// Frames of a packet event.
    pub frames: Vec<Frame>,
    /// Acknowledged ranges of all ACK frames, both ends included, as written.
    pub acked: Vec<(u64, u64)>,
    /// Units in the last place, for `~` slots.
    pub exact: Vec<i64>,
    /// Fields without a column: path and raw JSON.
    pub more: Vec<(Span, Span)>,
    /// Declared connection of this one event (ODCID, else group_id).
    pub group: Span,
    /// It has a time format or a reference time of its own.
    pub has_clock: bool,
    /// How this one event says that its time is written.
    pub time_format: Option<TimeFormat>,
    /// Its own `reference_time`, raw JSON.
    pub reference_time: Span,
    /// Places in `more` of values of fields that have a column, which cannot hold them.
    pub unread: Vec<u32>,
    /// One bit a place in `more`, of the first 64, at which somebody looked.
    looked_at: Cell<u64>,
}

/// The events that the fold knows. Everything else is `Other`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the canonical event")]
pub enum Kind {
    #[default]
    Other,
    PacketSent,
    PacketReceived,
    PacketDropped,
    PacketBuffered,
    PacketsAcked,
    PacketLost,
    SpuriousLoss,
    MetricsUpdated,
    CongestionStateUpdated,
    TimerUpdated,
    ParametersSet,
    KeyUpdated,
    KeyDiscarded,
    RecoveryParametersSet,
    ConnectionStarted,
    ConnectionClosed,
    ConnectionIdUpdated,
    VersionInformation,
    MigrationStateUpdated,
    StreamDataMoved,
    DatagramDataMoved,
    StreamStateUpdated,
    FramesCreated,
    FramesParsed,
    ConnectionDataBlocked,
    StreamDataBlocked,
    DatagramDataBlocked,
    HttpFrameCreated,
    HttpFrameParsed,
    StreamEvent,
    FlowControlEvent,
    PtoAlarm,
    HandshakeAlarm,
    UpdateRtt,
    CcAck,
    CcLoss,
    CcPersistentCongestion,
    CcRemoveInflight,
    CwndMayBlock,
    ClockAnchor,
}

/// Why data waits: `$BlockedReason` of draft-ietf-quic-qlog-quic-events-13.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[expect(missing_docs, reason = "the draft's words")]
pub enum BlockedReason {
    Scheduling,
    Pacing,
    AmplificationProtection,
    CongestionControl,
    ConnectionFlowControl,
    StreamFlowControl,
    StreamId,
    Application,
}

impl BlockedReason {
    /// The draft's word; `None` for any other.
    pub fn read(word: &str) -> Option<Self> {
        Some(match word {
            "scheduling" => Self::Scheduling,
            "pacing" => Self::Pacing,
            "amplification_protection" => Self::AmplificationProtection,
            "congestion_control" => Self::CongestionControl,
            "connection_flow_control" => Self::ConnectionFlowControl,
            "stream_flow_control" => Self::StreamFlowControl,
            "stream_id" => Self::StreamId,
            "application" => Self::Application,
            _ => return None,
        })
    }
}

/// What a stack says of data that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedUpdate {
    /// It waits from now on; else no more.
    pub is_blocked: bool,
    /// It waited before, where that is said.
    pub was_blocked: Option<bool>,
    /// Why it waits, or waited.
    pub reason: Option<BlockedReason>,
    /// Of one stream alone.
    pub stream_id: Option<u64>,
}

impl Event {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let texts = self.shape.capacity() + self.text.capacity();
        let frames = self.frames.capacity() * size_of::<Frame>() + self.acked.capacity() * size_of::<(u64, u64)>();
        let more = self.more.capacity() * size_of::<(Span, Span)>();
        let numbers = self.exact.capacity() * size_of::<i64>() + self.unread.capacity() * size_of::<u32>();
        size_of::<Self>() + texts + frames + more + numbers
    }

    /// What one of the `*_data_blocked_updated` says; `None` for other events, and for a state that is none.
    pub fn blocked(&self) -> Option<BlockedUpdate> {
        let of_stream = match self.kind {
            Kind::StreamDataBlocked => Some(self.get(Number::StreamId)?),
            Kind::ConnectionDataBlocked | Kind::DatagramDataBlocked => None,
            _ => return None,
        };
        let state = |word| match self.word(word) {
            "blocked" => Some(true),
            "unblocked" => Some(false),
            _ => None,
        };
        Some(BlockedUpdate {
            is_blocked: state(Word::NewState)?,
            was_blocked: state(Word::OldState),
            reason: BlockedReason::read(self.word(Word::Trigger)),
            stream_id: of_stream,
        })
    }

    /// `packet_numbers`: of the packets that are acknowledged, or in which each of the frames is. `None` where there are
    /// none, or anything else among them.
    pub fn packet_numbers(&self) -> Option<Vec<u64>> {
        serde_json::from_str(self.leftover("packet_numbers")?).ok()
    }

    /// Its frames, each with the ranges that it acknowledges.
    pub fn frames_with_ranges(&self) -> impl Iterator<Item = (&Frame, &[(u64, u64)])> {
        let mut acked = self.acked.as_slice();
        self.frames.iter().map(move |frame| {
            let (ranges, rest) = acked.split_at(usize::from(frame.ack_ranges).min(acked.len()));
            acked = rest;
            (frame, ranges)
        })
    }

    /// Empties the event and keeps its buffers.
    pub fn clear(&mut self) {
        self.seq = 0;
        self.source_ns = 0;
        self.time_us = 0;
        self.time_ns = 0;
        self.name = Span::default();
        self.kind = Kind::Other;
        self.shape.clear();
        self.text.clear();
        self.present = 0;
        self.words = [Span::default(); WORDS.len()];
        self.frames.clear();
        self.acked.clear();
        self.exact.clear();
        self.more.clear();
        self.group = Span::default();
        if self.has_clock {
            (self.has_clock, self.time_format, self.reference_time) = (false, None, Span::default());
        }
        self.has_odd_packet_type = false;
        if !self.unread.is_empty() {
            self.unread.clear();
            self.unread_numbers = 0;
        }
        self.looked_at.set(0);
    }

    /// Keeps `bytes` and gives where.
    #[inline]
    pub fn keep(&mut self, bytes: &[u8]) -> Span {
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.text.extend_from_slice(bytes);
        Span { start, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
    }

    /// The bytes of a span; empty for one that is not this event's.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or(&[])
    }

    /// The text of a span; what was read is UTF-8, so nothing is lost.
    #[inline]
    pub fn str(&self, span: Span) -> &str {
        core::str::from_utf8(self.bytes(span)).unwrap_or("")
    }

    /// The value of a column, where the event has it.
    #[inline]
    pub fn get(&self, number: Number) -> Option<u64> {
        (self.present >> number as u8 & 1 == 1).then_some(self.numbers[number as usize])
    }

    /// Sets a column. False, and nothing set, when it has another value already.
    #[inline]
    pub fn set(&mut self, number: Number, value: u64) -> bool {
        let bit = 1u32 << number as u8;
        if self.present & bit != 0 && self.numbers[number as usize] != value {
            return false;
        }
        self.present |= bit;
        self.numbers[number as usize] = value;
        true
    }

    /// The record names it, with a value that is none: it is not absent, and no default holds.
    pub fn is_unread(&self, number: Number) -> bool {
        self.get(number).is_none() && self.unread_numbers >> number as u8 & 1 == 1
    }

    /// See [`Event::is_unread`].
    pub fn set_unread(&mut self, number: Number) {
        self.unread_numbers |= 1 << number as u8;
    }

    /// One bit a [`Number`] that is set.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// The value of number column `index`, whatever `present` says.
    pub fn number_at(&self, index: usize) -> u64 {
        self.numbers[index]
    }

    /// The word, empty where the event has none.
    #[inline]
    pub fn word(&self, word: Word) -> &str {
        self.str(self.words[word as usize])
    }

    /// The word is `text`. Cheaper than [`Event::word`] where it is asked of every packet.
    #[inline]
    pub fn is(&self, word: Word, text: &str) -> bool {
        self.bytes(self.words[word as usize]) == text.as_bytes()
    }

    /// The span of word column `index`.
    pub fn word_at(&self, index: usize) -> Span {
        self.words[index]
    }

    /// Sets a word; the first one stays.
    #[inline]
    pub fn set_word(&mut self, word: Word, text: &[u8]) {
        if self.words[word as usize].len == 0 {
            self.words[word as usize] = self.keep(text);
        }
    }

    /// The raw JSON of a field without a column, by its path.
    pub fn leftover(&self, path: &str) -> Option<&str> {
        let place = self.more.iter().position(|(key, _)| self.bytes(*key) == path.as_bytes())?;
        self.looked_at.set(self.looked_at.get() | 1u64.checked_shl(u32::try_from(place).ok()?).unwrap_or(0));
        Some(self.str(self.more[place].1))
    }

    /// Somebody looked at this place in `more`, or it is too far behind for that to be known.
    pub fn was_looked_at(&self, place: usize) -> bool {
        place >= 64 || self.looked_at.get() >> place & 1 == 1
    }

    /// The value that comes next in `more` is none that the column of its field can hold.
    pub fn next_is_unread(&mut self) {
        self.unread.push(u32::try_from(self.more.len()).unwrap_or(u32::MAX));
    }
}
