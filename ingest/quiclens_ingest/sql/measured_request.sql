-- A condition on requests, for other questions: it ended as it should, and its duration is known.
complete AND duration_us IS NOT NULL AND NOT (/* failed_request.sql */)
