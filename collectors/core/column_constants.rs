//! The typed columns of the tables that rows are of, as Rust.

use serde::Deserialize;
use std::fmt::Write;
use std::io;

/// Tables that the collector writes row by row; rows of `events` have builders of their own.
const TABLES: [&str; 6] = ["streams", "episodes", "connection_aliases", "request_lines", "rejects", "connections"];

#[derive(Deserialize)]
struct CatalogueText {
    #[serde(default)]
    table: Vec<TableText>,
}

#[derive(Deserialize)]
struct TableText {
    name: String,
    columns: Vec<ColumnText>,
}

#[derive(Deserialize)]
struct ColumnText {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    doc: String,
}

/// A module for each table: a type for its rows, and a constant for each column in the order of the catalogue.
/// `files` are the texts of `schema/catalogue`.
pub fn code(files: &[String]) -> io::Result<String> {
    let mut code = String::new();
    for text in files {
        let file: CatalogueText = toml::from_str(text).map_err(io::Error::other)?;
        for table in file.table.iter().filter(|table| TABLES.contains(&table.name.as_str())) {
            module(&mut code, table).map_err(io::Error::other)?;
        }
    }
    Ok(code)
}

fn module(code: &mut String, table: &TableText) -> Result<(), String> {
    let name = &table.name;
    let put = |_| "no memory".to_owned();
    let row = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect::<String>();
    write!(
        code,
        "/// Columns of `{name}`.\npub mod {name} {{\n    use super::*;\n\n    /// Rows of `{name}`.\n    \
         #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n    pub struct {row};\n\n    \
         impl SummaryTable for {row} {{\n        const NAME: &'static str = {name:?};\n        \
         const COLUMNS: &'static [&'static str] = &{:?};\n    }}\n\n",
        table.columns.iter().map(|column| &column.name).collect::<Vec<_>>(),
    )
    .map_err(put)?;
    for (at, ColumnText { name, kind, doc }) in table.columns.iter().enumerate() {
        let kind = cell_kind(kind).ok_or_else(|| format!("{}.{name}: no kind of cell for {kind}", table.name))?;
        let (doc, name) = (if doc.is_empty() { name } else { doc }, name.to_uppercase());
        let doc = format!("{doc:?}");
        writeln!(code, "    #[doc = {doc}]\n    pub const {name}: TableColumn<{row}, {kind}> = TableColumn::at({at});")
            .map_err(put)?;
    }
    code.push_str("}\n\n");
    Ok(())
}

/// What cells of a column of this ClickHouse type hold.
fn cell_kind(kind: &str) -> Option<String> {
    let kind = kind.strip_prefix("LowCardinality(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(kind);
    if let Some(inner) = kind.strip_prefix("Nullable(").and_then(|inner| inner.strip_suffix(')')) {
        return Some(format!("Nullable<{}>", cell_kind(inner)?));
    }
    let held = match kind {
        "String" => "Text",
        "UInt64" | "UInt32" | "UInt16" => "Whole",
        "Int64" | "Date" => "Int",
        "Float64" => "Float",
        "Bool" => "Truth",
        "Array(LowCardinality(String))" => "Texts",
        "Map(UInt16, UInt32)" => "Histogram",
        "Map(LowCardinality(String), UInt64)" => "Counts",
        "Map(LowCardinality(String), String)" => "Pairs",
        _ if kind.starts_with("DateTime64(6") => "Int",
        _ => return None,
    };
    Some(held.to_owned())
}
