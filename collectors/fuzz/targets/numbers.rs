//! Number tokens beside the standard library's: exact or refused (above 2^62 - 1 always), and back again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::limits::LARGEST;
use quiclens_core::reader::number::{double_to_us, scaled, whole, write_double, write_scaled, write_whole};

fuzz_target!(|data: &[u8]| {
    let Some((unit, token)) = data.split_first() else { return };
    let (places, times) = (u32::from(unit % 13), 1 << (unit / 13));
    let text = core::str::from_utf8(token).unwrap_or("?");
    // RFC 8259: no sign, no leading zero.
    let is_plain = token.iter().all(u8::is_ascii_digit) && (token.len() == 1 || token.first() != Some(&b'0'));
    assert_eq!(whole(token), text.parse::<u64>().ok().filter(|value| is_plain && *value <= LARGEST), "{text}");
    if let Some(value) = whole(token) {
        let mut out = Vec::new();
        write_whole(value, &mut out);
        assert_eq!(out, token);
    }
    if let Some(value) = scaled(token, places) {
        let is_number = serde_json::from_slice::<serde_json::Number>(token).is_ok();
        let has_digits = token.iter().any(u8::is_ascii_digit);
        assert!(is_number || has_digits && text.parse::<f64>().is_ok(), "{text} is no number, scaled to {value}");
        let mut out = Vec::new();
        write_scaled(value, places, &mut out);
        let back = core::str::from_utf8(&out).unwrap_or("?");
        assert_eq!(scaled(&out, places), Some(value), "{text} came back as {back}");
        assert_eq!(back.parse::<f64>().map(f64::abs), text.parse::<f64>().map(f64::abs), "{text} is {back}");
    }
    if (3..=9).contains(&places)
        && let Some((us, ulps)) = double_to_us(token, places, times)
    {
        let mut out = Vec::new();
        write_double(us, ulps, places, times, &mut out);
        let back = core::str::from_utf8(&out).unwrap_or("?");
        assert_eq!(back.parse::<f64>(), text.parse::<f64>(), "{text} came back as {back}");
    }
});
