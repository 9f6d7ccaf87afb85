"""Pairs of tables that differ in one record, and what of them must not differ.

A pair holds the same rows but for one, the changed record. Both tables are handed over through the same door (a package and a way to make its table), and asked about
with replayed noise. A condition or a missing cell keeps the changed record out of what is asked: so each released number, each model and each message must be the
same to the last bit. This oracle computes nothing of what Surety computes. Where the changed record counts, counts move by 1 at most.

A package may change a cell of an unchanged row before Surety sees the table. Such a pair is recognized by what the package's own object holds in unchanged rows. It must
be listed in ``rewritten.csv`` by package, type before and type after.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import enum
import fractions
import io
import json
import math
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import surety_dp as surety

SEED = 20261128
#: Pairs in which every use and every door occurs.
ALL = 500
REWRITTEN = Path(__file__).with_name("rewritten.csv")
Cells = list[Any]
D = decimal.Decimal


def pairs_and_share() -> tuple[int, int | None]:
    """The number of pairs of a test, and which third of the generated pairs it compares.

    A digit in SURETY_TENTH selects 150 pairs of the third ``digit % 3``; otherwise 500 pairs of all thirds. SURETY_CELL_PAIRS sets another number."""
    tenth = os.environ.get("SURETY_TENTH", "all")
    pairs, share = (150, int(tenth) % 3) if re.fullmatch("[0-9]", tenth) else (ALL, None)
    return int(os.environ.get("SURETY_CELL_PAIRS", pairs)), share


class Colour(enum.IntEnum):
    """A whole number of another class."""

    RED = 7


class Name(str):
    """A text of another class."""


# --- cells

_DAY = datetime.date(2020, 1, 2)
_NOON = datetime.datetime(2020, 1, 2, 12)
_ROME = datetime.timezone(datetime.timedelta(hours=1))

#: Values of each kind. ``None`` and texts are frequent, so they are kinds of their own.
KINDS: dict[str, list[Any]] = {
    "missing": [None],
    "NaN": [math.nan, np.float32("nan"), D("NaN"), np.datetime64("NaT", "us"), np.timedelta64("NaT", "us")],
    "bool": [True, False],
    "integer": [0, 1, 2, 3, 7, 9, 1001, -4],
    "huge integer": [2**53 + 1, 2**53 + 3, 2**62 + 1, 2**63, 2**64 + 1, -(2**63) - 1, 2**70, 10**400],
    "float": [0.0, 1.0, 7.0, 1.5, 7.1, 0.1, -2.5, 3.0],
    "wild float": [-0.0, 1e16, 1e300, 5e-324, 2.0**53, 2.0**53 + 2, 1e22],
    "infinity": [math.inf, -math.inf, D("Infinity")],
    "decimal": [D("7"), D("1"), D("0"), D("7.00"), D("1.25"), D("7.1"), D("-4"), D("3.50")],
    "wild decimal": [D("1E+5"), D("1E+80"), D("1E-30"), D("0.1000000000000000055511151231257827"), D("12345678901234567890.5")],
    "number as text": ["7", "1", "7.0", "7.10", "07001", " 7", "1e3", "0.1", "2.50", "9"],
    "odd text": ["nan", "inf", "true", "True", "NA", "null", "None", "-", "0x7", "1_000", "1,5"],
    "text": ["a", "b", "New York", "no", "yes", "caf\u00e9", 'with "quotes"', "x,y"],
    "day as text": ["2020-01-02", "2020-01-03", "2019-12-31"],
    "empty text": [""],
    "bytes": [b"a", b"7", b"\xff"],
    "date": [_DAY, datetime.date(2020, 1, 3), datetime.date(1969, 12, 31)],
    "datetime": [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 3, 6, 30), _NOON, datetime.datetime(1960, 5, 5, 1, 2, 3, 250000)],
    "datetime of a zone": [_NOON.replace(tzinfo=datetime.UTC), _NOON.replace(tzinfo=_ROME)],
    "duration": [datetime.timedelta(days=2), datetime.timedelta(hours=36), datetime.timedelta(0)],
    "time": [datetime.time(12), datetime.time(6, 30, 1)],
    "NumPy number": [np.int8(7), np.int64(3), np.uint64(2**64 - 1), np.float32(0.1), np.float64(7.1), np.float16(1.5), np.bool_(True)],
    "NumPy time": [np.datetime64("2020-01-02"), np.datetime64("2020-01-02T12:00:00", "us"), np.timedelta64(2, "D"), np.datetime64("2020-01", "M")],
    "NumPy text": [np.str_("a"), np.str_("7"), np.bytes_(b"b")],
    "subclass": [Colour.RED, Name("a")],
    "unfit": [uuid.UUID(int=7), [1, 2], (1,), {"a": 1}, {3}, 1j, fractions.Fraction(1, 3), object, np.array([1.0, 2.0]), ...],
}
#: Kinds of which whole columns are made.
FAMILIES = [
    "bool", "integer", "integer", "huge integer", "float", "float", "wild float", "decimal", "decimal", "number as text", "text", "text", "day as text", "bytes",
    "date", "datetime", "datetime of a zone", "duration", "time", "missing",
]


def cell_of(random: Random, kind: str) -> Any:
    """A cell of a kind."""
    return random.choice(KINDS[kind])


# --- what a cell means, by the rules of the guide

_NUMBER = re.compile(r"[ \t]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t]*")
_EPOCH = datetime.date(1970, 1, 1)


class Meaning(NamedTuple):
    """The number and the text of a cell, None where it has none."""

    number: Any
    text: str | None


NOTHING = Meaning(None, None)


def _of_text(text: str) -> Meaning:
    if not text.strip(" \t"):
        return NOTHING
    found = _NUMBER.fullmatch(text)
    number = float(found[1]) if found else None
    return Meaning(number if number is None or math.isfinite(number) else None, text)


def _of_moment(moment: datetime.datetime, nanoseconds: int = 0) -> Meaning:
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    since = moment - datetime.datetime(1970, 1, 1)
    days = fractions.Fraction((since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000 + nanoseconds, 86400 * 10**9)
    day = moment.date().isoformat()
    return Meaning(float(days), day if days.denominator == 1 else f"{day} {float(days % 1)!r}")


def meaning(cell: Any) -> Meaning:
    """What a cell is by the rules that hold in every column. Written for this comparison alone."""
    if isinstance(cell, np.generic):
        if isinstance(cell, (np.datetime64, np.timedelta64)):
            if np.isnat(cell):
                return NOTHING
            if isinstance(cell, np.datetime64):
                whole = cell.astype("datetime64[us]")
                return _of_moment(whole.astype(datetime.datetime), int((cell.astype("datetime64[ns]") - whole).astype(int)))
            nanoseconds = int(cell.astype("timedelta64[ns]").astype(int))
            return meaning(float(fractions.Fraction(nanoseconds, 86400 * 10**9)))
        cell = cell.item()
    if isinstance(cell, bool):
        return Meaning(float(cell), "true" if cell else "false")
    if isinstance(cell, str):
        return _of_text(str(cell))
    if isinstance(cell, (bytes, bytearray)):
        return _of_text(bytes(cell).decode("utf-8", "surrogateescape"))
    if isinstance(cell, int):
        try:
            return Meaning(float(cell), str(int(cell)))
        except (OverflowError, ValueError):
            return NOTHING  # beyond every double
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return NOTHING if math.isnan(cell) else Meaning(None, None)
        if cell.is_integer():
            return Meaning(cell, str(int(cell)) if abs(cell) <= 2**53 else None)
        return Meaning(cell, repr(float(cell)))
    if isinstance(cell, decimal.Decimal):
        if not math.isfinite(float(cell)):
            return NOTHING
        digits = f"{cell:f}"
        if "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        return Meaning(float(cell), "0" if digits == "-0" else digits)
    if isinstance(cell, complex):
        return meaning(cell.real) if cell.imag == 0 else NOTHING
    if isinstance(cell, fractions.Fraction):
        return meaning(cell.numerator if cell.denominator == 1 else float(cell))
    if isinstance(cell, datetime.datetime):
        if cell != cell:  # pandas.NaT
            return NOTHING
        return _of_moment(cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell, getattr(cell, "nanosecond", 0))
    if isinstance(cell, datetime.date):
        return Meaning(float((cell - _EPOCH).days), cell.isoformat())
    if isinstance(cell, datetime.timedelta):
        nanoseconds = ((cell.days * 86400 + cell.seconds) * 10**6 + cell.microseconds) * 1000 + getattr(cell, "nanoseconds", 0)
        return meaning(float(fractions.Fraction(nanoseconds, 86400 * 10**9)))
    if isinstance(cell, datetime.time):
        seconds = (cell.hour * 60 + cell.minute) * 60 + cell.second + fractions.Fraction(cell.microsecond, 10**6)
        return Meaning(float(seconds / 86400), cell.isoformat())
    return NOTHING


def kind_of(cell: Any) -> str:
    """The name of a cell's type, as ``rewritten.csv`` lists it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(cell, np.generic) and not isinstance(cell, (np.datetime64, np.timedelta64)):
        cell = cell.item()
    if isinstance(cell, (np.datetime64, np.timedelta64)) and np.isnat(cell):
        return "missing"
    for kind, name in (
        (bool, "bool"), (str, "str"), (bytes, "bytes"), (int, "int"), (float, "float"), (decimal.Decimal, "Decimal"), ((datetime.datetime, np.datetime64), "datetime"),
        (datetime.date, "date"), ((datetime.timedelta, np.timedelta64), "timedelta"), (datetime.time, "time"),
    ):  # fmt: skip
        if isinstance(cell, kind):
            return name
    return "object"


