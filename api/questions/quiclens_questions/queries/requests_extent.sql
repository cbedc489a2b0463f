-- The only row: when the oldest and the newest dated request began, and how many requests there are.
SELECT
    min(started_at) AS oldest,
    max(started_at) AS newest,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(h3_cell IS NOT NULL) AS located
FROM requests
