//! `export`: rows of `events` back to a qlog. Standard input has a request (one line of JSON), then Arrow IPC
//! streams.

use crate::error::Error;
use crate::output::written;
use arrow_ipc::reader::StreamReader;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::header::Header;
use quiclens_core::qvis;
use quiclens_core::reader::shape::{WrittenClock, restore};
use quiclens_core::record::columns::connections;
use quiclens_core::record::columns::connections::Connections;
use quiclens_core::record::read::BatchColumns;
use quiclens_core::record::rows::Row;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

#[derive(Deserialize)]
#[serde(expecting = "struct Request")]
struct ExportRequest {
    header: String,
    unit_rule: String,
    time_base_ns: i64,
    serialization: String,
    started_at_ms: Option<f64>,
    connection_id: String,
    vantage: String,
    stack: String,
    format: String,
    mode: String,
    /// Times are written by the trace's clock alone, also of records that were written by their own.
    #[serde(default)]
    one_clock: bool,
    #[serde(default)]
    from_us: Option<i64>,
    #[serde(default)]
    to_us: Option<i64>,
}

impl ExportRequest {
    /// How records write durations, and their times.
    fn clock(&self) -> Result<(Units, WrittenClock), Error> {
        let (units, clock) = clock(&self.header, &self.unit_rule, self.time_base_ns)?;
        Ok((units, if self.one_clock { clock.alone() } else { clock }))
    }
}

fn stored(header: &str) -> Result<Header, Error> {
    Header::stored(header).ok_or_else(|| Error::configuration("the header is no JSON".to_owned()))
}

fn clock(header: &str, unit_rule: &str, base_ns: i64) -> Result<(Units, WrittenClock), Error> {
    let header = stored(header)?;
    let units =
        Units::from_rule(unit_rule).ok_or_else(|| Error::configuration(format!("unknown unit_rule: {unit_rule}")))?;
    Ok((units, WrittenClock::new(base_ns, header.time_format())))
}

/// Record separator of RFC 7464.
const RS: u8 = 0x1E;

/// Reads the request and the rows, writes the qlog.
pub fn run() -> Result<(), Error> {
    let mut input = BufReader::with_capacity(1 << 20, io::stdin().lock());
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| Error::configuration(format!("cannot read the request: {error}")))?;
    let request: ExportRequest =
        serde_json::from_str(&line).map_err(|error| Error::configuration(format!("the request is wrong: {error}")))?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    if request.mode == "for-qvis" {
        let mut records = Vec::new();
        each(&mut input, &request, |event| {
            let mut text = Vec::with_capacity(256);
            if serde_json::to_writer(&mut text, &qvis::record(event)).is_ok() {
                records.push((event.time_us, event.time_ns, text));
            }
            Ok(())
        })?;
        // qvis shows a blocking alert for records out of order; equal times keep the log's order.
        records.sort_by_key(|(us, ns, _)| (*us, *ns));
        written(record(&mut out, qvis_header(&request).to_string().as_bytes()))?;
        for (_, _, text) in records {
            written(record(&mut out, &text))?;
        }
    } else if request.format == "qlog" && request.serialization == "contained" {
        contained(&mut input, &mut out, &request)?;
    } else {
        let separated = request.serialization != "ndjson" || request.format == "sqlog";
        let header = sequential_header(&request)?.to_string();
        let mut text = Vec::new();
        written(write(&mut out, separated, header.as_bytes()))?;
        let (units, mut clock) = request.clock()?;
        each(&mut input, &request, |event| {
            text.clear();
            restore(event, &units, &mut clock, &mut text);
            written(write(&mut out, separated, &text))
        })?;
    }
    written(out.flush())
}

