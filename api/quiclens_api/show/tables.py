"""The one look of all tables."""

from rich import box
from rich.table import Table


def titled(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
