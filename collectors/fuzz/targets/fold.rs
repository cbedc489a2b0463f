//! Fold with any order of events that parse can give: parts add up, the state can be put away after any event, looking
//! changes nothing, and nothing wraps.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use quiclens_core::dialect::LossReporting;
use quiclens_core::event::{Event, FRAME_NUMBERS, Frame, FrameNumber, Kind, Number, Word};
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::Vantage;
use quiclens_core::limits::{IMPUTED, UNACKNOWLEDGED};
use quiclens_core::record::columns::connection_aliases::ConnectionAliases;
use quiclens_core::record::columns::connections::Connections;
use quiclens_core::record::columns::episodes::Episodes;
use quiclens_core::record::columns::streams::Streams;
use quiclens_core::record::rows::Row;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::check_summaries;

/// Largest value of a QUIC integer (RFC 9000, 16).
const LARGEST: u64 = (1 << 62) - 1;
const MOST_EVENTS: usize = 400;

const KINDS: [Kind; 35] = [
    Kind::PacketSent,
    Kind::PacketReceived,
    Kind::PacketDropped,
    Kind::PacketBuffered,
    Kind::PacketsAcked,
    Kind::PacketLost,
    Kind::SpuriousLoss,
    Kind::MetricsUpdated,
    Kind::CongestionStateUpdated,
    Kind::TimerUpdated,
    Kind::ParametersSet,
    Kind::KeyUpdated,
    Kind::KeyDiscarded,
    Kind::RecoveryParametersSet,
    Kind::ConnectionStarted,
    Kind::ConnectionClosed,
    Kind::ConnectionIdUpdated,
    Kind::VersionInformation,
    Kind::MigrationStateUpdated,
    Kind::StreamDataMoved,
    Kind::StreamStateUpdated,
    Kind::HttpFrameCreated,
    Kind::HttpFrameParsed,
    Kind::StreamEvent,
    Kind::FlowControlEvent,
    Kind::PtoAlarm,
    Kind::HandshakeAlarm,
    Kind::UpdateRtt,
    Kind::CcAck,
    Kind::CcLoss,
    Kind::CcPersistentCongestion,
    Kind::CcRemoveInflight,
    Kind::CwndMayBlock,
    Kind::ClockAnchor,
    Kind::Other,
];
const FRAMES: [&str; 20] = [
    "stream",
    "ack",
    "max_data",
    "max_stream_data",
    "data_blocked",
    "stream_data_blocked",
    "reset_stream",
    "stop_sending",
    "crypto",
    "ping",
    "padding",
    "handshake_done",
    "path_challenge",
    "path_response",
    "connection_close",
    "new_connection_id",
    "max_streams",
    "streams_blocked",
    "datagram",
    "path_ack",
];
const WORDS: [&str; 30] = [
    "initial",
    "handshake",
    "0RTT",
    "1RTT",
    "retry",
    "pto",
    "set",
    "expired",
    "cancelled",
    "loss_detected",
    "application_limited",
    "recovery",
    "congestion_avoidance",
    "slow_start",
    "local",
    "remote",
    "headers",
    "data",
    "settings",
    "persistent_congestion",
    "time_threshold",
    "reordering_threshold",
    "pto_expired",
    "on_error",
    "headers_received",
    "abort",
    "c1d0c1d0c1d0c1d0",
    "application",
    "transport",
    "validated",
];
const LEFTOVERS: [(&str, &str); 14] = [
    ("owner", "\"local\""),
    ("initial_max_data", "100"),
    ("initial_max_stream_data_bidi_remote", "50"),
    ("initial_max_stream_data_bidi_local", "4611686018427387903"),
    ("max_ack_delay", "25"),
    ("from", "\"application\""),
    ("to", "\"transport\""),
    ("frame.headers", "[{\"name\":\":method\",\"value\":\"GET\"},{\"name\":\":status\",\"value\":\"500\"}]"),
    ("value", "\"1, 2, 3\""),
    ("key_type", "\"server_handshake_secret\""),
    ("is_mtu_probe_packet", "true"),
    ("connection_code", "\"internal_error\""),
    ("header.version", "\"0xff00001d\""),
    ("chosen_version", "1"),
];

/// A number: small ones meet each other, large ones reach the limits.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.arbitrary::<u8>()? {
        small @ 0..200 => u64::from(small % 32),
        200..225 => u64::from(u.arbitrary::<u16>()?),
        225..240 => u64::from(u.arbitrary::<u32>()?),
        240..250 => u.arbitrary::<u64>()? & LARGEST,
        _ => LARGEST,
    })
}

fn frame(u: &mut Unstructured<'_>, event: &mut Event) -> Result<()> {
    let name = *u.choose(&FRAMES)?;
    let mut frame = Frame { frame_type: event.keep(name.as_bytes()), fin: u.ratio(1, 4)?, ..Frame::default() };
    for column in
        [FrameNumber::StreamId, FrameNumber::Offset, FrameNumber::Length, FrameNumber::Maximum, FrameNumber::AckDelayUs]
    {
        if u.ratio(3, 4)? {
            frame.numbers[column as usize] = number(u)?;
            frame.present |= 1 << column as u8;
        }
    }
    if name.ends_with("ack") {
        for _ in 0..u.int_in_range(0..=3)? {
            let first = number(u)?;
            let last = if u.ratio(1, 8)? { number(u)? } else { first.saturating_add(number(u)?).min(LARGEST) };
            event.acked.push((first, last));
            frame.ack_ranges += 1;
        }
    }
    event.frames.push(frame);
    Ok(())
}

