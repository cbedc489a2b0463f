"""The one look of all tables, and the one way in which data come into them. Nothing of a table is ever cut."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from quiclens_schema.plain_text import all_printable
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

T = TypeVar("T")
P = ParamSpec("P")

CARDS_BELOW = 100
"""Columns of a terminal below which a table that has no room becomes a card for each row at once."""
ANY_WIDTH = 100_000
"""More than anything takes."""
_EDGE = "  "  # of what a card has no room for beside its name


def in_one_line(text: str) -> Text:
    """To be copied, as a command is: one line, however narrow the terminal is."""
    return Text(text, style="dim", no_wrap=True, overflow="ignore")


class FittedTable(Table):
    """A table of which nothing is cut, however wide the terminal is.

    Where there is no room, the columns of the largest `rank` go first, which is said; in a narrow terminal, and where
    that does not help, each row becomes a card: a line for each of its cells. In a pipe it is as wide as it is.
    """

    def __init__(self, *args: Any, cards_below: int = CARDS_BELOW, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cards_below = cards_below
        self._ranks: list[int] = []
        self._heading: int | None = None

    def add_column(self, *args: Any, rank: int = 0, is_heading: bool = False, **options: Any) -> None:
        """As rich's; a column of rank 0 is never left out. The heading stands first in a card."""
        super().add_column(*args, **options)
        if is_heading:
            self._heading = len(self._ranks)
        self._ranks.append(rank)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        places = list(range(len(self.columns)))
        if not console.is_terminal:
            yield from console.render(self._of(places, is_wide=True), options.update(width=ANY_WIDTH))
            return
        left_out: list[str] = []
        while True:
            table = self._of(places)
            wanted = _narrowed(table, console, options)
            spare = options.max_width - Measurement.get(console, options.update(width=ANY_WIDTH), table).maximum
            if spare >= 0:
                break
            rank = max(self._ranks[place] for place in places)
            if not rank or options.max_width < self._cards_below:
                yield from self._cards(options.max_width)
                return
            gone = (str(self.columns[place].header) for place in places if self._ranks[place] == rank)
            left_out += [name for name in gone if name]
            places = [place for place in places if self._ranks[place] < rank]
        _widen(wanted, spare)
        yield from console.render(table, options)
        if left_out:
            yield Text(f"no room for {', '.join(left_out)}: a wider terminal, a pipe and --json have it", style="dim")

    def _of(self, places: Sequence[int], is_wide: bool = False) -> Table:
        """The same table with some of its columns; or, if it is to be wide, with each as wide as its cells."""
        table = Table(
            title=self.title,
            caption=self.caption,
            title_justify=self.title_justify,
            caption_justify=self.caption_justify,
            title_style=self.title_style,
            box=self.box,
            pad_edge=self.pad_edge,
            padding=self.padding,
            show_header=self.show_header,
        )
        for column in (self.columns[place] for place in places):
            table.add_column(
                column.header,
                justify=column.justify,
                style=column.style,
                overflow=column.overflow,
                no_wrap=is_wide or column.no_wrap,
                min_width=column.min_width,
                max_width=None if is_wide else column.max_width,
            )
        for row, cells in zip(self.rows, self._by_row(), strict=True):
            table.add_row(*(cells[place] for place in places), style=row.style, end_section=row.end_section)
        return table

    def _by_row(self) -> list[tuple[RenderableType, ...]]:
        return list(zip(*(list(column.cells) for column in self.columns), strict=True))

    def _cards(self, width: int) -> RenderResult:
        """One line for each cell that says something, its name before it. What stands once for several rows, at their
        left, stands in each card."""
        if self.title:
            yield Text(str(self.title), style=self.title_style or "")
        names = [str(column.header) for column in self.columns]
        room = max(map(cell_len, names), default=0)
        before: list[RenderableType] = [""] * len(names)
        for cells in self._by_row():
            is_leading = True
            yield Text()
            for place, cell in enumerate(cells):
                is_leading = is_leading and not _says(cell)
                before[place] = before[place] if is_leading else cell
            places = sorted(range(len(names)), key=lambda place: place != self._heading)
            for place in (each for each in places if names[each] and _says(before[each])):
                yield from _line(names[place], before[place], room, width)
        if self.caption:
            yield Text(str(self.caption), style="dim")
        yield Text()


def _narrowed(table: Table, console: Console, options: ConsoleOptions) -> list[tuple[int, Column]]:
    """Gives each column whose cells may be wrapped the width of its longest word; and how much wider it would be."""
    at_any = options.update(width=ANY_WIDTH)
    wanted = []
    for column in (each for each in table.columns if not each.no_wrap):
        found = [Measurement.get(console, at_any, cell) for cell in (column.header, *column.cells)]
        most = min(max(each.maximum for each in found), column.max_width or ANY_WIDTH)
        column.width = min(max(*(each.minimum for each in found), column.min_width or 0), most)
        wanted.append((most - column.width, column))
    return wanted


def _widen(wanted: list[tuple[int, Column]], spare: int) -> None:
    """Shares out what is to spare, first to those that want least."""
    wanted.sort(key=lambda each: each[0])
    for place, (wish, column) in enumerate(wanted):
        given = min(wish, spare // (len(wanted) - place))
        column.width = (column.width or 0) + given
        spare -= given


def _line(name: str, cell: RenderableType, room: int, width: int) -> RenderResult:
    value = _text(cell).copy()
    value.no_wrap, value.overflow, value.justify = False, "fold", "left"
    label = Text(name, style="dim")
    if room + 2 + cell_len(value.plain) <= width:
        label.pad_right(room + 2 - cell_len(name))
        yield label + value
    elif cell_len(name) + 2 + cell_len(value.plain) <= width:
        yield label + Text(_EDGE) + value
    else:
        yield label
        yield Padding(value, (0, 0, 0, len(_EDGE)), expand=False)


def _says(cell: RenderableType) -> bool:
    return bool(_text(cell).plain)


def _text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def titled(title: str, cards_below: int = CARDS_BELOW) -> FittedTable:
    return FittedTable(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        cards_below=cards_below,
    )


def of_printable(
    view: Callable[Concatenate[T, P], Iterator[RenderableType]],
) -> Callable[Concatenate[T, P], Iterator[RenderableType]]:
    """A view whose first argument, the answer, comes to it with every text on one line and without control
    characters."""

    @wraps(view)
    def shown(answer: T, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[RenderableType]:
        return view(all_printable(answer), *args, **kwargs)

    return shown