def known_rewrites() -> dict[tuple[str, str, str], str]:
    """What packages are known to change, with an example."""
    with REWRITTEN.open(newline="") as file:
        return {(row["package"], row["before"], row["after"]): row["example"] for row in csv.DictReader(file)}


# --- pairs

#: Rows that a person types, and more than the 100 by which polars infers a type.
_SMALL = (3, 12)
_LARGE = (105, 140)


@dataclass(frozen=True)
class Pair:
    """Cells of one column: those of all rows but one, and what that one holds in either table."""

    unchanged: Cells
    place: int
    cells: tuple[Any, Any]
    kinds: tuple[str, str, str]

    def column(self, side: int, changed: Any = ...) -> Cells:
        """The cells of one table."""
        one = self.cells[side] if changed is ... else changed
        return [*self.unchanged[: self.place], one, *self.unchanged[self.place :]]

    def constant(self, value: Any, changed: Any) -> Cells:
        """A column with one value in all unchanged rows."""
        return [*[value] * self.place, changed, *[value] * (len(self.unchanged) - self.place)]

    def numbers(self) -> Cells:
        """A column of different numbers, equal in both tables."""
        return [row % 9 + 0.5 for row in range(len(self.unchanged) + 1)]

    def meanings(self) -> list[Meaning]:
        """Of the unchanged cells."""
        return [meaning(cell) for cell in self.unchanged]


