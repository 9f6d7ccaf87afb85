"""Estimators for scikit-learn, which must be installed: their fits are trainings of ``surety.train``, each charged to a ledger.

>>> from surety_dp.sklearn import PrivateClassifier  # doctest: +SKIP
"""

from __future__ import annotations

import inspect
import os
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from os import PathLike
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

try:
    from scipy.sparse import csr_array, issparse
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError(f"surety_dp.sklearn needs scikit-learn 1.6 or later, which cannot be imported: {error}") from None

from surety_dp import _arguments
from surety_dp._check import Finding, check
from surety_dp._errors import BadData, ErrorCode
from surety_dp._ledger import Ledger
from surety_dp._model import Model
from surety_dp._sources import classes_of, columns_of, numbers_of, rows_in, texts_of
from surety_dp._train import _ALGORITHMS, train
from surety_dp._types import Adjacency

__all__ = ["Finding", "PrivateClassifier", "PrivateRegressor", "PrivateSearch", "RepeatedFitWarning", "StandardizeWithin", "check"]

Array = npt.NDArray[Any]


class RepeatedFitWarning(UserWarning):
    """A ledger is charged by another fit: what is chosen among fits by their scores on private rows is charged by nobody but ``PrivateSearch``."""


#: How many fits each ledger was charged with, in this process.
_FITS_OF_LEDGERS: weakref.WeakKeyDictionary[Ledger, int] = weakref.WeakKeyDictionary()
_FITS_OF_PATHS: dict[str, int] = {}


def _count_fit(ledger: Any) -> int:
    if isinstance(ledger, Ledger):
        _FITS_OF_LEDGERS[ledger] = _FITS_OF_LEDGERS.get(ledger, 0) + 1
        return _FITS_OF_LEDGERS[ledger]
    path = os.path.realpath(ledger)
    _FITS_OF_PATHS[path] = _FITS_OF_PATHS.get(path, 0) + 1
    return _FITS_OF_PATHS[path]


def _refuse_two_sequences(bounds: Any) -> None:
    """Raises ``ValueError`` for a tuple of two sequences, the form of other libraries: the lower bounds of all columns and the upper ones, or the pairs of two columns."""
    if not (isinstance(bounds, tuple) and len(bounds) == 2 and all(_is_sequence(end) for end in bounds)):
        return
    if len(bounds[0]) != len(bounds[1]):
        raise _arguments.invalid(f"bounds are two sequences of {len(bounds[0])} and {len(bounds[1])} numbers, must be a list of pairs, one for each column")
    columns = [tuple(pair) for pair in zip(*bounds, strict=True)]
    readings = [f"bounds={columns} where the first sequence holds lower bounds"]
    if len(bounds[0]) == 2:
        readings.append(f"bounds={[tuple(pair) for pair in bounds]} where each sequence is the pair of a column")
    raise _arguments.invalid(f"bounds are a tuple of two sequences, must be a list of pairs: {', or '.join(readings)}")


def _bounds_of(bounds: Any, columns: int) -> list[tuple[float, float] | None]:
    """One pair for each column, or nothing for a column without bounds. Raises ``ValueError`` for another number of them."""
    _refuse_two_sequences(bounds)
    if isinstance(bounds, np.ndarray):
        bounds = bounds.tolist()
    ends = _arguments.items("bounds", bounds, "a pair of numbers, a list of pairs, or a mapping from columns to pairs")
    if len(ends) == 2 and not any(isinstance(end, Iterable) or end is None for end in ends):
        ends = [ends] * columns
    if len(ends) != columns:
        raise _arguments.invalid(f"bounds has {len(ends)} pairs, must have one for all columns or one for each of {columns}")
    return [None if pair is None else _ascending(pair) for pair in ends]


def _ascending(pair: Any) -> tuple[float, float]:
    lower, upper = _arguments.pair("bounds", pair)
    if not lower < upper:
        raise _arguments.invalid(f"bounds are {lower:g} and {upper:g}, must ascend")
    return lower, upper


def _of_known_columns(name: str, values: Mapping[Any, Any], columns: Iterable[str]) -> dict[str, Any]:
    """By the names of columns as texts. Raises ``ValueError`` for another name."""
    known = list(columns)
    found = {str(column): value for column, value in values.items()}
    for column in found:
        if column not in known:
            raise _arguments.invalid(f"{name} names the column {column!r}, must name columns of X: {', '.join(map(repr, known[:20]))}")
    return found


