//! Access logs of the case folders of `schema/vectors`: each line, and the row that it must be. Python checks the same
//! folders in the store.
#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, Format, Line};
use serde_json::{Map, Value};
use std::path::Path;

fn value(line: &Line, column: &str) -> Value {
    match line.row.get_named(column) {
        None => Value::Null,
        Some(Cell::Text(text)) => Value::from(text.as_str()),
        Some(Cell::Whole(number)) => Value::from(*number),
        Some(Cell::List(pairs)) => {
            Value::Object(pairs.chunks_exact(2).map(|pair| (pair[0].clone(), Value::from(pair[1].as_str()))).collect())
        }
        Some(other) => Value::from(format!("{other:?}")),
    }
}

#[test]
fn every_line_of_a_case_folder_is_the_row_that_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let case = entry.unwrap().path();
        let Ok(log) = std::fs::read_to_string(case.join("access.log")) else { continue };
        let config: AccessFormatConfig =
            toml::from_str(&std::fs::read_to_string(case.join("format.toml")).unwrap()).unwrap();
        // As `load` reads: it redacts nothing.
        let format = Format::compile(&AccessFormatConfig { redact: Some(false), ..config }).unwrap();
        let expected: Value = serde_json::from_slice(&std::fs::read(case.join("expect.json")).unwrap()).unwrap();
        let expected = expected["request_lines"].as_array().unwrap();
        assert_eq!(log.lines().count(), expected.len(), "{}", case.display());
        for (text, wanted) in log.lines().zip(expected) {
            let wanted: &Map<String, Value> = wanted.as_object().unwrap();
            let read = format.read(text.as_bytes()).unwrap();
            for (column, wanted) in wanted {
                assert_eq!(value(&read, column), *wanted, "{}: {column} of {text}", case.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "only {checked} columns of all case folders");
}
