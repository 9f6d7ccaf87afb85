"""Models that are trained privately, charged to a ledger before their noise is drawn."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, Unpack

from surety_dp import _arguments, _library
from surety_dp._events import _number_of
from surety_dp._ledger import Ledger
from surety_dp._model import Model
from surety_dp._prepared import Prepared
from surety_dp._progress import reporting
from surety_dp._release import _ledger_of, _require_ledger, note_what_was_charged
from surety_dp._signatures import with_other_parameters
from surety_dp._sources import is_plain_array, named_by, read_parquet, records_of, source_of, sparse_rows_of
from surety_dp._types import Adjacency, Algorithm, ClassesBy, ClipBy, EmptyUnit, Factorization, FileFormat, Geometry, Iterate, Learner, Loss, Progress, Publish, Ranges, ReportsProgress, RidgeRule, Rows, Sampling, Schedule, Score, Shrink, Start, Terms, Topology, TrainingNoise, TuneBy

Values: TypeAlias = Iterable[str | float]


class FewUsableRecordsWarning(UserWarning):
    """The upper bound of the private count of usable records is below nine tenths of the records that the training was planned for."""


class TrainingFields(TypedDict, total=False):
    """What a plan of a training may say beside its label, its unit and its promise; what is None is not said."""

    answer_at: str | None
    batch_size: SupportsIndex | None
    bounds: Mapping[str, tuple[float, float] | Literal["private"]] | None
    categories: Mapping[str, Values] | None
    class_weight: Mapping[str, float] | None
    classes: Values | None
    classes_by: ClassesBy | None
    clip: SupportsFloat | None
    clip_by: ClipBy | None
    clip_share: SupportsFloat | None
    columns: Iterable[str] | None
    confidence: SupportsFloat | None
    count_records: bool
    damping: SupportsFloat | None
    decimal: str | None
    thousands: str | None
    delimiter: str | None
    drop: Iterable[str] | None
    empty_unit: EmptyUnit | None
    unit_period: str | None
    epochs: SupportsIndex | None
    factorization: Factorization | None
    features: SupportsIndex | None
    form_is_public: bool
    format: FileFormat | None
    geometry: Geometry | None
    graph: str | PathLike[str] | None
    held_out: SupportsFloat | None
    inner_steps: SupportsIndex | None
    iterate: Iterate | None
    l1: SupportsFloat | None
    label_bound: SupportsFloat | None
    label_bounds: tuple[SupportsFloat, SupportsFloat] | None
    label_weight: SupportsFloat | None
    largest_batch: SupportsIndex | None
    learner: Learner | None
    learners: SupportsIndex | None
    loss: Loss | None
    matrix_share: SupportsFloat | None
    microbatch: SupportsIndex | None
    missing: Mapping[str, str | float] | None
    mixing_seed: SupportsIndex | None
    model: str | PathLike[str] | None
    momentum: SupportsFloat | None
    no_count_records: bool
    no_limits: bool
    noise: TrainingNoise | None
    noise_multiplier: SupportsFloat | None
    norm: SupportsFloat | None
    note: str | None
    pairs: Iterable[str | tuple[str, str]] | None
    passes: SupportsIndex | None
    public_count: SupportsIndex | None
    publish: Publish | None
    quoted_lines: SupportsIndex | None
    radius: SupportsFloat | None
    ranges: Ranges | None
    records: SupportsIndex | None
    regularization: SupportsFloat | None
    replay_seed: SupportsIndex | None
    ridge: SupportsFloat | None
    ridge_rule: RidgeRule | None
    rows: Rows | None
    sampling: Sampling | None
    schedule: Schedule | None
    schema: str | PathLike[str] | None
    score: Score | None
    shape: SupportsFloat | None
    shrink: Shrink | None
    smoothing: SupportsFloat | None
    start: Start | None
    split_seed: SupportsIndex | None
    step_scale: SupportsFloat | None
    step_size: SupportsFloat | None
    steps: SupportsIndex | None
    terms: Terms | None
    threads: SupportsIndex | None
    topology: Topology | None
    tune: SupportsIndex | None
    tune_by: TuneBy | None
    tune_most: SupportsIndex | None
    tune_over: Mapping[str, Values] | None
    weight: str | None
    weight_bound: SupportsFloat | None


def _text_of(name: str, value: object) -> str:
    """A text, or a number as it is written."""
    return _arguments.text(name, value) if isinstance(value, str) else repr(_arguments.number(name, value)).removesuffix(".0")


def _values(name: str, value: object) -> list[str]:
    return [_text_of(f"an item of {name}", one) for one in _arguments.items(name, value, "a list of texts or numbers")]


def _of_columns(of_value: Callable[[str, Any], str]) -> Callable[[str, Any], list[str]]:
    def rows(name: str, value: object) -> list[str]:
        if not isinstance(value, Mapping):
            raise _arguments.wrong_type(name, value, "a mapping")
        return [f"{_arguments.quoted([_arguments.text(f'a name in {name}', key)])}={of_value(f'an item of {name}', one)}" for key, one in value.items()]

    return rows


def _bounds(name: str, ends: Any) -> str:
    """The lower and the upper one, or "private", for a range that the training releases."""
    return ends if isinstance(ends, str) and ends == "private" else _ends(name, ends)


def _ends(name: str, ends: Any) -> str:
    """The lower and the upper one."""
    return ",".join(repr(end) for end in _arguments.pair(name, ends))


def _over(name: str, value: object) -> list[str]:
    """What candidates of a search differ in: its values are written without quotes."""
    if not isinstance(value, Mapping):
        raise _arguments.wrong_type(name, value, "a mapping of keywords to lists of values")
    return [f"{_arguments.text(f'a name in {name}', key).replace('_', '-')}={','.join(_values(f'an item of {name}', one))}" for key, one in value.items()]


def _pairs(name: str, value: object) -> list[str]:
    """Two columns each, as tuples of names or as texts, "first:second"."""
    rows = []
    for one in _arguments.items(name, value, "a list of pairs of columns"):
        names = None if isinstance(one, str) else _arguments.texts(f"an item of {name}", one)
        if names is not None and len(names) != 2:
            raise _arguments.invalid(f"an item of {name} has {len(names)} columns, must have 2")
        rows.append(_arguments.text(f"an item of {name}", one) if names is None else ":".join(_arguments.quoted([one]) for one in names))
    return rows


_HOW: dict[str, Callable[[str, Any], Any]] = {
    "bounds": _of_columns(_bounds),
    "categories": _of_columns(lambda name, cells: _arguments.quoted(_arguments.cells(name, cells))),
    "class_weight": _of_columns(lambda name, weight: repr(_arguments.number(name, weight))),
    "classes": lambda name, texts: _arguments.quoted(_values(name, texts)),
    "label_bounds": _ends,
    "columns": lambda name, texts: _arguments.quoted(_arguments.texts(name, texts)),
    "missing": _of_columns(lambda name, cell: _arguments.quoted([_text_of(name, cell)])),
    "pairs": _pairs,
    "tune_over": _over,
    "graph": _arguments.path,
    "model": _arguments.path,
    "schema": _arguments.path,
}
_OF_KIND: dict[str, Callable[[str, Any], Any]] = {
    "flag": _arguments.flag,
    "number": _arguments.number,
    "count": _arguments.whole,
    "texts": _arguments.texts,
    "text": _arguments.text,
}
_KINDS = {name: kind for name, help, standard, kind in _library.training_fields()}
_ALGORITHMS = {name: set(known) for name, summary, known in _library.training_algorithms()}

#: What needs no quotes in a rule.
_PLAIN_NAME = re.compile(r"(?!not\b|missing\b|present\b)[A-Za-z_][A-Za-z0-9_]*")


class _Rule(NamedTuple):
    """The label's rule as a plan spells it."""

    text: str
    #: Whether ``label`` was given as a text with an operator or quotes, which is parsed.
    is_parsed: bool = False

    def require_unambiguous(self, source: _library.Source | None) -> None:
        """Raises ``InvalidArgument`` where a column has the parsed text as its name."""
        if self.is_parsed and source is not None and source.has_column(self.text):
            raise _arguments.invalid(
                f"label is {self.text!r}, a comparison and the name of a column, must be one of them: compare by above or equals, "
                "and write the name in double quotes, each quote inside twice"
            )


