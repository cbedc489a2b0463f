"""quiclens migrate"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from quiclens_ingest.acls import UnknownProgram, least
from quiclens_ingest.kafka import BrokerError, TopicsMade, create_topics, wait_until_ready
from quiclens_ingest.kafka import allow as permit
from quiclens_ingest.link import link
from quiclens_schema import migrate as migrations
from quiclens_schema import topics
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_command_line.commands.cluster import Brokers, Config, settings_of
from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer
from quiclens_questions.failure import DONE, CannotRun, usage
from quiclens_questions.opening import opened

_BROKER_SECONDS = 30

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="PROGRAM=USER",
        help="Have Kafka allow a user the least that a program needs: collector, ingest, servers; repeatable.",
    ),
]
Replicas = Annotated[int, typer.Option("--replicas", min=1, metavar="N", help="Copies of each topic that is made.")]


def migrate(
    brokers: Brokers = "",
    replicas: Replicas = 1,
    config: Config = None,
    allow: Allow = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Bring the store's tables to this version; `load` and `ingest` do it by themselves.

    With --brokers or --config also the topics: missing ones are made. Those that are there keep their partitions and
    settings, which are told where a new topic would have others.
    With --allow, as a user who may, Kafka's ACLs too. Links every hour again where something changed. Nothing happens
    the second time, and nothing is ever dropped.

    Examples:

    \b
    quiclens migrate
    quiclens migrate --store http://clickhouse.example:8123/quiclens
    quiclens migrate --brokers kafka-1:9092,kafka-2:9092,kafka-3:9092 --replicas 3
    quiclens migrate --config admin.toml --allow collector=edge --allow ingest=ingest
    """
    if allow and not (brokers or config):
        raise usage("--allow is for Kafka", "say where it answers: --brokers or --config")
    made = _topics(brokers, config, replicas, allow or ()) if brokers or config else None
    with opened(store, create=True) as data:
        applied = migrations.migrate(data)
        if applied:
            link(data)  # a migration may have given `requests` columns that only linking fills
    shown = without_password(store)
    document: dict[str, Any] = {"store": shown, "applied": list(applied)}
    lines = [f"{shown}: {', '.join(applied) if applied else 'up to date'}"]
    if made is not None:
        document["topics"] = made.made
        document["topics_differ"] = [asdict(each) for each in made.differ]
        lines.append(f"topics: {', '.join(made.made) if made.made else 'up to date'}")
        lines += [
            f"{each.topic}: {each.setting} stays {each.has}; a new topic has {each.new_has}" for each in made.differ
        ]
    answer(as_json, document, *lines)
    return DONE


def _topics(brokers: str, config: Config, replicas: int, allow: Sequence[str]) -> TopicsMade:
    settings = settings_of(config, brokers=brokers)
    users = defaultdict[str, list[str]](list)
    for program, is_said, user in (each.partition("=") for each in allow):
        if not is_said or not user:
            raise usage(f"--allow {program} names no user", "--allow ingest=USER")
        users[program].append(user)
    try:
        allowed = least(users, topics.load().values(), settings.group)
    except UnknownProgram as error:
        raise usage(str(error), "--allow ingest=USER") from error
    try:
        wait_until_ready(settings.brokers, _BROKER_SECONDS, settings.kafka)
        made = create_topics(settings.brokers, topics.load().values(), replicas, settings.kafka)
        if allowed:
            permit(settings.brokers, allowed, settings.kafka)
        return made
    except BrokerError as error:
        raise CannotRun("no_broker", str(error), "is it running, and is this its address?") from error
