-- For how many connections a trace stands: 1, where the chance to be traced is unknown. Written into others.
1 / if(streams.trace_probability BETWEEN 0.000001 AND 1, streams.trace_probability, 1)
