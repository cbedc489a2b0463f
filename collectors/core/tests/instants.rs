//! The records of one instant may stand in any order: rows say the same.

#![expect(clippy::unwrap_used, reason = "tests")]

mod packets;

use quiclens_core::catalogue::Catalogue;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::Vantage;
use quiclens_core::reader::qlog::Reader;
use quiclens_core::record::columns::connections;

fn record(time_ms: usize, kind: &str, number: usize, frame: &str) -> String {
    packets::record(time_ms * 1000, kind, "1RTT", number, frame)
}

fn sent(time_ms: usize, number: usize) -> String {
    let offset = number * 1100;
    let frame = format!(r#"{{"frame_type":"stream","stream_id":0,"offset":{offset},"raw":{{"length":1100}}}}"#);
    record(time_ms, "sent", number, &frame)
}

fn acknowledged(time_ms: usize, number: usize, ranges: &str) -> String {
    record(time_ms, "received", number, &format!(r#"{{"frame_type":"ack","ack_delay":0,"acked_ranges":[{ranges}]}}"#))
}

/// Most bytes in flight.
fn most_in_flight(records: &[String]) -> u64 {
    let catalogue = Catalogue::load().unwrap();
    let (mut reader, mut event) = (Reader::new(Units::all(6), &[]), Event::default());
    let mut fold = Fold::new(Trace { vantage: Vantage::Server, ..Trace::default() });
    for (seq, record) in records.iter().enumerate() {
        reader.read(&catalogue, record.as_bytes(), &mut event).unwrap();
        (event.seq, event.time_us) = (seq as u64, event.source_ns / 1000);
        fold.event(&event);
    }
    fold.finish();
    fold.connection(true).whole(connections::BYTES_IN_FLIGHT_MAX)
}

/// noq writes the packet after the last of a range: here it goes out at the time of the acknowledgement.
#[test]
fn what_goes_out_is_not_acknowledged_by_a_range_that_ends_before_it() {
    let request = r#"{"frame_type":"stream","stream_id":0,"offset":0,"raw":{"length":30},"fin":true}"#;
    let mut records = vec![record(0, "received", 0, request)];
    records.extend((0..3).map(|number| sent(1, number)));
    records.push(acknowledged(50, 1, "[0,1],[2,3]"));
    records.extend((3..6).map(|number| sent(60, number)));
    let after = |instant: &[String]| most_in_flight(&[records.as_slice(), instant].concat());
    let (acknowledgement, departures) = (acknowledged(110, 2, "[0,6]"), [sent(110, 6), sent(110, 7)]);
    let in_order = after(&[std::slice::from_ref(&acknowledgement), &departures].concat());
    let turned = after(&[&departures[..], &[acknowledgement]].concat());
    assert_eq!((in_order, turned), (4 * 1200, 4 * 1200));
}
