//! Times as access logs write them.

use super::config::Unit;
use jiff::civil::DateTime;
use jiff::fmt::friendly::SpanParser;
use jiff::tz::Offset;
use quiclens_core::header::is_plausible;

/// A form of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimestampFormat {
    /// RFC 3339, also without a colon in the offset, else a number of the unit since 1970.
    Auto(Unit),
    /// A number of the unit since 1970.
    Epoch(Unit),
    /// Parts one after the other.
    Parts(Vec<Part>),
}

/// A part of a time, named after `strftime`'s letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(u8),
    Year,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
    Zone,
    EpochSeconds,
    DayName,
}

/// `10/Oct/2000:13:55:36 -0700`.
pub(super) const COMMON: &str = "%d/%b/%Y:%H:%M:%S %z";
/// HAProxy's `%tr`.
pub(super) const HAPROXY: &str = "%d/%b/%Y:%H:%M:%S.%f";
/// 30 days, as in linking (`duration_of_a_line.sql`): servers write greatest numbers for what they do not know.
const LONGEST_US: u64 = 30 * 86_400 * 1_000_000;
const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

impl TimestampFormat {
    /// Of a `strftime` format with Envoy's `%f`, `%3f`; `None` for one with a part that we do not read.
    pub fn of_strftime(format: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut bytes = format.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                parts.push(Part::Literal(byte));
                continue;
            }
            let mut letter = bytes.next()?;
            while letter.is_ascii_digit() || matches!(letter, b'-' | b'_' | b'E' | b'O') {
                letter = bytes.next()?;
            }
            match letter {
                b'Y' => parts.push(Part::Year),
                b'm' => parts.push(Part::Month),
                b'b' | b'h' => parts.push(Part::MonthName),
                b'd' | b'e' => parts.push(Part::Day),
                b'H' => parts.push(Part::Hour),
                b'M' => parts.push(Part::Minute),
                b'S' => parts.push(Part::Second),
                b'f' | b'N' => parts.push(Part::Fraction),
                b'z' | b'Z' => parts.push(Part::Zone),
                b's' => parts.push(Part::EpochSeconds),
                b'a' => parts.push(Part::DayName),
                b'%' => parts.push(Part::Literal(b'%')),
                b'T' => {
                    parts.extend([Part::Hour, Part::Literal(b':'), Part::Minute, Part::Literal(b':'), Part::Second])
                }
                b'F' => parts.extend([Part::Year, Part::Literal(b'-'), Part::Month, Part::Literal(b'-'), Part::Day]),
                _ => return None,
            }
        }
        let has = |part| parts.contains(&part);
        let dated = has(Part::Year)
            && (has(Part::Month) || has(Part::MonthName))
            && [Part::Day, Part::Hour, Part::Minute, Part::Second].into_iter().all(has);
        (dated || has(Part::EpochSeconds)).then_some(Self::Parts(parts))
    }

    /// How finely it tells time: the finer of two in one line is the request's time.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Auto(_) => 2,
            Self::Epoch(_) => 3,
            Self::Parts(parts) => u8::from(parts.contains(&Part::Fraction)) * 2 + u8::from(parts.contains(&Part::Zone)),
        }
    }

    /// Microseconds since 1970, rounded down; `offset_minutes` is for a time that does not say its own.
    /// `None` for what is no time of this form, and for one that is not plausible.
    pub fn read(&self, text: &str, offset_minutes: i32) -> Option<i64> {
        let us = match self {
            Self::Epoch(unit) => decimal(text, unit.places())?,
            Self::Auto(unit) => match decimal(text, unit.places()) {
                Some(us) => us,
                None => rfc3339(text, offset_minutes)?,
            },
            Self::Parts(parts) => parsed(parts, text, offset_minutes)?,
        };
        us.checked_mul(1_000).is_some_and(is_plausible).then_some(us)
    }
}

/// `text` times 10^`places`, rounded towards zero; `None` for what is no plain decimal number or does not fit.
pub(super) fn decimal(text: &str, places: i32) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (number, exponent) = match digits.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    if integer.is_empty() || number.ends_with('.') || !(-30..=30).contains(&exponent) {
        return None;
    }
    // What lies right of the last place is cut; left of it, zeros are added.
    let mut left = i64::try_from(integer.len()).ok()? + i64::from(places + exponent);
    let mut value = 0i64;
    for byte in integer.bytes().chain(fraction.bytes()) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if left > 0 {
            value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
        }
        left -= 1;
    }
    for _ in 0..left.clamp(0, 64) {
        value = value.checked_mul(10)?;
    }
    Some(if negative { -value } else { value })
}

