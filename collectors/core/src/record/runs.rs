//! Which records a batch of `events` holds.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;

/// Records of one trace whose seq follow each other: trace_id, the first seq, the last.
pub type RecordRun = (String, u64, u64);

/// The runs of a batch. A batch without the two columns has none.
pub fn runs(batch: &RecordBatch) -> Result<Vec<RecordRun>, ArrowError> {
    let (Some(traces), Some(seqs)) = (batch.column_by_name("trace_id"), batch.column_by_name("seq")) else {
        return Ok(Vec::new());
    };
    let (traces, seqs) = (cast(traces, &DataType::Utf8)?, cast(seqs, &DataType::UInt64)?);
    let (traces, seqs) = (traces.as_string::<i32>(), seqs.as_primitive::<UInt64Type>());
    let mut known: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in 0..batch.num_rows() {
        if traces.is_valid(row) && seqs.is_valid(row) {
            known.entry(traces.value(row)).or_default().push(seqs.value(row));
        }
    }
    let mut runs: Vec<RecordRun> = Vec::new();
    for (trace, mut seqs) in known {
        seqs.sort_unstable();
        for seq in seqs {
            match runs.last_mut() {
                Some((last, _, end)) if last == trace && seq - *end <= 1 => *end = seq,
                _ => runs.push((trace.to_owned(), seq, seq)),
            }
        }
    }
    Ok(runs)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, StringArray, UInt64Array};
    use std::sync::Arc;

    #[test]
    fn runs_end_where_a_seq_is_missing_and_where_a_trace_ends() {
        let traces: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "b", "a", "b", "b"]));
        let seqs: ArrayRef = Arc::new(UInt64Array::from(vec![4, 4, 5, 3, 9, 5]));
        let batch = RecordBatch::try_from_iter([("trace_id", traces), ("seq", seqs)]).unwrap();
        let wanted = [("a".to_owned(), 3, 4), ("b".to_owned(), 4, 5), ("b".to_owned(), 9, 9)];
        assert_eq!(runs(&batch).unwrap(), wanted);
    }
}
