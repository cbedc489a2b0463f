//! Shapes: a record's text with markers in the values' places, and the way back.
//!
//! The grammar stands in `schema/README.md`. A shape is JSON without white space in which these bytes, outside
//! strings, stand for values; none of them occurs in JSON outside strings.

use crate::dialect::Units;
use crate::event::{Event, FrameNumber, Number};
use crate::header::TimeFormat;
use crate::reader::json::{Cursor, JsonFault};
use crate::reader::number::{Places, whole, write_double, write_scaled, write_whole};

/// The event's time as a number, and as a numeric string.
pub const TIME: u8 = b'$';
/// The event's time as a string.
pub const TIME_TEXT: u8 = b'!';
/// A number column; a letter follows.
pub const NUMBER: u8 = b'#';
/// A number column written as a string; a letter follows.
pub const NUMBER_TEXT: u8 = b'@';
/// A duration that only a double gives exactly; a letter follows, the next of `exact` belongs to it.
pub const EXACT: u8 = b'~';
/// An id column; a letter follows.
pub const ID: u8 = b'=';
/// The next of `more`.
pub const MORE: u8 = b'*';
/// All frames, each by its own shape.
pub const FRAMES: u8 = b'&';
/// ACK ranges; a style follows.
pub const RANGES: u8 = b'%';

/// Letter of column `index`.
pub fn letter(index: u8) -> u8 {
    b'A' + index
}

/// `value` written plainly is exactly `token`: a string must come back as the same text, not the same number.
pub fn same_text(value: i64, places: Places, token: &[u8]) -> bool {
    let mut out = Vec::with_capacity(24);
    write_scaled(value, places, &mut out);
    out == token
}

/// Reads ACK ranges and says how they are written: `n` numbers, `s` strings; upper case when a range of one
/// packet is a list of one. `None` when they are written in no one way; the cursor then stands anywhere.
pub fn read_ranges(cursor: &mut Cursor<'_>, out: &mut Vec<(u64, u64)>) -> Result<Option<u8>, JsonFault> {
    cursor.take(b'[')?;
    let (mut texts, mut numbers, mut singles, mut doubled) = (false, false, false, false);
    if cursor.empty(b']')? {
        return Ok(Some(b'n'));
    }
    loop {
        if cursor.peek()? != b'[' {
            return Ok(None);
        }
        cursor.take(b'[')?;
        let mut ends = [0u64; 2];
        let mut count = 0;
        loop {
            let token = if cursor.peek()? == b'"' {
                texts = true;
                cursor.string()?.raw
            } else if cursor.peek()?.is_ascii_digit() {
                numbers = true;
                cursor.number()?
            } else {
                return Ok(None);
            };
            let (Some(value), true) = (whole(token), count < 2) else { return Ok(None) };
            ends[count] = value;
            count += 1;
            if !cursor.more(b']')? {
                break;
            }
        }
        if count == 1 {
            singles = true;
            ends[1] = ends[0];
        } else {
            doubled |= ends[0] == ends[1];
        }
        out.push((ends[0], ends[1]));
        if !cursor.more(b']')? {
            break;
        }
    }
    let style = match (texts, numbers, singles && doubled) {
        (true, false, false) => b's',
        (false, true, false) => b'n',
        _ => return Ok(None),
    };
    Ok(Some(if singles { style.to_ascii_uppercase() } else { style }))
}

fn write_ranges(ranges: &[(u64, u64)], style: u8, out: &mut Vec<u8>) {
    let quote: &[u8] = if style.eq_ignore_ascii_case(&b's') { b"\"" } else { b"" };
    let number = |value: u64, out: &mut Vec<u8>| {
        out.extend_from_slice(quote);
        write_whole(value, out);
        out.extend_from_slice(quote);
    };
    out.push(b'[');
    for (index, (from, to)) in ranges.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.push(b'[');
        number(*from, out);
        if from != to || style.is_ascii_lowercase() {
            out.push(b',');
            number(*to, out);
        }
        out.push(b']');
    }
    out.push(b']');
}

/// How far the lists of an event have been used.
#[derive(Default)]
struct Used {
    exact: usize,
    more: usize,
    acked: usize,
    /// No time is taken from `more`.
    is_alone: bool,
}

