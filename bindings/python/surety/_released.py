"""What was released."""

from __future__ import annotations

import html
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from surety import _library
from surety._accounting import Enclosure
from surety._errors import ErrorCode, error_of
from surety._events import Event, _event_of

if TYPE_CHECKING:
    import pandas
    import polars


class Number(NamedTuple):
    """One released number, and what it is of."""

    query: str
    group: str | None  #: None where the statistic is of no groups
    cell: str | None  #: None where it is no histogram and of no keys
    value: float | None  #: an int, where it is a count; None of keys without counts
    lower: float | None  #: the bounds of its interval, which is about the noise alone; None where it has a rank error instead
    upper: float | None
    used: float | None = None  #: how many records a mean or a variance uses (units, of means of discovered groups), where that number was released with it
    used_lower: float | None = None  #: the bounds of that number's own interval
    used_upper: float | None = None
    total: float | None = None  #: how many records could be used, where that is public or was released in the same call
    rank_error: float | None = None  #: of a quantile: its rank among the records is missed by fewer than so many records ...
    rank_error_share: float | None = None  #: ... and so much of all records, with the confidence of an interval


class Released:
    """What was released, and charged to its ledger: all of it may be published. Made by ``surety.release`` and ``Plan.release``.

    It shows itself as a table, in a notebook as one of HTML, and is handed over as one: ``to_pandas``, ``to_polars``, and ``__arrow_c_stream__`` for whatever
    reads Arrow.

    >>> import surety
    >>> table = {"age": [30, 41, 52], "town": ["Rome", "Oslo", "Rome"]}
    >>> released = surety.release(
    ...     table, [surety.count(by="town", keys=["Rome", "Oslo"])],
    ...     unit=None, epsilon=4, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory(), replay_seed=7,
    ... )
    >>> released
    query            group  value  interval
    count() by town  Rome       2  [1, 3]
    count() by town  Oslo       1  [0, 2]
    epsilon 4 at delta 0, add-or-remove-one, for one row: run 1 of memory; NOT PRIVATE: the noise was replayed from a known seed
    >>> released.table[0].value
    2
    """

    __slots__ = ("_json", "_result", "_table")

    _result: _library.ResultOfRelease
    _json: dict[str, Any]
    _table: tuple[Number, ...]

    def __init__(self) -> None:
        raise TypeError("a surety.Released is made by surety.release")

    @classmethod
    def _of(cls, result: _library.ResultOfRelease) -> Released:
        released = cls.__new__(cls)
        released._result = result
        released._json = json.loads(result.json())
        released._table = tuple(number for query in released._json.get("queries", [released._json]) for number in _numbers_of(query))
        return released

    @property
    def table(self) -> tuple[Number, ...]:
        """The numbers, in the order of the statistics. A group or a cell that is no Unicode text is spelled as ``json`` spells it."""
        return self._table

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the released numbers warn of: a mean or a variance of fewer than nine tenths of the records, whose numbers are most often written in
        another way than they are read (``decimal``, ``thousands``, ``missing``); an interval as wide as its bounds; counts that may all be 0."""
        of_intervals = tuple(f"{query['query']}: {warning}" for query in self._json.get("queries", [self._json]) for warning in query.get("warnings", []))
        return of_intervals + tuple(
            f"{query['query']}: {place['used']['warning']}" if group is None else f"{query['query']}, {group}: {place['used']['warning']}"
            for query in self._json.get("queries", [self._json])
            for place in query.get("groups", [query])
            for group in [place.get("group")]
            if "warning" in place.get("used", {})
        )

    @property
    def column_units(self) -> dict[str, str]:
        """The units of columns whose numbers are read and that are declared to hold dates, by ``types`` or a schema: "days since 1970-01-01". The bounds have
        the same unit. A type that a package infers declares nothing."""
        units: dict[str, str] = {}
        for query in self._json.get("queries", [self._json]):
            units.update(query.get("column_units", {}))
        return units

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the promise, from public numbers alone: an epsilon above 20, a delta of at least one over the number of records."""
        return tuple(self._json.get("notes", []))

    @property
    def event(self) -> Event:
        """What was released, for the accountants."""
        return _event_of(self._result.event())

    @property
    def cost(self) -> Enclosure:
        """The epsilon of all of it together, at the delta that was promised."""
        return Enclosure(*self._result.epsilon())

    @property
    def run(self) -> int:
        """Its number in the ledger."""
        return int(self._json["run"])

    def json(self) -> str:
        """The report as ``surety release --json`` prints it, with the noise and the sensitivity of each statistic."""
        return self._result.json()

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a frame of pandas, which must be installed."""
        import pandas

        return pandas.DataFrame(list(self._table), columns=list(Number._fields))

    def to_polars(self) -> polars.DataFrame:
        """The table as a frame of polars, which must be installed."""
        import polars

        texts = ["query", "group", "cell"]
        numbers = [name for name in Number._fields if name not in texts]
        types = {**dict.fromkeys(texts, polars.String), **dict.fromkeys(numbers, polars.Float64)}
        return polars.DataFrame({name: [getattr(row, name) for row in self._table] for name in types}, schema=types, strict=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream: three columns of texts and nine of numbers, named as the fields of ``Number``."""
        return self._result.arrow()

    def plot(self, axes: Any = None) -> list[Any]:
        """Draws the numbers of each query as bars, the first 500 of them, with their intervals where both ends are finite.

        ``axes`` is one of Matplotlib for each query, in their order, or None for a new figure that has them one below the other, and below them the promise.
        Needs Matplotlib, which is imported here alone. Returns the axes as a list. Raises ``InvalidArgument`` where ``axes`` are not as many."""
        queries = [(query["query"], _numbers_of(query)) for query in self._json.get("queries", [self._json])]
        if axes is None:
            from matplotlib import pyplot

            heights = [1 + 0.25 * len(numbers[:_MOST_BARS]) for _, numbers in queries]
            figure, panels = pyplot.subplots(
                len(queries), squeeze=False, figsize=(8, min(sum(heights) + 0.5, 60)), layout="constrained", gridspec_kw={"height_ratios": heights}
            )
            figure.supxlabel(_plain(self._promise()), fontsize="small", wrap=True)
            axes = panels[:, 0]
        own = list(axes)
        if len(own) != len(queries):
            raise error_of(ErrorCode.INVALID_ARGUMENT, f"axes are {len(own)}, must be {len(queries)}, one for each query")
        for panel, (query, numbers) in zip(own, queries, strict=True):
            _draw(panel, query, numbers)
        return own

    def _promise(self) -> str:
        said = self._json
        promise = f"epsilon {said['promise']['epsilon']:g} at delta {said['promise']['delta']:g}, {said['adjacency']}, for {self._result.unit()}"
        replayed = "; NOT PRIVATE: the noise was replayed from a known seed" if said["not_private"] else ""
        return _one_line(f"{promise}: run {self.run} of {said['ledger']}{replayed}")

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """The heads and the rows that people see."""
        has_groups = any(row.group is not None for row in self._table)
        has_cells = any(row.cell is not None for row in self._table)
        has_used = any(row.used is not None for row in self._table)
        heads = ["query", *["group"] * has_groups, *["cell"] * has_cells, "value", "interval", *["used"] * has_used]
        rows = []
        for row in self._table:
            interval = _rank_error(row) if row.lower is None or row.upper is None else f"[{row.lower:.10g}, {row.upper:.10g}]"
            value = "" if row.value is None else f"{row.value:.10g}"
            used = "" if row.used is None else f"{row.used:g} in [{row.used_lower:g}, {row.used_upper:g}]" + ("" if row.total is None else f" of {row.total:g}")
            rows.append([row.query, *[row.group or ""] * has_groups, *[row.cell or ""] * has_cells, value, interval, *[used] * has_used])
        return heads, [[_one_line(text) for text in row] for row in rows]

    def __repr__(self) -> str:
        heads, rows = self._shown()
        widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
        lines = []
        for row in [heads, *rows]:
            cells = [text.rjust(width) if head == "value" else text.ljust(width) for head, text, width in zip(heads, row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self._remarks(), self._promise()])

    def _remarks(self) -> list[str]:
        """Lines between the table and the promise."""
        remarks = [f"warning: {warning}" for warning in self.warnings] + [f"{column} is in {unit}" for column, unit in self.column_units.items()]
        return [_one_line(remark) for remark in remarks]

    def _repr_html_(self) -> str:
        heads, rows = self._shown()

        def line(kind: str, cells: list[str]) -> str:
            return "<tr>" + "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in cells) + "</tr>"

        body = "".join(line("td", row) for row in rows)
        notes = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())
        return f"{notes}<table><caption>{html.escape(self._promise())}</caption><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Released does not pickle; its json() may be written to a file")


