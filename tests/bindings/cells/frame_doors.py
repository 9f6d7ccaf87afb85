"""Doors of pandas, polars, pyarrow, DuckDB and SciPy, and questions to the estimators of ``surety_dp.sklearn``: for ``cell_pairs``."""

from __future__ import annotations

import datetime
import decimal
import itertools
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import scipy.sparse
from cell_pairs import KINDS, REPLAYED, Asked, Cells, Columns, Door, NotMade, Pair, Question, _inferred, _texts, _threshold, csv_text, held_by_arrays, labels_of, meaning, objects, scaled, written

import surety_dp as surety
from surety_dp.sklearn import PrivateClassifier, PrivateRegressor

KINDS["missing of pandas"] = [pandas.NA, pandas.NaT]
KINDS["moment of pandas"] = [pandas.Timestamp("2020-01-02"), pandas.Timestamp("2020-01-02T12:00:00.000000001"), pandas.Timedelta(days=2), pandas.Period("2020-01", "M")]

Make = Callable[[Cells], Any]


# --- what tables hold


def _of_pandas(table: Any) -> Columns:
    return {name: [table[name].iloc[row] for row in range(len(table))] for name in table.columns}


def _of_polars(table: Any) -> Columns:
    return {name: table[name].to_list() for name in table.columns}


def _of_arrow(table: Any) -> Columns:
    return {name: [_arrow_cell(cell) for cell in table.column(name)] for name in table.schema.names}


def _arrow_cell(cell: Any) -> Any:
    """A value in Python's types, of nanoseconds in pandas'."""
    if isinstance(cell, pyarrow.DictionaryScalar):
        return _arrow_cell(cell.value)
    kind = cell.type
    if pyarrow.types.is_timestamp(kind) and cell.is_valid:
        return pandas.Timestamp(cell.value, unit=kind.unit, tz="UTC" if kind.tz else None)
    if pyarrow.types.is_duration(kind) and cell.is_valid:
        return pandas.Timedelta(cell.value, unit=kind.unit)
    return cell.as_py()


def _of_duckdb(table: Any) -> Columns:
    rows = table.fetchall()
    return dict(zip(table.columns, (list(cells) for cells in zip(*rows, strict=True)), strict=True))


# --- pandas


def _pandas(make: Make) -> Callable[[Columns], Any]:
    return lambda columns: pandas.DataFrame({name: make(cells) for name, cells in columns.items()})


_ARROW_TYPES = [
    pyarrow.int64(), pyarrow.uint64(), pyarrow.float64(), pyarrow.float32(), pyarrow.bool_(), pyarrow.string(), pyarrow.large_string(), pyarrow.binary(),
    pyarrow.date32(), pyarrow.date64(), pyarrow.timestamp("s"), pyarrow.timestamp("us"), pyarrow.timestamp("ns"), pyarrow.timestamp("us", "UTC"), pyarrow.duration("us"),
    pyarrow.time64("us"), pyarrow.decimal128(38, 10), pyarrow.null(),
]  # fmt: skip


def _arrow_of(cells: Cells) -> Any:
    return pyarrow.array(_survived(cells))


def _survived(cells: Cells) -> Cells:
    """The cells, unless pyarrow 26 would end the process while it infers their type: of a ``numpy.datetime64`` with a number of NumPy behind it."""
    if any(isinstance(cell, np.datetime64) for cell in cells) and any(isinstance(cell, (np.number, np.bool_)) for cell in cells):
        raise NotMade("pyarrow would end the process")
    return cells


def _to_arrow(columns: Columns) -> Any:
    return pyarrow.table({name: _arrow_of(cells) for name, cells in columns.items()})


def _frame_for_arrow(columns: Columns) -> Any:
    return pandas.DataFrame({name: _survived(cells) for name, cells in columns.items()})


def _nullable(cells: Cells) -> Any:
    return pandas.Series(cells).convert_dtypes()


def _of_arrow_dtype(cells: Cells) -> Any:
    made = _arrow_of(cells)
    return pandas.Series(made, dtype=pandas.ArrowDtype(made.type))