/// The time of a connection as its records write it.
#[derive(Clone, Copy, Debug)]
pub struct WrittenClock {
    /// Source time of the first record.
    base_ns: i64,
    /// Source time of the record before, 0 before the first.
    before_ns: i64,
    /// Of records that do not say it themselves.
    format: TimeFormat,
    /// It holds for all records.
    is_alone: bool,
}

impl WrittenClock {
    /// Of a connection whose first record has the source time `base_ns`, in a trace with this format.
    pub fn new(base_ns: i64, format: TimeFormat) -> Self {
        Self { base_ns, before_ns: 0, format, is_alone: false }
    }

    /// The same, for records that shall have no clock of their own.
    pub fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    /// What the record says of its time.
    fn tell(&mut self, event: &Event) -> i64 {
        let since_ns = event.time_us.wrapping_mul(1000).wrapping_add(i64::from(event.time_ns));
        let ns = self.base_ns.wrapping_add(since_ns);
        let before = std::mem::replace(&mut self.before_ns, ns);
        let own = own_format(&event.shape).filter(|_| !self.is_alone);
        let is_delta = own.unwrap_or(self.format) == TimeFormat::Delta;
        if is_delta { ns.wrapping_sub(before) } else { ns }
    }
}

/// The bytes of a shape that stand outside its strings, with their places.
fn outside_strings(shape: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let (mut inside, mut escaped) = (false, false);
    shape.iter().copied().enumerate().filter(move |(_, byte)| {
        if inside {
            inside = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            return false;
        }
        inside = *byte == b'"';
        !inside
    })
}

/// What the record itself says of how its time is written: the member `time_format` of its outermost object, the last
/// where it is there twice: unknown words do not stand in a shape.
fn own_format(shape: &[u8]) -> Option<TimeFormat> {
    memchr::memmem::find(shape, b"format")?;
    let (mut depth, mut found) = (0usize, None);
    for (at, byte) in outside_strings(shape) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 1 && matches!(byte, b'{' | b',') {
            let mut cursor = Cursor { at: at + 1, ..Cursor::new(shape) };
            if cursor.key().is_ok_and(|key| *key.plain() == *b"time_format") {
                found = cursor.string().map_or(found, |format| TimeFormat::read(&format.plain()));
            }
        }
    }
    found
}

/// The event's time is not what its record wrote, but counted from where those of its trace do: what it wrote is kept as
/// it stands, in `more`.
pub fn keep_time(event: &mut Event, written_ns: i64, units: &Units) {
    let slots = |shape: &[u8], of: u8| outside_strings(shape).filter(|(_, byte)| *byte == of).count();
    // Of a member that is there twice the last counts.
    let markers = outside_strings(&event.shape).filter(|(_, byte)| matches!(*byte, TIME | TIME_TEXT));
    let Some((at, marker)) = markers.last() else { return };
    let before = &event.shape[..at];
    let in_frames = || event.frames.iter().map(|frame| slots(event.bytes(frame.shape), MORE)).sum::<usize>();
    let place = slots(before, MORE) + if slots(before, FRAMES) > 0 { in_frames() } else { 0 };
    let mut text = Vec::new();
    quoted(marker == TIME_TEXT, &mut text, |out| write_scaled(written_ns, units.time, out));
    event.shape[at] = MORE;
    let entry = (event.keep(b"time"), event.keep(&text));
    let place = place.min(event.more.len());
    event.more.insert(place, entry);
    event.unread.iter_mut().filter(|unread| **unread as usize >= place).for_each(|unread| *unread += 1);
}

/// Writes the record that an event was read from, as JSON equal to it; records of one trace in the order of their seq.
/// An event whose lists do not fit its shape (a row that was tampered with) gives `null` in the places that are missing.
pub fn restore(event: &Event, units: &Units, clock: &mut WrittenClock, out: &mut Vec<u8>) {
    let mut used = Used { is_alone: clock.is_alone, ..Used::default() };
    fill(event, &event.shape, None, units, clock.tell(event), &mut used, out);
}