def _is_private(bounds: Any) -> bool:
    """Whether a training releases the range."""
    return isinstance(bounds, str) and bounds == "private"


def _maps_of(bounds: Any, categories: Any, columns: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The bounds and the categories of columns by name. A pair for all columns is for those without categories. None and "private" name no column."""
    if not isinstance(categories or {}, Mapping):
        raise _arguments.wrong_type("categories", categories, "a mapping from columns to lists of texts")
    texts = _of_known_columns("categories", categories or {}, columns)
    if isinstance(bounds, Mapping):
        named = _of_known_columns("bounds", bounds, columns)
        pairs = {column: pair if _is_private(pair) else _ascending(pair) for column, pair in named.items()}
    elif bounds is None or _is_private(bounds):
        pairs = {}
    else:
        given = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
        is_one_pair = isinstance(given, (list, tuple)) and len(given) == 2 and not any(isinstance(end, Iterable) or end is None for end in given)
        limits = _bounds_of(bounds, len(columns))
        pairs = {column: pair for column, pair in zip(columns, limits, strict=True) if pair is not None and not (is_one_pair and column in texts)}
    for column in texts:
        if column in pairs:
            raise _arguments.invalid(f"column {column!r} has bounds and categories, must have one of them")
    return pairs, texts


class _Table(NamedTuple):
    """Records column by column, whose cells are as they were given: so no cell has a say in what the others are."""

    columns: list[Any]
    rows: int

    def numbers(self) -> Array:
        """Cells as numbers: what is none is NaN."""
        return np.stack([numbers_of(column) for column in self.columns], axis=1)


def _table_of(X: Any) -> _Table:
    """``X`` by columns. Raises ``ValueError`` and ``TypeError`` for what no record decides."""
    if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
        X = np.asarray(X)
    shape = getattr(X, "shape", None)
    if shape is None and X and not any(_is_sequence(row) for row in X):
        shape = (len(X),)
    if shape is not None and len(shape) != 2:
        raise ValueError(f"Reshape your data: X has {len(shape)} dimension{'s' * (len(shape) != 1)}, must have 2")
    if shape is None:
        columns, rows = _columns_of_rows(X), len(X)
    elif isinstance(X, np.ndarray):
        columns, rows = [X[:, place] for place in range(X.shape[1])], X.shape[0]
    elif hasattr(X, "iloc"):  # of pandas, whose names of columns may be numbers
        columns, rows = [X.iloc[:, place] for place in range(X.shape[1])], X.shape[0]
    elif hasattr(X, "__arrow_c_stream__"):
        columns, rows = list(columns_of(X).values()), X.shape[0]
    else:
        return _table_of(np.asarray(X))
    if rows < 1:
        raise ValueError(f"Found array with 0 sample(s) (shape=({rows}, {len(columns)})) while a minimum of 1 is required.")
    if not columns:
        raise ValueError(f"Found array with 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")
    return _Table(columns, rows)


def _is_sequence(row: Any) -> bool:
    return isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _columns_of_rows(rows: Any) -> list[Any]:
    """The columns of a list of rows. How many there are is how many most rows have, since a row decides nothing for others: one of another length has no cell."""
    lengths = Counter(len(row) for row in rows if _is_sequence(row))
    width = max(lengths, key=lambda length: (lengths[length], length), default=0)
    columns = [np.empty(len(rows), object) for _ in range(width)]
    for place, row in enumerate(rows):
        if _is_sequence(row) and len(row) == width:
            for column, cell in zip(columns, row, strict=True):
                column[place] = cell
    return columns


def _rows_of(estimator: Any, X: Any, *, reset: bool, sparse: bool = False) -> Any:
    """``X`` by columns, or where it may be ``sparse`` as compressed rows, once scikit-learn has looked at its names and at how many columns there are. No cell stops it
    or is shown."""
    if issparse(X) and sparse:
        matrix = X.tocsr()
        if matrix.data.dtype.kind not in "biuf":  # by one number, maybe: each is read by itself
            matrix = csr_array((numbers_of(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
        return validate_data(estimator, matrix, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse="csr")
    if issparse(X):
        raise TypeError(f"X is a sparse matrix ({type(X).__name__}), must be dense")
    table = _table_of(X)
    # Of a list of rows scikit-learn would count the first row's cells.
    has_names = hasattr(X, "columns") or hasattr(X, "column_names")
    validate_data(estimator, X if has_names else np.broadcast_to(0.0, (table.rows, len(table.columns))), reset=reset, skip_check_array=True)
    return table


def _column_of(name: str, values: Any) -> Any:
    """Labels or owners as a column, whose cells are as they were given. A list may have them in lists of one."""
    if isinstance(values, (list, tuple)):
        column = np.empty(len(values), object)
        for place, cell in enumerate(values):
            column[place] = cell[0] if _is_sequence(cell) and len(cell) == 1 else cell
        return column
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        warnings.warn(f"A column-vector {name} was passed when a 1d array was expected", DataConversionWarning, stacklevel=4)
        if isinstance(values, np.ndarray):
            return values[:, 0]
        return values.iloc[:, 0] if hasattr(values, "iloc") else next(iter(columns_of(values).values()))
    if shape is not None and len(shape) != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {shape} instead.")
    return values if shape is not None or hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__") else np.asarray(values)


def _columns_of_groups(groups: Any) -> tuple[Any, ...]:
    """The columns of a combination, which are a tuple of columns, or the one column. A tuple of lists of one is a column with these cells."""
    is_combination = isinstance(groups, tuple) and len(groups) > 0 and all(_is_column(column) for column in groups)
    return groups if is_combination else (groups,)


def _is_column(column: Any) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, (str, bytes)) and len(column) != 1


@contextmanager
def _fit_of(estimator: Any) -> Iterator[None]:
    """A fit from the beginning. One that fails leaves nothing that an earlier one, or half of this one, has set: scikit-learn calls an estimator fitted that has
    any such attribute."""

    def forget() -> None:
        for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
            delattr(estimator, name)

    forget()
    try:
        yield
    except BaseException:
        forget()
        raise


class _FitOfWeights:
    """A method ``fit`` whose signature has ``sample_weight`` where ``weight_bound`` is given: scikit-learn gives weights to whatever has it, such as counts of a
    bootstrap, and without a public bound nothing can take them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        signature = inspect.signature(function)
        self.unweighted = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        self.unweighted.__doc__, self.unweighted.__qualname__ = function.__doc__, function.__qualname__
        self.unweighted.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[one for name, one in signature.parameters.items() if name != "sample_weight"]
        )

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.function
        return MethodType(self.unweighted if estimator.weight_bound is None else self.function, estimator)


