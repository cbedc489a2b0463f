-- One row is one request of the population, and whether it is one of those that are asked about. Included by the others of
-- its name.
SELECT
    *,
    duration_us >= {chosen_from_us:UInt64}
        AND duration_us < {chosen_to_us:UInt64}
        AND ({chosen_since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {chosen_since:Nullable(DateTime64(6, 'UTC'))})
        AND ({chosen_until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at < {chosen_until:Nullable(DateTime64(6, 'UTC'))}) AS is_chosen
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND (/* in_window.sql */)
/* conditions */
