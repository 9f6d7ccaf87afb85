"""Models that are trained privately, charged to a ledger before their noise is drawn."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fsdecode, fspath
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, Unpack

from surety import _arguments, _library
from surety._events import _number_of
from surety._ledger import Ledger
from surety._model import Model
from surety._prepared import Prepared
from surety._release import _ledger_of, _require_ledger, note_what_was_charged
from surety._sources import records_of, source_of, sparse_rows_of

Values: TypeAlias = Iterable[str | float]


class FewUsableRecordsWarning(UserWarning):
    """The upper bound of the private count of usable records is below nine tenths of the records that the training was planned for."""


class TrainingFields(TypedDict, total=False):
    """What a plan of a training may say beside its label, its unit and its promise; what is None is not said."""

    answer_at: str | None
    batch_size: SupportsIndex | None
    bounds: Mapping[str, tuple[float, float]] | None
    categories: Mapping[str, Values] | None
    class_weight: Mapping[str, float] | None
    classes: Values | None
    classes_by: str | None
    clip: SupportsFloat | None
    clip_by: str | None
    clip_share: SupportsFloat | None
    columns: Iterable[str] | None
    confidence: SupportsFloat | None
    count_records: bool
    damping: SupportsFloat | None
    decimal: str | None
    thousands: str | None
    delimiter: str | None
    drop: Iterable[str] | None
    empty_unit: str | None
    epochs: SupportsIndex | None
    factorization: str | None
    features: SupportsIndex | None
    form_is_public: bool
    format: str | None
    geometry: str | None
    graph: str | PathLike[str] | None
    held_out: SupportsFloat | None
    inner_steps: SupportsIndex | None
    iterate: str | None
    l1: SupportsFloat | None
    label_bound: SupportsFloat | None
    label_bounds: tuple[SupportsFloat, SupportsFloat] | None
    label_weight: SupportsFloat | None
    largest_batch: SupportsIndex | None
    learner: str | None
    learners: SupportsIndex | None
    loss: str | None
    matrix_share: SupportsFloat | None
    microbatch: SupportsIndex | None
    missing: Mapping[str, str | float] | None
    mixing_seed: SupportsIndex | None
    model: str | PathLike[str] | None
    momentum: SupportsFloat | None
    no_count_records: bool
    no_limits: bool
    noise: str | None
    noise_multiplier: SupportsFloat | None
    norm: SupportsFloat | None
    note: str | None
    pairs: Iterable[str | tuple[str, str]] | None
    passes: SupportsIndex | None
    public_count: SupportsIndex | None
    publish: str | None
    quoted_lines: SupportsIndex | None
    radius: SupportsFloat | None
    records: SupportsIndex | None
    regularization: SupportsFloat | None
    replay_seed: SupportsIndex | None
    ridge: SupportsFloat | None
    ridge_rule: str | None
    rows: str | None
    sampling: str | None
    schedule: str | None
    schema: str | PathLike[str] | None
    score: str | None
    shape: SupportsFloat | None
    smoothing: SupportsFloat | None
    split_seed: SupportsIndex | None
    step_scale: SupportsFloat | None
    step_size: SupportsFloat | None
    steps: SupportsIndex | None
    terms: str | None
    threads: SupportsIndex | None
    topology: str | None
    tune: SupportsIndex | None
    tune_by: str | None
    tune_most: SupportsIndex | None
    tune_over: Mapping[str, Values] | None


def _text_of(name: str, value: object) -> str:
    """A text, or a number as it is written."""
    return _arguments.text(name, value) if isinstance(value, str) else repr(_arguments.number(name, value)).removesuffix(".0")


def _values(name: str, value: object) -> list[str]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _arguments.wrong_type(name, value, "a list of texts or numbers")
    return [_text_of(f"an item of {name}", one) for one in value]


def _of_columns(of_value: Callable[[str, Any], str]) -> Callable[[str, Any], list[str]]:
    def rows(name: str, value: object) -> list[str]:
        if not isinstance(value, Mapping):
            raise _arguments.wrong_type(name, value, "a mapping")
        return [f"{_arguments.quoted([_arguments.text(f'a name in {name}', key)])}={of_value(f'an item of {name}', one)}" for key, one in value.items()]

    return rows


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
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _arguments.wrong_type(name, value, "a list of pairs of columns")
    rows = []
    for one in value:
        names = None if isinstance(one, str) else _arguments.texts(f"an item of {name}", one)
        if names is not None and len(names) != 2:
            raise _arguments.invalid(f"an item of {name} has {len(names)} columns, must have 2")
        rows.append(_arguments.text(f"an item of {name}", one) if names is None else ":".join(_arguments.quoted([one]) for one in names))
    return rows


_HOW: dict[str, Callable[[str, Any], Any]] = {
    "bounds": _of_columns(_ends),
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
    path = fsdecode(fspath(data))
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

    def train(self, data: Any, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False) -> Model:
        """Runs the plan, as ``surety.train`` does; ``data`` is None for a plan that names its records. Each call is a training of its own, with its own
        charge."""
        _require_ledger(ledger, ledger_must_exist)
        source = None if data is None else records_of(data, self._no_limits, labelled=True)
        if self._rule is not None:
            self._rule.require_unambiguous(source)
        return _trained(_library.run_training(self._handle, _ledger_of(ledger), ledger_must_exist), source)

    def __repr__(self) -> str:
        return f"<TrainingPlan of {self.algorithm}: {self._said()}>"


def _trained(run: _library.RunOfTraining, source: _library.Source | None) -> Model:
    try:
        model = Model._of_result(run.go(source))
    except BaseException as error:
        note_what_was_charged(error, run.charged())
        raise
    warning = (model.usable_records or {}).get("warning")
    if warning is not None:
        warnings.warn(f"{warning}; the training is charged", FewUsableRecordsWarning, stacklevel=3)
    return model


def _planned(
    caller: str,
    rule: _Rule | None,
    algorithm: str,
    unit: tuple[str | None, SupportsIndex | None],
    promise: tuple[str, SupportsFloat, SupportsFloat | None],
    said: Mapping[str, Any],
    data: Any,
    ledger: tuple[Any, bool] = (None, False),
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
        "unit": None if unit[0] is None else _arguments.text("unit", unit[0]),
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
    made._handle = _library.plan_training(text, epsilon, delta, adjacency, source, *ledger)
    made._delta = delta
    return made, source


def plan_training(
    *,
    label: str | None = None,
    above: SupportsFloat | None = None,
    equals: str | SupportsFloat | None = None,
    algorithm: str,
    unit: str | None,
    epsilon: SupportsFloat,
    adjacency: str,
    delta: SupportsFloat | None = None,
    most: SupportsIndex | None = None,
    data: str | PathLike[str] | None = None,
    **said: Unpack[TrainingFields],
) -> TrainingPlan:
    """What a training costs, with the least noise that keeps the promise. No record is read, and nothing is charged.

    >>> import surety
    >>> plan = surety.plan_training(
    ...     label="visits", above=0, algorithm="gradient-descent", steps=30,
    ...     unit=None, epsilon=1, delta=1e-5, adjacency="replace-one",
    ... )
    >>> plan.algorithm, plan.event.adjacency, plan.cost.upper <= 1
    ('gradient-descent', 'replace-one', True)

    The arguments are those of ``surety.train``. ``data``: the path of the records, where the plan is to name them; ``"auto"`` as ``algorithm`` reads their
    header, and counts them where their number is public.

    Raises ``TypeError`` for an argument of another type, ``InvalidArgument`` for a value that breaks its constraint, and ``SuretyError`` where no noise keeps
    the promise.
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
    algorithm: str = "auto",
    unit: str | None,
    epsilon: SupportsFloat,
    adjacency: str,
    delta: SupportsFloat | None = None,
    most: SupportsIndex | None = None,
    ledger_must_exist: bool = False,
    **said: Unpack[TrainingFields],
) -> Model:
    """Trains a model, with the least noise that keeps the promise, and charges it to a ledger before the noise is drawn.

    >>> import numpy as np
    >>> import surety
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

    ``data`` is what ``surety.release`` takes: a frame with ``__arrow_c_stream__``, a mapping of names to NumPy arrays or lists, a structured array, or the path
    of a CSV file, with ``format`` of LIBSVM text or of a record file of ``surety convert``. Every column that is neither the label nor dropped is a feature. A
    sparse matrix and the labels of its rows, ``(matrix, labels)``, are what the same rows are as LIBSVM text, whose ``features`` are its columns.

    ``label`` is the label's column. With ``above`` or ``equals`` the model says whether a cell is greater than that number, or is that text or number, and
    ``label`` may be such a comparison itself, ``"visits>0"``: without ``above``, ``equals`` and ``classes`` a text with ``< > = !`` or a quote before it is parsed,
    and a name that looks like one stands in double quotes. Every other argument that names a column is the name itself. ``bounds`` are known without looking at the data; a column without them enters as asinh(x).

    ``algorithm`` names one, or is ``"auto"``: chosen, with its options, from public numbers alone (the model's ``report`` says what). Options of a named algorithm that are
    not given follow from public numbers likewise where ``data`` is given, and are constants where it is not. All of it costs at most
    ``epsilon`` at ``delta``, under ``adjacency``; ``delta`` is needed under ``"auto"`` and by all algorithms with Gaussian noise. That is promised to a ``unit``: the column that names the owner of a row, of whom at most ``most`` rows are
    used; None says that each row is a unit of its own. ``ledger`` is where it is charged, as of ``surety.release``.

    The interpreter's lock is free while it works. Control-C ends it between two of its releases: a note at the exception says whether the run was charged by
    then, and what is charged stays so.

    The usable records are counted in private, for a hundredth of the promise's mu squared: the model's ``usable_records``. A row without a missing or
    damaged cell and with a known label is usable. Below nine tenths of the records, ``FewUsableRecordsWarning`` is given. Below half of them the training stops
    with ``SuretyError`` (BAD_DATA), and its whole plan stays charged. ``no_count_records=True`` trains without the count.

    How the model does on the part that is held out (``held_out``) is released, too, in the same charge: the model's ``held_out_score``.
    The scores of ``report`` that are named not private are for who holds the data.

    Raises ``TypeError`` for an argument of another type, ``InvalidArgument`` for a value that breaks its constraint, and ``SuretyError``: BUDGET_EXCEEDED where
    the ledger's budget does not allow it, BAD_DATA for a column that is not there or of another type, UNREACHABLE or UNSUPPORTED where no noise keeps the
    promise. Whatever is refused before the charge has cost nothing; no message shows a cell, unless ``form_is_public``.
    """
    if data is None:
        raise _arguments.wrong_type("data", data, "a table or the path of one")
    _require_ledger(ledger, ledger_must_exist)
    rule = _label(label, above, equals, said)
    promise = (adjacency, epsilon, delta)
    planned, source = _planned("train", rule, algorithm, (unit, most), promise, said, data, (_ledger_of(ledger), ledger_must_exist))
    return _trained(_library.run_training(planned._handle, _ledger_of(ledger), ledger_must_exist), source)


def _with_fields(documentation: str | None) -> str:
    """``documentation`` with a paragraph for each keyword of ``TrainingFields``, in the library's words."""
    paragraphs = [
        inspect.cleandoc(documentation or ""),
        "More keywords, each None where it is not said. ``bounds``, ``categories``, ``class_weight`` and ``missing`` are mappings by column or class, "
        "``tune_over`` one of keywords to lists of values; ``drop``, ``classes`` and ``columns`` are lists. Which algorithm knows which: ``surety train --list-algorithms``.",
    ]
    for name, help, standard, _ in _library.training_fields():
        if name in TrainingFields.__annotations__:
            text = f"``{name}``: {help}{f' (where it is not said: {standard})' if standard else ''}."
            paragraphs.append(textwrap.fill(text, 150, break_on_hyphens=False))
    return "\n\n".join(paragraphs) + "\n"


plan_training.__doc__ = _with_fields(plan_training.__doc__)
train.__doc__ = _with_fields(train.__doc__)