def _rank_error(row: Number) -> str:
    """Of a quantile, in the place of an interval."""
    if row.rank_error is None or not math.isfinite(row.rank_error):
        return ""
    return f"rank error below {row.rank_error:.4g}" + (f" and {row.rank_error_share:.2g} of all" if row.rank_error_share else "")


_MOST_BARS = 500


def _plain(text: str) -> str:
    """As Matplotlib shows it, to which dollars begin formulas."""
    return _one_line(text).replace("$", r"\$")


def _draw(panel: Any, query: str, numbers: list[Number]) -> None:
    shown = numbers[:_MOST_BARS]
    more = len(numbers) - len(shown)
    places = range(len(shown))
    panel.barh(places, [number.value or 0 for number in shown], color="0.8")
    for place, number in zip(places, shown, strict=True):
        ends = [end for end in (number.lower, number.upper) if end is not None and math.isfinite(end)]
        if len(ends) == 2:
            panel.plot(ends, [place, place], color="black", linewidth=1.5)
    panel.set_yticks(places, [_plain(", ".join(text for text in (number.group, number.cell) if text is not None)) for number in shown])
    panel.invert_yaxis()
    panel.set_title(_plain(query) + (f" (and {more} more)" if more else ""), fontsize="medium", loc="left")


def _one_line(text: str) -> str:
    """Without what would break a line, or hide in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode("ascii") for c in text)


def _numbers_of(query: dict[str, Any]) -> list[Number]:
    return [
        _number(query["query"], group.get("group"), cell.get("cell"), cell)
        for group in query.get("groups", [query])
        for cell in group.get("cells", [group])
    ]


def _number(query: str, group: str | None, cell: str | None, said: dict[str, Any]) -> Number:
    lower, upper = said.get("interval", (None, None))
    used = said.get("used", {})
    used_lower, used_upper = used.get("interval", (None, None))
    total = used.get("total", {})
    rank_error = said.get("rank_error")
    share = None if rank_error is None else said.get("rank_error_share", 0.0)
    numbers = (said.get("value"), lower, upper, used.get("value"), used_lower, used_upper, total.get("value"), rank_error, share)
    return Number(query, group, cell, *(None if number is None else _value(number) for number in numbers))


def _value(number: float | str) -> float:
    """JSON has a text for infinity."""
    return float(number) if isinstance(number, str) else number