/// Events of batches that follow each other, each as the record it was read from, by the clocks of their `connections`
/// rows.
pub fn plain(batches: &[Vec<u8>], connections: &[Row<Connections>]) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    let mut text = Vec::new();
    let mut event = Event::default();
    let mut clocks: HashMap<String, (Units, WrittenClock)> = HashMap::new();
    for bytes in batches {
        let reader = StreamReader::try_new(bytes.as_slice(), None).map_err(Error::internal)?;
        for batch in reader {
            let batch = batch.map_err(Error::internal)?;
            let rows = BatchColumns::new(&batch).map_err(Error::internal)?;
            for at in 0..rows.len() {
                let trace_id = rows.read(at, &mut event);
                let (units, clock) = match clocks.entry(trace_id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => {
                        let clock = clock_of(free.key(), connections)?;
                        free.insert(clock)
                    }
                };
                text.clear();
                restore(&event, units, clock, &mut text);
                lines.push(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
    Ok(lines)
}

fn clock_of(trace_id: &str, connections: &[Row<Connections>]) -> Result<(Units, WrittenClock), Error> {
    let connection = connections.iter().find(|row| row.text(connections::TRACE_ID) == Some(trace_id));
    let row = connection.ok_or_else(|| Error::internal(format!("trace {trace_id} has no row")))?;
    let base_ns =
        row.int(connections::TIME_BASE_NS).ok_or_else(|| Error::internal(format!("trace {trace_id} has no clock")))?;
    let text = |column| row.text(column).unwrap_or("");
    clock(text(connections::HEADER), text(connections::UNIT_RULE), base_ns)
}

/// Shows every event of the Arrow streams that follow, within the asked time.
fn each(
    input: &mut impl BufRead,
    request: &ExportRequest,
    mut show: impl FnMut(&Event) -> Result<(), Error>,
) -> Result<(), Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::configuration(format!("the rows are wrong: {error}"));
    let mut event = Event::default();
    while !input.fill_buf().map_err(|error| wrong(&error))?.is_empty() {
        let mut reader = StreamReader::try_new(&mut *input, None).map_err(|error| wrong(&error))?;
        for batch in reader.by_ref() {
            let rows = BatchColumns::new(&batch.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
            for at in 0..rows.len() {
                rows.read(at, &mut event);
                let inside = request.from_us.is_none_or(|from| event.time_us >= from)
                    && request.to_us.is_none_or(|to| event.time_us <= to);
                // A slice keeps the parameters: without them no limit can be drawn.
                if inside || (request.mode == "for-qvis" && event.str(event.name) == "quic:parameters_set") {
                    show(&event)?;
                }
            }
        }
    }
    Ok(())
}

fn record(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    out.write_all(&[RS])?;
    out.write_all(text)?;
    out.write_all(b"\n")
}

fn write(out: &mut impl Write, separated: bool, text: &[u8]) -> io::Result<()> {
    if separated {
        return record(out, text);
    }
    out.write_all(text)?;
    out.write_all(b"\n")
}

fn header(request: &ExportRequest) -> Result<(Map<String, Value>, Value), Error> {
    let mut header = stored(&request.header)?.json;
    let file = header.get_mut("file").map(Value::take).and_then(|file| file.as_object().cloned()).unwrap_or_default();
    let trace = header.get_mut("trace").map_or(Value::Null, Value::take);
    Ok((file, trace))
}

fn sequential_header(request: &ExportRequest) -> Result<Value, Error> {
    let (mut file, trace) = header(request)?;
    if file.is_empty() {
        // Rows of QUIC_TRACE have no header: say what a reader must know.
        return Ok(json!({
            "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "QUIC_TRACE",
            "trace": {"vantage_point": {"type": request.vantage}, "configuration": {"time_units": "us"},
                "common_fields": {"ODCID": request.connection_id}},
        }));
    }
    if !trace.is_null() {
        file.insert("trace".into(), trace);
    }
    Ok(Value::Object(file))
}

fn contained(input: &mut impl BufRead, out: &mut impl Write, request: &ExportRequest) -> Result<(), Error> {
    let (file, trace) = header(request)?;
    let mut text = Value::Object(file).to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    let mut trace = trace.as_object().map_or_else(|| "{".to_owned(), |trace| Value::Object(trace.clone()).to_string());
    if trace.ends_with('}') {
        trace.pop();
    }
    let inner = if trace.len() > 1 { "," } else { "" };
    written(write!(out, "{text}{comma}\"traces\":[{trace}{inner}\"events\":["))?;
    let (units, mut clock) = request.clock()?;
    let (mut text, mut first) = (Vec::new(), true);
    each(input, request, |event| {
        text.clear();
        text.extend_from_slice(if first { b"\n" } else { b",\n" });
        first = false;
        restore(event, &units, &mut clock, &mut text);
        written(out.write_all(&text))
    })?;
    written(out.write_all(b"\n]}]}\n"))
}

fn qvis_header(request: &ExportRequest) -> Value {
    let name = if request.stack.is_empty() { "quiclens" } else { &request.stack };
    json!({
        "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": format!("quiclens {}", request.connection_id),
        "trace": {
            "vantage_point": {"name": name, "type": request.vantage},
            "title": request.connection_id,
            "common_fields": {
                "ODCID": request.connection_id, "time_format": "relative",
                "reference_time": request.started_at_ms.unwrap_or(0.0),
            },
        },
    })
}
