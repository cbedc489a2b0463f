import pytest

from quiclens_command_line.main import several_access_logs


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("load logs --requests a b --json", "load logs --requests a --requests b --json"),
        ("load logs --requests a", "load logs --requests a"),
        ("load --requests a logs", "load --requests a logs"),
        (
            "load --store chdb:x logs --requests a b c",
            "load --store chdb:x logs --requests a --requests b --requests c",
        ),
        ("load x y --requests a --store chdb:x", "load x y --requests a --store chdb:x"),
        ("load x --requests a b --requests-format f", "load x --requests a --requests b --requests-format f"),
        ("slow --where a=b", "slow --where a=b"),
    ],
)
def test_access_logs_may_follow_each_other(given: str, understood: str) -> None:
    assert several_access_logs(given.split()) == understood.split()
