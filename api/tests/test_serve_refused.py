"""What no statement may do over HTTP, however it is wrapped: reach files, hosts, programs, other people's queries."""

import re
from pathlib import Path

import pytest
from serve_process import Served

FUNCTIONS = (
    "file('{file}', 'LineAsString')",
    "url('http://127.0.0.1:9/', 'LineAsString', 'x String')",
    "remote('127.0.0.1', system.one)",
    "remoteSecure('127.0.0.1', system.one)",
    "cluster('default', system.one)",
    "s3('http://127.0.0.1:9/x', 'CSV', 'x String')",
    "gcs('http://127.0.0.1:9/x', 'CSV', 'x String')",
    "executable('cat', 'TSV', 'x String')",
    "Python(tab)",
    "python(tab)",
    "mysql('127.0.0.1:9', 'a', 'b', 'c', 'd')",
    "postgresql('127.0.0.1:9', 'a', 'b', 'c', 'd')",
    "sqlite('{file}', 't')",
    "hdfs('hdfs://127.0.0.1:9/x', 'CSV', 'x String')",
    "azureBlobStorage('a', 'b', 'c')",
    "icebergLocal('{file}')",
    "deltaLakeLocal('{file}')",
    "filesystem('/etc')",
    "merge('system', 'processes')",
    "loop(system.processes)",
    "eval('SELECT 1')",
    "dictionary('d')",
    "viewExplain('EXPLAIN', '', (SELECT 1))",
    "fileCluster('default', '{file}')",
    "arrowStream('x')",
    "mergeTreeIndex('default', 'requests')",
)
NESTED = (
    "SELECT * FROM {}",
    "WITH x AS (SELECT * FROM {}) SELECT * FROM x",
    "SELECT 1 UNION ALL SELECT 2 FROM {}",
    "SELECT (SELECT count() FROM {})",
    "SELECT 1 WHERE 'a' IN (SELECT * FROM {})",
    "SELECT count() FROM numbers(3) AS n LEFT JOIN {} AS f ON 1 = 1",
    "SELECT * FROM view(SELECT * FROM {})",
    "SELECT 1 FROM (SELECT * FROM (SELECT * FROM {} LIMIT 1))",
    "EXPLAIN SELECT * FROM {}",
    "EXPLAIN AST SELECT * FROM {}",
    "DESCRIBE TABLE {}",
    "CREATE VIEW leak AS SELECT * FROM {}",
    "CREATE TABLE leak ENGINE = Memory AS SELECT * FROM {}",
    "CREATE TABLE leak AS {}",
    "INSERT INTO link_pending (token) SELECT * FROM {}",
    "INSERT INTO FUNCTION {} SELECT 1",
    "INSERT INTO TABLE FUNCTION {} FORMAT TSV\n1",
    "DELETE FROM link_pending WHERE token IN (SELECT * FROM {})",
    "/* SELECT 1 */ SELECT -- x\n * FROM {}",
)
# Each stands in every one of NESTED.
REACHING = ("file('{file}', 'LineAsString')", "url('http://127.0.0.1:9/', 'LineAsString', 'x String')")
STATEMENTS = (
    "SELECT file('{file}')",
    "SELECT FILE('{file}')",
    "SELECT `file`('{file}')",
    "SELECT `fi\\x6ce`('{file}')",
    "DROP TABLE link_pending, events",
    "SELECT * APPLY(file) FROM (SELECT '{file}' AS a)",
    "SELECT * APPLY file FROM (SELECT '{file}' AS a)",
    "SELECT COLUMNS('.') APPLY(x -> file(x)) FROM (SELECT '{file}' AS a)",
    "SELECT * REPLACE(file('{file}') AS a) FROM (SELECT 1 AS a)",
    "SELECT arrayMap(x -> file(x), ['{file}'])",
    "SELECT 1 LIMIT length(file('{file}'))",
    "SELECT sum(1) OVER (ORDER BY file('{file}'))",
    "SELECT 1 ORDER BY 1 WITH FILL FROM length(file('{file}'))",
    "SELECT * FROM default.{{t:Identifier}}",
    "SELECT * FROM {{t:Identifier}}",
    "CREATE TABLE leak AS `{file}`",
    "CREATE TABLE leak AS default.`{file}`",
    "CREATE TABLE leak CLONE AS `{file}`",
    "INSERT INTO `{file}` VALUES (1)",
    "SELECT 1 INTO OUTFILE '{file}.out'",
    "EXPLAIN SELECT 1 INTO OUTFILE '{file}.out'",
    "SELECT 1 INTO /* */ OUTFILE '{file}.out' FORMAT TSV",
    "INSERT INTO link_pending (token) FROM INFILE '{file}' FORMAT LineAsString",
    "INSERT INTO link_pending (token) VALUES (file('{file}'))",
    "INSERT INTO link_pending (token) VALUES ('a'), ((SELECT * FROM file('{file}', 'LineAsString')))",
    "CREATE TABLE leak (x String) ENGINE = File(TSV, '{file}')",
    "CREATE TABLE leak (x String) ENGINE = URL('http://127.0.0.1:9/', 'TSV')",
    "CREATE TABLE leak (x String) ENGINE = Executable('cat', TSV)",
    "CREATE TABLE leak AS link_pending ENGINE = Merge('system', '.*')",
    "CREATE TABLE leak (x String DEFAULT file('{file}')) ENGINE = Memory",
    "CREATE TABLE leak (x String) ENGINE = MergeTree ORDER BY x SETTINGS disk = disk(type = 'local', path = '/tmp/')",
    "CREATE TABLE leak (x String) ENGINE = MergeTree ORDER BY x SETTINGS storage_policy = 'x'",
    "ALTER TABLE link_pending UPDATE token = file('{file}') WHERE 1",
    "ALTER TABLE link_pending ADD COLUMN x String DEFAULT file('{file}')",
    "CREATE DICTIONARY leak (a UInt64) PRIMARY KEY a SOURCE(FILE(path '{file}' format 'CSV')) LAYOUT(FLAT())",
    "CREATE FUNCTION leak AS x -> file(x)",
    "CREATE DATABASE leak ENGINE = Filesystem('/')",
    "CREATE MATERIALIZED VIEW leak TO link_pending AS SELECT * FROM requests",
    "CREATE NAMED COLLECTION leak AS a = 'b'",
    "CREATE USER leak",
    "GRANT ALL ON *.* TO default",
    "BACKUP TABLE requests TO File('{file}.backup')",
    "RESTORE TABLE requests FROM File('{file}')",
    "ATTACH TABLE leak FROM '{file}' (x String) ENGINE = MergeTree ORDER BY x",
    "DETACH TABLE requests",
    "RENAME TABLE requests TO leak",
    "EXCHANGE TABLES requests AND streams",
    "SYSTEM SHUTDOWN",
    "SYSTEM STOP MERGES",
    "KILL QUERY WHERE 1",
    "KILL MUTATION WHERE 1",
    "SHOW PROCESSLIST",
    "SHOW GRANTS",
    "SELECT * FROM system.processes",
    "SELECT * FROM `system`.`processes`",
    "SELECT * FROM system.query_log",
    "SELECT * FROM system.user_query_log",
    "SELECT * FROM system.named_collections",
    "SELECT * FROM system.server_settings",
    "SELECT * FROM system.stack_trace",
    "SELECT * FROM system.users",
    "SELECT * FROM system.disks",
    "SELECT 1 IN system.processes",
    "SELECT 1 SETTINGS additional_result_filter = 'length(file(\\'{file}\\')) > 0'",
    "SELECT * FROM requests SETTINGS additional_table_filters = {{'requests': 'file(1)'}}",
    "SELECT 1 SETTINGS additional_table_filters = '{{\\'one\\': \\'file(1)\\'}}'",
    "SELECT 1 SETTINGS additional_table_filters = {{t:Map(String, String)}}",
    "SELECT * FROM system.one SETTINGS additional_table_filters = {{'system.one': 'length(file(\\'{file}\\')) > 0'}}",
    "SELECT * FROM system.one SETTINGS additional_table_filters = {{'x': '1 IN (SELECT 1 FROM system.processes)'}}",
    "SELECT * FROM (SELECT 1 FROM system.one SETTINGS additional_table_filters = {{'system.one': 'fi\\x6ce(1) = 1'}})",
    "SELECT * SETTINGS implicit_table_at_top_level = '{file}'",
    "SELECT * FROM processes SETTINGS database = 'system'",
    "SELECT 1 SETTINGS filter = 'length(file(\\'{file}\\')) > 0'",
    "CREATE VIEW leak AS SELECT * FROM {{name:Identifier}}",
    "SELECT hasColumnInTable('127.0.0.1:9', 'u', 'p', 'd', 't', 'c')",
    "SELECT reverseDNSQuery('127.0.0.1')",
    "SELECT 1 SETTINGS format_avro_schema_registry_url = 'http://127.0.0.1:9/'",
    "SELECT 1 SETTINGS output_format_schema = '{file}.out'",
    "SELECT (SELECT 1 SETTINGS allow_introspection_functions = 1)",
    "INSERT INTO link_pending (token) SETTINGS input_format_record_errors_file_path = '{file}.out' FORMAT TSV\na",
    "INSERT INTO link_pending (token) SETTINGS input_format_values_interpret_expressions = 1 VALUES (file('{file}'))",
    "SELECT getServerSetting('path')",
    "SELECT arrayMap(file, ['{file}'])",
    "SELECT arrayMap(`file`, ['{file}'])",
    "SELECT arrayMap((file AS g), ['{file}'])",
    "SELECT mapApply(file, map('a', '{file}'))",
    "SELECT ARRAYMAP(file, ['{file}'])",
    "SELECT arrayFold(file, ['{file}'], '')",
    "SELECT arrayMap(x -> arrayMap(file, [x]), ['{file}'])",
    "SELECT * APPLY(x -> arrayMap(file, [x])) FROM (SELECT '{file}' AS a)",
    "SELECT * FROM requests SETTINGS additional_table_filters = {{'requests': 'arrayMap(file, [path])[1] > \\'\\''}}",
    "SELECT b FROM generateRandom('a UInt8, b String ALIAS file(\\'{file}\\')') LIMIT 1",
    "SELECT b FROM values('a UInt8, b String ALIAS file(\\'{file}\\')', (1))",
    "SELECT count(b) FROM null('a UInt8, b String ALIAS file(\\'{file}\\')')",
    "SELECT b FROM values({{t:String}}, (1))",
    "SELECT editDistance('a', 'b')",
    "SELECT arrayLevenshteinDistance([1], [2])",
    "SELECT arraySimilarity([1], [2], [1.0], [1.0])",
    "SELECT positionCaseInsensitiveUTF8('a', 'b')",
    "SELECT multiFuzzyMatchAny('a', 1, ['b'])",
    "SELECT seriesDecomposeSTL([1, 2, 3, 1, 2, 3, 1, 2, 3], 3)",
    "SELECT printf('%2000000000d', 1)",
    "SELECT polygonsUnionCartesian([[[(0., 0.), (1., 1.), (0., 1.)]]], [[[(0., 0.), (1., 1.), (0., 1.)]]])",
    "SELECT getMacro('x')",
    "SELECT dictGet('d', 'x', 1)",
    "SELECT aiGenerate('x', 'y')",
    "DROP TABLE events",
    "DROP TABLE IF EXISTS default.events SYNC",
    "DROP DATABASE default",
    "TRUNCATE TABLE requests",
    "DELETE FROM connections WHERE 1",
    "ALTER TABLE connections DELETE WHERE 1",
    "ALTER TABLE events DROP PARTITION ID '20200101'",
    "ALTER TABLE events DROP COLUMN seq",
    "ALTER TABLE requests FETCH PARTITION '1' FROM '/x'",
    "ALTER TABLE requests FREEZE",
    "CREATE OR REPLACE TABLE events (x String) ENGINE = Memory",
    "CREATE OR REPLACE VIEW events AS SELECT 1",
    "INSERT INTO system.one VALUES (1)",
    "SELECT 1; SELECT * FROM file('{file}')",
    "SELECT 1; DROP TABLE link_pending",
)

