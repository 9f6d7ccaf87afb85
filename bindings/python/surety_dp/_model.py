"""Trained models."""

from __future__ import annotations

import html
import json
from os import PathLike
from typing import Any, SupportsIndex, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from surety_dp import _arguments, _library
from surety_dp._accounting import Enclosure
from surety_dp._errors import ErrorCode, NotSupported
from surety_dp._events import Event, _event_of
from surety_dp._released import _one_line
from surety_dp._sources import is_plain_array, named_by, records_of

Array = npt.NDArray[Any]


class ReadingFields(TypedDict, total=False):
    """How a CSV file of records to predict is written; what is None is not said."""

    columns: list[str] | None
    decimal: str | None
    thousands: str | None
    delimiter: str | None
    no_limits: bool
    quoted_lines: SupportsIndex | None


def _options(said: ReadingFields) -> str:
    options: dict[str, Any] = {}
    for name, value in said.items():
        if name not in ReadingFields.__annotations__:
            raise _arguments.unexpected("", name, ReadingFields.__annotations__)
        if value is None:
            continue
        key = name.replace("_", "-")
        if name == "columns":
            options[key] = _arguments.quoted(_arguments.texts(name, value))
        elif name == "no_limits":
            options[key] = _arguments.flag(name, value)
        else:
            options[key] = _arguments.whole(name, value) if name == "quoted_lines" else _arguments.text(name, value)
    return json.dumps(options)


def _unsupported(message: str) -> NotSupported:
    return NotSupported(message, ErrorCode.UNSUPPORTED)


