-- A row was stored after the mark. A part that was known is not opened; of one that was merged of known blocks and others,
-- each row says of which it is. Written into others, for one table.
NOT arrayExists(
    known -> known.1 = splitByChar('_', _part)[1]
        AND known.2 <= toInt64(splitByChar('_', _part)[2])
        AND known.3 >= toInt64(splitByChar('_', _part)[3]),
    {known:Array(Tuple(String, Int64, Int64))}
)
AND NOT arrayExists(
    known -> known.1 = _partition_id AND known.2 <= toInt64(_block_number) AND known.3 >= toInt64(_block_number),
    {known:Array(Tuple(String, Int64, Int64))}
)