/// A duration in microseconds, rounded towards zero: a number of `unit`, or one that says its units itself, as Go, Rust
/// and jiff write it (`0.34s`, `1m3.5s`, `250µs`). `None` for what is no duration, for one below zero, and for one longer
/// than [`LONGEST_US`].
pub(super) fn duration(text: &str, unit: Unit) -> Option<u64> {
    let us = match decimal(text, unit.places()) {
        Some(us) => i128::from(us),
        None => SpanParser::new().parse_duration(text).ok()?.as_micros(),
    };
    u64::try_from(us).ok().filter(|us| *us <= LONGEST_US)
}

/// RFC 3339, with `T` or a space, with or without colon in the offset, with or without an offset; also the slashed
/// dates of Go's `wall` formats.
fn rfc3339(text: &str, offset_minutes: i32) -> Option<i64> {
    let separator = *text.as_bytes().get(4)?;
    let between = *text.as_bytes().get(10)?;
    if !matches!(separator, b'-' | b'/') || !matches!(between, b'T' | b't' | b' ') {
        return None;
    }
    let literal = Part::Literal;
    let parts = [
        Part::Year,
        literal(separator),
        Part::Month,
        literal(separator),
        Part::Day,
        literal(between),
        Part::Hour,
        literal(b':'),
        Part::Minute,
        literal(b':'),
        Part::Second,
        Part::Fraction,
        Part::Zone,
    ];
    parsed(&parts, text, offset_minutes)
}

fn parsed(parts: &[Part], text: &str, offset_minutes: i32) -> Option<i64> {
    let mut rest = text.as_bytes();
    let (mut year, mut month, mut day) = (1970, 1, 1);
    let (mut hour, mut minute, mut second, mut fraction_us) = (0, 0, 0, 0i64);
    let (mut offset, mut epoch) = (i64::from(offset_minutes), None);
    for part in parts {
        match part {
            Part::Literal(byte) => rest = rest.strip_prefix(&[*byte])?,
            Part::Year => year = digits(&mut rest, 4)?,
            Part::Month => month = digits(&mut rest, 2)?,
            Part::MonthName => {
                let name = rest.get(..3)?;
                month = i8::try_from(MONTHS.chunks_exact(3).position(|known| known == name)?).ok()? + 1;
                rest = rest.get(3..)?;
            }
            Part::DayName => rest = rest.get(3..)?,
            Part::Day => {
                rest = rest.strip_prefix(b" ").unwrap_or(rest);
                day = digits(&mut rest, 2)?;
            }
            Part::Hour => hour = digits(&mut rest, 2)?,
            Part::Minute => minute = digits(&mut rest, 2)?,
            Part::Second => second = digits(&mut rest, 2)?,
            Part::EpochSeconds => epoch = Some(digits(&mut rest, 12)?),
            Part::Fraction => {
                // Its point is a literal where the format has one.
                rest = rest.strip_prefix(b".").unwrap_or(rest);
                let mut unit = 100_000;
                while let Some((digit @ b'0'..=b'9', left)) = rest.split_first() {
                    fraction_us += i64::from(digit - b'0') * unit;
                    unit /= 10;
                    rest = left;
                }
            }
            Part::Zone => offset = zone(&mut rest, i64::from(offset_minutes))?,
        }
    }
    // A leap second is logged as one now and then; the calendar has none.
    let leap = second == 60;
    let civil = DateTime::new(year, month, day, hour, minute, second - i8::from(leap), 0).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let seconds = match epoch {
        Some(seconds) => seconds,
        None => Offset::UTC.to_timestamp(civil).ok()?.as_second() + i64::from(leap) - offset * 60,
    };
    seconds.checked_mul(1_000_000)?.checked_add(fraction_us)
}

/// Up to `most` digits, which fit into `N`.
fn digits<N: TryFrom<i64>>(rest: &mut &[u8], most: usize) -> Option<N> {
    let count = rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (number, left) = rest.split_at_checked(count).filter(|_| count > 0)?;
    *rest = left;
    N::try_from(number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))).ok()
}

