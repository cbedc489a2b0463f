"""What a page prints is what is run: by its marker, without what is said of it, and with declared changes alone."""

from pathlib import Path

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.page_blocks import block, inline, substituted

PAGE = """# A page

```
not this
```

<!-- block: install -->

```
useradd --system somebody
git clone … /opt/x && make -C /opt/x          /opt/x/bin
install -m 644 a.toml -t /etc/x     /etc/x/a.toml
echo "two  spaces stay" && true
# nothing of a shell
```

Also: `docker compose up --detach` and `docker ps`.

<!-- block: other -->
```sh
true
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(PAGE)
    return tmp_path / "README.md"


def test_a_block_is_found_by_its_marker_and_comments_are_no_commands(page: Path) -> None:
    assert block(page, "install") == [
        "useradd --system somebody",
        "git clone … /opt/x && make -C /opt/x",
        "install -m 644 a.toml -t /etc/x",
        'echo "two  spaces stay" && true',
    ]
    assert block(page, "other") == ["true"]


@pytest.mark.parametrize("change", ["", "<!-- block: install -->\n```\ntrue\n```\n" * 2])
def test_a_block_that_is_not_there_once_is_an_error(page: Path, change: str) -> None:
    page.write_text(change)
    with pytest.raises(LabError, match=r"README.md has [02] blocks below <!-- block: install -->"):
        block(page, "install")


def test_a_command_of_the_text_is_found_by_its_words(page: Path) -> None:
    assert inline(page, "docker compose") == "docker compose up --detach"
    for words, count in (("docker", 2), ("not this", 0)):
        with pytest.raises(LabError, match=f"has {count} commands"):
            inline(page, words)


def test_a_declared_change_that_changes_nothing_is_an_error(page: Path) -> None:
    commands = block(page, "install")
    changed = substituted(commands, {"git clone ": "cp -a /given /opt/x"})
    assert changed == [commands[0], "cp -a /given /opt/x", *commands[2:]]
    with pytest.raises(LabError, match="0 commands of the page begin with 'git pull '"):
        substituted(commands, {"git pull ": "true"})
