-- One row is one event of packets that came in, or that landed on the wrong host: there with what their connection ID
-- says, as `quiclens report misrouted` reads it. Written into others.
/* question server_ids, over edge_operations */