def _label(label: str | None, above: SupportsFloat | None, equals: str | SupportsFloat | None, said: Mapping[str, Any]) -> _Rule | None:
    if above is not None and equals is not None:
        raise _arguments.invalid("above and equals are both given, must be one of them at most")
    if label is None:
        if above is not None or equals is not None:
            raise _arguments.invalid("label is None, must name a column where above or equals is given")
        return None
    column = _arguments.text("label", label)
    is_column = above is not None or equals is not None or said.get("classes") is not None
    if not is_column and (any(operator in column for operator in "<>=!") or column.lstrip(" \t").startswith(('"', "'"))):
        return _Rule(column, is_parsed=True)
    if not _PLAIN_NAME.fullmatch(column):
        column = _arguments.quoted([column])
    if above is not None:
        return _Rule(f"{column}>{_text_of('above', _arguments.number('above', above))}")
    if equals is None:
        return _Rule(column)
    shown = _text_of("equals", equals)
    return _Rule(f"{column}=={_arguments.quoted([shown]) if isinstance(equals, str) else shown}")


def _plan_text(caller: str, algorithm: str, own: Mapping[str, Any], promise: tuple[str, float, float], said: Mapping[str, Any]) -> str:
    """The plan in JSON, as ``surety train --plan`` reads it."""
    for name in said:
        if name not in TrainingFields.__annotations__:
            raise _arguments.unexpected(f"{caller}() ", name, TrainingFields.__annotations__)
    if algorithm != "auto" and algorithm not in _ALGORITHMS:
        raise _arguments.invalid(f"algorithm is {algorithm!r}, must be auto, {', '.join(_ALGORITHMS)}")
    options: dict[str, Any] = {"algorithm": algorithm, **{name: value for name, value in own.items() if value is not None}}
    for name, value in said.items():
        if value is not None:
            options[name.replace("_", "-")] = _HOW.get(name, _OF_KIND[_KINDS[name]])(name, value)
    adjacency, epsilon, delta = promise
    plan = {"version": 2, "command": "train", "adjacency": adjacency, "target": {"epsilon": epsilon, "delta": delta}, "options": options}
    return json.dumps(plan)


