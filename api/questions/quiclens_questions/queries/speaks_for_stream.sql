-- An order of traces of a stream, for other questions: server before client before network, a complete trace before a cut
-- one, one that saw the request end, most events, then the smallest trace_id: as link chooses.
transform(s.vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
NOT c.complete,
NOT s.complete,
-toInt64(c.events_seen),
s.trace_id
