"""What was released."""

from __future__ import annotations

import html
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from surety_dp import _library
from surety_dp._accounting import Enclosure
from surety_dp._arguments import flag, invalid, items, package, wrong_type
from surety_dp._errors import ErrorCode, error_of
from surety_dp._events import Event, _event_of

if TYPE_CHECKING:
    import pandas
    import polars


class Number(NamedTuple):
    """One released number, and what it is of."""

    query: str
    group: str | None  #: None where the statistic is of no groups
    cell: str | None  #: None where it is no histogram and of no keys
    value: float | None  #: an int, where it is a count; None of keys without counts
    lower: float | None  #: the bounds of its interval, which is about the noise alone; None of a quantile without an interval
    upper: float | None
    used: float | None = None  #: how many records a mean or a variance uses (units, of means of discovered groups), where that number was released with it
    used_lower: float | None = None  #: the bounds of that number's own interval
    used_upper: float | None = None
    total: float | None = None  #: how many records could be used, where that is public or was released in the same call
    rank_error: float | None = None  #: of a quantile: its rank among the records is missed, and of a mode the largest count left, by fewer than so many records, with the confidence of an interval
    rank_error_share: float | None = None  #: of a quantile 0: earlier versions also missed a share of all records


class Released:
    """What was released, and charged to its ledger: all of it may be published. Made by ``surety.release`` and ``Plan.release``.

    It shows itself as a table, in a notebook as one of HTML, and is handed over as one: ``to_pandas``, ``to_polars``, and ``__arrow_c_stream__`` for whatever
    reads Arrow.

    >>> import surety_dp as surety
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
    def over_time(self) -> dict[str, Any] | None:
        """What one user has over several periods, with ``unit_period``: {"user": ["user"], "period": "day", "delta": 0.0, "bounds": [...]}. Each of the bounds has
        ``periods``, ``of_one_run``, the epsilon of a user with so many periods in this run, and ``of_run_each``, that of so many such runs that read the rows of
        one period each. None is a bound that is not known, "infinity" one that does not hold at this delta. None without ``unit_period``."""
        over: dict[str, Any] | None = self._json.get("over_time")
        return over

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

    def __float__(self) -> float:
        """The number of a release of one number. Raises ``TypeError`` for a release of several."""
        if len(self._table) != 1 or self._table[0].value is None:
            raise TypeError(f"a Released of {len(self._table)} numbers is no number, must have one: take one of table")
        return float(self._table[0].value)

    def _wide(self) -> dict[str, list[Any]]:
        """A column of groups, one of cells where there are any, and for each query one of values and two of the bounds of their intervals."""
        places = list(dict.fromkeys((row.group, row.cell) for row in self._table))
        queries = [query["query"] for query in self._json.get("queries", [self._json])]
        if len(set(queries)) != len(queries):
            twice = next(query for place, query in enumerate(queries) if query in queries[:place])
            raise invalid(f"query {twice!r} appears twice in the release, must stand once in a wide table: leave wide out")
        columns: dict[str, list[Any]] = {"group": [group for group, _ in places]}
        if any(cell is not None for _, cell in places):
            columns["cell"] = [cell for _, cell in places]
        for query in queries:
            found = {(row.group, row.cell): row for row in self._table if row.query == query}
            for name, pick in (("", "value"), (" lower", "lower"), (" upper", "upper")):
                columns[query + name] = [getattr(found.get(place), pick, None) for place in places]
        return columns

    def to_pandas(self, *, wide: bool = False) -> pandas.DataFrame:
        """The table as a frame of pandas, which must be installed: a row for each number.

        With ``wide`` it has a row for each group and cell, and of each query the value and the bounds of its interval, as "mean(x) by town",
        "mean(x) by town lower" and "mean(x) by town upper"; the groups, and the cells where there are any, are its index. Raises ``InvalidArgument`` where a query
        appears twice.
        """
        pandas = package("pandas", "to_pandas")
        if not flag("wide", wide):
            return pandas.DataFrame(list(self._table), columns=list(Number._fields))
        columns = self._wide()
        return pandas.DataFrame(columns).set_index(["group", "cell"] if "cell" in columns else "group")

    def to_polars(self, *, wide: bool = False) -> polars.DataFrame:
        """The table as a frame of polars, which must be installed. ``wide`` as of ``to_pandas``; groups and cells are columns."""
        polars = package("polars", "to_polars")
        if flag("wide", wide):
            columns = self._wide()
            kinds = {name: polars.String if name in ("group", "cell") else polars.Float64 for name in columns}
            return polars.DataFrame(columns, schema=kinds, strict=False)
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
            pyplot = package("matplotlib.pyplot", "plot")
            heights = [1 + 0.25 * len(numbers[:_MOST_BARS]) for _, numbers in queries]
            figure, panels = pyplot.subplots(
                len(queries), squeeze=False, figsize=(8, min(sum(heights) + 0.5, 60)), layout="constrained", gridspec_kw={"height_ratios": heights}
            )
            figure.supxlabel(_plain(self._promise()), fontsize="small", wrap=True)
            axes = panels[:, 0]
        own = items("axes", axes, "a list of axes of Matplotlib")
        if len(own) != len(queries):
            raise error_of(ErrorCode.INVALID_ARGUMENT, f"axes are {len(own)}, must be {len(queries)}, one for each query")
        for panel in own:
            if not hasattr(panel, "barh"):
                raise wrong_type("an item of axes", panel, "axes of Matplotlib")
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
            ends = [] if row.lower is None or row.upper is None else [f"[{row.lower:.10g}, {row.upper:.10g}]"]
            interval = "; ".join([*ends, *_rank_error(row)])
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


def _rank_error(row: Number) -> list[str]:
    """Of a quantile, with its interval or in the place of one."""
    if row.rank_error is None:
        return []
    return [f"rank error below {row.rank_error:.4g}" if math.isfinite(row.rank_error) else "rank error not bounded"]


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
