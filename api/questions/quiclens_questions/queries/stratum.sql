-- What a request's stratum is made of, for other questions: its carrier, its path, and its response's size by powers of four, as
-- far as each is asked for.
(
    if({by_carrier:Bool}, ifNull(toString(carrier), ''), ''),
    if({by_path:Bool}, ifNull(path, ''), ''),
    if({by_response_bytes:Bool}, ifNull(toInt16(floor(log2(greatest(1, response_bytes)) / 2)), -1), toInt16(0))
)