def _declared(dtype: str) -> Make:
    """Of a declared type, where it can hold the cells."""

    def make(cells: Cells) -> Any:
        try:
            return pandas.Series(cells, dtype=dtype)
        except (TypeError, ValueError):
            return pandas.Series(cells)

    return make


def _own_first(first: Make, then: Make) -> Make:
    """The column in question by one way, all others by another."""
    return lambda cells: (first if cells and cells[0] is not None else then)(cells)


def _read_pandas(**how: Any) -> Callable[[Columns], Any]:
    import io

    return lambda columns: pandas.read_csv(io.StringIO(csv_text(columns)), **how)


# --- all


def doors_of_frames(folder: Path) -> list[Door]:
    """A door for each package and way."""
    doors = [Door("pandas", way, _pandas(make), _of_pandas) for way, make in {
        "lists": lambda cells: cells,
        "objects": lambda cells: pandas.Series(cells, dtype=object),
        "nullable": _nullable,
        "arrays": _inferred,
        "categories": lambda cells: pandas.Categorical(cells),
        "Arrow types": _of_arrow_dtype,
        "declared strings": _declared("string"),
        "declared integers": _declared("Int64"),
        "declared booleans": _declared("boolean"),
        "declared times": _declared("datetime64[us]"),
    }.items()]  # fmt: skip
    doors += [Door("pandas", "read_csv" + way, _read_pandas(**how), _of_pandas, reads_text=True) for way, how in {
        "": {}, ", dtype=str": {"dtype": str}, ", nullable": {"dtype_backend": "numpy_nullable"}, ", Arrow types": {"dtype_backend": "pyarrow"},
    }.items()]  # fmt: skip
    doors += [
        Door("polars", "lists", lambda columns: polars.DataFrame(columns), _of_polars),
        Door("polars", "not strict", lambda columns: polars.DataFrame(columns, strict=False), _of_polars),
        Door("polars", "categories", lambda columns: polars.DataFrame(columns).with_columns(polars.col(polars.String).cast(polars.Categorical)), _of_polars),
        Door("polars", "objects", lambda columns: polars.DataFrame({n: polars.Series(c, dtype=polars.Object) if n == "c" else c for n, c in columns.items()}), _of_polars),
        Door("polars", "from pandas", lambda columns: polars.from_pandas(_frame_for_arrow(columns)), _of_polars),
        Door("polars", "read_csv", lambda columns: polars.read_csv(written(columns, folder)), _of_polars, reads_text=True),
        Door("pyarrow", "lists", _to_arrow, _of_arrow),
        Door("pyarrow", "dictionaries", lambda columns: pyarrow.table({n: _arrow_of(c).dictionary_encode() for n, c in columns.items()}), _of_arrow),
        Door("pyarrow", "chunks", _in_chunks, _of_arrow),
        Door("pyarrow", "from pandas", lambda columns: pyarrow.Table.from_pandas(_frame_for_arrow(columns)), _of_arrow),
        Door("pyarrow", "read_csv", lambda columns: pyarrow.csv.read_csv(written(columns, folder)), _of_arrow, reads_text=True),
        Door("DuckDB", "values", _duckdb_values, _of_duckdb),
        Door("DuckDB", "a frame of pandas", _duckdb_frame, _of_duckdb),
        Door("DuckDB", "an Arrow table", _duckdb_arrow, _of_duckdb),
        Door("DuckDB", "read_csv", lambda columns: duckdb.read_csv(str(written(columns, folder))), _of_duckdb, reads_text=True),
    ]
    return doors


def _in_chunks(columns: Columns) -> Any:
    table = _to_arrow(columns)
    return pyarrow.concat_tables([table.slice(0, 2), table.slice(2)])


def _duckdb_values(columns: Columns) -> Any:
    rows = ", ".join("(" + ", ".join("?" for _ in columns) + ")" for _ in range(len(next(iter(columns.values())))))
    cells = list(itertools.chain.from_iterable(zip(*columns.values(), strict=True)))
    return duckdb.sql(f"select * from (values {rows}) as v({', '.join(columns)})", params=cells)


def _duckdb_frame(columns: Columns) -> Any:
    frame = _frame_for_arrow(columns)
    return duckdb.from_df(frame)


def _duckdb_arrow(columns: Columns) -> Any:
    return duckdb.from_arrow(_to_arrow(columns))


