//! JSON equality: what a reader of two texts cannot tell apart.

use serde_json::{Number, Value};

/// The value with each number in one form: 1 and 1.0 are one number.
pub fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(normal_number(number)),
        Value::Array(list) => list.iter().map(normal).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), normal(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

fn normal_number(number: &Number) -> Number {
    let double = number.as_f64().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
    let whole = (double.fract() == 0.0 && double.abs() < 9e15).then_some(double as i64);
    match whole {
        Some(whole) if number.is_f64() => whole.into(),
        _ => number.clone(),
    }
}
