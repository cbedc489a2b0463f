"""Secrets come from one place, and a place that has none is named without a secret in the sentence."""

from pathlib import Path

import pytest
from quiclens_schema.secret import SecretError, secret


def test_each_place_gives_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("from file\n")
    (tmp_path / "NAME").write_text("from systemd")
    assert secret("NAME", {}) == ""
    assert secret("NAME", {"NAME": "told"}) == "told"
    assert secret("NAME", {"NAME_FILE": str(tmp_path / "a")}) == "from file"
    assert secret("NAME", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == "from systemd"
    assert secret("OTHER", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == ""
    # What was said for this program goes before what its unit brings.
    assert secret("NAME", {"NAME": "told", "CREDENTIALS_DIRECTORY": str(tmp_path)}) == "told"


def test_spaces_belong_to_it_and_line_ends_do_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b" a b \r\n")
    assert secret("NAME", {"NAME_FILE": str(tmp_path / "a")}) == " a b "


def test_two_variables_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hunter2")
    with pytest.raises(SecretError, match="NAME and NAME_FILE are both set") as told:
        secret("NAME", {"NAME": "hunter1", "NAME_FILE": str(tmp_path / "a")})
    assert "hunter" not in str(told.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xff\xfe", "not text"),
        (b"x" * 70_000, "large"),
    ],
)
def test_a_file_without_a_secret_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "a"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SecretError, match=why) as told:
        secret("NAME", {"NAME_FILE": str(file)})
    assert "NAME_FILE" in str(told.value) and str(file) in str(told.value)