class Model:
    """A trained model, which may be published: what was charged for it pays for whatever is asked of it. Made by ``surety.train``, ``TrainingPlan.train`` and
    ``Model.load``.

    >>> import numpy as np
    >>> import surety_dp as surety
    >>> table = {"rooms": np.arange(4000) % 9 + 1.0, "rent": (np.arange(4000) % 9 + 1.0) * 200}
    >>> model = surety.train(
    ...     table, label="rent", loss="squared", label_bound=2000, bounds={"rooms": (0, 10)}, rows="scaled", algorithm="sufficient-statistics",
    ...     unit=None, epsilon=2, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory(),
    ... )
    >>> bool(150 < model.coef_[0] < 250), model.feature_names_
    (True, ('rooms',))
    >>> surety.Model.parse(model.text()).predict({"rooms": [2.0, 9.0]}).round(-3)
    array([   0., 2000.])

    A pickle of it holds its text alone: what is known of its run (``cost``, ``run``, ``report``) stays behind.
    """

    __slots__ = ("_handle", "_result")

    _handle: _library.Model
    _result: _library.ResultOfTraining | None

    def __init__(self) -> None:
        raise TypeError("a surety.Model is made by surety.train or surety.Model.load")

    @classmethod
    def _of(cls, handle: _library.Model) -> Model:
        model = cls.__new__(cls)
        model._handle = handle
        model._result = None
        return model

    @classmethod
    def _of_result(cls, result: _library.ResultOfTraining) -> Model:
        model = cls._of(result.model())
        model._result = result
        return model

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Model:
        """The model in a file that ``save`` or ``surety train`` wrote. Raises ``SuretyError`` (BAD_DATA) for everything that is none."""
        return cls._of(_library.load_model(_arguments.path("path", path)))

    @classmethod
    def parse(cls, text: str) -> Model:
        """The model of a text. Raises ``SuretyError`` (BAD_DATA) for everything that is none."""
        return cls._of(_library.parse_model(_arguments.text("text", text)))

    def text(self) -> str:
        """The text of its file, which keeps weights bit for bit."""
        return self._handle.text()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes its file, which ``surety predict`` reads, in one step. It replaces another model and nothing else."""
        self._handle.save(_arguments.path("path", path))

    @property
    def loss(self) -> str:
        """What was minimized: "logistic", "squared", "smoothed-hinge" or "hinge"."""
        return self._handle.loss()

    @property
    def classes_(self) -> tuple[str, ...]:
        """The classes that it tells, in the order of ``predict_proba``: "visits<=0" and "visits>0", or the texts of several; none of the squared loss."""
        return tuple(self._handle.classes())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads; none of LIBSVM text."""
        return tuple(self._handle.columns())

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """What each of ``coef_`` is of: a column, "column=category", or of two categories "column=second against first"."""
        return tuple(_shown(name) for name in self._handle.names() if name[0] is not None)

    @property
    def weights(self) -> Array:
        """As they were learned, of features between -1 and 1, with the intercept as the last of each class: one row for each class of several."""
        return self._by_class(self._handle.weights())

    @property
    def coef_(self) -> Array:
        """Of ``feature_names_``, in units of the label over units of the columns: the score moves by so much when a cell, within its bounds, moves by 1.
        One row for each class of several.

        Raises ``SuretyError`` (UNSUPPORTED) where the score is no linear function of the cells: rows that are divided by their norms (all but
        ``rows="scaled"``), a column without bounds.
        """
        return self._by_class(self._handle.linear_map()[1])

    @property
    def intercept_(self) -> Array | float:
        """What ``decision_function`` says where all cells are 0, were that within bounds; one for each class of several. Raises as ``coef_``."""
        intercepts = self._handle.linear_map()[2]
        return np.array(intercepts) if len(intercepts) > 1 else intercepts[0]

    @property
    def intervals(self) -> Array | None:
        """Of learners that give them ("sufficient-statistics"): the ends of an interval for each of ``weights``, which hold together with
        ``report["coefficient_intervals"]["confidence"]`` over the noise, around the same fit of these records without noise. None of others, and where the
        noise was too large."""
        return self._ends_of("coefficient_intervals")

    @property
    def population_intervals(self) -> Array | None:
        """The same over noise and sampling, around the coefficients of the law that records are independent draws of; what that needs is
        ``report["population_intervals"]["needs"]``. None of others, of owners, and where the noise was too large."""
        return self._ends_of("population_intervals")

    def _ends_of(self, name: str) -> Array | None:
        found = (self.report or {}).get(name)
        return None if found is None or found["from"] is None else np.array([found["from"], found["to"]]).T

    @property
    def event(self) -> Event:
        """What was released for it, as it was planned, for the accountants."""
        return _event_of(self._handle.event())

    @property
    def promise(self) -> tuple[float, float]:
        """The epsilon and the delta that were promised, under ``event.adjacency``."""
        return self._handle.promise()

    @property
    def unit(self) -> str:
        """To whom: "one row", "one nr of at most 8 rows (...)"."""
        return self._handle.unit()

    @property
    def cost(self) -> Enclosure | None:
        """The epsilon of what was released, at the delta that was promised; None of a model that was loaded."""
        return None if self._result is None else Enclosure(*self._result.epsilon())

    @property
    def run(self) -> int | None:
        """Its number in the ledger; None of a model that was loaded."""
        return None if self._result is None else self._result.run()

    @property
    def report(self) -> dict[str, Any] | None:
        """What ``surety train --json`` prints; None of a model that was loaded. ``held_out_scores_not_private`` and whatever else is named so is for who holds
        the data."""
        if self._result is None:
            return None
        report = json.loads(self._result.json())
        assert isinstance(report, dict)
        return report

    @property
    def held_out_score(self) -> dict[str, Any] | None:
        """How it does on what was held out, as that was released: ``name``, ``value``, and intervals ``over_noise``, about these records, and
        ``over_noise_and_sampling``, about others of their source. Or ``why_not``; None of a model that was loaded, and where nothing was held out."""
        score = (self.report or {}).get("held_out_score")
        assert score is None or isinstance(score, dict)
        return score

    @property
    def usable_records(self) -> dict[str, Any] | None:
        """The private count of usable records: ``value``, its interval ``from`` and ``to`` with its ``confidence``, the known number ``of``, and a ``warning``
        where ``to`` is below nine tenths of it. None of a model that was loaded, and of a training without this count."""
        usable = (self.report or {}).get("usable")
        assert usable is None or isinstance(usable, dict)
        return usable

    def lines(self) -> str:
        """The report for people, as ``surety train`` prints it. Raises ``SuretyError`` (UNSUPPORTED) for a model that was loaded."""
        if self._result is None:
            raise _unsupported("the report is of a training, this model was loaded; keep the model that surety.train returned")
        return self._result.text()

    def json(self) -> str:
        """The same as text. Raises ``SuretyError`` (UNSUPPORTED) for a model that was loaded."""
        if self._result is None:
            raise _unsupported("the report is of a training, this model was loaded; keep the model that surety.train returned")
        return self._result.json()

    def decision_function(self, data: Any, **reading: Unpack[ReadingFields]) -> Array:
        """The scores of all rows: above 0 for the second of two classes, one for each class of several, and what ``predict`` says of the squared loss. ``data``
        as ``predict``."""
        return self._by_class(self._asked(data, "predictions" if self.loss == "squared" else "scores", reading), is_of_records=True)

    def predict(self, data: Any, **reading: Unpack[ReadingFields]) -> Array:
        """What it says of all rows: the texts of classes, the values of the squared loss.

        ``data`` is what ``surety.train`` takes, with the columns of the model, or a sparse matrix for a model of one or of LIBSVM text; labels may be missing.
        It costs nothing of those whom the model was trained on; what is said of new rows is about those rows, so errors show their cells. Raises
        ``SuretyError`` (BAD_DATA) for a damaged row, and where there is no row.
        """
        if self.loss == "squared":
            return self._asked(data, "predictions", reading)
        return np.array(self.classes_)[self._asked(data, "places", reading).astype(np.int64)]

    def predict_proba(self, data: Any, **reading: Unpack[ReadingFields]) -> Array:
        """The probabilities of ``classes_``, a row for each row of ``data``. Raises ``SuretyError`` (UNSUPPORTED) for another loss than the logistic one, which
        has none."""
        if self.loss != "logistic":
            raise _unsupported(f"probabilities are of models of the logistic loss, this one has the {self.loss} loss; call predict or decision_function")
        return self._probabilities_of(self._asked(data, "predictions", reading))

    def _scores_of_usable(self, data: Any) -> Array:
        """As ``decision_function``, with NaN for a row that has no score: one with a cell that is missing, no number, or none of the categories."""
        return self._by_class(self._asked(data, "predictions" if self.loss == "squared" else "scores", {}, keeps_damaged=True), is_of_records=True)

    def _probabilities_of(self, found: Array) -> Array:
        if len(self.classes_) > 2 or len(self._handle.weights()) > len(self._handle.names()):
            return found.reshape(-1, len(self.classes_))
        return np.column_stack([1 - found, found])

    def _probabilities_of_usable(self, data: Any) -> Array:
        """As ``predict_proba``, with NaN for a row without a score."""
        return self._probabilities_of(self._asked(data, "predictions", {}, keeps_damaged=True))

    def effects(self) -> list[dict[str, Any]]:
        """What each column adds to the score, with importance and odds: the ``effects`` of ``surety show --json``, the most important column first.

        Each is a dictionary: ``column``; ``kind`` ("number", "categories" or "pair"); ``at`` or ``categories``, the places; ``values``, for each class a list with
        the effect at each place, in log-odds for the logistic loss and in the unit of the label for the squared loss; ``missing``; ``importance``, the largest
        effect minus the smallest within the bounds; ``per_unit`` and ``odds_per_unit``, the change of the score and the factor of the odds if the cell grows by 1;
        ``reference``, the place that others are compared with; ``changes`` and ``odds``, intervals at each place. ``None`` stands for what does not exist. Where
        rows are divided by their norms (all but ``rows="scaled"``) ``values`` and ``importance`` are those before the division, and ``changes`` and ``odds`` hold for
        every row.

        It costs nothing: nothing but the model is used. Raises ``SuretyError`` (UNSUPPORTED) for a model of LIBSVM text, which has no columns.
        """
        text = self._handle.effects()
        if text is None:
            raise _unsupported("effects of columns are of models of named columns, this one is of LIBSVM text; use weights")
        effects = json.loads(text)
        assert isinstance(effects, list)
        return effects

    def partial_effects(self, data: Any, **reading: Unpack[ReadingFields]) -> dict[str, Array]:
        """What each column adds to ``decision_function``, row by row.

        A dictionary with an array for each column of the model, in the order of ``columns``, for each pair of columns ("first:second"), and for "(intercept)".
        An array has one number for each row of ``data``, of several classes one column for each class. The arrays add up to ``decision_function(data)``, up to
        rounding. Numbers are log-odds for the logistic loss, and have the unit of the label for the squared loss. Where rows are divided by their norms (all but
        ``rows="scaled"``) a number is that of the divided row, so that it depends on the other cells of the row, too.

        ``data`` as ``predict``; it is read once for each column, so it must not be a stream. It costs nothing: nothing but the model is used. Raises as
        ``predict``, and ``SuretyError`` (UNSUPPORTED) for a model of LIBSVM text, which has no columns.
        """
        centre = float(json.loads(self.text()).get("label_centre", 0.0))
        effects: dict[str, Array] = {}
        for name, model in self._parts():
            scores = model._by_class(model._asked(data, "scores", reading), is_of_records=True)
            effects[name] = scores + centre if name == "(intercept)" else scores
        return effects

    def plot(self, columns: list[str] | None = None) -> Any:
        """Draws what each column adds to the score, over the column's own scale, and returns the array of matplotlib axes, one for each column.

        A number has a curve between its bounds; one without bounds is drawn from -1000 to 1000. Categories have bars. Of several classes each has its own colour.
        Where rows are divided by their norms (all but ``rows="scaled"``) values are those before the division. ``columns`` are those to draw (default: all).
        Raises ``ImportError`` where matplotlib is not installed, ``ValueError`` for a column that the model has not, and ``SuretyError`` (UNSUPPORTED) for a
        model of LIBSVM text, which has no columns.
        """
        shapes = self._shapes(columns)
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("Model.plot needs matplotlib; install it (pip install matplotlib), or use Model.partial_effects") from error
        across = min(3, len(shapes))
        down = -(-len(shapes) // across)
        figure, axes = pyplot.subplots(down, across, figsize=(4 * across, 3 * down), squeeze=False, layout="constrained")
        several = np.ndim(self.weights) > 1
        for axis, (name, cells, values) in zip(axes.flat, shapes, strict=False):
            curves = values.T if several else values[np.newaxis]
            for k, curve in enumerate(curves):
                label = self.classes_[k] if several else None
                if isinstance(cells[0], str):
                    width = 0.8 / len(curves)
                    axis.bar(np.arange(len(cells)) + width * (k - (len(curves) - 1) / 2), curve, width, label=label)
                else:
                    axis.plot(cells, curve, label=label)
            if isinstance(cells[0], str):
                axis.set_xticks(range(len(cells)), cells)
            axis.axhline(0, color="0.8", zorder=0)
            axis.set_xlabel(name)
        for axis in axes.flat[len(shapes) :]:
            axis.remove()
        unit = "adds to the prediction" if self.loss == "squared" else "adds to the log-odds" if self.loss == "logistic" else "adds to the score"
        figure.supylabel(unit + (", before rows are divided" if self._features()["unit_norm"] else ""))
        figure.suptitle(self._promise_text(), fontsize="small")
        if several:
            axes.flat[0].legend()
        return axes.flat[: len(shapes)]

    def _features(self) -> dict[str, Any]:
        features = json.loads(self.text())["features"]
        assert isinstance(features, dict)
        return features

    def _named_columns(self) -> list[dict[str, Any]]:
        described = self._features().get("columns")
        if described is None:
            raise _unsupported("effects of columns are of models of named columns, this one is of LIBSVM text; use weights")
        assert isinstance(described, list)
        return described

    def _parts(self) -> list[tuple[str, Model]]:
        """The same model with the weights of one column alone, for each, and of the intercept."""
        self._named_columns()
        fields = json.loads(self.text())
        names = [name[0] for name in self._handle.names()]
        weights = np.array(fields["weights"]).reshape(-1, len(names))
        parts = []
        for own in [*dict.fromkeys(name for name in names if name is not None), None]:
            if own is None and fields["features"]["intercept"] is False and not fields.get("label_centre"):
                continue
            changed = dict(fields, weights=np.where([name == own for name in names], weights, 0.0).ravel().tolist())
            parts.append(("(intercept)" if own is None else own, Model.parse(json.dumps(changed))))
        return parts

    def _shapes(self, wanted: list[str] | None) -> list[tuple[str, list[Any], Array]]:
        """For each column its name, cells of it, and what they add."""
        described = self._named_columns()
        names = [column["name"] for column in described]
        chosen = names if wanted is None else _arguments.texts("columns", wanted)
        for name in chosen:
            if name not in names:
                raise _arguments.invalid(f"columns has {name!r}, must be columns of the model: {', '.join(names)}")
        cells = {column["name"]: _cells_of(column["map"]) for column in described}
        fields = json.loads(self.text())
        fields["features"]["unit_norm"] = False
        parts = dict(Model.parse(json.dumps(fields))._parts())
        shapes = []
        for name in chosen:
            table = {other: (cells[name] if other == name else [cells[other][0]] * len(cells[name])) for other in names}
            part = parts[name]
            shapes.append((name, cells[name], part._by_class(part._asked(table, "scores", {}), is_of_records=True)))
        return shapes

    def _asked(self, data: Any, said: str, reading: ReadingFields, *, keeps_damaged: bool = False) -> Array:
        if data is None:
            raise _arguments.wrong_type("data", data, "a table or the path of one")
        if is_plain_array(data) and reading.get("columns") is not None:
            data = named_by(data, reading["columns"])
            reading = {name: value for name, value in reading.items() if name != "columns"}  # type: ignore[assignment]
        options = _options(reading)
        source = records_of(data, reading.get("no_limits") is True, labelled=False)
        return np.frombuffer(self._handle.predict(source, said, options, keeps_damaged), np.float64).copy()

    def _by_class(self, numbers: list[float] | Array, *, is_of_records: bool = False) -> Array:
        """By class where there are several: of records a column for each, else a row."""
        count = len(self._handle.weights()) // max(1, len(self._handle.names()))
        array = np.asarray(numbers, np.float64)
        if count <= 1:
            return array
        return array.reshape(-1, count) if is_of_records else array.reshape(count, -1)

    def _promise_text(self) -> str:
        epsilon, delta = self.promise
        replayed = "; NOT PRIVATE: the noise was replayed from a known seed" if self._handle.not_private() else ""
        return _one_line(f"epsilon {epsilon:g} at delta {delta:g}, {self.event.adjacency}, for {self.unit}{replayed}")

    def _shown_weights(self) -> list[tuple[str, list[float]]]:
        names = ["(intercept)" if name[0] is None else _one_line(_shown(name)) for name in self._handle.names()]
        return [(name, column.tolist()) for name, column in zip(names, np.atleast_2d(self.weights).T, strict=True)]

    def __repr__(self) -> str:
        label = "" if self._handle.label() is None else f" for {_one_line(self._handle.label() or '')}"
        return f"<Model of {self.loss} loss{label}, {len(self._handle.names())} features: {self._promise_text()}>"

    def _repr_html_(self) -> str:
        classes = [html.escape(_one_line(name)) for name in self.classes_] if np.ndim(self.weights) > 1 else ["weight"]
        head = "".join(f"<th>{name}</th>" for name in ["feature", *classes])
        body = "".join(
            f"<tr><td>{html.escape(name)}</td>" + "".join(f"<td>{weight:.6g}</td>" for weight in weights) + "</tr>" for name, weights in self._shown_weights()
        )
        return f"<table><caption>{html.escape(repr(self)[1:-1])}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Model.parse, (self.text(),)


def _shown(name: tuple[str | None, str | None]) -> str:
    column, category = name
    return f"{column}" if category is None else f"{column}={category}"


def _cells_of(column: Any) -> list[Any]:
    """Cells that show what a column adds: all of its categories, or numbers between its bounds."""
    if "categories" in column:
        return [str(category) for category in column["categories"]]
    if "bounds" in column:
        lower, upper = column["bounds"]
        return [float(cell) for cell in np.linspace(lower, upper, 141)]
    return [float(cell) for cell in np.sinh(np.linspace(-np.arcsinh(1000), np.arcsinh(1000), 141))]
