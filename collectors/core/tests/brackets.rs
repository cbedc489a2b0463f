//! The end of an array of JSON, found by its brackets alone.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use quiclens_core::reader::brackets::{Brackets, Unbalanced};
use serde_json::Value;

/// Any JSON with brackets, quotes and backslashes in its strings.
fn value() -> impl Strategy<Value = Value> {
    let text = "[\\[\\]{}\"\\\\a,: ]{0,8}";
    let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), text.prop_map(Value::from)];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_end_of_an_array_is_found_wherever_it_is_cut(
        values in prop::collection::vec(value(), 0..6),
        behind in "[\\[\\]{}\",a]{0,9}",
        pieces in prop::collection::vec(1..40usize, 1..5),
    ) {
        let array = Value::from(values).to_string();
        let text = format!("{array}{behind}");
        let (mut brackets, mut at) = (Brackets::default(), 1);
        for piece in pieces.iter().cycle() {
            let end = text.len().min(at + piece);
            if let Some(found) = brackets.close(&text.as_bytes()[at..end]).unwrap() {
                prop_assert_eq!(at + found + 1, array.len());
                break;
            }
            prop_assert!(end < text.len(), "{text}");
            at = end;
        }
    }
}

#[test]
fn brackets_that_do_not_fit_and_nest_too_deep_are_told() {
    for text in ["}", "{]", "[}", "{\"a\":[}", "[{]]", "\"a\"b\":1]", "{a\":\"b\"}]"] {
        assert_eq!(Brackets::default().close(text.as_bytes()), Err(Unbalanced), "{text}");
    }
    let nested = |depth: usize| format!("{}{}]", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(Brackets::default().close(nested(64).as_bytes()), Ok(Some(128)));
    assert_eq!(Brackets::default().close(nested(65).as_bytes()), Err(Unbalanced));
    assert_eq!(Brackets::default().close(b"\"]"), Ok(None));
}
