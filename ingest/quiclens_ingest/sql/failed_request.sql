-- A condition on requests, for other questions: it was given up, or the server could not answer it. An answer that says no
-- (4xx) is an answer.
-- `Rules::takes_request` of the collector is the same condition on a row before it is stored.
ifNull(end_is = 'reset', 0) OR ifNull(status >= 500, 0)