def _data_path(data: Any) -> str | None:
    if not isinstance(data, (str, bytes, PathLike)):
        return None
    path: str = _arguments.path("data", data)
    return "./-" if path == "-" else path  # the command's word for standard input


class TrainingPlan(Prepared[_library.PlannedTraining]):
    """A training that is planned and prepared: what it costs is known, no record was read and nothing is charged. Made by ``surety.plan_training``."""

    __slots__ = ("_rule",)

    _rule: _Rule | None

    def __init__(self) -> None:
        raise TypeError("a surety.TrainingPlan is made by surety.plan_training")

    @property
    def algorithm(self) -> str:
        """Its name."""
        return self._handle.algorithm()

    @property
    def chosen(self) -> str:
        """What the rule took, with its options as the command's, and why; empty where ``algorithm`` was named."""
        return self._handle.chosen()

    def train(self, data: Any, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False, progress: Progress = False) -> Model:
        """Runs the plan, as ``surety.train`` does; ``data`` is None for a plan that names its records. Each call is a training of its own, with its own
        charge."""
        _require_ledger(ledger, ledger_must_exist)
        source = None if data is None else records_of(data, self._no_limits, labelled=True)
        if self._rule is not None:
            self._rule.require_unambiguous(source)
        with reporting(progress) as report:
            return _trained(_library.run_training(self._handle, _ledger_of(ledger), ledger_must_exist), source, report)

    def __repr__(self) -> str:
        return f"<TrainingPlan of {self.algorithm}: {self._said()}>"


def _trained(run: _library.RunOfTraining, source: _library.Source | None, report: ReportsProgress | None) -> Model:
    try:
        model = Model._of_result(run.go(source, report))
    except BaseException as error:
        note_what_was_charged(error, run.charged())
        raise
    warning = (model.usable_records or {}).get("warning")
    if warning is not None:
        warnings.warn(f"{warning}; the training is charged", FewUsableRecordsWarning, stacklevel=4)  # of the caller of the function that checks keywords
    return model