# What the engine's lexer takes between two words.
GAPS = (
    *(" ", "\t", "\n", "\r\n", "\f", "\v", "\u00a0", "\u2003", "\ufeff", "\u200b"),
    *("/**/", "/* {t:UInt8} */", "--\n", "-- x\n", "#!x\n", "# x\n", " \t\n/**/ "),
)
# Statements in which a parameter names a table.
IDENTIFIERS = (
    "SELECT * FROM {t:GAPIdentifier} LIMIT 3",
    "SELECT * FROM {tGAP:GAPIdentifierGAP} LIMIT 3",
    "SELECT 'a' IN {t:GAPIdentifier}",
    "DESCRIBE TABLE {t:GAPIdentifier}",
    "EXPLAIN SELECT * FROM {t:GAPIdentifier}",
    "INSERT INTO {t:GAPIdentifier} SELECT 'x'",
    "INSERT INTO {t:GAPIdentifier} FORMAT TSV\nx",
    "DROP TABLE {t:GAPIdentifier}",
    "DROP TABLE IF EXISTS default.{t:GAPIdentifier} SYNC",
    "TRUNCATE TABLE {t:GAPIdentifier}",
    "DETACH TABLE {t:GAPIdentifier}",
    "DELETE FROM {t:GAPIdentifier} WHERE 1",
    "ALTER TABLE {t:GAPIdentifier} DELETE WHERE 1",
    "ALTER TABLE {t:GAPIdentifier} ADD COLUMN x UInt8",
    "RENAME TABLE {t:GAPIdentifier} TO leak",
    "EXCHANGE TABLES {t:GAPIdentifier} AND requests",
    "OPTIMIZE TABLE {t:GAPIdentifier} FINAL",
    "CREATE TABLE {t:GAPIdentifier} (x UInt8) ENGINE = Memory",
    "ATTACH TABLE {t:GAPIdentifier}",
)
# A path is a name like any other, and no table has it: the engine was opened without tables that are files.
PATHS = (
    "SELECT * FROM `{file}`",
    'SELECT * FROM "{file}"',
    "SELECT * FROM '{file}'",
    "SELECT * FROM default.`{file}`",
    "SELECT 'secret' IN `{file}`",
    "SELECT 'secret' IN default.`{file}`",
    "SELECT 'secret' NOT IN (`{file}`)",
    "DESCRIBE `{file}`",
    "SHOW CREATE TABLE `{file}`",
    "EXISTS TABLE `{file}`",
    "EXISTS TABLE `{file}` FORMAT JSON",
    "SHOW CREATE TABLE `{file}` FORMAT JSON",
    "SELECT * FROM `{file}` AS t JOIN `{file}` AS u ON 1",
    "SELECT * FROM view(SELECT * FROM `{file}`)",
    "EXPLAIN SELECT * FROM `{file}`",
)


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.write_text("secret\n")
    return path


