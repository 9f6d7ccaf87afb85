"""Statistics of a table, charged to a ledger before their noise is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, TypedDict, Unpack

from surety_dp import _arguments, _library
from surety_dp._events import _number_of
from surety_dp._ledger import Ledger
from surety_dp._prepared import Prepared
from surety_dp._progress import reporting
from surety_dp._released import Released
from surety_dp._signatures import with_other_parameters
from surety_dp._sources import is_plain_array, named_by, source_of
from surety_dp._statistics import Statistic
from surety_dp._types import Adjacency, EmptyUnit, Progress, ReleaseNoise, ReportsProgress


class PlanFields(TypedDict, total=False):
    """What a plan may say beside its statistics, its unit and its promise; what is None is not said."""

    empty_unit: EmptyUnit | None
    unit_period: str | None
    noise: ReleaseNoise | None
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
    unit: str | Sequence[str] | None,
    most: SupportsIndex | None,
    promise: tuple[str, float, float],
    said: Mapping[str, Any],
) -> str:
    """The plan in JSON, as ``surety release --plan`` reads it."""
    for name in said:
        if name not in PlanFields.__annotations__:
            raise _arguments.unexpected(f"{caller}() ", name, PlanFields.__annotations__)
    wanted = "statistics must be a list of surety.Statistic, as surety.mean makes them"
    if isinstance(statistics, Statistic):
        raise TypeError(f"{wanted}: put the one in a list")
    queries = _arguments.items("statistics", statistics, "a list of surety.Statistic, as surety.mean makes them")
    if not queries or not all(isinstance(query, Statistic) for query in queries):
        raise TypeError(wanted)
    options: dict[str, Any] = {"query": [query._object for query in queries]}
    if unit is not None:
        options["unit"] = _arguments.columns("unit", unit)
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

    def release(self, data: Any, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False, progress: Progress = False) -> Released:
        """Runs the plan, as ``surety.release`` does. Each call is a release of its own, with its own charge."""
        _require_ledger(ledger, ledger_must_exist)
        source = source_of(data, self._no_limits)
        with reporting(progress) as report:
            return _released(_library.run_release(self._handle, _ledger_of(ledger), ledger_must_exist), source, report)

    def __repr__(self) -> str:
        return f"<Plan of {self._said()}>"


def _planned(
    caller: str,
    statistics: Iterable[Statistic],
    unit: str | Sequence[str] | None,
    most: SupportsIndex | None,
    promise: tuple[str, SupportsFloat, SupportsFloat],
    said: Mapping[str, Any],
    data: Any = None,
    report: ReportsProgress | None = None,
) -> tuple[Plan, _library.Source | None]:
    """The plan, and of data their source: whether they have its columns is said before the noise is looked for."""
    adjacency, epsilon, delta = _arguments.text("adjacency", promise[0]), _number_of(promise[1], "epsilon"), _number_of(promise[2], "delta")
    text = _plan_text(caller, statistics, unit, most, (adjacency, epsilon, delta), said)
    made = Plan.__new__(Plan)
    made._no_limits = said.get("no_limits") is True
    source = None if data is None else source_of(data, made._no_limits)
    made._handle = _library.plan_release(text, epsilon, delta, adjacency, source, report)
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


def _released(run: _library.RunOfRelease, source: _library.Source, report: ReportsProgress | None) -> Released:
    try:
        return Released._of(run.go(source, report))
    except BaseException as error:
        note_what_was_charged(error, run.charged())
        raise


def plan(
    statistics: Iterable[Statistic],
    *,
    unit: str | Sequence[str] | None,
    epsilon: SupportsFloat,
    adjacency: Adjacency,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    **said: Unpack[PlanFields],
) -> Plan:
    """What a release of these statistics costs, with the least noise that keeps the promise. No data are read, and nothing is charged.

    Parameters
    ----------
    statistics : iterable of Statistic
        As ``mean`` and the like make them.
    unit : str, list of str, or None
        The column that names the owner of a row: the guarantee protects an owner with all rows. A list of two or three columns, such as ["user", "day"]: the
        owner is the combination of their values. None: each row is a unit of its own.
    epsilon : float
        The epsilon that all of it together costs at most.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Default 0, pure differential privacy.
    most : int, optional
        The number of rows of an owner that are used. Required with ``unit``.

    Returns
    -------
    Plan
        With its ``event``, ``cost`` and ``noise``; ``Plan.release`` runs it.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported, Unreachable
        No noise keeps the promise.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> plan = surety.plan(
    ...     [surety.mean("hours", bounds=(0, 5000)), surety.count(where="exper > 10")],
    ...     unit="nr", most=8, epsilon=1, delta=1e-6, adjacency="add-or-remove-one",
    ... )
    >>> plan
    <Plan of repeat(2, laplace(1.9999920000320017)), add-or-remove-one, for one nr of at most 8 rows (...): epsilon 1 at delta 1e-06>
    >>> plan.event.adjacency, plan.cost.upper <= 1
    ('add-or-remove-one', True)
    """
    return _planned("plan", statistics, unit, most, (adjacency, epsilon, delta), said)[0]


def epsilon_for(
    statistics: Iterable[Statistic],
    *,
    error: SupportsFloat,
    unit: str | Sequence[str] | None,
    adjacency: Adjacency,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    **said: Unpack[PlanFields],
) -> float:
    """The least epsilon with which each number of a release has at most this error, to four digits and rounded up. No data are read, and nothing is charged.

    Parameters
    ----------
    statistics : iterable of Statistic
        Counts, sums, histograms, modes, and quantiles of one fraction.
    error : float
        How far each interval may reach to either side, in the unit of the number; of a quantile the number of records by which its rank may miss,
        of a mode by how many records less than the largest its count may be.
    unit : str, list of str, or None
        As of ``release``.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Default 0, pure differential privacy.
    most : int, optional
        The number of rows of an owner that are used. Required with ``unit``.

    Returns
    -------
    float
        For ``epsilon`` of ``plan`` and ``release``, with the same ``delta`` and ``confidence``.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    NotSupported
        The error of a statistic, such as a mean, depends on the data, or no statistic has noise.
    Unreachable
        An epsilon of 1000 is not enough.
    TypeError
        An argument has another type, or a keyword is unknown.

    Examples
    --------
    >>> import surety_dp as surety
    >>> surety.epsilon_for([surety.count()], error=50, unit=None, adjacency="add-or-remove-one")
    0.05933
    """
    promise = _arguments.text("adjacency", adjacency), 1.0, _number_of(delta, "delta")
    return _library.epsilon_for(_plan_text("epsilon_for", statistics, unit, most, promise, said), _arguments.number("error", error))


def release(
    data: Any,
    statistics: Iterable[Statistic],
    *,
    ledger: str | PathLike[str] | Ledger,
    unit: str | Sequence[str] | None,
    epsilon: SupportsFloat,
    adjacency: Adjacency,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    ledger_must_exist: bool = False,
    progress: Progress = False,
    **said: Unpack[PlanFields],
) -> Released:
    """Releases statistics of a table, with the least noise that keeps the promise, and charges them to a ledger before noise is drawn.

    Parameters
    ----------
    data : frame, mapping of names to columns, structured array or path
        A frame of pandas, polars, pyarrow or DuckDB, or the path of a CSV file. It must not change during the call.
    statistics : iterable of Statistic
        As ``mean`` and the like make them.
    ledger : path or Ledger
        Where the cost is charged before noise is drawn. A path without a file makes a ledger, unless ``ledger_must_exist``. ``Ledger.in_memory()`` is forgotten with
        the process.
    unit : str, list of str, or None
        The column that names the owner of a row: the guarantee protects an owner with all rows. A list of two or three columns, such as ["user", "day"]: the
        owner is the combination of their values. None: each row is a unit of its own.
    epsilon : float
        The epsilon that all of it together costs at most.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Default 0, pure differential privacy.
    most : int, optional
        The number of rows of an owner that are used. Required with ``unit``.
    ledger_must_exist : bool
        Whether a path without a ledger is an error.
    progress : bool or callable
        True: a bar of tqdm where tqdm is installed and standard error is a terminal or a notebook, else messages of the logger "surety_dp" until the charge. A
        callable: called with a phase ("calibrating", "reading", "releasing") and how many of how many are done, 0 of 0 as a phase begins, then at each whole
        percent. The arguments are public. The times of calls after the charge may be private: do not publish them. An exception of it stops the run, and
        must not depend on the records. It cannot call the library.

    Returns
    -------
    Released
        The numbers with their intervals, all of which may be published. It prints as a table.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    BadData
        A column is missing or of another type. No message shows a cell, unless ``form_is_public``.
    BudgetExceeded
        The budget of the ledger does not allow it.
    NotSupported, Unreachable
        No noise keeps the promise.
    SystemFailure
        The ledger cannot be opened or written.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    A refusal before the charge costs nothing. Control-C ends the call within a fifth of a second: a note at the exception reports whether the run was charged by
    then, and what was charged stays charged. Other threads run during the call.

    Examples
    --------
    >>> import numpy as np
    >>> import surety_dp as surety
    >>> table = {"person": np.arange(4000) // 4, "hours": np.full(4000, 38.0)}
    >>> released = surety.release(
    ...     table, [surety.mean("hours", bounds=(0, 80)), surety.count()],
    ...     unit="person", most=4, epsilon=2, delta=1e-6, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory(),
    ... )
    >>> released.run, released.cost.upper <= 2
    (1, True)
    """
    if data is None:
        raise _arguments.wrong_type("data", data, "a table or the path of one")
    _require_ledger(ledger, ledger_must_exist)
    rest: Mapping[str, Any] = said
    if is_plain_array(data) and said.get("columns") is not None:
        data = named_by(data, said["columns"])
        rest = {name: value for name, value in said.items() if name != "columns"}
    with reporting(progress) as report:
        planned, source = _planned("release", statistics, unit, most, (adjacency, epsilon, delta), rest, data, report)
        assert source is not None
        return _released(_library.run_release(planned._handle, _ledger_of(ledger), ledger_must_exist), source, report)


_KEYWORDS = {
    "empty_unit": 'Rows whose cell in the column ``unit`` is empty: "one" (the default), they are one unit together, or "each", each is a unit.',
    "unit_period": "The column of ``unit``, a list, that holds a period, such as the day: the report also states what one user has over 7, 31 and 365 periods.",
    "noise": '"best" (the default), "laplace" or "gaussian": best is the one of smaller standard deviation, and laplace at delta 0.',
    "confidence": "The confidence of each interval over the noise, for the statistic of the clamped records. Default 0.95.",
    "missing": "A mapping of columns to the number or text that counts in place of a missing cell, and of a cell that is no number where numbers are used; "
    "known without looking at the data.",
    "complete": "Columns that are promised to have no missing cell, so that a sum or a mean under replace-one needs no private count. A missing cell there "
    "counts as 0, clamped; with ``form_is_public`` it is an error.",
    "schema": "The path of a JSON file as ``surety schema`` writes it: what it says of columns holds where no argument says otherwise.",
    "delimiter": 'CSV: the character between cells: ";", "tab", "space" or another one. Default: a comma.',
    "decimal": 'CSV: the character before the decimals of a cell, "." (the default) or ",". A cell with the other one is no number.',
    "thousands": "CSV: the character between groups of three digits of a cell: a comma, a point, an apostrophe, an underscore or a space, and another one than "
    "``decimal``. Default: none.",
    "columns": "The names of the columns of an array, or of a CSV file without a header, as a list.",
    "quoted_lines": "CSV: the largest number of line ends in a cell in double quotes. Default 100. A quote that is not closed hides no more than that.",
    "form_is_public": "Whether the form of every record is public: a damaged record is then an error that names its row and shows its cell. Without it nothing that a "
    "record holds is shown or stops a call.",
    "no_limits": "Whether to lift the limits on headers, columns, features, records, models and decompressed size.",
    "note": "A note for the ledger.",
    "replay_seed": "A seed for tests: the noise is then known and the release is NOT PRIVATE, as the ledger records.",
}

plan.__doc__ = with_other_parameters(plan.__doc__, _KEYWORDS.items())
epsilon_for.__doc__ = with_other_parameters(epsilon_for.__doc__, _KEYWORDS.items())
release.__doc__ = with_other_parameters(release.__doc__, _KEYWORDS.items())
