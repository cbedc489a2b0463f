"""The ways to be locked out."""

from collections.abc import Callable
from dataclasses import dataclass

from quiclens_lab.lockouts.site import Site


@dataclass(frozen=True, slots=True)
class Lock:
    """One way to be locked out: before the start or while all runs, of whom, and how it ends."""

    name: str
    whom: tuple[str, ...]
    """Who must say so."""
    before: Callable[[Site], None]
    during: Callable[[Site], None]
    mend: Callable[[Site], None]
    has_own_broker: bool = False
    """What is done to the broker is done to all who use it."""

    @property
    def is_before(self) -> bool:
        """Nothing flows before it is mended."""
        return self.during is _nothing


def _nothing(_: Site) -> None:
    """Nothing is done at that moment."""


def _both(site: Site) -> None:
    site.allow("collector")
    site.allow("ingest")


def _allowed(program: str) -> Callable[[Site], None]:
    return lambda site: site.allow(program)


def _another_token(site: Site) -> None:
    site.token("the-second-token-of-the-store")
    site.reload()


def _unknown_authority(site: Site) -> None:
    site.certify("unknown")
    site.serve_again()  # a connection that is open stays as it is


def _renewed(site: Site) -> None:
    site.certify("known")
    site.reload()


def _wrong(program: str) -> Callable[[Site], None]:
    def wrong(site: Site) -> None:
        site.write(f"{program}.password", "not the password")
        _both(site)

    return wrong


def _right(program: str) -> Callable[[Site], None]:
    return lambda site: site.write(f"{program}.password", site.password(program))


def _without_topics(site: Site) -> None:
    _both(site)
    site.broker.drop_topics()


_ALL = ("collector", "ingest")
LOCKS = (
    Lock(
        "right of the collector", ("collector",), lambda s: s.allow("ingest"), _nothing, lambda s: s.allow("collector")
    ),
    Lock("right of ingest", ("ingest",), lambda s: s.allow("collector"), _nothing, lambda s: s.allow("ingest")),
    Lock("password of the collector", ("collector",), _wrong("collector"), _nothing, _right("collector")),
    Lock("password of ingest", ("ingest",), _wrong("ingest"), _nothing, _right("ingest")),
    Lock(
        "password of the store",
        ("ingest",),
        _both,
        _another_token,
        lambda s: s.write("store.password", "the-second-token-of-the-store"),
    ),
    Lock("certificate of the store", ("ingest",), _both, _unknown_authority, _renewed),
    Lock(
        "certificate of the broker",
        _ALL,
        _both,
        lambda s: s.broker.certify("unknown"),
        lambda s: s.broker.certify("known"),
        has_own_broker=True,
    ),
    Lock("store away", ("ingest",), _both, lambda s: s.end_store(), lambda s: s.serve_again()),
    Lock("broker away", _ALL, _both, lambda s: s.broker.stop(), lambda s: s.broker.start(), has_own_broker=True),
    Lock("topics missing", _ALL, _without_topics, _nothing, lambda s: s.broker.make_topics(), has_own_broker=True),
)