REFUSED = (48, 81, 164, 497)
"""Codes of a refusal. That of a syntax error (62) is none: a statement that the engine cannot read proves nothing."""


def refused(served: Served, sql: str | bytes, path: Path, token: str = "", **parameters: str) -> None:
    """`sql` is refused, by a code that says so, and the file at `path` is alone in its folder, unread and unchanged."""
    key = {"X-ClickHouse-Key": token} if token else {}
    text = sql if isinstance(sql, bytes) else sql.encode()
    got = served.request(text, "POST", "/", key, **parameters)
    is_second = got.code == 62 and b";" in text and "multi-statements are not allowed" in got.text
    assert got.status >= 400 and (got.code in REFUSED or is_second), f"{text!r}: {got.text}"
    assert "secret\n" not in got.text
    assert list(path.parent.iterdir()) == [path] and path.read_text() == "secret\n"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_table_function_that_reaches_past_the_store_is_refused(served: Served, secret: Path, function: str) -> None:
    refused(served, f"SELECT * FROM {function.format(file=secret)}", secret)


@pytest.mark.parametrize("nested", NESTED)
def test_it_is_refused_wherever_it_stands(served: Served, secret: Path, nested: str) -> None:
    for function in REACHING:
        refused(served, nested.format(function.format(file=secret)), secret)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_statement_that_reaches_past_the_store_is_refused(served: Served, secret: Path, sql: str) -> None:
    refused(served, sql.format(file=secret), secret, param_t=str(secret))


