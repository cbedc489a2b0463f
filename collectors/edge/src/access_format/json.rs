//! Lines that are JSON objects.

use super::FormatError;
use super::fill::Filler;
use super::meaning::Meaning;
use quiclens_core::keys::Keys;
use quiclens_core::reader::json::{Cursor, JsonFault};
use quiclens_core::reader::skip::Skip;
use serde_json::Value;

/// Keys of one object, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    children: Keys<Node>,
    meaning: Option<Meaning>,
}

impl Node {
    /// Says what stands at a path of keys.
    pub fn insert(&mut self, path: &[&str], meaning: Meaning) {
        match path.split_first() {
            None => self.meaning = Some(meaning),
            Some((key, rest)) => {
                let mut child = self.children.get(key.as_bytes()).cloned().unwrap_or_default();
                child.insert(rest, meaning);
                self.children.insert(key.as_bytes(), child);
            }
        }
    }

    /// Reads a line into `filler`; what is no object, or more than one, is `BadLine`.
    pub fn read(&self, line: &str, filler: &mut Filler<'_>) -> Result<(), Skip> {
        let mut cursor = Cursor::new(line.as_bytes());
        let mut path = String::new();
        self.object(&mut cursor, &mut path, filler).map_err(|fault| match fault {
            JsonFault::Depth => Skip::TooDeep,
            JsonFault::End | JsonFault::Syntax | JsonFault::Frames => Skip::BadLine,
        })?;
        if cursor.peek() == Err(JsonFault::End) { Ok(()) } else { Err(Skip::BadLine) }
    }

    fn object(&self, cursor: &mut Cursor<'_>, path: &mut String, filler: &mut Filler<'_>) -> Result<(), JsonFault> {
        cursor.take(b'{')?;
        if cursor.empty(b'}')? {
            return Ok(());
        }
        loop {
            let key = cursor.key()?;
            let depth = path.len();
            if depth > 0 {
                path.push('.');
            }
            // The line is UTF-8, and a key ends where characters do.
            let raw = core::str::from_utf8(key.raw).map_err(|_| JsonFault::Syntax)?;
            if key.escaped {
                path.push_str(&text_of(&format!("\"{raw}\"")).ok_or(JsonFault::Syntax)?);
            } else {
                path.push_str(raw);
            }
            let name = path.get(depth + usize::from(depth > 0)..).unwrap_or("");
            let child = self.children.get(name.as_bytes());
            let byte = cursor.peek()?;
            match child {
                // The recursion is as deep as the configured paths, which have a few levels.
                Some(child) if byte == b'{' && child.meaning.is_none() => child.object(cursor, path, filler)?,
                _ => {
                    let value = core::str::from_utf8(cursor.value()?).map_err(|_| JsonFault::Syntax)?;
                    take(path, child.and_then(|child| child.meaning.as_ref()), value, filler);
                }
            }
            path.truncate(depth);
            if !cursor.more(b'}')? {
                return Ok(());
            }
        }
    }
}

fn take(path: &str, meaning: Option<&Meaning>, raw: &str, filler: &mut Filler<'_>) {
    if raw == "null" {
        return;
    }
    match (meaning, raw.as_bytes().first()) {
        (None | Some(Meaning::More), _) => filler.keep_json(path, raw),
        (Some(meaning), Some(b'"')) => match text_of(raw) {
            Some(text) => filler.take(path, meaning, &text),
            None => filler.keep_json(path, raw),
        },
        (Some(meaning), Some(b'0'..=b'9' | b'-')) => filler.take(path, meaning, raw),
        // Header fields come as lists, mostly of one.
        (Some(meaning), Some(b'[')) => match serde_json::from_str::<Vec<String>>(raw).as_deref() {
            Ok([text]) => filler.take(path, meaning, text),
            _ => filler.keep_json(path, raw),
        },
        (Some(Meaning::Private), _) => filler.keep(path, raw, true),
        _ => filler.keep_json(path, raw),
    }
}

/// The text of a JSON string; `None` for one with half a surrogate pair.
fn text_of(raw: &str) -> Option<String> {
    if raw.contains('\\') {
        return serde_json::from_str(raw).ok();
    }
    Some(raw.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// The leaves of Envoy's `json_format`: path and text.
pub(super) fn leaves(format: &str) -> Result<Vec<(Vec<String>, String)>, FormatError> {
    let value: Value = serde_json::from_str(format).map_err(|error| format!("the format is no JSON: {error}"))?;
    let mut out = Vec::new();
    walk(&value, &mut Vec::new(), &mut out);
    Ok(out)
}

fn walk(value: &Value, path: &mut Vec<String>, out: &mut Vec<(Vec<String>, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push(key.clone());
                walk(value, path, out);
                path.pop();
            }
        }
        Value::String(text) => out.push((path.clone(), text.clone())),
        _ => {}
    }
}
