"""What can be released of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, Unpack

from surety import _arguments

Pair: TypeAlias = tuple[SupportsFloat, SupportsFloat]
#: What a cell of a column of keys or categories is: a text, or a number or truth value, which counts as its text ("7", "true").
Cell: TypeAlias = str | SupportsFloat


class Some(TypedDict, total=False):
    """Of which rows a statistic is, and its share of the noise."""

    where: str | None
    types: Mapping[str, str] | None
    weight: SupportsFloat


class Groups(Some, total=False):
    """The same for what can be of groups."""

    by: str | Iterable[str] | None
    keys: Iterable[Cell | Iterable[Cell]] | Literal["discovered"] | None
    key_bounds: Pair | None
    key_bins: SupportsIndex | None
    most_per_group: SupportsIndex | None


class Statistic:
    """One statistic of a table, for ``surety.plan`` and ``surety.release``. Made by ``count``, ``count_units``, ``count_distinct``, ``sum``, ``mean``,
    ``variance``, ``median``, ``quantile``, ``histogram``, ``keys`` and ``distinct``, which share these keywords:

    ``where``: a condition; only rows that meet it count. Comparisons of a column with a number or a text, with ``and``, ``or``, ``not`` and parentheses:
    ``'age > 40 and not (town == "New York")'``. A missing cell meets no comparison; ``missing(column)`` and ``present(column)`` ask for it.
    ``types`` says of columns in it what they hold, "number", "text", "date", "integer" or "boolean", where it is not clear. The name of a column with ``< > = !`` or a quote in it, or
    with blanks around it, stands in quotes there, each quote inside twice: ``"'a>b' > 1"``. Every other argument that names a column is the name itself.

    ``weight``: with weight 4 a statistic has half the noise of one with weight 1.

    ``by``: the statistic of each group of this column, or of a list of up to three. Which groups there are is public: ``keys`` lists their texts or numbers, of
    several columns a list each, or ``key_bounds`` and ``key_bins`` make that many of equal width of a column of numbers. Different texts and keys are of no groups.
    ``most_per_group``: of a unit at most so many rows count in each group that is listed, the first of those that are used.
    """

    __slots__ = ("_object",)

    _object: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("a surety.Statistic is made by surety.mean and its like")

    def __repr__(self) -> str:
        known = dict(self._object)
        function, column, fractions = known.pop("function"), known.pop("column", []), known.pop("fractions", [])
        inside = [repr(one) for one in ([column] if isinstance(column, str) else column) + fractions]
        return f"<Statistic {function}({', '.join(inside + [f'{name}={value!r}' for name, value in known.items()])})>"

    def __eq__(self, other: object) -> bool:
        return self._object == other._object if isinstance(other, Statistic) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._object, sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_object, (self._object,)


def _of_object(members: dict[str, Any]) -> Statistic:
    statistic = Statistic.__new__(Statistic)
    statistic._object = members
    return statistic


def _types(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _arguments.wrong_type(name, value, "a mapping of columns to 'number', 'text' or 'date'")
    return {_arguments.text("a column of types", column): _arguments.text("a type of types", kind) for column, kind in value.items()}


def _by(name: str, value: object) -> list[str] | str:
    return value if isinstance(value, str) else _arguments.texts(name, value)


def _keys(name: str, value: object) -> list[str] | list[list[str]] | str:
    if isinstance(value, str) and value == "discovered":
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, Iterable) and not isinstance(one, str) for one in value):
        return [_arguments.cells(name, one) for one in value]
    return _arguments.cells(name, value)


_HOW = {
    "where": _arguments.text,
    "types": _types,
    "weight": _arguments.number,
    "by": _by,
    "keys": _keys,
    "key_bounds": _arguments.pair,
    "key_bins": _arguments.whole,
    "most_per_group": _arguments.whole,
    "bounds": _arguments.pair,
    "clip_unit_sum": _arguments.pair,
    "bins": _arguments.whole,
    "categories": _arguments.cells,
    "candidates": _arguments.whole,
    "most_keys": _arguments.whole,
}


def _made(function: str, known: frozenset[str], more: Mapping[str, Any], *of: str | list[str], **own: Any) -> Statistic:
    """The statistic as a plan of version 2 has it: names and numbers are values of their own, and none is part of a text."""
    for name in more:
        if name not in known:
            raise _arguments.unexpected(f"{function}() ", name, [*own, *known])
    what: dict[str, Any] = {"function": function}
    for column in of:
        what["column"] = [_arguments.text("column", one) for one in column] if isinstance(column, list) else _arguments.text("column", column)
    if "fractions" in own:
        what["fractions"] = [_arguments.number("fraction", fraction) for fraction in own.pop("fractions")]
    return _of_object({**what, **{name: _HOW[name](name, value) for name, value in {**own, **more}.items() if value is not None}})


_SOME = frozenset(Some.__annotations__)
_GROUPS = frozenset(Groups.__annotations__)


def count(**more: Unpack[Groups]) -> Statistic:
    """How many rows there are, or meet a condition: ``surety.count(where="exper > 10")``. The keywords are those of ``Statistic``."""
    return _made("count", _GROUPS, more)


def count_units(**more: Unpack[Groups]) -> Statistic:
    """How many units there are, such as people, or have a row that meets a condition; of groups, each once in every group in which it has one. Under
    "replace-one" and "zero-out" the number of all is public: it has no noise and is charged nothing. The keywords are those of ``Statistic``."""
    return _made("count_units", _GROUPS, more)


def count_distinct(column: str, *, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """How many different texts a column holds. Of a unit at most ``most_keys`` of them count, as many as its rows unless given, and by no more than that one
    unit moves the number. The other keywords are those of ``Statistic``."""
    return _made("count_distinct", _SOME, more, column, most_keys=most_keys)


def sum(column: str, *, bounds: Pair | None = None, clip_unit_sum: Pair | None = None, **more: Unpack[Groups]) -> Statistic:
    """The sum of a column, whose numbers are clamped to ``bounds``, (lower, upper), known without looking at the data; a schema may say them instead.
    The other keywords are those of ``Statistic``.

    With ``clip_unit_sum``, (lower, upper), in the place of ``bounds``, what all used rows of a unit add up to is clipped, once; of groups it is
    (-C, C), and what a unit adds to all of them is clipped to the norm C."""
    return _made("sum", _GROUPS, more, column, bounds=bounds, clip_unit_sum=clip_unit_sum)


def mean(column: str, *, bounds: Pair | None = None, most_keys: SupportsIndex | None = None, **more: Unpack[Groups]) -> Statistic:
    """The mean of a column, of the rows whose cell is not missing; ``bounds`` as of ``sum``. The other keywords are those of ``Statistic``.

    With ``keys="discovered"`` the groups of ``by`` are those that nobody listed: each is shown that has more units than a threshold, at delta > 0, with the
    mean over its units of their own means there. Of a unit at most ``most_keys`` groups count, as many as its rows unless given."""
    return _made("mean", _GROUPS, more, column, bounds=bounds, most_keys=most_keys)


def variance(column: str, *, bounds: Pair | None = None, **more: Unpack[Groups]) -> Statistic:
    """The variance of a column, divided by the number of its rows; ``bounds`` as of ``sum``. The other keywords are those of ``Statistic``."""
    return _made("variance", _GROUPS, more, column, bounds=bounds)


def median(column: str, *, bounds: Pair | None = None, candidates: SupportsIndex | None = None, **more: Unpack[Groups]) -> Statistic:
    """The median of a column: one of ``candidates`` equally spaced numbers from one of the ``bounds`` to the other, some 16,000 unless given, drawn by
    permute-and-flip or the exponential mechanism. In the place of an interval it has a rank error. The other keywords are those of ``Statistic``."""
    return _made("median", _GROUPS, more, column, bounds=bounds, candidates=candidates)


def quantile(
    column: str,
    fraction: SupportsFloat,
    *fractions: SupportsFloat,
    bounds: Pair | None = None,
    candidates: SupportsIndex | None = None,
    **more: Unpack[Groups],
) -> Statistic:
    """As ``median``, of the number below which a fraction of the rows are, between 0 and 1. Several, ascending, as in ``surety.quantile("age", 0.25, 0.5, 0.75)``, are
    chosen by halving: m of them cost what ceil(log2(m + 1)) choices cost, and the numbers never decrease; each is a cell of its own."""
    return _made("quantile", _GROUPS, more, column, fractions=(fraction, *fractions), bounds=bounds, candidates=candidates)


def histogram(
    column: str,
    *,
    categories: Iterable[Cell] | None = None,
    bounds: Pair | None = None,
    bins: SupportsIndex | None = None,
    **more: Unpack[Groups],
) -> Statistic:
    """How many rows are in each cell: of the texts or numbers of ``categories``, or of ``bins`` cells of equal width between ``bounds``. Both are known without
    looking at the data. The other keywords are those of ``Statistic``."""
    return _made("histogram", _GROUPS, more, column, categories=categories, bounds=bounds, bins=bins)


def distinct(*columns: str, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """The texts of a column that nobody listed, or the tuples of texts of up to three, without counts, at delta > 0: in its report they have no value. Of a unit at
    most ``most_keys`` of them count, as many as its rows unless given. The other keywords are those of ``Statistic``, without groups."""
    return _made("distinct", _SOME, more, list(columns), most_keys=most_keys)


def keys(column: str, *, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """The texts of a column that nobody listed, each shown where more units hold it than a threshold, at delta > 0. Of a unit at most ``most_keys``
    different ones count, as many as its rows unless given. The other keywords are those of ``Statistic``."""
    return _made("keys", _SOME, more, column, most_keys=most_keys)
