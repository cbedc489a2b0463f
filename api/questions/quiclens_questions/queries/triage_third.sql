-- In which of three thirds of the time from `oldest` to `newest` a request began, from 0; for other questions of triage, which
-- say what the two are.
intDiv(dateDiff('second', oldest, assumeNotNull(started_at)) * 3, dateDiff('second', oldest, newest) + 1)
