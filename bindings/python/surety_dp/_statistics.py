"""What can be released of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, Required, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, Unpack, overload

from surety_dp import _arguments
from surety_dp._ledger import Ledger
from surety_dp._released import Released
from surety_dp._sources import is_column, named_column
from surety_dp._types import Adjacency

Pair: TypeAlias = tuple[SupportsFloat, SupportsFloat]
#: What a cell of a column of keys or categories is: a text, or a number or truth value, which counts as its text ("7", "true").
Cell: TypeAlias = str | SupportsFloat


#: A column by itself: a Series of pandas or polars, an array of NumPy or pyarrow, a list.
Column: TypeAlias = Any


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
    key_edges: Iterable[SupportsFloat] | None
    most_per_group: SupportsIndex | None


class OfData(Some, total=False):
    """Keywords of a statistic of a column of data, which is released at once: with the arguments of ``release``."""

    ledger: Required[str | PathLike[str] | Ledger]
    unit: Required[None]
    epsilon: Required[SupportsFloat]
    adjacency: Required[Adjacency]
    delta: SupportsFloat
    confidence: SupportsFloat | None
    note: str | None
    replay_seed: SupportsIndex | None


class Either(Groups, total=False):
    """Keywords of a statistic of a named column or of a column of data."""

    ledger: str | PathLike[str] | Ledger
    unit: None
    epsilon: SupportsFloat
    adjacency: Adjacency
    delta: SupportsFloat
    confidence: SupportsFloat | None
    note: str | None
    replay_seed: SupportsIndex | None


class Expression:
    """Arithmetic with columns, for ``sum``, ``mean``, ``variance``, ``median``, ``quantile`` and ``histogram`` in the place of a column.

    Parameters
    ----------
    text : str
        Columns, numbers, ``+ - * /``, parentheses, ``log(x)``, ``exp(x)``, ``sqrt(x)``, ``abs(x)``, ``min(x, y)``, ``max(x, y)`` and ``year(x)`` of a day. A name with other characters than letters,
        digits, underscores and points stands in double quotes, each quote inside twice.

    Raises
    ------
    TypeError
        ``text`` is no text.

    Notes
    -----
    The value of a row is clamped to the bounds of the statistic. Without them, bounds of each column in the schema are combined by interval arithmetic. A row has a
    missing cell where a column has one or a step has no finite value. ``plan`` and ``release`` refuse a text that is no expression.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.mean(surety.Expression("weight * income"), bounds=(0, 500))
    <Statistic mean(Expression('weight * income'), bounds=[0.0, 500.0])>
    """

    __slots__ = ("_text",)

    _text: str

    def __init__(self, text: str) -> None:
        self._text = _arguments.text("text", text)

    def __repr__(self) -> str:
        return f"Expression({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self._text,)


class Statistic:
    """One statistic of a table, for ``surety.plan`` and ``surety.release``. Made by ``count``, ``count_units``, ``count_distinct``, ``sum``, ``mean``,
    ``variance``, ``median``, ``quantile``, ``histogram``, ``mode``, ``keys`` and ``distinct``, which share these keywords:

    ``where``: a condition; only rows that meet it count. Comparisons of a column with a number or a text, with ``and``, ``or``, ``not`` and parentheses:
    ``'age > 40 and not (town == "New York")'``. A missing cell meets no comparison; ``missing(column)`` and ``present(column)`` ask for it.
    ``types`` says of columns in it what they hold, "number", "text", "date", "integer" or "boolean", where it is not clear. The name of a column with ``< > = !`` or a quote in it, or
    with blanks around it, stands in quotes there, each quote inside twice: ``"'a>b' > 1"``. Every other argument that names a column is the name itself.

    ``weight``: with weight 4 a statistic has half the noise of one with weight 1.

    ``by``: the statistic of each group of this column, or of a list of up to three. Which groups there are is public: ``keys`` lists their texts or numbers, of
    several columns a list each, or ``key_bounds`` and ``key_bins`` make that many of equal width of a column of numbers, or ``key_edges`` lists the edges of groups by a number. Different texts and keys are of no groups.
    ``most_per_group``: how many rows of a unit count at most in each listed group, the first of its used rows.
    """

    __slots__ = ("_object",)

    _object: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("a surety.Statistic is made by surety.mean and its like")

    def __repr__(self) -> str:
        known = dict(self._object)
        function, column, fractions = known.pop("function"), known.pop("column", []), known.pop("fractions", [])
        expression = [Expression(known.pop("expression"))] if "expression" in known else []
        inside = [repr(one) for one in expression + ([column] if isinstance(column, str) else column) + fractions]
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


def _interval(value: object) -> dict[str, Any]:
    """The keyword, where it is true."""
    return {"interval": True} if _arguments.flag("interval", value) else {}


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
    "key_edges": _arguments.numbers,
    "most_per_group": _arguments.whole,
    "bounds": _arguments.pair,
    "clip_unit_sum": _arguments.pair,
    "bins": _arguments.whole,
    "edges": _arguments.numbers,
    "categories": _arguments.cells,
    "top": _arguments.whole,
    "candidates": _arguments.whole,
    "interval": _arguments.flag,
    "most_keys": _arguments.whole,
}


def _made(function: str, known: frozenset[str], more: Mapping[str, Any], *of: str | list[str] | Expression, **own: Any) -> Statistic:
    """The statistic as a plan of version 2 has it: names and numbers are values of their own, and none is part of a text."""
    for name in more:
        if name not in known:
            raise _arguments.unexpected(f"{function}() ", name, [*own, *known])
    what: dict[str, Any] = {"function": function}
    for column in of:
        if isinstance(column, Expression):
            what["expression"] = column._text
            continue
        what["column"] = [_arguments.text("column", one) for one in column] if isinstance(column, list) else _arguments.text("column", column)
    if "fractions" in own:
        what["fractions"] = [_arguments.number("fraction", fraction) for fraction in own.pop("fractions")]
    return _of_object({**what, **{name: _HOW[name](name, value) for name, value in {**own, **more}.items() if value is not None}})


#: Of ``OfData``: what ``release`` takes and a statistic does not.
_OF_RELEASE = frozenset(OfData.__annotations__) - frozenset(Some.__annotations__)
_NEEDED = ("epsilon", "adjacency", "unit", "ledger")


def _made_or_released(function: str, column: Any, more: Mapping[str, Any], fractions: tuple[Any, ...] = (), **own: Any) -> Any:
    """The statistic of a named column, or the release of the statistic of a column of data."""
    given = [name for name in more if name in _OF_RELEASE]
    if not is_column(column):
        if given:
            wanted = "a column of data (a Series, an array or a list)" if isinstance(column, str) else "a text or a column of data"
            raise _arguments.wrong_type("column", column, f"{wanted} where {given[0]} is given; a statistic of a named column is an argument of surety.release")
        return _made(function, _GROUPS, more, column, **({"fractions": fractions} if fractions else {}), **own)
    missing = [name for name in _NEEDED if name not in more]
    if missing:
        raise TypeError(f"{function}() of a column of data is released at once, and {', '.join(missing)} must be given; of a named column the first argument is its name")
    if more["unit"] is not None:
        raise _arguments.invalid("unit must be None for a column of data, in which no other column names the owners of rows: use surety.release")
    from surety_dp._release import release

    name, cells = named_column(column)
    statistic = _made(function, _SOME, {key: one for key, one in more.items() if key not in _OF_RELEASE}, name, **({"fractions": fractions} if fractions else {}), **own)
    return release({name: cells}, [statistic], **{key: one for key, one in more.items() if key in _OF_RELEASE})


_SOME = frozenset(Some.__annotations__)
_GROUPS = frozenset(Groups.__annotations__)


def count(**more: Unpack[Groups]) -> Statistic:
    """The number of rows, or of rows that meet a condition.

    Parameters
    ----------
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``.

    Returns
    -------
    Statistic
        For ``plan`` and ``release``. No data are read.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.count(where="exper > 10")
    <Statistic count(where='exper > 10')>
    """
    return _made("count", _GROUPS, more)


def count_units(**more: Unpack[Groups]) -> Statistic:
    """The number of units, such as people, or of units with a row that meets a condition.

    Parameters
    ----------
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``.

    Returns
    -------
    Statistic
        For ``plan`` and ``release``. No data are read.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    Of groups, a unit counts once in every group in which it has a row. Under "replace-one" and "zero-out" the number of all units is public: it has no noise and
    is charged nothing.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.count_units(where="x > 1")
    <Statistic count_units(where='x > 1')>
    """
    return _made("count_units", _GROUPS, more)


def count_distinct(column: str, *, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """The number of different texts in a column.

    Parameters
    ----------
    column : str
        The name of the column.
    most_keys : int, optional
        The number of different texts of a unit that count. Default: as many as its rows.
    where, types, weight
        Keywords of every statistic: see ``Statistic``.

    Returns
    -------
    Statistic
        For ``plan`` and ``release``. No data are read.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    One unit moves the number by at most ``most_keys``.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.count_distinct("town", most_keys=2)
    <Statistic count_distinct('town', most_keys=2)>
    """
    return _made("count_distinct", _SOME, more, column, most_keys=most_keys)


@overload
def sum(column: str | Expression, *, bounds: Pair | None = None, clip_unit_sum: Pair | None = None, **more: Unpack[Groups]) -> Statistic: ...
@overload
def sum(column: Column, *, bounds: Pair | None = None, clip_unit_sum: Pair | None = None, **more: Unpack[OfData]) -> Released: ...
def sum(column: str | Expression | Column, *, bounds: Pair | None = None, clip_unit_sum: Pair | None = None, **more: Unpack[Either]) -> Statistic | Released:
    """The sum of a column.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    bounds : (float, float)
        Lower and upper bound, known without looking at the data, to which cells are clamped. A schema may set them instead.
    clip_unit_sum : (float, float), optional
        In the place of ``bounds``: the sum of all used rows of a unit is clipped to this, once. Of groups it is (-C, C), and what a unit adds to all groups is
        clipped to the norm C.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.sum("hours", bounds=(0, 80))
    <Statistic sum('hours', bounds=[0.0, 80.0])>
    """
    made: Statistic | Released = _made_or_released("sum", column, more, bounds=bounds, clip_unit_sum=clip_unit_sum)
    return made


@overload
def mean(column: str | Expression, *, bounds: Pair | None = None, most_keys: SupportsIndex | None = None, **more: Unpack[Groups]) -> Statistic: ...
@overload
def mean(column: Column, *, bounds: Pair | None = None, most_keys: SupportsIndex | None = None, **more: Unpack[OfData]) -> Released: ...
def mean(column: str | Expression | Column, *, bounds: Pair | None = None, most_keys: SupportsIndex | None = None, **more: Unpack[Either]) -> Statistic | Released:
    """The mean of a column, over the rows whose cell is not missing.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    bounds : (float, float)
        Lower and upper bound, known without looking at the data, to which cells are clamped. A schema may set them instead.
    most_keys : int, optional
        The number of different groups of a unit that count. Default: as many as its rows. Only with ``keys="discovered"``.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    With ``keys="discovered"`` the groups of ``by`` are not listed. A group is shown if it has more units than a threshold, at delta > 0, with the mean of its units'
    own means.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.mean("hours", bounds=(0, 80), by="town", keys=["Rome", "Oslo"])
    <Statistic mean('hours', bounds=[0.0, 80.0], by='town', keys=['Rome', 'Oslo'])>
    """
    made: Statistic | Released = _made_or_released("mean", column, more, bounds=bounds, most_keys=most_keys)
    return made


@overload
def variance(column: str | Expression, *, bounds: Pair | None = None, **more: Unpack[Groups]) -> Statistic: ...
@overload
def variance(column: Column, *, bounds: Pair | None = None, **more: Unpack[OfData]) -> Released: ...
def variance(column: str | Expression | Column, *, bounds: Pair | None = None, **more: Unpack[Either]) -> Statistic | Released:
    """The variance of a column, divided by the number of its rows.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    bounds : (float, float)
        Lower and upper bound, known without looking at the data, to which cells are clamped. A schema may set them instead.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.variance("hours", bounds=(0, 80))
    <Statistic variance('hours', bounds=[0.0, 80.0])>
    """
    made: Statistic | Released = _made_or_released("variance", column, more, bounds=bounds)
    return made


@overload
def median(column: str | Expression, *, bounds: Pair | None = None, candidates: SupportsIndex | None = None, interval: bool = False, **more: Unpack[Groups]) -> Statistic: ...
@overload
def median(column: Column, *, bounds: Pair | None = None, candidates: SupportsIndex | None = None, interval: bool = False, **more: Unpack[OfData]) -> Released: ...
def median(column: str | Expression | Column, *, bounds: Pair | None = None, candidates: SupportsIndex | None = None, interval: bool = False, **more: Unpack[Either]) -> Statistic | Released:
    """The median of a column.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    bounds : (float, float)
        Lower and upper bound, known without looking at the data, to which cells are clamped. A schema may set them instead.
    candidates : int, optional
        The number of equally spaced values between the bounds from which one is drawn. Default: about 16,000.
    interval : bool, optional
        Also release an interval in the unit of the column and a rank error that is measured. Default: False. The interval takes a part of the charge: a
        median is left a third of the epsilon for its own choice, three fractions 2/5 and five 3/7.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    One candidate is drawn by permute-and-flip or the exponential mechanism. The result has a rank error in the place of an interval, or both with
    ``interval=True``.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.median("wage", bounds=(0, 100))
    <Statistic median('wage', bounds=[0.0, 100.0])>
    """
    made: Statistic | Released = _made_or_released("median", column, more, bounds=bounds, candidates=candidates, **_interval(interval))
    return made


@overload
def quantile(
    column: str | Expression,
    fraction: SupportsFloat,
    *fractions: SupportsFloat,
    bounds: Pair | None = None,
    candidates: SupportsIndex | None = None,
    interval: bool = False,
    **more: Unpack[Groups],
) -> Statistic: ...
@overload
def quantile(
    column: Column,
    fraction: SupportsFloat,
    *fractions: SupportsFloat,
    bounds: Pair | None = None,
    candidates: SupportsIndex | None = None,
    interval: bool = False,
    **more: Unpack[OfData],
) -> Released: ...
def quantile(
    column: str | Expression | Column,
    fraction: SupportsFloat,
    *fractions: SupportsFloat,
    bounds: Pair | None = None,
    candidates: SupportsIndex | None = None,
    interval: bool = False,
    **more: Unpack[Either],
) -> Statistic | Released:
    """The values below which given fractions of the rows are.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    fraction : float
        The fraction of the rows, in [0, 1].
    *fractions : float
        More fractions, ascending. Each is a cell of its own, and the values never decrease.
    bounds : (float, float)
        Lower and upper bound, known without looking at the data, to which cells are clamped. A schema may set them instead.
    candidates : int, optional
        The number of equally spaced values between the bounds from which one is drawn. Default: about 16,000.
    interval : bool, optional
        Also release an interval in the unit of the column and a rank error that is measured. Default: False. The interval takes a part of the charge: a
        median is left a third of the epsilon for its own choice, three fractions 2/5 and five 3/7.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    As ``median``. m fractions are chosen by halving, at the cost of ceil(log2(m + 1)) draws.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.quantile("age", 0.25, 0.5, 0.75, bounds=(0, 100))
    <Statistic quantile('age', 0.25, 0.5, 0.75, bounds=[0.0, 100.0])>
    """
    made: Statistic | Released = _made_or_released("quantile", column, more, (fraction, *fractions), bounds=bounds, candidates=candidates, **_interval(interval))
    return made


@overload
def histogram(
    column: str | Expression,
    *,
    categories: Iterable[Cell] | None = None,
    bounds: Pair | None = None,
    bins: SupportsIndex | None = None,
    edges: Iterable[SupportsFloat] | None = None,
    **more: Unpack[Groups],
) -> Statistic: ...
@overload
def histogram(
    column: Column,
    *,
    categories: Iterable[Cell] | None = None,
    bounds: Pair | None = None,
    bins: SupportsIndex | None = None,
    edges: Iterable[SupportsFloat] | None = None,
    **more: Unpack[OfData],
) -> Released: ...
def histogram(
    column: str | Expression | Column,
    *,
    categories: Iterable[Cell] | None = None,
    bounds: Pair | None = None,
    bins: SupportsIndex | None = None,
    edges: Iterable[SupportsFloat] | None = None,
    **more: Unpack[Either],
) -> Statistic | Released:
    """The number of rows in each cell.

    Parameters
    ----------
    column : str, Expression or column of data
        The name of the column, or what is computed from columns. A Series, an array or a list is released at once, with the keywords of ``release``.
    categories : iterable, optional
        One cell for each of these texts, numbers or truth values, known without looking at the data.
    bounds : (float, float), optional
        With ``bins``, in the place of ``categories``: lower and upper bound of the cells, known without looking at the data.
    bins : int, optional
        The number of cells of equal width between the bounds.
    edges : iterable of float, optional
        In the place of ``bounds`` and ``bins``: the edges of the cells, at least 3, strictly ascending and known without looking at the data. A cell has its lower edge and not
        its upper one; the last has both. Numbers outside are in the outer cells.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: ``float`` of it is the number.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.histogram("town", categories=["Rome", "Oslo"])
    <Statistic histogram('town', categories=['Rome', 'Oslo'])>
    """
    made: Statistic | Released = _made_or_released("histogram", column, more, categories=categories, bounds=bounds, bins=bins, edges=edges)
    return made


@overload
def mode(column: str, *, categories: Iterable[Cell] | None = None, top: SupportsIndex | None = None, **more: Unpack[Groups]) -> Statistic: ...
@overload
def mode(column: Column, *, categories: Iterable[Cell] | None = None, top: SupportsIndex | None = None, **more: Unpack[OfData]) -> Released: ...
def mode(column: str | Column, *, categories: Iterable[Cell] | None = None, top: SupportsIndex | None = None, **more: Unpack[Either]) -> Statistic | Released:
    """The most frequent of listed categories, or several of them.

    Parameters
    ----------
    column : str or column of data
        The name of the column. A Series, an array or a list is released at once, with the keywords of ``release``.
    categories : iterable, optional
        The texts, numbers or truth values that may be chosen, at least 2, known without looking at the data. A schema may set them instead. Rows with other
        texts do not count.
    top : int, optional
        How many of the most frequent categories are released, in order. Default: 1. It must be less than the number of categories.
    where, types, weight, by, keys, key_bounds, key_bins, key_edges, most_per_group
        Keywords of every statistic with groups: see ``Statistic``. Groups need a named column.
    ledger, unit, epsilon, adjacency, delta, confidence, note, replay_seed
        Of a column of data: see ``release``. ``unit`` must be None, so that each cell is a unit of its own.

    Returns
    -------
    Statistic or Released
        Of a named column for ``plan`` and ``release``: no data are read. Of a column of data what was released: the cells of its table are the categories, the
        most frequent first, without numbers.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    Each category is a choice by the exponential mechanism, or by permute-and-flip, among those not chosen before. The noise of a release states by how many
    records less than the largest its count may be. Release a ``histogram`` as well for the counts.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.mode("town", categories=["Rome", "Oslo", "Bern"], top=2)
    <Statistic mode('town', categories=['Rome', 'Oslo', 'Bern'], top=2)>
    """
    made: Statistic | Released = _made_or_released("mode", column, more, categories=categories, top=top)
    return made


def distinct(*columns: str, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """The texts of a column that are not listed beforehand, or tuples of texts of up to three columns, without counts.

    Parameters
    ----------
    *columns : str
        The names of one to three columns.
    most_keys : int, optional
        The number of different texts of a unit that count. Default: as many as its rows.
    where, types, weight
        Keywords of every statistic: see ``Statistic``.

    Returns
    -------
    Statistic
        For ``plan`` and ``release``. No data are read.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    Needs delta > 0. The rows of the report have no value.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.distinct("town", most_keys=2)
    <Statistic distinct('town', most_keys=2)>
    """
    return _made("distinct", _SOME, more, list(columns), most_keys=most_keys)


def keys(column: str, *, most_keys: SupportsIndex | None = None, **more: Unpack[Some]) -> Statistic:
    """The texts of a column that are not listed beforehand, with the number of units of each.

    Parameters
    ----------
    column : str
        The name of the column.
    most_keys : int, optional
        The number of different texts of a unit that count. Default: as many as its rows.
    where, types, weight
        Keywords of every statistic: see ``Statistic``.

    Returns
    -------
    Statistic
        For ``plan`` and ``release``. No data are read.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    Needs delta > 0. A text is shown if more units hold it than a threshold.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.keys("town", most_keys=2)
    <Statistic keys('town', most_keys=2)>
    """
    return _made("keys", _SOME, more, column, most_keys=most_keys)
