"""`failed`: connections that never became a request, by carrier, region and reason."""

from quiclens_schema.store import Store

from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask


def failed(store: Store, asked: ReportQuestion, limit: int) -> Report:
    """Most connections first; `of` is how many connections this carrier and region had in all."""
    found = ask(store, "failed_connections", {**asked.window, "limit": limit}, asked.where).dicts()
    columns = (("carrier", ""), ("region", ""), ("reason", ""), ("connections", ""), ("of", ""))
    rows = [[row[name] for name, _ in columns] for row in found if row["connections"] > 0]
    return Report(
        name="failed",
        params=asked.params | {"limit": limit},
        columns=columns,
        rows=rows,
        samples=found[0]["all_failed"] if found else 0,
        groups=found[0]["all_rows"] if found else 0,
        groups_shown=len(rows),
        coverage=report_coverage(store, asked.where, asked.window),
    )
