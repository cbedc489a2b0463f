"""A report as text that other programs read: Markdown, CSV."""

import csv
import io
import json
from typing import Any

from quiclens_schema.plain_text import csv_cell, markdown_cell

from quiclens_questions.report import Report


def markdown(report: Report) -> str:
    """A table, with units in its head and what it was drawn from below."""
    heads = [f"{name} ({unit})" if unit else name for name, unit in report.columns]
    lines = [heads, ["---"] * len(heads), *([_markdown(value) for value in row] for row in report.rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    counted = ", ".join(f"{name} {value}" for name, value in report.coverage.items())
    shown = f"; {report.groups_shown} of {report.groups} groups shown" if report.groups else ""
    warned = "".join(f"> **{markdown_cell(each['text'])}**\n\n" for each in report.warnings)
    return f"### {report.name}\n\n{warned}{table}\n\n{report.samples} samples; {counted}{shown}.\n"


def comma_separated(report: Report) -> str:
    """RFC 4180; nothing is written for what is not known. No text is a formula for a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([name for name, _ in report.columns])
    writer.writerows([_comma_separated(value) for value in row] for row in report.rows)
    return text.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _markdown(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else markdown_cell(_text(value))


def _comma_separated(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else csv_cell(_text(value))