fn fill(
    event: &Event,
    shape: &[u8],
    frame: Option<usize>,
    units: &Units,
    time_ns: i64,
    used: &mut Used,
    out: &mut Vec<u8>,
) {
    let (mut at, mut depth) = (0, usize::from(frame.is_some()));
    let mut in_string = false;
    while let Some(&byte) = shape.get(at) {
        at += 1;
        if in_string {
            out.push(byte);
            if byte == b'\\' {
                out.extend(shape.get(at));
                at += 1;
            } else if byte == b'"' {
                in_string = false;
            }
            continue;
        }
        match byte {
            TIME | TIME_TEXT => {
                quoted(byte == TIME_TEXT, out, |out| write_scaled(time_ns, units.time, out));
            }
            NUMBER | NUMBER_TEXT | EXACT => {
                let index = shape.get(at).map_or(0, |letter| letter.wrapping_sub(b'A'));
                at += 1;
                let value = match frame {
                    Some(frame) => event.frames[frame].numbers.get(usize::from(index)).copied().unwrap_or(0),
                    None if usize::from(index) < crate::event::NUMBERS.len() => event.number_at(usize::from(index)),
                    None => 0,
                };
                let (places, times) =
                    if frame.is_some() { frame_scale(index, units) } else { event_scale(index, units) };
                if byte == EXACT {
                    let ulps = event.exact.get(used.exact).copied().unwrap_or(0);
                    used.exact += 1;
                    write_double(value, ulps, places.unwrap_or(6), times, out);
                    continue;
                }
                let value = value / times;
                quoted(byte == NUMBER_TEXT, out, |out| match places {
                    Some(places) => {
                        write_scaled(i64::try_from(value.saturating_mul(1000)).unwrap_or(i64::MAX), places, out);
                    }
                    None => write_whole(value, out),
                });
            }
            ID => {
                let index = shape.get(at).map_or(0, |letter| usize::from(letter.wrapping_sub(b'A')));
                at += 1;
                let span = if index < crate::event::WORDS.len() { event.word_at(index) } else { Default::default() };
                quoted(true, out, |out| out.extend_from_slice(event.bytes(span)));
            }
            MORE => {
                match event.more.get(used.more) {
                    Some((path, _)) if used.is_alone && depth == 1 && event.bytes(*path) == b"time" => {
                        write_scaled(time_ns, units.time, out);
                    }
                    Some((_, value)) => out.extend_from_slice(event.bytes(*value)),
                    None => out.extend_from_slice(b"null"),
                }
                used.more += 1;
            }
            RANGES => {
                let style = shape.get(at).copied().unwrap_or(b'n');
                at += 1;
                let count = frame.map_or(0, |frame| usize::from(event.frames[frame].ack_ranges));
                let end = (used.acked + count).min(event.acked.len());
                write_ranges(&event.acked[used.acked.min(end)..end], style, out);
                used.acked = end;
            }
            FRAMES => {
                out.push(b'[');
                for index in 0..event.frames.len() {
                    if index > 0 {
                        out.push(b',');
                    }
                    let span = event.frames[index].shape;
                    if frame.is_none() {
                        fill(event, event.bytes(span), Some(index), units, time_ns, used, out);
                    }
                }
                out.push(b']');
            }
            b'"' => {
                in_string = true;
                out.push(byte);
            }
            _ => {
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                out.push(byte);
            }
        }
    }
}

fn quoted(yes: bool, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    if yes {
        out.push(b'"');
    }
    write(out);
    if yes {
        out.push(b'"');
    }
}

/// The unit of an event's number, where it is a duration, and what its text was multiplied by.
fn event_scale(index: u8, units: &Units) -> (Option<Places>, u64) {
    const RTT: [u8; 4] =
        [Number::MinRttUs as u8, Number::SmoothedRttUs as u8, Number::LatestRttUs as u8, Number::RttVarianceUs as u8];
    match index {
        index if RTT.contains(&index) => (Some(units.rtt), 1),
        index if index == Number::AckDelayUs as u8 => (Some(units.delay), units.delay_times),
        index if index == Number::DeltaUs as u8 => (Some(units.time), 1),
        index if index == Number::PacingRate as u8 => (None, units.pacing),
        _ => (None, 1),
    }
}

/// The same of a frame's number.
fn frame_scale(index: u8, units: &Units) -> (Option<Places>, u64) {
    if index == FrameNumber::AckDelayUs as u8 { (Some(units.delay), units.delay_times) } else { (None, 1) }
}