/// Minutes east of UTC.
fn zone(rest: &mut &[u8], default: i64) -> Option<i64> {
    let sign = match rest.split_first() {
        None => return Some(default),
        Some((b'Z' | b'z', left)) => {
            *rest = left;
            return Some(0);
        }
        Some((b'+', left)) => {
            *rest = left;
            1
        }
        Some((b'-', left)) => {
            *rest = left;
            -1
        }
        // `UTC` and `GMT` are the only names that mean one thing.
        Some(_) => {
            *rest = rest.strip_prefix(b"UTC").or_else(|| rest.strip_prefix(b"GMT"))?;
            return Some(0);
        }
    };
    let hours: i64 = digits(rest, 2)?;
    *rest = rest.strip_prefix(b":").unwrap_or(rest);
    let minutes = digits(rest, 2).unwrap_or(0);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form() {
        let common = TimestampFormat::of_strftime(COMMON).unwrap();
        let haproxy = TimestampFormat::of_strftime(HAPROXY).unwrap();
        let auto = TimestampFormat::Auto(Unit::Seconds);
        let ten = 1_795_168_800_000_000;
        for (clock, text, want) in [
            (&common, "20/Nov/2026:10:00:00 +0000", Some(ten)),
            (&common, "20/Nov/2026:03:00:00 -0700", Some(ten)),
            (&common, "31/Feb/2026:03:00:00 -0700", None),
            (&common, "20/Nov/2026:10:00:00", None),
            (&common, "20/Nov/2026:10:00:00 +0000x", None),
            (&common, "20/Nov/2026:09:59:60 +0000", Some(ten)),
            (&common, "20/Nov/2026:09:59:61 +0000", None),
            (&haproxy, "20/Nov/2026:10:00:00.250", Some(ten + 250_000)),
            (&auto, "2299-01-01T00:00:00Z", None),
            (&auto, "9999-12-31T23:59:60Z", None),
            (&auto, "2026-11-20T10:00:00Z", Some(ten)),
            (&auto, "2026-11-20T11:30:00.1234567+01:30", Some(ten + 123_456)),
            (&auto, "2026/11/20 10:00:00.5", Some(ten + 500_000)),
            (&auto, "1795168800.1234567", Some(ten + 123_456)),
            (&auto, "1.7951688e9", Some(ten)),
            (&auto, "now", None),
            (&auto, "-5", None),
            (&auto, "99999999999999999999", None),
            (&TimestampFormat::Epoch(Unit::Nanoseconds), "1795168800000000999", Some(ten)),
            (&TimestampFormat::of_strftime("%s.%3f").unwrap(), "1795168800.250", Some(ten + 250_000)),
            (&TimestampFormat::of_strftime("%Y/%m/%dT%H:%M:%S%z").unwrap(), "2026/11/20T10:00:00+0000", Some(ten)),
        ] {
            assert_eq!(clock.read(text, 0), want, "{text}");
        }
        assert_eq!(haproxy.read("20/Nov/2026:12:00:00.000", 120), Some(ten));
        assert_eq!(TimestampFormat::of_strftime("%H:%M"), None);
        assert_eq!(TimestampFormat::of_strftime("%"), None);
    }

    #[test]
    fn days_agree_with_the_calendar() {
        for (text, us) in [
            ("1970-01-01T00:00:00Z", None),
            ("2000-12-31T23:59:59.999999Z", None),
            ("2001-01-01T00:00:00Z", Some(978_307_200_000_000)),
            ("2004-02-29T00:00:00Z", Some(1_078_012_800_000_000)),
            ("2099-02-29T00:00:00Z", None),
            ("2099-12-31T23:59:59.999999Z", Some(4_102_444_799_999_999)),
            ("2100-01-01T00:00:00Z", None),
        ] {
            assert_eq!(TimestampFormat::Auto(Unit::Seconds).read(text, 0), us, "{text}");
        }
    }

    #[test]
    fn a_duration_may_say_its_unit() {
        for (text, unit, us) in [
            ("0.34", Unit::Seconds, Some(340_000)),
            ("0.34s", Unit::Seconds, Some(340_000)),
            ("0.34s", Unit::Milliseconds, Some(340_000)),
            ("340ms", Unit::Seconds, Some(340_000)),
            ("1.5259ms", Unit::Microseconds, Some(1525)),
            ("250µs", Unit::Seconds, Some(250)),
            ("250us", Unit::Seconds, Some(250)),
            ("999ns", Unit::Seconds, Some(0)),
            ("1m3.5s", Unit::Seconds, Some(63_500_000)),
            ("1h0m0.000001s", Unit::Seconds, Some(3_600_000_001)),
            ("12 ms", Unit::Seconds, Some(12_000)),
            ("-1", Unit::Milliseconds, None),
            ("-0.34s", Unit::Seconds, None),
            ("0.34 s ago", Unit::Seconds, None),
            ("0.34q", Unit::Seconds, None),
            ("s", Unit::Seconds, None),
            ("", Unit::Seconds, None),
            ("9999999999999h", Unit::Seconds, None),
            ("720h", Unit::Seconds, Some(LONGEST_US)),
            ("2592000.000001", Unit::Seconds, None),
            ("9223372036854775807", Unit::Microseconds, None),
        ] {
            assert_eq!(duration(text, unit), us, "{text} {unit:?}");
        }
    }

    #[test]
    fn decimals_are_cut_not_rounded() {
        assert_eq!(decimal("0.000929675", 6), Some(929));
        assert_eq!(decimal("12", 3), Some(12_000));
        assert_eq!(decimal("1999", -3), Some(1));
        assert_eq!(decimal("1.5e-3", 6), Some(1500));
        for text in ["", "-", ".", "1.", "+5", "1e99", "0x10", "9999999999999999999"] {
            assert_eq!(decimal(text, 6), None, "{text}");
        }
    }
}