def pair_of(random: Random) -> Pair:
    """A pair. Either cell of the changed record is of any kind, more often than not one of the column's own."""
    family = random.choice(FAMILIES)
    rows = random.randint(*_SMALL) if random.random() < 0.96 else random.randint(*_LARGE)
    missing = random.choice([0, 0, 0.3])
    others = random.choice([0, 0, 0, 0, 0.3])

    def one() -> Any:
        drawn = random.random()
        if drawn < missing:
            return None
        return cell_of(random, random.choice(list(KINDS)) if drawn < missing + others else family)

    first = family if random.random() < 0.75 else random.choice(list(KINDS))
    second = random.choice(list(KINDS))
    cells = (cell_of(random, first), cell_of(random, second))
    return Pair([one() for _ in range(rows - 1)], random.randrange(rows), cells, (family, first, second))


# --- doors

Columns = dict[str, Cells]


class NotMade(Exception):
    """A package refuses to make a table of these cells, so that Surety is not asked."""


@dataclass(frozen=True)
class Door:
    """A package, and one way to make its table of columns."""

    package: str
    way: str
    make: Callable[[Columns], Any]
    #: What the made table holds, cell by cell.
    held: Callable[[Any], Columns]
    #: Whether the package reads the cells from CSV, so that it is given texts.
    reads_text: bool = False
    #: What Surety is given of the table: conversions that are wrong are planted here.
    handed: Callable[[Any], Any] = lambda table: table

    def __str__(self) -> str:
        return f"{self.package}: {self.way}"