@pytest.mark.parametrize("sql", PATHS)
def test_a_path_names_no_table(served: Served, secret: Path, sql: str) -> None:
    got = served.ask(sql.format(file=secret))
    assert got.code in (47, 60, 390, 497) or got.text.strip() == "0" or '"result": 0' in got.text, got.text
    assert "secret\n" not in got.text and list(secret.parent.iterdir()) == [secret]


WORDS = re.compile(r"""->|/\*.*?\*/|--[^\n]*\n|'(?:[^'\\]|\\.)*'|`[^`]*`|"[^"]*"|[A-Za-z0-9_\\./:*]+|[^\s\w]|\s+""")


def with_gaps(sql: str, gap: str, is_everywhere: bool) -> str:
    """The statement with another gap between its words, in the place of comments too; `is_everywhere` also where none
    was, as before a bracket."""
    words = WORDS.findall(sql)
    assert "".join(words) == sql
    if is_everywhere:
        return gap.join(word for word in words if not is_gap(word))
    return "".join(gap if is_gap(word) else word for word in words)


def is_gap(word: str) -> bool:
    return word.isspace() or word.startswith(("/*", "--"))


def test_gaps_stand_between_words_and_never_in_one() -> None:
    sql = r"SELECT f(x -> 1), ['it\'s a \\', 'b c'] AS `d e`"
    everywhere = r"SELECT|f|(|x|->|1|)|,|[|'it\'s a \\'|,|'b c'|]|AS|`d e`"
    assert with_gaps(sql, "|", is_everywhere=True) == everywhere
    assert with_gaps(sql, "|", is_everywhere=False) == r"SELECT|f(x|->|1),|['it\'s a \\',|'b c']|AS|`d e`"
    assert with_gaps("SELECT /* 1 */ '--', -- x\n 2", "|", is_everywhere=True) == "SELECT|'--'|,|2"
    assert with_gaps("SELECT /* 1 */ '--'", "|", is_everywhere=False) == "SELECT|||'--'"