def _planned(
    caller: str,
    rule: _Rule | None,
    algorithm: str,
    unit: tuple[str | Sequence[str] | None, SupportsIndex | None],
    promise: tuple[str, SupportsFloat, SupportsFloat | None],
    said: Mapping[str, Any],
    data: Any,
    ledger: tuple[Any, bool] = (None, False),
    report: ReportsProgress | None = None,
) -> tuple[TrainingPlan, _library.Source | None]:
    """The plan, and of data that are no path their source."""
    adjacency, epsilon = _arguments.text("adjacency", promise[0]), _number_of(promise[1], "epsilon")
    if promise[2] is None and algorithm == "auto":
        raise _arguments.invalid("delta is None, must be given where algorithm is 'auto': less than one over the number of records, or 0 for pure privacy")
    delta = 0.0 if promise[2] is None else _number_of(promise[2], "delta")
    path = _data_path(data)
    matrix = sparse_rows_of(data, labelled=True)
    if matrix is not None:
        if rule is not None:
            raise _arguments.invalid(f"label is {rule.text!r}, must be None for a sparse matrix: its labels stand beside it, in a pair")
        said = {"format": "libsvm", "features": matrix.columns, **{name: value for name, value in said.items() if value is not None}}
    own = {
        "label": None if rule is None else rule.text,
        "data": path,
        "unit": None if unit[0] is None else _arguments.columns("unit", unit[0]),
        "most": None if unit[1] is None else _arguments.whole("most", unit[1]),
    }
    text = _plan_text(caller, _arguments.text("algorithm", algorithm), own, (adjacency, epsilon, delta), said)
    made = TrainingPlan.__new__(TrainingPlan)
    made._no_limits = said.get("no_limits") is True
    made._rule = rule
    source = None
    if matrix is not None:
        source = matrix.source()
    elif data is not None and path is None:
        source = source_of(data, made._no_limits)
        if rule is not None:
            rule.require_unambiguous(source)
    # One source, for the choice and for the run: some tables can be read once.
    made._handle = _library.plan_training(text, epsilon, delta, adjacency, source, *ledger, report)
    made._delta = delta
    return made, source


def plan_training(
    *,
    label: str | None = None,
    above: SupportsFloat | None = None,
    equals: str | SupportsFloat | None = None,
    algorithm: Algorithm,
    unit: str | Sequence[str] | None,
    epsilon: SupportsFloat,
    adjacency: Adjacency,
    delta: SupportsFloat | None = None,
    most: SupportsIndex | None = None,
    data: str | PathLike[str] | None = None,
    **said: Unpack[TrainingFields],
) -> TrainingPlan:
    """What a training costs, with the least noise that keeps the promise. No record is read, and nothing is charged.

    Parameters
    ----------
    label : str, optional
        The column of the label, or a comparison such as ``"visits>0"``. Without ``above``, ``equals`` and ``classes`` a text with ``< > = !`` or a leading quote is parsed
        as a comparison; a column whose name looks like one stands in double quotes.
    above : float, optional
        The two classes are the cells above this number, and all others.
    equals : str or float, optional
        The two classes are the cells equal to this text or number, and all others.
    algorithm : str
        The name of an algorithm, or "auto", which reads the header of ``data`` and counts the records where their number is public.
    unit : str, list of str, or None
        The column that names the owner of a row: the guarantee protects an owner with all rows. A list of two or three columns, such as ["user", "day"]: the
        owner is the combination of their values. None: each row is a unit of its own.
    epsilon : float
        The epsilon that all of it together costs at most.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Required by ``"auto"`` and by every algorithm with Gaussian noise.
    most : int, optional
        The number of rows of an owner that are used. Required with ``unit``.
    data : path, optional
        The records, where the plan is to name them.

    Returns
    -------
    TrainingPlan
        With its ``algorithm``, ``event``, ``cost`` and ``noise``; ``TrainingPlan.train`` runs it.

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
    >>> plan = surety.plan_training(
    ...     label="visits", above=0, algorithm="gradient-descent", steps=30,
    ...     unit=None, epsilon=1, delta=1e-5, adjacency="replace-one",
    ... )
    >>> plan.algorithm, plan.event.adjacency, plan.cost.upper <= 1
    ('gradient-descent', 'replace-one', True)
    """
    if data is not None and _data_path(data) is None:
        raise _arguments.wrong_type("data", data, "a path")
    return _planned("plan_training", _label(label, above, equals, said), algorithm, (unit, most), (adjacency, epsilon, delta), said, data)[0]


