-- One row is a value that stands in the store for one of these hours.
INSERT INTO {old_dimensions:Identifier}
SELECT *
FROM request_dimensions
WHERE started_hour IN {hours:Array(DateTime('UTC'))}
SETTINGS do_not_merge_across_partitions_select_final = 1