# --- the estimators

_FIT: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", "algorithm": "gradient-descent", "options": {"steps": 1, **REPLAYED}}


class Rows:
    """What an estimator is given: records, labels and maybe owners."""

    def __init__(self, X: Any, y: Any, groups: Any) -> None:
        self.X, self.y, self.groups = X, y, groups


def _as_rows(columns: Columns) -> list[list[Any]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _array_of_rows(columns: Columns) -> Any:
    try:
        made = np.array(_as_rows(columns))
    except Exception as error:
        raise NotMade(str(error)) from None
    if made.ndim != 2:
        raise NotMade("cells of several dimensions")
    return made


def _objects_of_rows(columns: Columns) -> Any:
    made = np.empty((len(next(iter(columns.values()))), len(columns)), object)
    for place, cells in enumerate(columns.values()):
        made[:, place] = objects(cells)
    return made


def _sparse_of_rows(columns: Columns) -> Any:
    return scipy.sparse.csr_array(_array_of_rows(columns))


#: Package, how X is made, what it holds.
_MATRICES: dict[str, tuple[str, Callable[[Columns], Any], Callable[[Any], Columns]]] = {
    "a list of rows": ("lists", _as_rows, lambda X: _held_rows(X)),
    "an array": ("NumPy", _array_of_rows, lambda X: _held_rows(X)),
    "an array of objects": ("NumPy", _objects_of_rows, lambda X: _held_rows(X)),
    "a frame of pandas": ("pandas", pandas.DataFrame, _of_pandas),
    "a frame of objects": ("pandas", lambda columns: pandas.DataFrame(columns, dtype=object), _of_pandas),
    "a frame of Arrow types": ("pandas", _pandas(_of_arrow_dtype), _of_pandas),
    "a frame of polars": ("polars", lambda columns: polars.DataFrame(columns, strict=False), _of_polars),
    "a table of pyarrow": ("pyarrow", _to_arrow, _of_arrow),
    "a sparse matrix": ("SciPy", _sparse_of_rows, lambda X: _held_rows(X.toarray())),
}
#: The same of one column, for labels and owners.
_VECTORS: dict[str, tuple[str, Make, Callable[[Any], Cells]]] = {
    "a list": ("lists", lambda cells: cells, list),
    "an array": ("NumPy", _inferred, list),
    "an array of objects": ("NumPy", objects, list),
    "a series of pandas": ("pandas", pandas.Series, lambda y: [y.iloc[row] for row in range(len(y))]),
    "a series of objects": ("pandas", lambda cells: pandas.Series(cells, dtype=object), lambda y: [y.iloc[row] for row in range(len(y))]),
    "a nullable series": ("pandas", _nullable, lambda y: [y.iloc[row] for row in range(len(y))]),
    "a series of polars": ("polars", lambda cells: polars.Series(cells, strict=False), lambda y: y.to_list()),
    "an array of pyarrow": ("pyarrow", _arrow_of, lambda y: [_arrow_cell(cell) for cell in y]),
}


def _held_rows(rows: Any) -> Columns:
    return {f"x{place}": [row[place] for row in rows] for place in range(len(rows[0]))}


def _classes(pair: Pair) -> list[Any]:
    """Two classes as a person lists them."""
    kinds: dict[str, list[Any]] = {"bool": [False, True], "integer": [1, 7], "float": [1.0, 7.0], "text": ["no", "yes"]}
    return kinds.get(pair.kinds[0], ["1", "7"])


def estimator_question(random: Random, pair: Pair, use: str | None = None, way: str | None = None) -> Asked:
    """A question to an estimator: the column is one of X, y or groups. Rows of the changed record count as zeros, since one of its cells is missing. ``use`` and ``way``
    are drawn unless they are given."""
    use = use or random.choice(["feature", "feature", "label of a classifier", "label of a regressor", "owner"])
    rows = len(pair.unchanged) + 1
    matrix = (way or random.choice(list(_MATRICES))) if use == "feature" else "an array"
    of_matrix, make_matrix, held_matrix = _MATRICES[matrix]
    vector = way if way is not None and use != "feature" else random.choice(list(_VECTORS))
    of_vector, make_vector, held_vector = _VECTORS[vector]
    if use == "feature" and matrix == "a sparse matrix" and random.random() < 0.5:
        bounds = None
    else:
        bounds = (0, 10)
    package = of_matrix if use == "feature" else of_vector

    def columns(side: int) -> Columns:
        return {"c": pair.column(side), "x": pair.numbers(), "whole": pair.constant(1.5, float("nan"))}

    def make(given: Columns) -> Any:
        others = {name: cells for name, cells in given.items() if name != "c"}
        X = make_matrix(given) if use == "feature" else _array_of_rows(others)
        labels = make_vector(given["c"]) if use.startswith("label") else np.array(labels_of(pair))
        return Rows(X, labels, make_vector(given["c"]) if use == "owner" else None)

    def held(made: Any) -> Columns:
        if use == "feature":
            return dict(zip(("c", "x", "whole"), held_matrix(made.X).values(), strict=True))
        return {"c": held_vector(made.groups if use == "owner" else made.y)}

    def ask(made: Any) -> Any:
        ledger = surety.Ledger.in_memory()
        call: dict[str, Any] = {**_FIT, "ledger": ledger, "bounds": bounds}
        if use == "owner":
            call.update(adjacency="add-or-remove-one", most=rows, options={**_FIT["options"], "public_count": rows})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if use == "label of a regressor":
                call["options"] = {**call["options"], "clip": 5}
                fitted: Any = PrivateRegressor(**call, label_bounds=(0, 10)).fit(made.X, made.y)
            else:
                classes = _classes(pair) if use == "label of a classifier" else [0, 1]
                fitted = PrivateClassifier(**call, classes=classes).fit(made.X, made.y, made.groups)
        return [fitted.model_.text(), fitted.model_.report["damaged_records_not_private"]]

    way = f"estimator, {matrix if use == 'feature' else vector}"
    return Door(package, way, make, held), f"{use} of an estimator", Question(ask, columns, owns_alone=use == "owner")


# --- mistakes


def _by_pandas(table: Any) -> Any:
    """Columns of objects as pandas infers them."""
    if not isinstance(table, pandas.DataFrame):
        return table
    return pyarrow.Table.from_pandas(_frame_for_arrow({name: list(table[name]) for name in table}) if _is_of_objects(table) else table, preserve_index=False)


def _is_of_objects(table: Any) -> bool:
    return any(dtype == object for dtype in table.dtypes)


def _scaled_frame(table: Any) -> Any:
    if not isinstance(table, pandas.DataFrame):
        return table
    return pandas.DataFrame({name: scaled(list(table[name])) if table[name].dtype == object else table[name] for name in table})


FRAME_MISTAKES: dict[str, Callable[[Any], Any]] = {
    "pandas infers the type of a column of objects": _by_pandas,
    "decimals take the scale of their column": _scaled_frame,
}


def _bools_as_texts(made: Any) -> Any:
    """Truth values of objects are texts, those of a boolean array are numbers."""
    if isinstance(made.X, pandas.DataFrame):
        X = made.X.copy()
        for name in X:
            if X[name].dtype == object:
                X[name] = [str(cell).lower() if isinstance(cell, bool) else cell for cell in X[name]]
        return Rows(X, made.y, made.groups)
    return made


#: Each with the use and the way in which it shows.
ESTIMATOR_MISTAKES: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "rows of a list become an array of one type": (lambda made: Rows(np.asarray(made.X), made.y, made.groups), "feature", "a list of rows"),
    "labels of a list become an array of one type": (lambda made: Rows(made.X, np.asarray(made.y), made.groups), "label of a classifier", "a list"),
    "owners of a list become an array of one type": (lambda made: Rows(made.X, made.y, np.asarray(made.groups)), "owner", "a list"),
    "truth values of objects are texts": (_bools_as_texts, "feature", "a frame of pandas"),
}


def estimator_question_with(mistake: Callable[[Any], Any], use: str, way: str) -> Callable[[Random, Pair], Asked]:
    """The same questions of what the mistake makes of records, labels and owners."""

    def asked(random: Random, pair: Pair) -> Asked:
        made = estimator_question(random, pair, use, way)
        return None if made is None else (replace(made[0], handed=mistake), *made[1:])

    return asked
