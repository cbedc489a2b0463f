//! Numbers as logs write them, to whole nanoseconds and microseconds and back.

/// Decimal places between a unit of time and a nanosecond: s = 9, ms = 6, us = 3.
pub type Places = u32;

const TEN: [i64; 19] = {
    let mut table = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

use crate::limits::LARGEST;

/// A whole number that a JSON integer token or numeric string states exactly, up to [`LARGEST`], else `None`.
#[inline]
pub fn whole(token: &[u8]) -> Option<u64> {
    if token.is_empty() || token.len() > 20 || (token[0] == b'0' && token.len() > 1) {
        return None;
    }
    let mut value = 0u64;
    if token.len() < 20 {
        for &byte in token {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return (value <= LARGEST).then_some(value);
    }
    for &byte in token {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (value <= LARGEST).then_some(value)
}

/// `token` times 10^`places`, when that is a whole number that fits; exponents are `None`.
#[inline]
pub fn scaled(token: &[u8], places: Places) -> Option<i64> {
    let (negative, digits) = match token.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, token),
    };
    let mut value = 0i64;
    let mut fraction: Option<u32> = None;
    // RFC 8259, 6: a digit before the point, and one behind it.
    if !(digits.first()?.is_ascii_digit() && digits.last()?.is_ascii_digit()) {
        return None;
    }
    if digits.len() > 18 {
        return scaled_slowly(digits, places, negative);
    }
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            if byte != b'.' || fraction.is_some() {
                return None;
            }
            fraction = Some(0);
            continue;
        }
        value = value * 10 + i64::from(digit);
        if let Some(count) = &mut fraction {
            *count += 1;
        }
    }
    let missing = places.checked_sub(fraction.unwrap_or(0))?;
    let value = value.checked_mul(*TEN.get(missing as usize)?)?;
    Some(if negative { -value } else { value })
}

/// The same for tokens of more than 18 characters, such as an epoch in nanoseconds.
fn scaled_slowly(digits: &[u8], places: Places, negative: bool) -> Option<i64> {
    let text = core::str::from_utf8(digits).ok()?;
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > places as usize || !integer.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut value: i64 = integer.parse().ok()?;
    for at in 0..places as usize {
        let digit = fraction.as_bytes().get(at).map_or(0, |b| i64::from(b - b'0'));
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -value } else { value })
}

/// Writes `value` / 10^`places` without trailing zeros.
pub fn write_scaled(value: i64, places: Places, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let unit = TEN[places.min(18) as usize].unsigned_abs();
    let value = value.unsigned_abs();
    write_whole(value / unit, out);
    let mut fraction = value % unit;
    if fraction == 0 {
        return;
    }
    out.push(b'.');
    let mut unit = unit / 10;
    while fraction > 0 {
        out.push(b'0' + u8::try_from(fraction / unit).unwrap_or(0));
        fraction %= unit;
        unit /= 10;
    }
}

/// Writes a whole number.
pub fn write_whole(mut value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

/// The whole number that a double such as `1400.0` or `1e3` is; `None` where it is none.
pub fn whole_double(token: &[u8]) -> Option<u64> {
    double_to_us(token, 3, 1).filter(|(_, ulps)| *ulps == 0).map(|(value, _)| value)
}

/// A double in `unit` (places to ns; `times`, a power of two, of them) as whole microseconds and the units in the last
/// place between those and the double; `None` for what has no such form (negative, not finite, over 2^53 us).
pub fn double_to_us(token: &[u8], places: Places, times: u64) -> Option<(u64, i64)> {
    let value: f64 = core::str::from_utf8(token).ok()?.parse().ok()?;
    if !value.is_finite() || value.is_sign_negative() {
        return None;
    }
    let us = (value * us_per_unit(places, times)).round();
    if us > 9.0e15 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= us <= 9e15")]
    let us = us as u64;
    Some((us, value.to_bits().cast_signed().wrapping_sub(nearest(us, places, times).to_bits().cast_signed())))
}

/// Writes the double that [`double_to_us`] took apart, in the fewest digits that give it back.
pub fn write_double(us: u64, ulps: i64, places: Places, times: u64, out: &mut Vec<u8>) {
    let bits = nearest(us, places, times).to_bits().cast_signed().wrapping_add(ulps).cast_unsigned();
    let value = f64::from_bits(bits);
    let value = if value.is_finite() { value } else { 0.0 };
    out.extend_from_slice(format!("{value:?}").as_bytes());
}

#[expect(clippy::cast_precision_loss, reason = "us <= 9e15 < 2^53")]
fn nearest(us: u64, places: Places, times: u64) -> f64 {
    us as f64 / us_per_unit(places, times)
}

#[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
fn us_per_unit(places: Places, times: u64) -> f64 {
    10f64.powi(places.cast_signed() - 3) * times as f64
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn decimals_scale_exactly_or_not_at_all() {
        for (token, places, want) in [
            ("1745672395306.7861", 6, Some(1_745_672_395_306_786_100)),
            ("0.333", 9, Some(333_000_000)),
            ("31", 3, Some(31_000)),
            ("-0.5", 6, Some(-500_000)),
            ("0.1234567", 6, None),
            ("1e3", 6, None),
            ("99999999999999999999", 6, None),
            ("1745672395306.786100", 6, Some(1_745_672_395_306_786_100)),
        ] {
            assert_eq!(scaled(token.as_bytes(), places), want, "{token}");
            if let Some(value) = want {
                let mut out = Vec::new();
                write_scaled(value, places, &mut out);
                let same: f64 = String::from_utf8(out).unwrap().parse().unwrap();
                assert_eq!(same.to_bits(), token.parse::<f64>().unwrap().to_bits(), "{token}");
            }
        }
    }

    #[test]
    fn doubles_come_back_bit_for_bit() {
        const TIMES: [u64; 3] = [1, 8, 1 << 20];
        let tokens = ["413.83981599938124", "0.0", "1e-9", "80.12299999999997", "2.5e5", "333.0"];
        // Times 2^20 the last is more than has such a form.
        for (token, times) in tokens.map(|token| (token, &TIMES[..])).into_iter().chain([("2.5e9", &TIMES[..2])]) {
            for &times in times {
                let (us, ulps) = double_to_us(token.as_bytes(), 6, times).unwrap();
                let mut out = Vec::new();
                write_double(us, ulps, 6, times, &mut out);
                let back: f64 = String::from_utf8(out).unwrap().parse().unwrap();
                assert_eq!(back.to_bits(), token.parse::<f64>().unwrap().to_bits(), "{token}");
            }
        }
        assert_eq!(double_to_us(b"2.5e9", 6, TIMES[2]), None);
        assert_eq!(double_to_us(b"1e400", 6, 1), None);
        assert_eq!(double_to_us(b"-1.0", 6, 1), None);
    }

    #[test]
    fn whole_numbers_keep_64_bits() {
        for token in [&b"-"[..], b".", b"5.", b".5", b"-.5", b"", b"--1", b"1.2.3", b"-12345678901234567890."] {
            assert_eq!(scaled(token, 6), None, "{}", String::from_utf8_lossy(token));
        }
        assert_eq!(whole(b"4611686018427387903"), Some(LARGEST));
        assert_eq!(whole(b"4611686018427387904"), None);
        assert_eq!(whole(b"18446744073709551615"), None);
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"007"), None);
        assert_eq!(whole(b"1.0"), None);
    }
}
