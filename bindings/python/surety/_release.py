"""Statistics of a table, charged to a ledger before their noise is drawn."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, TypedDict, Unpack

from surety import _arguments, _library
from surety._events import _number_of
from surety._ledger import Ledger
from surety._prepared import Prepared
from surety._released import Released
from surety._sources import source_of
from surety._statistics import Statistic


class PlanFields(TypedDict, total=False):
    """What a plan may say beside its statistics, its unit and its promise; what is None is not said."""

    empty_unit: str | None
    noise: str | None
    confidence: SupportsFloat | None
    missing: Mapping[str, str | float] | None
    complete: Iterable[str] | None
    schema: str | PathLike[str] | None
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    columns: Iterable[str] | None
    quoted_lines: SupportsIndex | None
    form_is_public: bool
    no_limits: bool
    note: str | None
    replay_seed: SupportsIndex | None


def _list(name: str, value: object) -> str:
    return _arguments.quoted(_arguments.texts(name, value))


def _missing(name: str, value: object) -> list[str]:
    """What a missing cell counts as: a number or a text."""
    if not isinstance(value, Mapping):
        raise _arguments.wrong_type(name, value, "a mapping of columns to numbers or texts")
    rows = []
    for column, cell in value.items():
        shown = _arguments.text("a value of missing", cell) if isinstance(cell, str) else repr(_arguments.number("a value of missing", cell))
        rows.append(f"{_arguments.quoted([_arguments.text('a column of missing', column)])}={_arguments.quoted([shown])}")
    return rows


_HOW: dict[str, Callable[[str, Any], Any]] = {
    "confidence": _arguments.number,
    "missing": _missing,
    "complete": _list,
    "schema": _arguments.path,
    "columns": _list,
    "quoted_lines": _arguments.whole,
    "form_is_public": _arguments.flag,
    "no_limits": _arguments.flag,
    "replay_seed": _arguments.whole,
}


def _plan_text(
    caller: str,
    statistics: Iterable[Statistic],
    unit: str | None,
    most: SupportsIndex | None,
    promise: tuple[str, float, float],
    said: Mapping[str, Any],
) -> str:
    """The plan in JSON, as ``surety release --plan`` reads it."""
    for name in said:
        if name not in PlanFields.__annotations__:
            raise _arguments.unexpected(f"{caller}() ", name, PlanFields.__annotations__)
    queries = [] if isinstance(statistics, (Statistic, str, bytes, Mapping)) or not isinstance(statistics, Iterable) else list(statistics)
    if not queries or not all(isinstance(query, Statistic) for query in queries):
        raise TypeError("statistics must be a list of surety.Statistic, as surety.mean makes them")
    options: dict[str, Any] = {"query": [query._object for query in queries]}
    if unit is not None:
        options["unit"] = _arguments.text("unit", unit)
    if most is not None:
        options["most"] = _arguments.whole("most", most)
    for name, value in said.items():
        if value is not None:
            options[name.replace("_", "-")] = _HOW.get(name, _arguments.text)(name, value)
    adjacency, epsilon, delta = promise
    plan = {"version": 2, "command": "release", "adjacency": adjacency, "target": {"epsilon": epsilon, "delta": delta}, "options": options}
    return json.dumps(plan)


class Plan(Prepared[_library.PlannedRelease]):
    """A release that is planned and prepared: what it costs is known, nothing was read and nothing is charged. Made by ``surety.plan``."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("a surety.Plan is made by surety.plan")

    def release(self, data: Any, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False) -> Released:
        """Runs the plan, as ``surety.release`` does. Each call is a release of its own, with its own charge."""
        _require_ledger(ledger, ledger_must_exist)
        source = source_of(data, self._no_limits)
        return _released(_library.run_release(self._handle, _ledger_of(ledger), ledger_must_exist), source)

    def __repr__(self) -> str:
        return f"<Plan of {self._said()}>"


def _planned(
    caller: str,
    statistics: Iterable[Statistic],
    unit: str | None,
    most: SupportsIndex | None,
    promise: tuple[str, SupportsFloat, SupportsFloat],
    said: Mapping[str, Any],
    data: Any = None,
) -> tuple[Plan, _library.Source | None]:
    """The plan, and of data their source: whether they have its columns is said before the noise is looked for."""
    adjacency, epsilon, delta = _arguments.text("adjacency", promise[0]), _number_of(promise[1], "epsilon"), _number_of(promise[2], "delta")
    text = _plan_text(caller, statistics, unit, most, (adjacency, epsilon, delta), said)
    made = Plan.__new__(Plan)
    made._no_limits = said.get("no_limits") is True
    source = None if data is None else source_of(data, made._no_limits)
    made._handle = _library.plan_release(text, epsilon, delta, adjacency, source)
    made._delta = delta
    return made, source


def _require_ledger(ledger: object, must_exist: object) -> None:
    if not isinstance(ledger, (Ledger, str, PathLike)):
        raise _arguments.wrong_type("ledger", ledger, "a path or a surety.Ledger; Ledger.in_memory() keeps nothing")
    _arguments.flag("ledger_must_exist", must_exist)


def _ledger_of(ledger: str | PathLike[str] | Ledger) -> Any:
    """As the library takes it."""
    return ledger._handle if isinstance(ledger, Ledger) else _arguments.path("ledger", ledger)


