"""The one look of all tables, and the one way in which data come into them."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from quiclens_schema.plain_text import all_printable
from rich import box
from rich.console import RenderableType
from rich.table import Table

T = TypeVar("T")
P = ParamSpec("P")


def titled(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def of_printable(
    view: Callable[Concatenate[T, P], Iterator[RenderableType]],
) -> Callable[Concatenate[T, P], Iterator[RenderableType]]:
    """A view whose first argument, the answer, comes to it with every text on one line and without control
    characters."""

    @wraps(view)
    def shown(answer: T, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[RenderableType]:
        return view(all_printable(answer), *args, **kwargs)

    return shown