def train(
    data: Any,
    *,
    ledger: str | PathLike[str] | Ledger,
    label: str | None = None,
    above: SupportsFloat | None = None,
    equals: str | SupportsFloat | None = None,
    algorithm: Algorithm = "auto",
    unit: str | Sequence[str] | None,
    epsilon: SupportsFloat,
    adjacency: Adjacency,
    delta: SupportsFloat | None = None,
    most: SupportsIndex | None = None,
    ledger_must_exist: bool = False,
    progress: Progress = False,
    **said: Unpack[TrainingFields],
) -> Model:
    """Trains a model, with the least noise that keeps the promise, and charges it to a ledger before noise is drawn.

    Parameters
    ----------
    data : frame, mapping of names to columns, structured array or path
        A frame of pandas, polars, pyarrow or DuckDB, or the path of a CSV file. It must not change during the call. With ``format`` also LIBSVM text or a record file of ``surety convert``. A sparse matrix with the labels of its rows, ``(matrix, labels)``,
        is trained on as the same rows of LIBSVM text. Every column that is neither the label nor in ``drop`` is a feature.
    ledger : path or Ledger
        Where the cost is charged before noise is drawn. A path without a file makes a ledger, unless ``ledger_must_exist``. ``Ledger.in_memory()`` is forgotten with
        the process.
    label : str, optional
        The column of the label, or a comparison such as ``"visits>0"``. Without ``above``, ``equals`` and ``classes`` a text with ``< > = !`` or a leading quote is parsed
        as a comparison; a column whose name looks like one stands in double quotes.
    above : float, optional
        The two classes are the cells above this number, and all others.
    equals : str or float, optional
        The two classes are the cells equal to this text or number, and all others.
    algorithm : str
        The name of an algorithm. Default "auto": chosen, with its options, from public numbers alone; ``report`` of the model shows them.
    unit : str, list of str, or None
        The column that names the owner of a row: the guarantee protects an owner with all rows. A list of two or three columns, such as ["user", "day"]: the
        owner is the combination of their values. None: each row is a unit of its own.
    epsilon : float
        The epsilon that all of it together costs at most.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Required by ``"auto"`` and by every algorithm with Gaussian noise.
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
    Model
        The model, which may be published, with its ``usable_records`` and ``held_out_score``. Of its ``report`` not what is named not private.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    BadData
        A column is missing or of another type, or fewer than half of the records are usable: then the whole plan stays charged. No message shows a cell,
        unless ``form_is_public``.
    BudgetExceeded
        The budget of the ledger does not allow it.
    NotSupported, Unreachable
        No noise keeps the promise.
    SystemFailure
        The ledger cannot be opened or written.
    TypeError
        An argument has another type, or a keyword is unknown.

    Warns
    -----
    FewUsableRecordsWarning
        Fewer than nine tenths of the records are usable: without a missing or damaged cell, and with a known label. They are counted in private, for a hundredth
        of the promise's mu squared; ``no_count_records=True`` leaves the count out.

    Notes
    -----
    ``bounds`` are known without looking at the data; a column without bounds enters as asinh(x). Options of a named algorithm that are not given follow from
    public numbers where ``data`` is given, and are constants where it is not. Control-C ends the call between two releases: a note at the exception reports
    whether the run was charged by then, and what was charged stays charged. Other threads run during the call.

    Examples
    --------
    >>> import numpy as np
    >>> import surety_dp as surety
    >>> age = np.arange(2000) % 60 + 20.0
    >>> table = {"age": age, "visits": (age > 50) * 3.0}
    >>> model = surety.train(
    ...     table, label="visits", above=0, bounds={"age": (20, 80)},
    ...     unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory(),
    ... )
    >>> model.classes_, model.run, model.cost.upper <= 1
    (('visits<=0', 'visits>0'), 1, True)
    >>> model.predict_proba({"age": [25.0, 70.0]}).shape
    (2, 2)
    """
    if data is None:
        raise _arguments.wrong_type("data", data, "a table or the path of one")
    _require_ledger(ledger, ledger_must_exist)
    rule = _label(label, above, equals, said)
    promise = (adjacency, epsilon, delta)
    rest: Mapping[str, Any] = said
    if is_plain_array(data) and said.get("columns") is not None:
        data = named_by(data, said["columns"])
        rest = {name: value for name, value in said.items() if name != "columns"}
    with reporting(progress) as report:
        planned, source = _planned("train", rule, algorithm, (unit, most), promise, rest, read_parquet(data), (_ledger_of(ledger), ledger_must_exist), report)
        return _trained(_library.run_training(planned._handle, _ledger_of(ledger), ledger_must_exist), source, report)


def _keywords() -> Iterator[tuple[str, str]]:
    """The keywords of ``TrainingFields``, in the library's words."""
    for name, help, standard, _ in _library.training_fields():
        if name in TrainingFields.__annotations__:
            yield name, f"{_SHAPES.get(name, '')}{help}{f' (default: {standard})' if standard else ''}."


_OF_COLUMNS = "A mapping by column. "
_SHAPES = {
    "bounds": _OF_COLUMNS,
    "categories": _OF_COLUMNS,
    "missing": _OF_COLUMNS,
    "class_weight": "A mapping by class. ",
    "tune_over": "A mapping of keywords to lists of values. ",
    "drop": "A list. ",
    "classes": "A list. ",
    "columns": "A list. ",
}

plan_training.__doc__ = with_other_parameters(plan_training.__doc__, _keywords())
train.__doc__ = with_other_parameters(train.__doc__, _keywords())
