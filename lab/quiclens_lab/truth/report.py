"""The truth run as a page to read: what was promised, what was found, table by table."""

import json
from pathlib import Path
from typing import Any

from quiclens_lab.markdown import table as markdown_table


def write(document: dict[str, Any], folder: Path, name: str) -> None:
    """Write `<name>.json` and `<name>.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / f"{name}.md").write_text(markdown(document))


def markdown(document: dict[str, Any]) -> str:
    """The whole page."""
    machine = document["machine"]
    parts = [
        "# Is quiclens right?",
        f"Commit {document['commit']}, collector {document['collector']['sha256'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores; {document['seeds']} seeds, "
        f"{document['runs']} runs, {document['seconds']} s.",
        markdown_table(
            ["Promise", "Figure", "Bar", ""],
            [[each["says"], _figure(each), each["bound"], "kept" if each["kept"] else "MISSED"]
             for each in document["bars"]],
        ),
    ]  # fmt: skip
    tables = document["tables"]
    sections = {
        "injection": _injection,
        "decisive": _decisive,
        "sets": _sets,
        "nothing": _nothing,
        "counterfactual": _counterfactual,
        "order": _order,
        "p99": _percentiles,
        "consistency": _consistency,
    }
    for name, section in sections.items():
        if name in tables:
            parts += section(tables[name])
    return "\n\n".join(parts) + "\n"


def _figure(bar: dict[str, Any]) -> str:
    figure = bar["figure"]
    if figure is None:
        return "-"
    return str(figure) if float(bar["bound"].split()[1]) == 0 else _percent(figure)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _named(counts: dict[str, int]) -> str:
    return ", ".join(f"{cause} {count}" for cause, count in counts.items())


def _injection(table: dict[str, Any]) -> list[str]:
    lines = [
        [each["stack"], each["scenario"], each["cause"], each["vantage"], each["runs"], _percent(each["share_right"]),
         _percent(each["lead"]), _named(each["named"])]
        for each in table["scenarios"]
    ]  # fmt: skip
    head = ["Stack", "Scenario", "Injected", "Vantage", "Runs", "Right", "Lead", "Named"]
    confusion = [[cause, _named(named)] for cause, named in table["confusion"].items()]
    return [
        "## One cause injected: is it the top part?",
        "Lead: the injected cause's part minus the largest other part, as a share of the duration, in the middle run.",
        markdown_table(head, lines),
        markdown_table(["Injected", "Named"], confusion),
    ]


def _decisive(table: dict[str, Any]) -> list[str]:
    lines = [
        [kind.removesuffix("s").replace("_", " "), name, of["runs"], _percent(of["share_right"])]
        for kind in ("kept_for", "pairs", "scripts", "scenarios")
        for name, of in table[kind].items()
    ]
    return [
        "## Where the cause makes 40 % of the duration",
        f"{table['runs']} runs, each shorter by as much without the cause: {_percent(table['share_right'])} right."
        f" {table['alone_in_the_dark']} are left out: the path was dark in them, and not in those without the cause.",
        markdown_table(["", "Stack and controller, script, or stack and scenario", "Runs", "Right"], lines),
        markdown_table(["Wrong", "Runs"], list(table["wrong"].items())),
    ]


def _sets(table: dict[str, Any]) -> list[str]:
    """How many causes answers name."""
    if not table["naming"]:
        says = "No answer names a set of causes: the collector has no column for it, and each answer is its top part."
    else:
        says = f"{table['naming']} of {table['runs']} answers name their causes."
    sizes = [[size, of["runs"], _percent(of["share_with_the_injected"])] for size, of in table["sizes"].items()]
    stacks = [[stack, of["runs"], _percent(of["share_with_several"])] for stack, of in table["stacks"].items()]
    return [
        "## How many causes does an answer name?",
        says,
        markdown_table(["Causes named", "Runs", "The injected one is among them"], sizes),
        markdown_table(["Named together", "Runs"], list(table["pairs"].items())),
        markdown_table(["Stack", "Runs", "Name several"], stacks),
    ]


def _nothing(table: dict[str, Any]) -> list[str]:
    lines = [[cause, _percent(share)] for cause, share in table["causes"].items()]
    rows = [
        [" ".join(filter(None, (each["stack"], each["controller"]))), each["scenario"], each["script"] or "constant",
         each["condition"] or "as usual", each["runs"], _percent(each["share_of_other_causes"]),
         ", ".join(f"{cause} {_percent(share)}" for cause, share in each["causes"].items())]
        for each in table["rows"]
    ]  # fmt: skip
    head = ["Stack and controller", "Scenario", "Path", "Conditions", "Runs", "Ruled out", "Of which"]
    return [
        "## Nothing injected: is nothing found?",
        f"{table['runs']} runs; time of causes that the lab rules out: "
        f"{_percent(table['share_of_other_causes'])}, in the worst run {_percent(table['worst_run'])}.",
        "Never ruled out are network, queueing and server_think, at a client remote_wait and receiving; where a stack "
        "paces, or the answer is more than a first window, the window and the pacer; where the path lost something, "
        "loss_recovery and pto; where its bottleneck was busy for a round trip, bandwidth.",
        markdown_table(["Cause", "Share of the time"], lines),
        markdown_table(head, rows),
    ]


SAVING_HEAD = ["Samples", "Median error", "p90", "Of the part", "Predicted/true 2.5 %", "50 %", "97.5 %", "Silent"]


def _saving(each: dict[str, Any]) -> list[object]:
    return [
        each["samples"],
        _percent(each["median_error"]),
        _percent(each["p90_error"]),
        _percent(each["median_error_of_part"]),
        each["ratio_low"],
        each["ratio_mid"],
        each["ratio_high"],
        _percent(each["share_not_predicted"]),
    ]


def _counterfactual(table: dict[str, Any]) -> list[str]:
    causes = [[cause, *_saving(each)] for cause, each in table["causes"].items()]
    scenarios = [
        [each["stack"], each["scenario"], each["vantage"], each["cause"], *_saving(each)] for each in table["scenarios"]
    ]
    return [
        "## What it would have saved, against the run without the cause",
        "Only savings of at least 20 % of the duration. Error: |predicted - true| / true. "
        "Of the part: the median error if the exclusive part were taken for the saving. Silent: nothing is predicted.",
        markdown_table(["Cause", *SAVING_HEAD], [["all", *_saving(table)], *causes]),
        markdown_table(["Stack", "Scenario", "Vantage", "Cause", *SAVING_HEAD], scenarios),
    ]


def _order(table: dict[str, Any]) -> list[str]:
    lines = [[name, each["kept"], _percent(each["share_right"])] for name, each in table["combinations"].items()]
    return [
        "## Three causes at once: are the savings in the right order?",
        f"{table['kept']} of {table['simulated']} requests have three savings that differ by 20 % or more.",
        markdown_table(["Causes", "Kept", "Right"], lines),
    ]


def _percentiles(table: dict[str, Any]) -> list[str]:
    lines = [
        [name, each["cause"], f"{each['injected']} of {each['members']}", quantile, _ms(found["with_us"]),
         _ms(found["predicted_us"]), _ms(found["true_us"]), _percent(found["error"])]
        for name, each in table["causes"].items()
        for quantile, found in each["percentiles"].items()
    ]  # fmt: skip
    head = [
        "Injected",
        "Cause",
        "Members",
        "Quantile",
        "With, ms",
        "Predicted without, ms",
        "Truly without, ms",
        "Error",
    ]
    return ["## A population without one cause: percentiles", markdown_table(head, lines)]


def _ms(value_us: float | None) -> str:
    return "-" if value_us is None else f"{value_us / 1000:.1f}"


def _consistency(table: dict[str, Any]) -> list[str]:
    counts = [
        [name.replace("_", " "), table[name]]
        for name in ("rows", "runs_without_target_row", "targets_incomplete", "parts_do_not_sum",
                     "duration_is_not_end_minus_start", "parts_below_zero")
    ]  # fmt: skip
    counts += [
        [f"network above one round trip, {vantage}", count]
        for vantage, count in table["network_above_one_round_trip"].items()
    ]
    errors, unattributed = table["duration_error"], table["unattributed_of_slowest"]
    counts.append(["duration against the simulation's marks, median us", errors["p50_us"]])
    counts.append(["duration against the simulation's marks, largest us", errors["max_us"]])
    lines = [["overall", _percent(unattributed["overall"])]]
    lines += [[name, _percent(share)] for name, share in unattributed["by_vantage"].items()]
    lines += [[name, _percent(share)] for name, share in unattributed["by_scenario"].items()]
    return [
        "## Promises of every row",
        markdown_table(["Count", ""], counts),
        "## Unattributed, of the slowest 5 %",
        markdown_table(["Rows", "Share of the time"], lines),
    ]