@pytest.mark.parametrize("token", ["read", "write"])
@pytest.mark.parametrize("gap", GAPS)
def test_whatever_stands_between_words_a_refused_statement_is_refused(
    guarded: Served, secret: Path, gap: str, token: str
) -> None:
    """Twice: what was judged once is judged again, here after the same text with a parameter that names a table."""
    key = {"X-ClickHouse-Key": token}
    nested = (each.format(function) for each in NESTED for function in REACHING)
    texts = [*STATEMENTS, *(f"SELECT * FROM {function}" for function in FUNCTIONS), *nested]
    for place, template in enumerate(texts):
        sql = with_gaps(template.format(file=secret), gap, is_everywhere=place % 2 == (token == "read")).encode()
        if b"{t" in sql:
            guarded.request(sql, "POST", "/", key, param_t="link_pending")
        refused(guarded, sql, secret, token, param_t=str(secret))


@pytest.mark.parametrize("token", ["read", "write"])
@pytest.mark.parametrize("gap", GAPS)
def test_the_same_text_is_judged_again_with_every_parameter(
    guarded: Served, secret: Path, gap: str, token: str
) -> None:
    """A verdict belongs to one request: the text that named a table of the store a moment ago now names a file."""
    key = {"X-ClickHouse-Key": token}
    for template in IDENTIFIERS:
        text = template.replace(" ", gap).replace("GAP", gap).encode()
        for name in ("link_pending", "dropped_days"):
            guarded.request(text, "POST", "/", key, param_t=name)
        refused(guarded, text, secret, token, param_t=str(secret))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("additional_result_filter", "file('/etc/hostname') = ''"),
        ("dialect", "prql"),
        ("implicit_table_at_top_level", "/etc/hostname"),
        ("filter", "file('/etc/hostname') = ''"),
        ("select", "file('/etc/hostname')"),
        ("additional_table_filters", "{'requests': '1'}"),
        ("format_schema", "/etc/passwd"),
        ("input_format_record_errors_file_path", "/tmp/x"),
        ("default_table_engine", "Log"),
        ("allow_introspection_functions", "1"),
    ],
)
def test_a_setting_that_undoes_a_check_is_refused_as_a_parameter_too(served: Served, name: str, value: str) -> None:
    got = served.ask("SELECT 1", **{name: value})
    assert got.code == 497 and name in got.text


