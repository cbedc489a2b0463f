"""The engine's own walls, without anything that reads a statement: grants, connections for reading, no tables that are
files. `engine_accesses.tsv` has what a reader must not reach, with the engine's code for the refusal."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import engine

ACCESSES = [
    line.split("\t") for line in (Path(__file__).parent / "engine_accesses.tsv").read_text().splitlines() if line
]
# What grants and a connection for reading do not hold. `SECURITY.md` names what does: the list of functions and of
# system tables and the engine's classification in `serve`, and Landlock.
NOT_HELD = (
    "SELECT length(file('{secret}'))",
    "SELECT 1 INTO OUTFILE '{secret}.out'",
    "SELECT * FROM system.processes",
    "SELECT * FROM merge('system', '^one$')",
    "KILL QUERY WHERE query_id = 'nobody'",
)

# Table functions that the lists of `serve` refuse and the engine lets a reader have, and why nobody is reached by them.
OWN_ROWS = (
    "rows of nothing, of chance or of what stands in the statement; refused for the structure that it takes as text"
)
OWN_TABLES = "what the store's own tables are made of, which a reader may read, past the list of tables of `system`"
NOT_REFUSED_HERE = {
    "fuzzJSON": OWN_ROWS,
    "fuzzQuery": OWN_ROWS,
    "generateRandom": OWN_ROWS,
    "input": OWN_ROWS,
    "null": OWN_ROWS,
    "values": OWN_ROWS,
    "merge": OWN_TABLES,
    "mergeTreeAnalyzeIndexes": OWN_TABLES,
    "mergeTreeAnalyzeIndexesUUID": OWN_TABLES,
    "mergeTreeCodecBlockCounts": OWN_TABLES,
    "mergeTreeIndex": OWN_TABLES,
    "mergeTreeProjection": OWN_TABLES,
    "mergeTreeTextIndex": OWN_TABLES,
    "viewIfPermitted": "a statement of its own, all of whose parts need the rights that they need elsewhere",
}
# Functions that the list of `serve` refuses and the engine lets a reader have, by what they would tell or take, with
# arguments that each takes: no grant holds them, and `SECURITY.md` says so. Where the engine has the function, nothing
# for it (no dictionary, model, certificate, key of another host) and no right to bring that, it has a row.
READS_A_FILE = "reads a file: Landlock holds all but those of the store and of the temporary folder"
TELLS = "tells of this machine, of this process or of its settings, whatever it is given"
OF_THE_STATEMENT = "works on what stands in the statement, and nothing ends it: neither a limit nor KILL"
OF_THE_ENGINE = "for the engine's own plans, or its log, or about the text of statements: it reaches nothing"
FUNCTIONS_NOT_REFUSED_HERE: dict[str, dict[str, str | None]] = {
    READS_A_FILE: {"file": "'/etc/hostname'"},
    TELLS: {
        "FQDN": "",
        "blockSerializedSize": "1",
        "buildId": "",
        "currentProfiles": "",
        "currentRequestURL": "",
        "currentRoles": "",
        "defaultProfiles": "",
        "defaultRoles": "",
        "displayName": "",
        "enabledProfiles": "",
        "enabledRoles": "",
        "filesystemAvailable": "",
        "filesystemCapacity": "",
        "filesystemUnreserved": "",
        "fullHostName": "",
        "getMaxTableNameLengthForDatabase": "'system'",
        "getMergeTreeSetting": "'index_granularity'",
        "getOSKernelVersion": "",
        "getServerSetting": "'path'",
        "hostName": "",
        "hostname": "",
        "initialQueryID": "",
        "queryID": "",
        "serverUUID": "",
        "shardCount": "",
        "shardNum": "",
        "tcpPort": "",
        "transactionID": "",
        "uptime": "",
        "zookeeperSessionUptime": "",
    },
    OF_THE_STATEMENT: {
        "WKT": "(1., 1.)",
        "arrayLevenshteinDistance": "[1], [2]",
        "arrayLevenshteinDistanceWeighted": "[1], [2], [1.], [1.]",
        "arraySimilarity": "[1], [2], [1.], [1.]",
        "countSubstringsCaseInsensitiveUTF8": "'a', 'a'",
        "damerauLevenshteinDistance": "'a', 'b'",
        "editDistance": "'a', 'b'",
        "editDistanceUTF8": "'a', 'b'",
        "evalMLMethod": "(SELECT stochasticLinearRegressionState(1., 1.)), 1.",
        "jaroSimilarity": "'a', 'b'",
        "jaroWinklerSimilarity": "'a', 'b'",
        "kolmogorovSmirnovTest": "number, number % 2",
        "levenshteinDistance": "'a', 'b'",
        "levenshteinDistanceUTF8": "'a', 'b'",
        "multiFuzzyMatchAllIndices": "'abc', 1, ['abd']",
        "multiFuzzyMatchAny": "'abc', 1, ['abd']",
        "multiFuzzyMatchAnyIndex": "'abc', 1, ['abd']",
        "multiMatchAllIndices": "'a', ['b']",
        "multiMatchAny": "'a', ['b']",
        "multiMatchAnyIndex": "'a', ['b']",
        "multiSearchAllPositionsCaseInsensitiveUTF8": "'a', ['b']",
        "multiSearchAnyCaseInsensitiveUTF8": "'a', ['b']",
        "multiSearchFirstIndexCaseInsensitiveUTF8": "'a', ['b']",
        "multiSearchFirstPositionCaseInsensitiveUTF8": "'a', ['b']",
        "naiveBayesNgrams": "'a', 1, 'byte'",
        "polygonConvexHullCartesian": "POLYGON",
        "polygonsDistanceCartesian": "POLYGON, POLYGON",
        "polygonsDistanceSpherical": "POLYGON, POLYGON",
        "polygonsEqualsCartesian": "POLYGON, POLYGON",
        "polygonsIntersectCartesian": "POLYGON, POLYGON",
        "polygonsIntersectSpherical": "POLYGON, POLYGON",
        "polygonsIntersectionCartesian": "POLYGON, POLYGON",
        "polygonsIntersectionSpherical": "POLYGON, POLYGON",
        "polygonsSymDifferenceCartesian": "POLYGON, POLYGON",
        "polygonsSymDifferenceSpherical": "POLYGON, POLYGON",
        "polygonsUnionCartesian": "POLYGON, POLYGON",
        "polygonsUnionSpherical": "POLYGON, POLYGON",
        "polygonsWithinCartesian": "POLYGON, POLYGON",
        "polygonsWithinSpherical": "POLYGON, POLYGON",
        "positionCaseInsensitiveUTF8": "'a', 'b'",
        "printf": "'a'",
        "seriesDecomposeSTL": "[1, 2, 3, 1, 2, 3, 1, 2, 3], 3",
        "structureToCapnProtoSchema": "'a Int8'",
        "structureToProtobufSchema": "'a Int8'",
        "wkt": "(1., 1.)",
    },
    OF_THE_ENGINE: {
        "__actionName": None,
        "__applyFilter": None,
        "__bitBoolMaskAnd": None,
        "__bitBoolMaskOr": None,
        "__bitSwapLastTwo": None,
        "__bitWrapperFunc": None,
        "__getScalar": None,
        "__groupingForCube": None,
        "__groupingForGroupingSets": None,
        "__groupingForRollup": None,
        "__groupingOrdinary": None,
        "__patchPartitionID": None,
        "__scalarSubqueryResult": "1",
        "__toYearCalendarOnly": "today()",
        "formatQueryFromJSON": None,
        "fuzzBits": "'a', 0.1",
        "fuzzQuery": None,
        "isMergeTreePartCoveredBy": "'all_1_1_0', 'all_1_1_0'",
        "logTrace": "'x'",
        "mergeTreePartInfo": "'all_1_1_0'",
        "obfuscateQuery": "'SELECT 1'",
        "obfuscateQueryWithSeed": "'SELECT 1', 'x'",
    },
}
POLYGON = "[[[(0., 0.), (1., 1.), (0., 1.)]]]"
REVIEWED = Path(__file__).parents[2] / "api" / "store_server" / "quiclens_store_server" / "reviewed_lists"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A connection for reading to a store with one table `t`."""
    folder = tmp_path_factory.mktemp("engine") / "store"
    root = engine.connect(folder)
    root.query("CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a")
    made = engine.another_connection(folder)
    made.query("SET readonly = 1")
    yield made
    made.close()
    root.close()