def note_what_was_charged(error: BaseException, run: int | None) -> None:
    """Says at an exception whether its run is charged."""
    if run is not None:
        error.add_note(f"surety: run {run} of the ledger is charged, and stays charged with what it had released by then, or more")
    elif not isinstance(error, Exception):
        error.add_note("surety: nothing was charged, and nothing was released")


def _released(run: _library.RunOfRelease, source: _library.Source) -> Released:
    try:
        return Released._of(run.go(source))
    except BaseException as error:
        note_what_was_charged(error, run.charged())
        raise


def plan(
    statistics: Iterable[Statistic],
    *,
    unit: str | None,
    epsilon: SupportsFloat,
    adjacency: str,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    **said: Unpack[PlanFields],
) -> Plan:
    """What a release of these statistics costs, with the least noise that keeps the promise. No data are asked for, and nothing is charged.

    >>> import surety
    >>> plan = surety.plan(
    ...     [surety.mean("hours", bounds=(0, 5000)), surety.count(where="exper > 10")],
    ...     unit="nr", most=8, epsilon=1, delta=1e-6, adjacency="add-or-remove-one",
    ... )
    >>> plan
    <Plan of repeat(2, laplace(1.9999920000320017)), add-or-remove-one, for one nr of at most 8 rows (...): epsilon 1 at delta 1e-06>
    >>> plan.event.adjacency, plan.cost.upper <= 1
    ('add-or-remove-one', True)

    All statistics together cost at most ``epsilon`` at ``delta``, under ``adjacency``. That is promised to a ``unit``: the column that names the owner of
    a row, of whom at most ``most`` rows are used; None says that each row is a unit of its own.

    Raises ``TypeError`` for an argument of another type, ``InvalidArgument`` for a value that breaks its constraint, and ``SuretyError`` where no noise keeps
    the promise.
    """
    return _planned("plan", statistics, unit, most, (adjacency, epsilon, delta), said)[0]


def release(
    data: Any,
    statistics: Iterable[Statistic],
    *,
    ledger: str | PathLike[str] | Ledger,
    unit: str | None,
    epsilon: SupportsFloat,
    adjacency: str,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    ledger_must_exist: bool = False,
    **said: Unpack[PlanFields],
) -> Released:
    """Releases statistics of a table, with the least noise that keeps the promise, and charges them to a ledger before the noise is drawn.

    >>> import numpy as np
    >>> import surety
    >>> table = {"person": np.arange(4000) // 4, "hours": np.full(4000, 38.0)}
    >>> released = surety.release(
    ...     table, [surety.mean("hours", bounds=(0, 80)), surety.count()],
    ...     unit="person", most=4, epsilon=2, delta=1e-6, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory(),
    ... )
    >>> released.run, released.cost.upper <= 2
    (1, True)

    ``data`` is a frame with ``__arrow_c_stream__`` (pandas 2.2 and later, polars, pyarrow, relations of DuckDB), a mapping of names to NumPy arrays or lists, a
    structured array, or the path of a CSV file. It must not change meanwhile. Columns of Python objects count cell by cell: texts, numbers
    as they are written; None, NaN and all else is missing.

    ``statistics`` are made by ``surety.mean`` and its like. All of them together cost at most ``epsilon`` at ``delta``, under ``adjacency``. That is promised
    to a ``unit``: the column that names the owner of a row, of whom at most ``most`` rows are used; None says that each row is a unit of its own.

    ``ledger``: where it is charged: a path, where a ledger is made when there is none unless ``ledger_must_exist``, or an open ``Ledger``.
    ``Ledger.in_memory()`` is one that keeps nothing.

    The interpreter's lock is free while it works, and Control-C ends it in a fifth of a second: a note at the exception says whether the run was
    charged by then, and what is charged stays so.

    Raises ``TypeError`` for an argument of another type, ``InvalidArgument`` for a value that breaks its constraint, and ``SuretyError``: BUDGET_EXCEEDED where
    the ledger's budget does not allow it, BAD_DATA for a column that is not there or of another type, UNREACHABLE or UNSUPPORTED where no noise keeps the
    promise. Whatever is refused before the charge has cost nothing; no message shows a cell, unless ``form_is_public``.
    """
    if data is None:
        raise _arguments.wrong_type("data", data, "a table or the path of one")
    _require_ledger(ledger, ledger_must_exist)
    planned, source = _planned("release", statistics, unit, most, (adjacency, epsilon, delta), said, data)
    assert source is not None
    return _released(_library.run_release(planned._handle, _ledger_of(ledger), ledger_must_exist), source)


def _with_fields(documentation: str | None) -> str:
    """``documentation`` with a paragraph for each keyword of ``PlanFields``, in the library's words."""
    paragraphs = [
        inspect.cleandoc(documentation or ""),
        "More keywords, each None where it is not said. ``missing`` is a mapping of columns to numbers or texts, ``complete`` and ``columns`` are lists of names.",
    ]
    for name, help, standard, _ in _library.release_fields():
        if name in PlanFields.__annotations__:
            text = f"``{name}``: {help}{f' (where it is not said: {standard})' if standard else ''}."
            paragraphs.append(textwrap.fill(text, 150, break_on_hyphens=False))
    return "\n\n".join(paragraphs) + "\n"


plan.__doc__ = _with_fields(plan.__doc__)
release.__doc__ = _with_fields(release.__doc__)
