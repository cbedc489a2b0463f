-- What each program of quiclens may do on a ClickHouse server, the least that it needs, as roles for the database
-- `quiclens`. Run it as an administrator, once, then give each program's user its role:
--   CREATE USER ingest IDENTIFIED WITH sha256_password BY '…'; GRANT quiclens_ingest TO ingest;
--   SET DEFAULT ROLE quiclens_ingest TO ingest;
-- A test runs every program with these alone in the embedded engine, which is ClickHouse's own, and with one of them
-- less. That engine does not ask for rights on tables of `system`: those stand here as the statements need them.
-- Users need a profile that lets them change settings of their own queries: readonly = 0 for those that write, 2 or 0
-- for `quiclens_read`.

CREATE DATABASE IF NOT EXISTS quiclens;

-- quiclens migrate: tables and views.
CREATE ROLE IF NOT EXISTS quiclens_migrate;
GRANT SELECT, INSERT, CREATE TABLE, DROP VIEW ON quiclens.* TO quiclens_migrate;

-- quiclens ingest, load and link: rows, and requests that are built in tables of their own.
CREATE ROLE IF NOT EXISTS quiclens_ingest;
GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE, TRUNCATE, ALTER DELETE ON quiclens.* TO quiclens_ingest;
GRANT SELECT ON system.parts TO quiclens_ingest;

-- A collector that sends to ClickHouse itself, without Kafka.
CREATE ROLE IF NOT EXISTS quiclens_collector;
GRANT INSERT ON quiclens.* TO quiclens_collector;

-- quiclens retention.
CREATE ROLE IF NOT EXISTS quiclens_retention;
GRANT SELECT, INSERT, CREATE TABLE, ALTER DELETE, ALTER UPDATE ON quiclens.* TO quiclens_retention;
GRANT SELECT ON system.parts TO quiclens_retention;

-- quiclens erase.
CREATE ROLE IF NOT EXISTS quiclens_erase;
GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE, TRUNCATE, ALTER DELETE ON quiclens.* TO quiclens_erase;
GRANT SELECT ON system.parts TO quiclens_erase;

-- Pages, the JSON API, all commands that ask, Grafana.
CREATE ROLE IF NOT EXISTS quiclens_read;
GRANT SELECT ON quiclens.* TO quiclens_read;
GRANT SELECT ON system.parts TO quiclens_read;