def test_a_database_of_the_engine_is_no_way_round(served: Served) -> None:
    for database in ("system", "default`; SELECT 1", "_local", "nothing"):
        assert served.ask("SELECT * FROM processes", database=database).code in (81, 497)
        assert served.ask("SELECT * FROM one", database=database).code in (81, 497)
    assert served.ask("SELECT * FROM system.one", database="default").status == 200


def test_the_folder_in_which_serve_was_started_holds_no_tables(served: Served) -> None:
    """The engine takes a bare name for a file of the working folder."""
    names = [path.name for path in Path.cwd().iterdir() if path.name.isidentifier()]
    assert names
    for name in names:
        assert served.ask(f"SELECT * FROM {name}").code == 60


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM numbers(2)",
        "SELECT min(number), max(number) FROM numbers(10) WHERE number IN (1, 2)",
        "SELECT number AS `req/s` FROM numbers(2) ORDER BY `req/s`",
        "SELECT number IN (SELECT number FROM numbers(2)) FROM numbers(3)",
        "WITH x AS (SELECT 1 AS one) SELECT one FROM x WHERE one IN x",
        "SELECT name FROM system.tables WHERE database = 'default' AND name = 'requests'",
        "SELECT * FROM connections_of(connection_id = 'a')",
        "SELECT * FROM (VALUES ('x'), ('y'))",
        "SELECT count(file) FROM rejects",
        "SELECT uniq(connection_id) FROM connections",
        "SELECT arrayMap(x -> x + 1, [1]), arraySort(x -> -x, [1, 2]) WHERE EXISTS (SELECT 1)",
        "SELECT path, dialect, format FROM (SELECT 1 AS path, 2 AS dialect, 3 AS format)",
        "SELECT 'INTO OUTFILE', 'file(1)', '/etc/hostname'",
        "SELECT * FROM requests SETTINGS additional_table_filters = {'requests': ' carrier = \\'it\\\\\\'s\\' '}",
        "SHOW TABLES",
        "SHOW CREATE TABLE requests",
        "DESCRIBE TABLE requests",
        "EXPLAIN SELECT count() FROM requests",
        "EXISTS TABLE requests",
        "EXISTS TABLE requests FORMAT JSON",
        "SHOW CREATE TABLE requests FORMAT JSON",
        "SHOW CREATE TABLE default.requests FORMAT Vertical",
        "SELECT table_name FROM information_schema.tables LIMIT 1",
        "SELECT extractURLParameter('http://a/?b=c', 'b'), path('http://a/b'), format('{}', 'a')",
        "SELECT JSONExtractString('{\"a\":1}', 'a') SETTINGS max_threads = 1",
        "SELECT arrayMap(x -> x + 1, [1]) AS a, dictionary.a FROM (SELECT tuple(1)::Tuple(a UInt8) AS dictionary)",
    ],
)
def test_an_ordinary_statement_runs(served: Served, sql: str) -> None:
    got = served.ask(sql)
    assert got.status == 200, got.text