def held_by_arrays(table: Any) -> Columns:
    """What columns of NumPy hold. Elements, not ``tolist``: the latter makes integers of nanoseconds."""
    found = {}
    names = table.dtype.names if isinstance(table, np.ndarray) else table
    for name in names:
        column = table[name]
        cells = list(column) if not isinstance(column, np.ma.MaskedArray) else [None if cell is np.ma.masked else cell for cell in column]
        found[name] = cells
    return found


def _inferred(cells: Cells) -> Any:
    try:
        array = np.array(cells)
    except Exception as error:
        raise NotMade(str(error)) from None
    if array.ndim != 1:
        raise NotMade("cells of several dimensions")
    return array


def objects(cells: Cells) -> Any:
    """An array of objects that holds them as they are."""
    array = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def _masked(cells: Cells) -> Any:
    there = [cell for cell in cells if cell is not None]
    filled = [there[0] if cell is None and there else cell for cell in cells]
    return np.ma.array(_inferred(filled), mask=[cell is None for cell in cells])


def _structured(columns: Columns) -> Any:
    arrays = {name: _inferred(cells) for name, cells in columns.items()}
    rows = np.empty(len(next(iter(arrays.values()))), [(name, array.dtype) for name, array in arrays.items()])
    for name, array in arrays.items():
        rows[name] = array
    return rows


def text_in_csv(cell: Any) -> str:
    """As Python's own writer writes it."""
    return "" if cell is None else str(cell)


