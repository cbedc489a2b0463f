import pytest
from quiclens_schema.store import without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://reader:secret@host:8123/db", "http://reader:***@host:8123/db"),
        ("http://reader@host:8123/db", "http://reader@host:8123/db"),
        ("chdb:some/folder", "chdb:some/folder"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