def code(connection: Any, sql: str) -> int:
    """ClickHouse's code of a refusal, 0 where there is none."""
    try:
        connection.query(sql, "TSV")
    except RuntimeError as error:
        text = str(error)
        return int(text[text.index("Code: ") + 6 :].split(".")[0])
    return 0


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in ACCESSES}))
def test_the_engine_itself_refuses_what_a_reader_must_not_reach(reader: Any, kind: str) -> None:
    wrong = [
        (sql, wanted, found)
        for each, wanted, sql in ACCESSES
        if each == kind and (found := code(reader, sql)) != int(wanted)
    ]
    assert not wrong


def refused(kind: str) -> set[str]:
    """Names that somebody has read and refused, of `reviewed_lists`."""
    lines = (REVIEWED / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    return {line.removeprefix("- ") for line in lines if line.startswith("- ")}


def tried(kind: str, before: str) -> set[str]:
    """Names that stand behind a word in the statements of one kind."""
    return {name for each, _, sql in ACCESSES if each == kind for name in re.findall(rf"{before}(\w+)", sql)}


def test_every_table_function_that_is_refused_is_tried() -> None:
    names = refused("table_functions")
    read, written = tried("table function", r"\bFROM "), tried("table function, write", r"\bFUNCTION ")
    assert len(names) > 80 and names - read == set(NOT_REFUSED_HERE), "give it a row, or say why it needs none"
    assert names - written == set(), "give it a row"


def test_every_table_engine_that_is_refused_is_tried() -> None:
    names = refused("table_engines")
    assert len(names) > 70 and names - tried("table engine", r"\bENGINE = ") == set(), "give it a row"


def test_every_function_that_is_refused_is_tried_or_known_not_to_be_held() -> None:
    names, rows = refused("functions"), tried("function", r"^SELECT ")
    known = [name for functions in FUNCTIONS_NOT_REFUSED_HERE.values() for name in functions]
    assert len(names) > 180 and len(known) == len(set(known))
    assert rows | set(known) == names, "give it a row, or say why the engine does not refuse it"
    assert not rows & set(known)


def test_functions_that_the_engine_does_not_hold_are_known(reader: Any) -> None:
    """Those that one day are refused get a row."""
    wrong = [
        (sql, found)
        for functions in FUNCTIONS_NOT_REFUSED_HERE.values()
        for name, arguments in functions.items()
        if arguments is not None
        and (found := code(reader, sql := f"SELECT {name}({arguments.replace('POLYGON', POLYGON)}) FROM numbers(9)"))
    ]
    assert not wrong


def test_what_the_engine_does_not_hold_is_known(reader: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    assert [code(reader, sql.format(secret=secret)) for sql in NOT_HELD] == [0] * len(NOT_HELD)


@pytest.mark.parametrize(
    "sql",
    ["SET readonly = 0", "SET max_threads = 3", "SELECT 1 SETTINGS readonly = 0", "INSERT INTO t VALUES (1)",
     "SELECT 1 UNION ALL SELECT 2 SETTINGS readonly = 0", "EXPLAIN SELECT 1 SETTINGS readonly = 0", "DROP TABLE t",
     "CREATE TEMPORARY TABLE x (a UInt8)", "SELECT * FROM python(secrets)", "TRUNCATE TABLE t", "OPTIMIZE TABLE t",
     "ALTER TABLE t DELETE WHERE 1", "DELETE FROM t WHERE 1", "CREATE VIEW v AS SELECT 1", "RENAME TABLE t TO u"],
)  # fmt: skip
def test_a_connection_for_reading_stays_one(reader: Any, sql: str) -> None:
    secrets = {"token": "secret"}  # what `python()` would find in this very frame
    assert code(reader, sql) in (164, 497) and secrets
    assert code(reader, "INSERT INTO t VALUES (1)") in (164, 497)


def test_a_path_is_no_table(reader: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for name in (f"`{secret}`", f'"{secret}"', f"default.`{secret}`", f"'{secret}'"):
        assert code(reader, f"SELECT * FROM {name}") == 60
    assert code(reader, f"DESCRIBE `{secret}`") == 60