class _Labels(NamedTuple):
    """How labels are learned from."""

    cells: Callable[[Any], Any]
    numbers: Callable[[Any], Array]  # for a sparse matrix, of which no column is theirs
    column: dict[str, Any]  # what ``train`` is told of their column
    problem: dict[str, Any]  # what is minimized, where it is not the logistic loss


class _Private(BaseEstimator):  # type: ignore[misc]
    """What private estimators have in common."""

    _is_private = True

    def _columns(self, rows: Any) -> dict[str, Any]:
        """The columns of rows by name. Cells are not looked at: one that is no number makes a damaged record of its row, and no error."""
        if issparse(rows):
            rows = _table_of(rows.toarray())
        names = [f"x{place}" for place in range(len(rows.columns))]
        if hasattr(self, "feature_names_in_"):
            names = [str(name) for name in self.feature_names_in_]
        for name, count in Counter(names).items():
            if count > 1:
                raise _arguments.invalid(f"column {name!r} of X appears {count} times, must have a name of its own")
        return dict(zip(names, rows.columns, strict=True))

    def _required(self, name: str, why: str) -> Any:
        value = getattr(self, name)
        if value is None:
            raise _arguments.invalid(f"{name} is missing, must be given: {why}")
        return value

    def _records(self, X: Any) -> Any:
        """``X`` as ``model_`` takes it: a matrix, of which no column has a name, or columns."""
        rows = _rows_of(self, X, reset=False, sparse=True)
        if self._model().columns:
            return self._columns(rows)
        return rows if issparse(rows) else csr_array(rows.numbers())

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any, to_learn: _Labels) -> None:
        """Trains."""
        epsilon = self._required("epsilon", "it is a promise")
        adjacency = self._required("adjacency", "it says which tables are neighbours")
        ledger = self._required("ledger", "it is where a fit is charged; surety.Ledger.in_memory() keeps nothing")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = _rows_of(self, X, reset=True, sparse=True)
        count = rows.shape[0] if issparse(rows) else rows.rows
        if issparse(X) and (self.categories or isinstance(self.bounds, Mapping)):
            raise _arguments.invalid("categories and bounds by name are for a table, must not be given with a sparse matrix")
        labels = _column_of("y", y)
        if rows_in(labels) != count:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{count}, {rows_in(labels)}]")
        weights = None if sample_weight is None else self._weights_of(sample_weight, count)
        if groups is None and self.most is not None:
            raise _arguments.invalid(f"most is {self.most}, must be None where groups do not name the owners of rows")
        data: Any
        own: dict[str, Any] = {"unit": None}
        said: dict[str, Any] = {"held_out": 0.0, **to_learn.problem}
        if self.bounds is None and issparse(X):
            if groups is not None:
                raise _arguments.invalid("groups are given, must be None for a sparse matrix without bounds")
            if weights is not None:
                raise _arguments.invalid("sample_weight is given, must be None for a sparse matrix without bounds; give bounds")
            data = rows, to_learn.numbers(labels)
        else:
            data = self._columns(rows)
            said.update(to_learn.column)
            limits, texts = _maps_of(self.bounds, self.categories, list(data))
            if isinstance(self.bounds, str):
                said["ranges"] = "private"
            own.update(label=_fresh("y", data), bounds=limits or None, categories=texts or None)
            data[own["label"]] = to_learn.cells(labels)
            if weights is not None:
                own.update(weight=_fresh("weight", data), weight_bound=self.weight_bound)
                data[own["weight"]] = weights
            if groups is not None:
                self._required("most", "of each owner in groups at most so many rows are used")
                owners = []
                for column in _columns_of_groups(groups):
                    owners.append(_fresh("owner", data))
                    data[owners[-1]] = _column_of("groups", column)
                own.update(unit=owners[0] if len(owners) == 1 else owners, most=self.most)
        said.update(self.options or {})
        if self.algorithm in _ALGORITHMS and "held_out" not in _ALGORITHMS[self.algorithm]:
            del said["held_out"]
        self.model_ = train(data, epsilon=epsilon, delta=self.delta, adjacency=adjacency, ledger=ledger, algorithm=self.algorithm, **own, **said)
        self.is_fitted_ = True
        count = _count_fit(ledger)
        if count > 1:
            warnings.warn(
                f"fit {count} that is charged to this ledger: each is charged, and a choice among fits by scores on private rows is not private unless "
                "surety_dp.sklearn.PrivateSearch makes it",
                RepeatedFitWarning,
                stacklevel=3,
            )

    def _weights_of(self, sample_weight: Any, rows: int) -> Any:
        """The column of weights, whose cells are not looked at; one number is the weight of all rows."""
        self._required("weight_bound", "sample_weight is from 0 to it, and it is known without looking at weights")
        if isinstance(sample_weight, Real):
            return np.full(rows, _arguments.number("sample_weight", sample_weight))
        if len(getattr(sample_weight, "shape", ())) > 1:
            raise ValueError("Sample weights must be 1D array or scalar")
        weights = numbers_of(_column_of("sample_weight", sample_weight))
        if rows_in(weights) != rows:
            raise ValueError(f"sample_weight has {rows_in(weights)} weights, must have one for each of {rows} rows")
        return weights

    def _model(self) -> Model:
        check_is_fitted(self, "model_")
        model = self.model_
        assert isinstance(model, Model)
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Without the handle of a ledger: of an open one its path stays."""
        state = dict(super().__getstate__())
        if isinstance(state.get("ledger"), Ledger):
            path = state["ledger"].path
            state["ledger"] = None if path is None else str(path)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # a text may be a number, or one of the categories
        return tags


def _fresh(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    return name


class PrivateClassifier(ClassifierMixin, _Private):  # type: ignore[misc]
    """A classifier whose every ``fit`` is a training of ``surety.train``, charged to ``ledger`` before its noise is drawn.

    >>> classifier = PrivateClassifier(  # doctest: +SKIP
    ...     epsilon=1, delta=1e-6, adjacency="replace-one", ledger="run.db", bounds=(0, 1), classes=["no", "yes"]
    ... ).fit(X, y)

    ``epsilon``, ``adjacency``, ``ledger`` and ``classes`` have no default: ``fit`` refuses without them. ``bounds`` is a pair for all columns, a list with a pair
    or None for each column, or a mapping from names to pairs or "private"; cells beyond count as the nearer bound. Give bounds that are known without looking at the data:
    they cost nothing. A column without bounds has a range that the fit releases and pays for, where its noise is small enough, else it enters by its signed logarithm;
    ``bounds="private"`` releases a range for every column without categories. ``categories`` maps names of columns to the texts that they list; each becomes a feature. A sparse matrix with ``bounds`` is what the same rows are as an array, and takes as much memory.
    Without them it stays sparse, with two classes: values are used as they are, and each row is divided by its norm. ``classes`` lists the labels, the second
    of two being the positive one; a row with another label counts as a damaged record. ``classes="of-y"`` says that which labels occur is public. ``fit(X, y,
    groups=owners)`` promises to owners, of whom at most ``most`` rows are used; without ``groups`` each row is a unit of its own. With ``sample_weight``
    what a row adds is multiplied by its weight over ``weight_bound``, which is public. ``algorithm`` and
    ``options``, a mapping of more keywords, are those of ``surety.train``; nothing is held out unless ``options`` says ``held_out``.

    Cells that are no numbers stop nothing: their rows count as zeros. The usable rows are counted in private, as by ``surety.train``: ``fit`` warns by
    ``surety.FewUsableRecordsWarning`` where they are fewer than nine tenths of the rows, and raises where they are fewer than half, with its whole plan
    charged. ``options={"no_count_records": True}`` leaves the count out. ``predict`` raises ``BadData``, which names rows, where a cell is missing or unusable;
    with ``missing_prediction`` it returns this value for them, and their scores and probabilities are NaN. Scores on held-out private rows (``score``, ``cross_val_score``) are computed on private
    data, and so are not private; each fit of a cross-validation is charged. ``model_`` is the ``surety.Model``, which may be published. A pickle holds the
    model, and no handle of a ledger.

    Raises ``InvalidArgument``, a ``ValueError``, in one line for what is missing or breaks its constraint, and ``SuretyError`` (BUDGET_EXCEEDED) where the
    ledger's budget does not allow the fit; then nothing was charged.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: Adjacency | None = None,
        ledger: str | PathLike[str] | Ledger | None = None,
        bounds: Any = None,
        categories: Mapping[str, Iterable[Any]] | None = None,
        classes: Any = None,
        most: int | None = None,
        weight_bound: float | None = None,
        algorithm: str = "auto",
        options: Mapping[str, Any] | None = None,
        missing_prediction: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.ledger = ledger
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.most = most
        self.weight_bound = weight_bound
        self.algorithm = algorithm
        self.options = options
        self.missing_prediction = missing_prediction

    @_FitOfWeights
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> PrivateClassifier:
        """Trains, and is charged for it. ``groups`` names the owner of each row: a column, or a tuple of two or three columns whose combination does.
        ``sample_weight`` is the weight of each row, from 0 to ``weight_bound``; a row with another weight counts as damaged."""
        with _fit_of(self):
            classes, to_learn = self._labels_of(y)
            self._fit(X, y, groups, sample_weight, to_learn)
            self.classes_ = classes
        return self

    def _labels_of(self, y: Any) -> tuple[Array, _Labels]:
        wanted = self._required("classes", "the labels, or 'of-y' to say that which labels occur is public")
        found: list[Array] = []

        def cells(labels: Any) -> Array:
            # Of a label that is not among the classes the place is -1.
            return np.array([*texts, None], object)[classes_of(labels, texts)]

        def signs(labels: Any) -> Array:
            if len(texts) > 2:
                raise _arguments.invalid(f"classes has {len(texts)} classes, must have 2 for a sparse matrix without bounds")
            return np.array([-1.0, 1.0, np.nan])[classes_of(labels, texts)]

        if isinstance(wanted, str):
            if wanted != "of-y":
                raise _arguments.invalid(f"classes is {wanted!r}, must be a list of labels or 'of-y'")
            if y is None:
                raise ValueError("PrivateClassifier requires y to be passed, but the target y is None")
            if getattr(getattr(y, "dtype", None), "kind", None) == "c":
                raise ValueError("Complex data not supported: y must be of real numbers or texts where classes is 'of-y'")
            labels = column_or_1d(y)
            if labels.dtype.kind == "f" and not np.all(labels == np.round(labels)):
                raise ValueError("Unknown label type: continuous, must be classes where classes is 'of-y'")
            found.append(np.unique(labels))
        else:
            found.append(np.asarray(wanted))
        classes = found[0]
        if classes.ndim != 1 or len(classes) < 2:
            raise _arguments.invalid(f"classes has {len(classes)} class, must have at least 2 classes")
        listed = classes if isinstance(wanted, (str, np.ndarray)) else list(wanted)
        texts = [text or "" for text in texts_of(listed)]
        if len(set(texts)) != len(texts) or "" in texts:
            raise _arguments.invalid("classes has a label twice or an empty one, must have each once")
        return classes, _Labels(cells, signs, {"equals": texts[1]} if len(texts) == 2 else {"classes": texts}, {})

    def decision_function(self, X: Any) -> Array:
        """The score of each row, above 0 for the second of two classes, or one for each of several; NaN where ``missing_prediction`` stands for the class."""
        model = self._model()
        return self._usable(model._scores_of_usable(self._records(X)))

    def _usable(self, numbers: Array) -> Array:
        """The numbers of rows. Raises ``BadData`` where some are NaN and nothing stands for the classes of these rows."""
        missing = np.flatnonzero(np.isnan(numbers if numbers.ndim == 1 else numbers[:, 0]))
        if len(missing) and self.missing_prediction is None:
            shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
            message = f"{len(missing)} of {len(numbers)} rows of X have a missing or unusable cell, must have none (rows {shown}, counted from 0); set missing_prediction"
            raise BadData(f"{message} to what stands for their classes, or leave the rows out", ErrorCode.BAD_DATA)
        return numbers

    def predict(self, X: Any) -> Array:
        """The class of each row, or ``missing_prediction``."""
        scores = self.decision_function(X)
        places = np.argmax(scores, axis=1) if scores.ndim > 1 else (scores >= 0).astype(int)
        predicted: Array = self.classes_[places]
        missing = np.isnan(scores if scores.ndim == 1 else scores[:, 0])
        if not missing.any():
            return predicted
        value = np.asarray(self.missing_prediction)
        # A text among numbers stays a text, and the numbers stay numbers.
        alike = value.ndim == 0 and (value.dtype.kind == predicted.dtype.kind or {value.dtype.kind, predicted.dtype.kind} <= set("iuf"))
        result: Array = predicted.astype(np.result_type(value, predicted) if alike else object)
        result[missing] = self.missing_prediction
        return result

    def _has_probabilities(self) -> bool:
        model = getattr(self, "model_", None)
        return model is None or model.loss == "logistic"

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The probability of each of ``classes_``; of the logistic loss. NaN where ``missing_prediction`` stands for the class."""
        model = self._model()
        return self._usable(model._probabilities_of_usable(self._records(X)))


class PrivateRegressor(RegressorMixin, _Private):  # type: ignore[misc]
    """A regressor of least squares whose every ``fit`` is a training of ``surety.train``, charged to ``ledger`` before its noise is drawn.

    As ``PrivateClassifier``, but for ``classes``: ``label_bounds`` has no default either. It is a pair, known without looking at the targets, to which they are
    clamped; the middle is taken from them, and predictions add it. The prediction of a row with a missing or unusable cell is NaN.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: Adjacency | None = None,
        ledger: str | PathLike[str] | Ledger | None = None,
        bounds: Any = None,
        categories: Mapping[str, Iterable[Any]] | None = None,
        label_bounds: tuple[float, float] | None = None,
        most: int | None = None,
        weight_bound: float | None = None,
        algorithm: str = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.ledger = ledger
        self.bounds = bounds
        self.categories = categories
        self.label_bounds = label_bounds
        self.most = most
        self.weight_bound = weight_bound
        self.algorithm = algorithm
        self.options = options

    @_FitOfWeights
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> PrivateRegressor:
        """Trains, and is charged for it. ``groups`` names the owner of each row: a column, or a tuple of two or three columns whose combination does.
        ``sample_weight`` is the weight of each row, from 0 to ``weight_bound``; a row with another weight counts as damaged."""
        with _fit_of(self):
            bounds = self._required("label_bounds", "targets are clamped to this pair, known without looking at them")
            self._fit(X, y, groups, sample_weight, _Labels(lambda labels: labels, numbers_of, {}, {"loss": "squared", "label_bounds": bounds}))
        return self

    def predict(self, X: Any) -> Array:
        """The value of each row; NaN for a row with a cell that is missing, no number, or none of the categories."""
        model = self._model()
        return model._scores_of_usable(self._records(X))