def csv_text(columns: Columns) -> str:
    """As Python's own writer writes them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def written(columns: Columns, folder: Path) -> Path:
    """A file of them."""
    path = folder / "pair.csv"
    path.write_text(csv_text(columns), encoding="utf-8", errors="surrogateescape")
    return path


def _read_back(path: Path) -> Columns:
    with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, (list(cells) for cells in zip(*rows, strict=True)), strict=True))


def own_doors(folder: Path) -> list[Door]:
    """The doors that need NumPy alone."""
    each: dict[str, Callable[[Cells], Any]] = {
        "lists": lambda cells: cells,
        "tuples": tuple,
        "arrays of objects": objects,
        "arrays": _inferred,
        "masked arrays": _masked,
    }
    doors = [
        Door("NumPy", way, lambda columns, make=make: {name: make(cells) for name, cells in columns.items()}, held_by_arrays)  # type: ignore[misc]
        for way, make in each.items()
    ]
    doors.append(Door("NumPy", "a structured array", _structured, held_by_arrays))
    doors.append(Door("CSV", "a path", lambda columns: written(columns, folder), _read_back))
    return doors


def scaled(cells: Cells) -> Cells:
    """A mistake: decimals get the scale of the column, as text."""
    there = [cell for cell in cells if cell is not None]
    if not there or not all(isinstance(cell, D) and cell.is_finite() for cell in there):
        return cells
    scale = max(max(0, -int(cell.as_tuple().exponent)) for cell in there)
    return [None if cell is None else f"{cell:.{scale}f}" for cell in cells]


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda table: {name: change(column) for name, column in table.items()} if isinstance(table, dict) else table


def _refuses_floats(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == np.float64 and not any(cell % 1 == 0.5 for cell in column.tolist()):
        raise TypeError("column 'c' is of the type float64, must be of texts or integers")
    return column


def _one_type(column: Any) -> Any:
    """A list as NumPy makes an array of it."""
    return np.asarray(column) if isinstance(column, (list, tuple)) else column


def _without_missing(column: Any) -> Any:
    return np.where(np.isnan(column), np.inf, column) if isinstance(column, np.ndarray) and column.dtype.kind == "f" else column


def _digits_of_floats(column: Any) -> Any:
    """Whole floats of an array of floats keep their point, those of objects do not."""
    return np.array([repr(cell) for cell in column.tolist()]) if isinstance(column, np.ndarray) and column.dtype.kind == "f" else column


#: Conversions that let one cell decide about others. Each must be found.
OWN_MISTAKES: dict[str, Callable[[Any], Any]] = {
    "decimals take the scale of their column": _each(lambda column: scaled(list(column)) if getattr(column, "dtype", object) == object else column),
    "a column of floats is refused": _each(_refuses_floats),
    "NaN is a damaged cell in an array of floats": _each(_without_missing),
    "a list becomes an array of one type": _each(_one_type),
    "whole floats are written with a point in an array of floats": _each(_digits_of_floats),
}


def with_mistake(doors: list[Door], mistake: Callable[[Any], Any]) -> list[Door]:
    """The same doors, that hand over what the mistake makes of a table."""
    return [replace(door, handed=mistake) for door in doors]


# --- uses


@dataclass
class Question:
    """What is asked of a table."""

    ask: Callable[[Any], Any]
    columns: Callable[[int], Columns]
    #: Where the changed record counts, too: how far a released number may move.
    most: float | None = None
    #: Whether the changed record must be the only one of its owner: else it decides which of the owner's rows are used, or how much each of them adds.
    owns_alone: bool = False


REPLAYED: dict[str, Any] = {"replay_seed": 7}
_KEPT = "kept == 0"


def _texts(pair: Pair) -> list[str]:
    """Keys: the texts of unchanged cells, and some that conversions of other types made of them."""
    found = dict.fromkeys(text for _, text in pair.meanings() if text is not None and text.isprintable())
    return list(dict.fromkeys([*list(found)[:8], "7", "7.0", "7.00", "1", "true", "1.0"]))


def _threshold(pair: Pair) -> float:
    numbers = sorted(number for number, _ in pair.meanings() if number is not None and abs(number) < 1e6)
    return numbers[len(numbers) // 2] if numbers else 2.0


def _plain(number: float) -> str:
    return repr(number).removesuffix(".0")


#: Each gives statistics of a pair, all under the condition ``of``, and more keywords of ``surety.release``.
def _release_uses() -> dict[str, Callable[[Pair, str], tuple[list[surety.Statistic], dict[str, Any]]]]:
    of_rows: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "replace-one"}

    def owner(pair: Pair, of: str, most: int) -> tuple[list[surety.Statistic], dict[str, Any]]:
        asked = [surety.count_units(where=of), surety.sum("x", bounds=(0, 10), where=of)]
        return asked, {"unit": "c", "most": most, "epsilon": 1, "adjacency": "add-or-remove-one"}

    keys: dict[str, Any] = {"unit": None, "epsilon": 40, "delta": 0.05, "adjacency": "add-or-remove-one"}
    return {
        "owner": lambda pair, of: owner(pair, of, len(pair.unchanged) + 1),
        "owner of one row": lambda pair, of: owner(pair, of, 1),
        "by": lambda pair, of: ([surety.count(by="c", keys=_texts(pair), where=of), surety.sum("x", by="c", keys=_texts(pair), bounds=(0, 10), where=of)], of_rows),
        "by bins": lambda pair, of: ([surety.count(by="c", key_bounds=(0, 10), key_bins=4, where=of)], of_rows),
        "keys": lambda pair, of: ([surety.keys("c", where=of)], keys),
        "distinct": lambda pair, of: ([surety.distinct("c", where=of)], keys),
        "count of different texts": lambda pair, of: ([surety.count_distinct("c", where=of)], of_rows),
        "histogram": lambda pair, of: ([surety.histogram("c", categories=_texts(pair), where=of)], of_rows),
        "histogram of bins": lambda pair, of: ([surety.histogram("c", bounds=(0, 10), bins=4, where=of)], of_rows),
        "condition on a number": lambda pair, of: ([surety.count(where=f"{of} and c > {_plain(_threshold(pair))}")], of_rows),
        "condition of equal numbers": lambda pair, of: ([surety.count(where=f"{of} and c == {_plain(_threshold(pair))}")], of_rows),
        "condition on a text": lambda pair, of: ([surety.count(where=f'{of} and c == "{_texts(pair)[0].replace(chr(34), chr(34) * 2)}"')], of_rows),
        "condition on a declared text": lambda pair, of: ([surety.count(where=f'{of} and c == "7"', types={"c": "text"})], of_rows),
        "condition on a date": lambda pair, of: ([surety.count(where=f"{of} and c >= 2020-01-03", types={"c": "date"})], of_rows),
        "condition on presence": lambda pair, of: ([surety.count(where=f"{of} and missing(c)"), surety.count(where=f"{of} and present(c)")], of_rows),
        "condition on presence of a number": lambda pair, of: ([surety.count(where=f"{of} and missing(c)", types={"c": "number"})], of_rows),
        "mean": lambda pair, of: ([surety.mean("c", bounds=(0, 10), where=of)], of_rows),
        "sum": lambda pair, of: ([surety.sum("c", bounds=(-5, 20), where=of)], of_rows),
        "variance": lambda pair, of: ([surety.variance("c", bounds=(0, 10), where=of)], of_rows),
        "quantile": lambda pair, of: ([surety.quantile("c", 0.25, 0.75, bounds=(0, 10), candidates=101, where=of)], of_rows),
        "value of a missing cell": lambda pair, of: (
            [surety.mean("c", bounds=(0, 10), where=of), surety.count(where=f"{of} and c > 2")], {**of_rows, "missing": {"c": 3}}
        ),
        "complete column": lambda pair, of: ([surety.sum("c", bounds=(1, 10), where=of)], {**of_rows, "complete": ["c"]}),
    }  # fmt: skip


RELEASE_USES = _release_uses()

#: How far one record may move a count or a sum.
_MOST = {"by": 10.0, "by bins": 1.0, "histogram": 1.0, "histogram of bins": 1.0, "condition on a number": 1.0, "condition on a text": 1.0,
         "condition on a date": 1.0, "condition of equal numbers": 1.0, "condition on a declared text": 1.0, "condition on presence": 1.0,
         "condition on presence of a number": 1.0, "sum": 25.0, "count of different texts": 1.0}  # fmt: skip


def _one_step(**more: Any) -> dict[str, Any]:
    steps = {} if more.get("algorithm") == "constant" else {"steps": 1}
    return {"algorithm": "gradient-descent", **steps, "held_out": 0, "unit": None, "epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", **more}


#: Each gives keywords of ``surety.train`` for columns c, x, y and ``whole``, of which a cell of the changed record is missing.
TRAIN_USES: dict[str, Callable[[Pair], dict[str, Any]]] = {
    "feature": lambda pair: _one_step(label="y", above=0, bounds={"c": (0, 10), "x": (0, 10), "whole": (0, 2)}),
    "feature without bounds": lambda pair: _one_step(label="y", above=0, bounds={"x": (0, 10)}),
    "feature of categories": lambda pair: _one_step(label="y", above=0, categories={"c": _texts(pair)}),
    "feature whose missing cells count": lambda pair: _one_step(label="y", above=0, bounds={"c": (0, 10)}, missing={"c": 3}),
    "label above": lambda pair: _one_step(label="c", above=_threshold(pair), drop=["y"]),
    "label of equal numbers": lambda pair: _one_step(label="c", equals=_threshold(pair), drop=["y"]),
    "label of equal texts": lambda pair: _one_step(label="c", equals=_texts(pair)[0], drop=["y"]),
    "label of two classes": lambda pair: _one_step(label="c", algorithm="constant", classes=_texts(pair)[:2], classes_by="softmax", drop=["y"]),
    "label of classes": lambda pair: _one_step(label="c", algorithm="shaped-descent", classes=_texts(pair)[:3], classes_by="softmax", drop=["y"]),
    "label of a regression": lambda pair: _one_step(label="c", loss="squared", label_bounds=(0, 10), clip=5, drop=["y"]),
    "owner of a training": lambda pair: _one_step(
        label="y", above=0, unit="c", most=len(pair.unchanged) + 1, adjacency="add-or-remove-one", public_count=len(pair.unchanged)
    ),
}


def _release(pair: Pair, use: str, counts: bool) -> Question:
    statistics, call = RELEASE_USES[use](pair, _KEPT)

    def columns(side: int) -> Columns:
        return {"x": pair.numbers(), "c": pair.column(side), "kept": pair.constant(0, 0 if counts else 1)}

    def ask(table: Any) -> Any:
        return json.loads(surety.release(table, statistics, ledger=surety.Ledger.in_memory(), **REPLAYED, **call).json())

    return Question(ask, columns, _MOST[use] if counts else None, use == "owner of one row")


def labels_of(pair: Pair) -> Cells:
    """Labels 0 and 1, equal in both tables."""
    return [row % 2 for row in range(len(pair.unchanged) + 1)]


def _train(pair: Pair, use: str) -> Question:
    call = TRAIN_USES[use](pair)

    def columns(side: int) -> Columns:
        return {"x": pair.numbers(), "c": pair.column(side), "whole": pair.constant(1.5, None), "y": labels_of(pair)}

    def ask(table: Any) -> Any:
        model = surety.train(table, ledger=surety.Ledger.in_memory(), **REPLAYED, **call)
        assert model.report is not None
        return [model.text(), model.report["damaged_records_not_private"]]

    return Question(ask, columns, owns_alone=use.startswith("owner"))


def question_of(random: Random, pair: Pair) -> tuple[str, Question]:
    """A use of the column and what is asked."""
    if random.random() < 0.3:
        use = random.choice(list(TRAIN_USES))
        return use, _train(pair, use)
    use = random.choice(list(RELEASE_USES))
    counts = use in _MOST and random.random() < 0.3
    return use + (", counted" if counts else ""), _release(pair, use, counts)


def _owns_alone(pair: Pair, held: list[Columns]) -> bool:
    """Whether the owner of the changed record has no other row in either table."""
    owners = [[meaning(cell).text for cell in columns["c"]] for columns in held]
    return all(of_table.count(of_table[pair.place]) == 1 for of_table in owners)


# --- comparing


@dataclass
class Answer:
    """What came of a question: an answer, or the words of a refusal."""

    value: Any = None
    refused: str | None = None


def answer(question: Question, handed: Callable[[Any], Any], table: Any) -> Answer:
    """Asks."""
    try:
        return Answer(question.ask(handed(table)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of polars is no Exception
        notes = getattr(error, "__notes__", [])
        code = getattr(error, "code", None)
        return Answer(refused=f"{type(error).__name__} {'' if code is None else code.name}: {error} {' '.join(notes)}")


def _numbers_in(value: Any) -> Iterable[float]:
    """Of a report: its released values, in order."""
    for query in value.get("queries", [value]):
        for cell in query.get("cells") or query.get("groups") or [query]:
            yield cell["value"]


def difference(question: Question, first: Answer, second: Answer) -> str:
    """What differs that must not; empty where nothing does."""
    if "INTERNAL" in (first.refused or "") + (second.refused or ""):
        return f"a defect: {first.refused or second.refused}"
    if first.refused != second.refused:
        return f"one is {first.refused or 'answered'}, the other {second.refused or 'answered'}"
    if first.refused is not None:
        return ""
    if question.most is None:
        return "" if first.value == second.value else f"answers differ: {str(first.value)[:600]}\n  {str(second.value)[:600]}"
    moved = [abs(a - b) for a, b in zip(_numbers_in(first.value), _numbers_in(second.value), strict=True)]
    return "" if max(moved) <= question.most * (1 + 1e-9) else f"a number moves by {max(moved)}, must move by {question.most} at most"


def rewritten_cells(pair: Pair, given: Columns, first: Columns, second: Columns) -> list[tuple[str, str, str]]:
    """Unchanged cells that mean something else in the two tables as the package holds them: their types as they were given, their types as they are held by the table
    that changed them, and an example."""
    found = []
    for name in first:
        for row, (cell, one, other) in enumerate(zip(given[name], first[name], second[name], strict=True)):
            if row == pair.place or meaning(one) == meaning(other):
                continue
            found += [(kind_of(cell), kind_of(held), f"{cell!r} becomes {held!r}") for held in (one, other) if meaning(held) != meaning(cell)]
    return found


@dataclass
class Found:
    """What came of pairs."""

    pairs: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    uses: Counter[str] = field(default_factory=Counter)
    refused_alike: int = 0
    not_made: Counter[str] = field(default_factory=Counter)
    rewritten: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], str] = field(default_factory=dict)
    #: By package and use.
    differences: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: dict[tuple[str, str], str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """For people."""
        known = known_rewrites()
        made = f"{self.pairs} pairs, {self.refused_alike} refused alike, {sum(self.not_made.values())} more that a package does not make"
        lines = [made, "pairs by door: " + ", ".join(f"{door} {count}" for door, count in sorted(self.asked.items()))]
        lines += [f"rewritten {'(known)' if key in known else '(NOT LISTED)'}: {', '.join(key)}: {count}, such as {self.examples[key]}" for key, count in sorted(self.rewritten.items())]
        lines += [f"DIFFERENT: {package}, {use}: {count}, such as\n  {self.first[package, use]}" for (package, use), count in sorted(self.differences.items())]
        return lines

    def unlisted(self) -> list[tuple[str, str, str]]:
        """Rewritten cells that the table does not hold."""
        known = known_rewrites()
        return [key for key in self.rewritten if key not in known]


def compare(found: Found, door: Door, use: str, pair: Pair, question: Question) -> bool:
    """Asks about both tables of a pair. Whether it counts as a pair: not where the package makes no table."""
    held = []
    answers = []
    for side in (0, 1):
        columns = question.columns(side)
        try:
            table = door.make(columns)
            held.append(door.held(table))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            found.not_made[f"{door}: {type(error).__name__}"] += 1
            return False
        answers.append(answer(question, door.handed, table))
    if question.owns_alone and not _owns_alone(pair, held):
        return False
    found.pairs += 1
    found.asked[str(door)] += 1
    found.uses[use] += 1
    given = question.columns(0)
    if door.reads_text:
        given = {name: [text_in_csv(cell) for cell in cells] for name, cells in given.items()}
    changed = rewritten_cells(pair, given, *held)
    if changed:
        for before, after, example in {(before, after): (before, after, example) for before, after, example in changed}.values():
            key = (door.package, before, after)
            found.rewritten[key] += 1
            found.examples.setdefault(key, f"{example} ({door}, {pair.cells[0]!r} and {pair.cells[1]!r})")
        return True
    if answers[0].refused is not None and answers[0].refused == answers[1].refused:
        found.refused_alike += 1
    what = difference(question, *answers)
    if what:
        of_use = (door.package, use)
        found.differences[of_use] += 1
        shown = f"{door}: {pair.unchanged!r} at {pair.place} {pair.cells[0]!r} or {pair.cells[1]!r}: {what}"
        found.first.setdefault(of_use, shown)
        if len(shown) < len(found.first[of_use]):
            found.first[of_use] = shown
    return True


Asked = tuple[Door, str, Question] | None


def compare_pairs(pairs: int, seed: int, doors: list[Door], more: Callable[[Random, Pair], Asked] = lambda random, pair: None,
                  until: Callable[[Found], bool] = lambda found: False, share: int | None = None) -> Found:  # fmt: skip
    """So many pairs, each of another column, through doors in turn. ``more`` makes questions that bring doors of their own: three in ten, or all where there are no
    doors. Ends early ``until``. ``share``, from 0 to 2, compares a third of the pairs that are drawn."""
    random = Random(seed)
    found = Found()
    drawn = 0
    while found.pairs < pairs and not until(found):
        drawn += 1
        pair = pair_of(random)
        asked: Asked = None
        if not doors or random.random() < 0.3:
            asked = more(random, pair)
        if asked is None and doors:
            asked = (random.choice(doors), *question_of(random, pair))
        if asked is not None and (share is None or drawn % 3 == share):
            door, use, question = asked
            compare(found, door, use, pair, question)
    return found
