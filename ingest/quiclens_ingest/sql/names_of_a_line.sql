-- The names by which a log line calls its connection: an id or an alias, and the key of its client. Written into others.
arrayConcat(
    if(isNull(connection_id), [], [(false, assumeNotNull(connection_id))]),
    if(isNull(client_key), [], [(true, assumeNotNull(client_key))])
)