fn event(u: &mut Unstructured<'_>, now_us: &mut i64, seq: u64, has_frames: bool) -> Result<Event> {
    let mut event = Event::default();
    (event.kind, event.seq) = (*u.choose(&KINDS)?, seq);
    let passed = match u.arbitrary::<u8>()? {
        0..100 => 0,
        short @ 100..180 => i64::from(short - 99) * 7,
        180..235 => i64::from(u.arbitrary::<u16>()?),
        235..248 => i64::from(u.arbitrary::<u32>()?),
        // A clock that is set back, and one that jumps: what is left of 64 bits of nanoseconds.
        248..252 => -i64::from(u.arbitrary::<u16>()?),
        _ => u.int_in_range(-9_000_000_000_000_000..=9_000_000_000_000_000)?,
    };
    *now_us = now_us.saturating_add(passed).clamp(i64::MIN / 1000, i64::MAX / 1000);
    event.time_us = *now_us;
    for column in Number::ALL {
        if u.ratio(1, 4)? {
            event.set(column, number(u)?);
        }
    }
    if event.is_packet() || u.ratio(1, 8)? {
        event.set(Number::PacketNumber, number(u)?);
        event.set(Number::PacketBytes, number(u)?);
        for _ in 0..u.int_in_range(0..=if has_frames { 3 } else { 0 })? {
            frame(u, &mut event)?;
        }
    }
    for word in Word::ALL {
        if u.ratio(1, 5)? {
            event.set_word(word, u.choose(&WORDS)?.as_bytes());
        }
    }
    for _ in 0..u.int_in_range(0..=2)? {
        let (path, raw) = *u.choose(&LEFTOVERS)?;
        let pair = (event.keep(path.as_bytes()), event.keep(raw.as_bytes()));
        event.more.push(pair);
    }
    Ok(event)
}

fn events(u: &mut Unstructured<'_>, has_frames: bool) -> Vec<Event> {
    let (mut events, mut now_us) = (Vec::new(), 0);
    while !u.is_empty() && events.len() < MOST_EVENTS {
        match event(u, &mut now_us, events.len() as u64, has_frames) {
            Ok(event) => events.push(event),
            Err(_) => break,
        }
    }
    events
}

/// Rows of `streams` and `episodes`, and those of the connection and its aliases.
type FoldedRows = (Vec<Row<Streams>>, Vec<Row<Episodes>>, Row<Connections>, Vec<Row<ConnectionAliases>>);

/// Folds; every `every` events the state is put away and taken up, and looked at.
fn fold(trace: &Trace, events: &[Event], every: usize) -> FoldedRows {
    let (mut fold, mut streams, mut episodes) = (Fold::new(trace.clone()), Vec::new(), Vec::new());
    for (index, event) in events.iter().enumerate() {
        fold.event(event);
        streams.append(&mut fold.output.streams);
        episodes.append(&mut fold.output.episodes);
        if (index + 1) % every == 0 {
            check_summaries(&fold.standing(), &[]);
            let state = postcard::to_stdvec(&fold).expect("a state can be put away");
            // One jump of numbers and offsets imputes many packets, of so many bytes each at most.
            let imputed = (index + 1).saturating_mul(IMPUTED as usize).min(UNACKNOWLEDGED);
            let most = 16_384 + (index + 1) * 2048 + imputed * 64;
            assert!(state.len() <= most, "{} events, a state of {} bytes", index + 1, state.len());
            fold = postcard::from_bytes(&state).expect("and taken up");
        }
    }
    fold.finish();
    streams.append(&mut fold.output.streams);
    episodes.append(&mut fold.output.episodes);
    (streams, episodes, fold.connection(true), fold.alias_rows())
}

/// Prints an event, for whoever looks at a finding.
fn show(event: &Event) {
    let numbers: Vec<_> = Number::ALL.iter().filter_map(|number| Some((number, event.get(*number)?))).collect();
    let words: Vec<_> =
        Word::ALL.iter().map(|word| (word, event.word(*word))).filter(|(_, text)| !text.is_empty()).collect();
    eprintln!("{} us {:?} {numbers:?} {words:?}", event.time_us, event.kind);
    for frame in &event.frames {
        let numbers = frame.numbers.iter().enumerate().filter(|(index, _)| frame.present >> index & 1 == 1);
        let numbers: Vec<_> = numbers.map(|(index, value)| (FRAME_NUMBERS[index], value)).collect();
        eprintln!("    {} fin {} {} ranges {numbers:?}", event.str(frame.frame_type), frame.fin, frame.ack_ranges);
    }
    event.more.iter().for_each(|(path, raw)| eprintln!("    {} = {}", event.str(*path), event.str(*raw)));
    if !event.acked.is_empty() {
        eprintln!("    acknowledged {:?}", event.acked);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let Ok([vantage, losses, frameless, every]) = u.arbitrary::<[u8; 4]>() else { return };
    let trace = Trace {
        connection_id: "c".to_owned(),
        trace_id: "t".to_owned(),
        vantage: [Vantage::Server, Vantage::Client, Vantage::Network, Vantage::Unknown][usize::from(vantage % 4)],
        losses: [
            LossReporting::Packet,
            LossReporting::Unknown,
            LossReporting::Batch,
            LossReporting::Counter,
            LossReporting::None,
        ][usize::from(losses % 5)],
        flow_is_server: vantage >= 128,
        frameless: frameless % 4 == 0,
        started_us: (frameless % 3 == 0).then_some(1_700_000_000_000_000),
        ..Trace::default()
    };
    let events = events(&mut u, !trace.frameless);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{trace:?}");
        events.iter().for_each(show);
    }
    bounded(data.len(), 4096, || {
        let whole = fold(&trace, &events, usize::MAX);
        check_summaries(&whole.0, &whole.1);
        let interrupted = fold(&trace, &events, 1 + usize::from(every % 16));
        assert_eq!(interrupted, whole, "a state that was put away");
    });
});