class PrivateSearch(BaseEstimator):  # type: ignore[misc]
    """A search over options of a private estimator that is charged as one: it runs ``tune`` candidates, a secret number of them in expectation or by a split of
    the budget, and keeps the one with the best noisy score on a part that is held out. All of it costs at most the estimator's ``epsilon``.

    >>> search = PrivateSearch(classifier, over={"steps": [10, 20, 30]}, tune=5).fit(X, y)  # doctest: +SKIP

    ``over`` maps keywords of ``surety.train`` to the values that candidates differ in; the estimator must name its ``algorithm``, or be able to choose one that
    knows them. ``by`` is ``tune_by`` and ``most_runs`` is ``tune_most`` of ``surety.train``; ``held_out`` the share of rows that scores are computed on.
    ``estimator_`` is the estimator that was fitted.
    """

    _is_private = True

    def __init__(
        self,
        estimator: Any,
        *,
        over: Mapping[str, Iterable[Any]] | None = None,
        tune: int | None = None,
        by: str = "cheapest",
        most_runs: int | None = None,
        held_out: float = 0.2,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.tune = tune
        self.by = by
        self.most_runs = most_runs
        self.held_out = held_out

    def fit(self, X: Any, y: Any, groups: Any = None) -> PrivateSearch:
        """Searches, and is charged for it, once."""
        with _fit_of(self):
            self._search(X, y, groups)
        return self

    def _search(self, X: Any, y: Any, groups: Any) -> None:
        if not isinstance(self.estimator, (PrivateClassifier, PrivateRegressor)):
            raise _arguments.wrong_type("estimator", self.estimator, "a PrivateClassifier or a PrivateRegressor")
        if self.tune is None:
            raise _arguments.invalid("tune is missing, must be given: how many candidates are expected to run")
        said = {"tune": self.tune, "tune_over": self.over, "tune_by": self.by, "tune_most": self.most_runs, "held_out": self.held_out}
        fitted = clone(self.estimator)
        fitted.set_params(options={**(self.estimator.options or {}), **said})
        self.estimator_ = fitted.fit(X, y, groups)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    def predict(self, X: Any) -> Array:
        """As the estimator that was fitted."""
        check_is_fitted(self, "estimator_")
        predicted: Array = self.estimator_.predict(X)
        return predicted

    def _has_probabilities(self) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """As the estimator that was fitted."""
        check_is_fitted(self, "estimator_")
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def score(self, X: Any, y: Any) -> float:
        """As the estimator that was fitted: not private, where the rows are."""
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = self.estimator.__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False  # it tunes one model
        return tags


class StandardizeWithin(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Maps each column to [-1, 1] by its bounds, which are known without looking at the data; cells beyond count as the nearer bound. It learns nothing.

    ``bounds`` is a pair for all columns or one for each.
    """

    _is_private = True

    def __init__(self, bounds: Any = None) -> None:
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None) -> StandardizeWithin:
        """Looks at the number of columns alone."""
        with _fit_of(self):
            self._ends(len(_rows_of(self, X, reset=True).columns))
        return self

    def transform(self, X: Any) -> Array:
        """What is NaN stays so, and what is no finite number becomes it."""
        rows = _rows_of(self, X, reset=False).numbers()
        lower, upper = self._ends(rows.shape[1])
        half = upper / 2 - lower / 2
        scaled: Array = np.clip(np.clip(rows, lower, upper) / half - lower / half - 1, -1, 1)
        return scaled

    def _ends(self, columns: int) -> tuple[Array, Array]:
        if self.bounds is None:
            raise _arguments.invalid("bounds is missing, must be given: a pair for all columns or one for each, known without looking at the data")
        pairs = _bounds_of(self.bounds, columns)
        if None in pairs:
            raise _arguments.invalid("an item of bounds is None, must be a pair for each column")
        lower, upper = np.array(pairs, np.float64).T
        return lower, upper

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns."""
        names = self.feature_names_in_ if input_features is None and hasattr(self, "feature_names_in_") else input_features
        return np.asarray([f"x{place}" for place in range(self.n_features_in_)] if names is None else names, object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags
