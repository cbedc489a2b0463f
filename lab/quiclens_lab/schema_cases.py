"""`quiclens-lab schema-cases`: whatever the OpenAPI document allows, and what it does not, asked by every role.

So are pages, signing in, probes, the ClickHouse interface, and the routes that write (`undescribed`).

No answer is an unexpected error, none says what the engine or a file outside of the store says, none has a token in it,
and an uploader reads no row. The file is planted: statements, names and paths ask for it, and it stays as it was. Cases
come in chunks, each with a seed of its own; what was asked is kept in `.made/schema-cases`, so that a run goes on where
the last one ended, as long as the code is the same.
"""

import json
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import SkipTest
from urllib.parse import quote, unquote_plus

from quiclens_schema.served import ROWS_PATH
from quiclens_web.front.faults import SERVER_ERRORS

from quiclens_lab import hostile_words
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of
from quiclens_lab.served import CODE, Served, served
from quiclens_lab.undescribed import documents, statements_of_a_file

MADE = LAB.parent / ".made" / "schema-cases"
KEPT = LAB / "schema-case-runs"
CASES = 100_000
CHUNK = 50
ROLES = ("nobody", "reader", "writer", "uploader")
# As the document says, as it does not, as it says with the planted file's path in all that may have it, and with what
# strangers say (`hostile_words.py`).
MODES = ("positive", "negative", "file", "hostile")
_TRACE = LAB.parent / "schema" / "vectors" / "quiche_0_30_server" / "input.sqlog"
_MAY_BE_503 = ("no_memory", "no_collector", "store_busy", "store_failed", "unwell")
_PUBLIC = (
    "/api/openapi.json",
    "/ping",
    "/replicas_status",
    "/healthz",
    "/login",
    "/causes.css",
    "/static/causes.js",
    "/static/{name}",
    "/vendor/{name}",
    "/logout",
)
# Who gives wrong tokens waits: they come from an address of their own.
_GUESSES_FROM = "127.0.0.2"
# What the engine says of itself when a statement of ours fails; no answer may show it.
_ENGINE = re.compile(
    r"DB::Exception|Code: \d+\.|In scope SELECT|SYNTAX_ERROR|clickhouse_connect|Traceback", re.IGNORECASE
)

# These tell errors of the engine to ClickHouse's clients, in its words.
_OF_CLICKHOUSE = ("interface", "store")
_CODE = re.compile(r'^Code: (\d+)\. DB::Exception|"engine_code":(\d+)')
_UPLOADS = ("/api/v1/traces", ROWS_PATH)

Row = dict[str, Any]


@dataclass(frozen=True)
class Chunk:
    """Cases of one operation from one role, in one of the `MODES`."""

    round: int
    role: str
    operation: str
    mode: str
    cases: int = 0
    of_the_file: int = 0  # that name the planted file
    answers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, str, str, str]:
        return self.round, self.role, self.operation, self.mode


def schema_cases(
    cases: int, keep: bool, progress: Callable[[int, int], None], chunk: int = CHUNK, folder: Path = MADE
) -> Row:
    """Ask at least so many cases, those of an earlier run on the same code, whose lines are in `folder`, among them. Of
    a run that is kept they are in `KEPT` too: it goes on on another machine."""
    judgement = Judgement("schema-cases")
    code = code_of(
        LAB.parent,
        (*CODE, *(f"lab/quiclens_lab/{name}.py" for name in ("schema_cases", "undescribed", "hostile_words"))),
    )
    kept = RunLines(folder, f"{code}.jsonl", Chunk, also=KEPT if keep else None)
    done = list(kept.read())
    known = {each.key for each in done}
    asked = sum(each.cases for each in done)
    with tempfile.TemporaryDirectory(prefix="quiclens-schema-") as place, served(Path(place)) as running:
        planted = PlantedFile(Path(place) / "outside.txt")
        asking = _Asking(running, planted)
        number = 0
        while asked < cases:
            for role, operation, mode in asking.work():
                if (number, role, operation, mode) in known:
                    continue
                found = asking.chunk(number, role, operation, mode, chunk)
                done.append(found)
                asked += found.cases
                kept.add(found)
                progress(min(asked, cases), cases)
                if asked >= cases:
                    break
            number += 1
        judgement.want(running.process.poll() is None, "the process ended")
        judgement.want(planted.is_as_it_was(), "the planted file was changed, or another made beside it")
    judgement.found |= {"code": code, **added(done)}
    judge(judgement)
    return judgement.document(keep)


def added(done: Iterable[Chunk]) -> Row:
    """What all chunks found together."""
    answers: dict[str, Counter[str]] = {role: Counter() for role in ROLES}
    of_the_file = dict.fromkeys(ROLES, 0)
    failures: list[str] = []
    for each in done:
        answers[each.role].update(each.answers)
        of_the_file[each.role] += each.of_the_file
        failures += each.failures
    return {
        "cases": sum(each.total() for each in answers.values()),
        "of_the_file": of_the_file,
        "answers": {role: dict(sorted(found.items())) for role, found in answers.items()},
        "failures": failures[:100],
        "failed": len(failures),
    }


def judge(judgement: Judgement) -> None:
    """Find out what of the bar is missed, or left out."""
    found = judgement.found
    judgement.leave_out(found["cases"] < CASES, f"{found['cases']:,} cases of {CASES:,}")
    for role, count in found["of_the_file"].items():
        judgement.want(count > 0, f"{role} never asked for the planted file")
    judgement.want(not found["failed"], f"{found['failed']:,} cases failed")


class PlantedFile:
    """A file outside of the store, whose content no answer may have, and which nobody may change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = secrets.token_hex(32)
        path.write_text(self.content)

    def is_named(self, asked: str) -> bool:
        return self.path.name in asked

    def is_as_it_was(self) -> bool:
        """Whether it has what it had, and nothing lies beside it that has its name."""
        beside = list(self.path.parent.glob(f"{self.path.name}*"))
        return beside == [self.path] and self.path.read_text() == self.content


def is_documented(is_clickhouse: bool, status: int, text: str) -> bool:
    """Whether `api/README.md` says so of an answer of 500 or more: a 503 of ours; or, of ClickHouse's interface and of
    rows and operations, an error of the engine by its code."""
    if is_clickhouse and (found := _CODE.search(text)):
        return int(found[1] or found[2]) in SERVER_ERRORS.get(status, ())
    try:
        told = json.loads(text)
    except ValueError:
        return False
    return status == 503 and isinstance(told, dict) and told.get("code") in _MAY_BE_503


class _Asking:
    """The cases of one served store, in which one trace is loaded and whose secrets are known."""

    def __init__(self, running: Served, planted: PlantedFile) -> None:
        try:
            import requests
            import schemathesis
            from schemathesis.config import SchemathesisConfig
            from schemathesis.core.result import Ok
        except ImportError as error:
            raise CannotTryError(
                "schemathesis is not installed: it is among the requirements of development"
            ) from error
        self._running = running
        self._base = f"http://127.0.0.1:{running.port}"
        self._session, self._guessing = requests.Session(), requests.Session()
        self._guessing.mount("http://", _from(_GUESSES_FROM))
        self._tokens = {"reader": running.reader, "writer": running.writer, "uploader": running.uploader}
        self._planted = planted
        self._secrets = [planted.content, *self._tokens.values()]
        self._rows = self._load()
        # Each role has its token; a made up one would have a peer refused for a while.
        config = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
        schemas = {"": schemathesis.openapi.from_url(f"{self._base}/api/openapi.json", config=config)}
        schemas |= {
            kind: schemathesis.openapi.from_dict(each, config=config) for kind, each in documents(planted.path).items()
        }
        self._operations = {
            f"{kind} {each.ok().label}".strip(): (kind, each.ok())
            for kind, schema in schemas.items()
            for each in schema.get_all_operations()
            if isinstance(each, Ok)
        }

    def work(self) -> Iterator[tuple[str, str, str]]:
        """Every role with every operation, in every mode."""
        for role in ROLES:
            for label in self._operations:
                for mode in MODES:
                    yield role, label, mode

    def chunk(self, number: int, role: str, label: str, mode: str, cases: int) -> Chunk:
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.errors import Unsatisfiable
        from schemathesis import GenerationMode

        kind, operation = self._operations[label]
        answers: Counter[str] = Counter()
        failures: list[str] = []
        of_the_file = 0

        @seed(f"{number} {role} {label} {mode}")
        @given(
            case=operation.as_strategy(generation_mode=GenerationMode("negative" if mode == "negative" else "positive"))
        )
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            nonlocal of_the_file
            headers: dict[str, str] = {}
            if mode == "positive" and answers.total() % 2:
                self._of_what_is_there(case)
            elif mode == "file":
                self._of_the_file(case, kind, number * cases + answers.total())
            elif mode == "hostile":
                headers = hostile_words.say(case, number * cases + answers.total())
            status, asked, why = self._one(role, kind, case, headers)
            of_the_file += self._planted.is_named(asked)
            answers[str(status)] += 1
            if why:
                failures.append(f"{role}: {case.as_curl_command()}: {why}")

        # An operation that takes nothing cannot be asked wrongly.
        with suppress(Unsatisfiable, SkipTest):
            ask()
        return Chunk(number, role, label, mode, answers.total(), of_the_file, dict(answers), failures)

    def _one(self, role: str, kind: str, case: Any, hostile: dict[str, str]) -> tuple[int, str, str]:
        """The status of an answer, what was asked, and what is wrong with the answer."""
        headers = {"authorization": f"Bearer {self._tokens[role]}"} if role in self._tokens else {}
        headers |= hostile
        # What a browser does not ask for at `/` is ClickHouse's interface too.
        is_clickhouse = kind in _OF_CLICKHOUSE or case.operation.path == "/"
        is_guess = case.operation.path == "/login" or "authorization" in hostile
        session = self._guessing if is_guess else self._session
        answer = case.call(base_url=self._base, session=session, headers=headers, allow_redirects=False)
        asked = unquote_plus(str(answer.request.url))
        body = answer.request.body or ""
        named = f"{asked} {unquote_plus(body.decode('utf-8', 'replace') if isinstance(body, bytes) else str(body))}"
        return int(answer.status_code), named, self._fault(role, kind, case, answer, asked, is_clickhouse)

    def _fault(self, role: str, kind: str, case: Any, answer: Any, asked: str, is_clickhouse: bool) -> str:
        """What is wrong with an answer; nothing, where it is empty."""
        from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

        status, text = int(answer.status_code), answer.content.decode("utf-8", "replace") if answer.content else ""
        told = f"{text} {dict(answer.headers)}"
        if status >= 500 and not is_documented(is_clickhouse, status, text):
            named = re.search(r"urn:uuid:([0-9a-f-]+)", text)
            logged = self._running.logged(f"id {named[1]}") if named else ""
            return f"{status} {text[:300]} {logged}"
        if any(secret in told for secret in self._secrets):
            return "a secret is in the answer"
        if not is_clickhouse and (found := _ENGINE.search(text)) and found[0].lower() not in asked.lower():
            return f"the engine speaks: {text[max(0, found.start() - 100) : found.end() + 100]}"
        if role in ("nobody", "uploader"):
            is_upload = role == "uploader" and case.method == "POST" and case.operation.path in _UPLOADS
            if status < 300 and not is_upload and case.operation.path not in _PUBLIC:
                return f"{role} is answered {status}"
            if any(row in told and row not in asked for row in self._rows):
                return f"{role} reads a row"
        if kind:
            return ""
        try:
            case.validate_response(answer, checks=[status_code_conformance, content_type_conformance])
        except BaseExceptionGroup as error:
            return f"not as documented: {'; '.join(str(each) for each in error.exceptions)[:500]}"
        except AssertionError as error:
            return f"not as documented: {str(error)[:500]}"
        return ""

    def _of_the_file(self, case: Any, kind: str, turn: int) -> None:
        """Give the planted file's path for every text of the address; of ClickHouse's interface, the statement about it
        whose turn it is."""
        path = str(self._planted.path)
        if kind == "interface":
            statements = statements_of_a_file(self._planted.path)
            statement = statements[turn % len(statements)]
            case.query = {"param_path": path} | ({"query": statement} if case.method == "GET" else {})
            case.body = statement if case.method == "POST" else case.body
            return
        for name, value in (case.path_parameters or {}).items():
            if isinstance(value, str):
                case.path_parameters[name] = quote(path, safe="")
        for name, value in (case.query or {}).items():
            if isinstance(value, str):
                case.query[name] = path
            elif isinstance(value, list):
                case.query[name] = [f"path={path}"]

    def _of_what_is_there(self, case: Any) -> None:
        """Ask of the connection that was loaded: of names by chance nothing is there."""
        for name, value in (("connection_id", self._rows[0]), ("request_id", f"{self._rows[0]}/0")):
            if name in (case.path_parameters or {}):
                case.path_parameters[name] = quote(value, safe="")
                for narrowing in ("vantage", "trace_id"):
                    (case.query or {}).pop(narrowing, None)

    def _load(self) -> list[str]:
        """Load one trace; what stands in its rows and nowhere else."""
        answer = self._session.post(
            f"{self._base}/api/v1/traces?name=input.sqlog",
            data=_TRACE.read_bytes(),
            headers={"authorization": f"Bearer {self._tokens['writer']}"},
            timeout=120,
        )
        if answer.status_code != 201:
            raise LabError(f"the trace could not be loaded: {answer.text[:300]}")
        return [str(each["connection_id"]) for each in answer.json()["connections_found"]]


def _from(address: str) -> Any:
    """What sends requests of a session from an address of this machine."""
    from requests.adapters import HTTPAdapter

    class From(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **named: Any) -> None:
            super().init_poolmanager(*args, **named, source_address=(address, 0))

    return From()
