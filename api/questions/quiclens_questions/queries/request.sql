-- One row is the request of this id. The index is looked at before anything is read, here and where a stream is asked
-- for: parts that it rules out are then not opened, which takes longer than reading the one that is left.
SELECT
    /* columns of ExplainedRequest */
FROM requests
WHERE request_id = {name:String}
LIMIT {limit:UInt32}
SETTINGS use_skip_indexes_on_data_read = 0
