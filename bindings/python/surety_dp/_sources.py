"""Tables as the library reads them: column by column from frames of pandas, arrays of NumPy, lists and Arrow columns, as Arrow streams from other frames, paths of
CSV files; and sparse matrices.

What a cell counts as depends on the cell alone (data/arrow/arrow_stream.h says as what), never on what another package made of its column: its type may follow from
one cell, and so may an error. Python objects are handed over one by one.

No message repeats a cell: what a package says of a column that it cannot hand over may show one, so that its words are left out.
"""

from __future__ import annotations

import datetime
import fractions
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from surety_dp import _arguments, _library
from surety_dp._errors import ErrorCode, error_of

Array: TypeAlias = npt.NDArray[Any]

#: Rows that are handed over at once: what must be converted is, and no copy of a whole column is made.
_ROWS = 1 << 18

_NUMBERS = {"b": "c", "h": "s", "i": "i", "l": "l", "q": "l", "B": "C", "H": "S", "I": "I", "L": "L", "Q": "L", "e": "e", "f": "f", "d": "g"}
_DAYS = 86400
#: Units of NumPy's times, as a unit of Arrow and how many of it one is. Finer ones are rounded down; a month or a year is its first day, and no duration.
_UNITS = {"W": ("s", 7 * _DAYS), "D": ("s", _DAYS), "h": ("s", 3600), "m": ("s", 60), "s": ("s", 1), "ms": ("m", 1), "us": ("u", 1), "ns": ("n", 1)}
_FINER = ("ps", "fs", "as")
#: Where a time stands in the union of bindings/python/objects.cpp.
_DAY_MEMBER, _MICROSECOND_OF_DAY_MEMBER = 5, 14
_INSTANT_MEMBERS = {"s": 6, "m": 7, "u": 8, "n": 9}
_DURATION_MEMBERS = {"s": 10, "m": 11, "u": 12, "n": 13}
_MOST = 2**63 - 1


_WANTED = "a frame of pandas, polars, pyarrow or DuckDB, a mapping of names to columns, a structured array or the path of a CSV file"


#: Objects that are often passed as a table and are none, by module and class, with what to pass instead.
_NEARLY_TABLES = {
    ("polars", "LazyFrame"): "pass frame.collect()",
    ("pandas.api.typing", "DataFrameGroupBy"): "pass the frame, and by= and keys= to the statistics",
    ("pandas.api.typing", "SeriesGroupBy"): "pass the frame, and by= and keys= to the statistics",
    ("polars.dataframe.group_by", "GroupBy"): "pass the frame, and by= and keys= to the statistics",
    ("pyarrow.parquet", "ParquetFile"): "pass file.read(), or the path of the file",
    ("pyarrow.dataset", "Dataset"): "pass dataset.to_table()",
    ("io", "IOBase"): "pass the path of the file",
}


def _require_table(data: Any) -> None:
    """Raises ``TypeError``, with what to pass instead, for an object that is often passed as a table and is none."""
    for (package, kind), remedy in _NEARLY_TABLES.items():
        if _is_of(data, package, kind):
            raise TypeError(f"data is of type {type(data).__name__}, must be a table: {remedy}")
    if isinstance(data, (list, tuple)):
        raise TypeError(f"data is of type {type(data).__name__}, must be {_WANTED}: pass a frame of it, or a mapping of names to columns")
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        raise TypeError(f"data is an array without names of columns, must be {_WANTED}: pass columns= with a name for each column")


def _name_of_series(series: Any) -> str:
    name = series.name
    if not isinstance(name, str) or not name:
        raise _arguments.invalid(f"data is a {type(series).__name__} whose name is {name!r}, must have a text as its name: pass a mapping, such as {{'x': series}}")
    return name


def is_series(data: Any) -> bool:
    return _is_of(data, "pandas", "Series") or _is_of(data, "polars", "Series")


def is_column(data: Any) -> bool:
    """Whether ``data`` is one column: a Series, an array or a list."""
    return is_series(data) or isinstance(data, (list, tuple, np.ndarray)) or _is_of(data, "pandas", "Index") or _is_of(data, "pyarrow", "Array", "ChunkedArray")


def named_column(column: Any) -> tuple[str, Any]:
    """A column and its name, "value" where it has none."""
    name = getattr(column, "name", None) if is_series(column) else None
    return (name if isinstance(name, str) and name else "value"), column


def named_by(data: Any, columns: Any) -> Any:
    """An array with a name for each of its columns. Raises ``TypeError`` for an array of other than one or two dimensions, and ``InvalidArgument`` for another number
    of names."""
    names = _arguments.texts("columns", columns)
    array = np.asarray(data)
    if array.ndim not in (1, 2):
        raise TypeError(f"data is an array of {array.ndim} dimensions, must have one or two")
    parts = [array] if array.ndim == 1 else [array[:, place] for place in range(array.shape[1])]
    if len(names) != len(parts):
        raise _arguments.invalid(f"columns has {len(names)} names, must have one for each of the {len(parts)} columns of data")
    return _named(names, parts)


def is_plain_array(data: Any) -> bool:
    return isinstance(data, np.ndarray) and not isinstance(data, np.ma.MaskedArray) and data.dtype.names is None


_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


def read_parquet(data: Any) -> Any:
    """For the path of a Parquet file a table that pyarrow reads batch by batch; other data are returned unchanged. Raises ``ImportError`` without pyarrow, and
    ``BadData``, without the message of pyarrow, which may show a cell, if the file cannot be read."""
    if not isinstance(data, (str, bytes, PathLike)):
        return data
    path = _arguments.path("data", data)
    if not path.lower().endswith((".parquet", ".pq")) or not os.path.isfile(path):
        return data
    parquet, pyarrow = _arguments.package("pyarrow.parquet", f"data {path!r}, a Parquet file,"), _arguments.package("pyarrow", "Parquet")
    try:
        file = parquet.ParquetFile(path)
        # An index of pandas without a name is no column of its frame.
        names = [name for name in file.schema_arrow.names if not _INDEX_OF_PANDAS.fullmatch(name)]
        schema = pyarrow.schema([file.schema_arrow.field(name) for name in names])
        return pyarrow.RecordBatchReader.from_batches(schema, file.iter_batches(columns=names))
    except Exception as error:
        kind = type(error).__name__
    raise error_of(ErrorCode.BAD_DATA, f"{path}: cannot be read as Parquet, pyarrow raises {kind}")


def source_of(data: Any, no_limits: bool) -> _library.Source:
    """``data`` for one run. Raises ``TypeError`` for what is no table."""
    data = read_parquet(data)
    if isinstance(data, (str, bytes, PathLike)):
        path = _arguments.path("data", data)
        return _library.path_source("./-" if path == "-" else path)  # the command's word for standard input
    if _is_of(data, "duckdb", "DuckDBPyRelation"):
        data = _with_texts(data)
    if is_series(data):
        name = _name_of_series(data)
        data = data.to_frame(name)
    if hasattr(data, "__arrow_c_stream__") and not _is_read_by_columns(data):
        return _library.arrow_source(_stream_of(data), no_limits)
    _require_table(data)
    return _of_columns(columns_of(data), no_limits)


def _package(name: str) -> Any:
    """Of a package that made the data, if it was imported: without it there is nothing of it."""
    return sys.modules.get(name)


def _is_of(data: Any, package: str, *kinds: str) -> bool:
    module = _package(package)
    return module is not None and isinstance(data, tuple(getattr(module, kind) for kind in kinds if hasattr(module, kind)))


#: Types of DuckDB that Arrow has no type for: their bytes would be read as other cells. One number of 40 digits makes a column of a CSV file such.
_WITHOUT_ARROW_TYPE = {"BIGNUM", "VARINT", "UHUGEINT", "BIT"}


def _with_texts(relation: Any) -> Any:
    """A relation of DuckDB with texts in the place of what Arrow cannot hold; it runs when it is read."""
    kinds = [str(kind) for kind in relation.types]
    if _WITHOUT_ARROW_TYPE.isdisjoint(kinds):
        return relation
    names = ['"' + name.replace('"', '""') + '"' for name in relation.columns]
    shown = [f"cast({name} as varchar) as {name}" if kind in _WITHOUT_ARROW_TYPE else name for name, kind in zip(names, kinds, strict=True)]
    return relation.project(", ".join(shown))


def _is_read_by_columns(frame: Any) -> bool:
    """Whether its package would look at all cells of a column before it hands them over."""
    if _is_of(frame, "pandas", "DataFrame"):
        return True
    return _is_of(frame, "polars", "DataFrame") and any(kind == _package("polars").Object for kind in frame.dtypes)


def columns_of(data: Any) -> dict[str, Any]:
    """The columns of a table by their names, each as its package has it: nothing is copied, and no cell is looked at. A frame of pandas, polars or pyarrow, a
    mapping of names to columns, a structured array; a matrix of NumPy, or a list of rows, whose columns are ``x0``, ``x1`` and so on.

    Raises ``TypeError`` for what is no table, and ``InvalidArgument`` for names that stand twice, columns of different lengths and rows of different lengths.
    """
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        if data.ndim != 1:
            raise TypeError(f"data is a structured array of {data.ndim} dimensions, must be of one")
        return {name: data[name] for name in data.dtype.names}
    if _is_sparse(data):
        raise TypeError(f"data is a sparse matrix ({type(data).__name__}), must be a table")
    if _is_of(data, "pandas", "DataFrame"):
        return _of_frame(data)
    if _is_of(data, "polars", "DataFrame"):
        return _named(data.columns, data.get_columns())
    if _is_of(data, "pyarrow", "Table", "RecordBatch"):
        return _named(data.schema.names, list(data.columns))
    if isinstance(data, Mapping):
        return {_arguments.text("a name of a column", name): column for name, column in data.items()}
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {f"x{place}": data[:, place] for place in range(data.shape[1])}
    if isinstance(data, (list, tuple)) and all(isinstance(row, (list, tuple, np.ndarray)) for row in data):
        return _of_rows(data)
    if isinstance(data, np.ndarray):
        raise TypeError(f"data is an array of {data.ndim} dimensions, must have two")
    raise TypeError(f"data is of type {type(data).__name__}, must be {_WANTED}")


def _of_frame(frame: Any) -> dict[str, Any]:
    """Of pandas, whose index is one of its columns where it has a name."""
    named = _named([_arguments.text("a name of a column", str(name)) for name in frame.columns], [frame.iloc[:, place] for place in range(frame.shape[1])])
    for level, name in enumerate(frame.index.names):
        if name is not None:
            named.setdefault(_arguments.text("a name of a column", str(name)), frame.index.get_level_values(level))
    return named


def _named(names: Sequence[str], columns: Sequence[Any]) -> dict[str, Any]:
    made = dict(zip(names, columns, strict=True))
    if len(made) != len(columns):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise _arguments.invalid(f"column {twice!r} appears twice in data, must stand once")
    return made


def _of_rows(rows: Sequence[Any]) -> dict[str, Any]:
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise _arguments.invalid("data has rows of different lengths, must be of one")
    return {f"x{place}": [row[place] for row in rows] for place in range(width)}


def _stream_of(data: Any) -> Any:
    """The capsule of its stream."""
    try:
        return data.__arrow_c_stream__()
    except MemoryError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # Outside of the handler: its error would stand beside this one, with a cell in it maybe.
    raise TypeError(f"data is of type {type(data).__name__}, whose __arrow_c_stream__ raises {kind}, must be a table that Arrow can hold")


class SparseRows(NamedTuple):
    """The rows of a matrix, compressed, and their labels, if there are any."""

    columns: int
    ends: Array
    indices: Array
    values: Array
    labels: Array | None

    def source(self) -> _library.Source:
        """For one run. Raises ``InvalidArgument`` where the ends of rows do not fit the rest."""
        return _library.sparse_source(self.columns, self.ends, self.indices, self.indices.dtype == np.int64, self.values, self.labels)


def _has_rows(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("indptr", "indices", "data", "shape"))


def _is_sparse(data: Any) -> bool:
    # Columns of a frame may have any name, and be attributes of it.
    if isinstance(data, np.ndarray) or hasattr(data, "__arrow_c_stream__"):
        return False
    return hasattr(data, "tocsr") or _has_rows(data)


def sparse_rows_of(data: Any, *, labelled: bool) -> SparseRows | None:
    """Of a sparse matrix, of SciPy or with ``indptr``, ``indices``, ``data`` and ``shape`` as its CSR matrices have them, or of a pair of one and its labels;
    None of everything else. Raises ``TypeError`` for arrays of other types, and for none where labels must be there; ``InvalidArgument`` for shapes that do not
    fit together.
    """
    matrix, labels = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    if not _is_sparse(matrix):
        return None
    if labelled and labels is None:
        raise TypeError("data is a sparse matrix without labels, must be a pair of the matrix and the labels of its rows")
    matrix = _compressed(matrix)
    if not isinstance(matrix.shape, tuple) or len(matrix.shape) != 2:
        raise TypeError("data is a sparse array of other than two dimensions, must have rows and columns")
    rows, columns = (operator.index(size) for size in matrix.shape)
    indices = _flat("data.indices", matrix.indices, "iu", "integers")
    ends = np.array(_flat("data.indptr", matrix.indptr, "iu", "integers"), np.int64)
    values = _numbers("data.data", matrix.data)
    if columns < 0 or len(ends) != rows + 1:
        raise _arguments.invalid("data.indptr and data.shape do not fit together, must have one end for each row after the first 0")
    if labels is not None:
        labels = _numbers("labels", labels)
        if len(labels) != rows:
            raise _arguments.invalid("data and labels have different numbers of rows, must have the same")
        labels = np.require(labels, np.float64, ["C", "A"])
    narrow = np.can_cast(indices.dtype, np.int32)
    return SparseRows(columns, ends, np.require(indices, np.int32 if narrow else np.int64, ["C", "A"]), np.require(values, np.float64, ["C", "A"]), labels)


def _compressed(matrix: Any) -> Any:
    """As compressed rows."""
    kind = type(matrix).__name__
    if hasattr(matrix, "tocsr"):
        try:
            made = matrix.tocsr()
            if _has_rows(made):
                return made
            why = f"whose tocsr gives a {type(made).__name__}"
        except MemoryError:
            raise
        except Exception as error:
            why = f"whose tocsr raises {type(error).__name__}"
    elif getattr(matrix, "format", "csr") == "csr":
        return matrix
    else:
        why = f"of the format {matrix.format}"
    # Outside of the handler, as of a stream.
    raise TypeError(f"data is a sparse matrix ({kind}) {why}, must be one of compressed rows")


def _numbers(name: str, column: Any) -> Array:
    """A column as numbers, cell by cell: one that is none is NaN, and has no say in what others are."""
    if isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray) and column.dtype.kind in "biuf":
        return _flat(name, column, "biuf", "numbers")
    if getattr(column, "ndim", 1) != 1:
        raise TypeError(f"{name} has {column.ndim} dimensions, must have one")
    return numbers_of(column)


def _flat(name: str, array: Any, kinds: str, wanted: str) -> Array:
    found = np.asarray(array)
    if found.ndim != 1:
        raise TypeError(f"{name} has {found.ndim} dimensions, must have one")
    if found.dtype.kind not in kinds:
        raise TypeError(f"{name} has dtype {found.dtype}, must be of {wanted}")
    return found


def records_of(data: Any, no_limits: bool, *, labelled: bool) -> _library.Source:
    """As ``source_of``, of sparse matrices too."""
    rows = sparse_rows_of(data, labelled=labelled)
    return source_of(data, no_limits) if rows is None else rows.source()


class _Column(NamedTuple):
    """One column for the library: what Arrow calls its type, a stream of that type, or None of objects; and the rows from one to before another, as
    ``array_source`` takes them."""

    rows: int
    type: Any
    part: Callable[[int, int], Any]


def _of_columns(data: Mapping[str, Any], no_limits: bool) -> _library.Source:
    columns = {name: _column(name, column) for name, column in data.items()}
    if not columns:
        raise _arguments.invalid("data has no columns, must have one at least")
    first = next(iter(columns))
    for name, column in columns.items():
        if column.rows != columns[first].rows:
            raise _arguments.invalid(f"columns {first!r} and {name!r} of data have different numbers of rows, must have the same")
    batches = _batches(list(columns.values()))
    types = [column.type for column in columns.values()]
    return _library.array_source(list(columns), types, lambda: next(batches, None), _cell_of, no_limits, columns[first].rows)


def _batches(columns: list[_Column]) -> Iterator[tuple[int, list[Any]]]:
    rows = columns[0].rows
    for begin in range(0, rows, _ROWS):
        end = min(rows, begin + _ROWS)
        yield end - begin, [column.part(begin, end) for column in columns]


def rows_in(column: Any) -> int:
    """How many cells a column has."""
    return _column("cells", column).rows


def numbers_of(column: Any) -> Array:
    """The number of each cell, NaN where there is none."""
    return np.frombuffer(_library.cells_of(_of_columns({"cells": column}, True), False), np.float64)


def texts_of(column: Any) -> list[str | None]:
    """The text of each cell, None where there is none: equal whole numbers have one text, a truth value is "true" or "false"."""
    texts: list[str | None] = _library.cells_of(_of_columns({"cells": column}, True), True)
    return texts


def classes_of(column: Any, classes: Sequence[str]) -> Array:
    """The place of each cell's text in ``classes``, -1 for what is none of them. A truth value that is not named so is "1" or "0"."""
    places = {text: place for place, text in enumerate(classes)}
    of_truth = {"true": places.get("1", -1), "false": places.get("0", -1)}
    texts = texts_of(column)
    found = np.array([places.get(text, -1) if text is not None else -1 for text in texts], np.int64)
    if any(text in of_truth and text not in places for text in texts):
        # A text that says so is no number.
        are_truths = ~np.isnan(numbers_of(column))
        for place, text in enumerate(texts):
            if text in of_truth and text not in places and are_truths[place]:
                found[place] = of_truth[text]
    return found


def _column(name: str, column: Any) -> _Column:
    if isinstance(column, (list, tuple)):
        return _Column(len(column), None, lambda begin, end: list(column[begin:end]))
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise TypeError(f"column {name!r} of data has {column.ndim} dimensions, must have one")
        return _of_array(name, column)
    if _is_of(column, "pandas", "Series", "Index") or _is_of(column, "pandas.api.extensions", "ExtensionArray"):
        return _of_pandas(name, column)
    if _is_of(column, "polars", "Series"):
        return _of_polars(column)
    if _is_of(column, "pyarrow", "Array", "ChunkedArray"):
        return _of_arrow(column)
    raise TypeError(f"column {name!r} of data is of type {type(column).__name__}, must be a NumPy array or a list")


def _of_pandas(name: str, column: Any) -> _Column:
    """By its type, which says how cells are stored, and nothing of what they are."""
    pandas = _package("pandas")
    series = column if isinstance(column, pandas.Series) else pandas.Series(column)
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _of_array(name, series.to_numpy())
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        values = np.array([*_objects(dtype.categories), None], object)  # the last one is that of code -1
        return _Column(len(codes), None, lambda begin, end: values[codes[begin:end]].tolist())
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return _of_array(name, series.to_numpy(f"datetime64[{dtype.unit}]"))
    if isinstance(dtype, pandas.ArrowDtype) or (isinstance(dtype, pandas.StringDtype) and dtype.storage == "pyarrow"):
        return _of_arrow(series.array.__arrow_array__())
    if hasattr(dtype, "numpy_dtype"):  # nullable numbers and truth values
        missing = series.isna().to_numpy()
        return _of_array(name, np.ma.MaskedArray(series.to_numpy(dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0)), missing))
    if isinstance(dtype, pandas.SparseDtype):
        return _of_array(name, np.asarray(series))
    return _of_array(name, series.to_numpy(object))


def _objects(column: Any) -> list[Any]:
    return column.astype(object).tolist()  # type: ignore[no-any-return]


def _of_polars(column: Any) -> _Column:
    if column.dtype == _package("polars").Object:
        return _Column(len(column), None, lambda begin, end: column[begin:end].to_list())
    return _Column(len(column), column[:0].__arrow_c_stream__(), lambda begin, end: column[begin:end].rechunk().__arrow_c_stream__())


def _of_arrow(column: Any) -> _Column:
    pyarrow = _package("pyarrow")
    whole = pyarrow.chunked_array([column]) if isinstance(column, pyarrow.Array) else column

    def part(begin: int, end: int) -> Any:
        chunks = whole.slice(begin, end - begin).chunks
        one = chunks[0] if len(chunks) == 1 else pyarrow.concat_arrays(chunks)
        return pyarrow.chunked_array([one]).__arrow_c_stream__()

    return _Column(len(whole), whole.slice(0, 0).__arrow_c_stream__(), part)


def _of_array(name: str, array: Array) -> _Column:
    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    plain = np.asarray(array.data if isinstance(array, np.ma.MaskedArray) else array)
    kind, convert = _conversion(name, plain)
    if mask is None:
        return _Column(len(plain), kind, lambda begin, end: convert(plain[begin:end]))

    def part(begin: int, end: int) -> Any:
        """What a masked array masks is missing, whatever lies there."""
        made, is_masked = convert(plain[begin:end]), mask[begin:end]
        if kind is None:
            return [None if hidden else one for one, hidden in zip(made, is_masked.tolist(), strict=True)]
        there, *rest = made
        shown = ~is_masked
        if there is not None:
            shown &= np.unpackbits(there, count=len(shown), bitorder="little").astype(bool)
        return _bits(shown), *rest

    return _Column(len(plain), kind, part)


def _bits(flags: Array) -> Array:
    return np.packbits(flags, bitorder="little")


def _conversion(name: str, column: Array) -> tuple[str | None, Callable[[Array], Any]]:
    """The Arrow type of a column, and how a part of it becomes the buffers of an array of that type; None of objects, which become a list."""
    dtype = column.dtype
    if dtype.char in _NUMBERS and dtype.kind in "iuf":
        native = dtype.newbyteorder("=")
        return _NUMBERS[dtype.char], lambda part: (None, np.ascontiguousarray(part, native))
    if dtype.kind == "f":
        return "g", lambda part: (None, part.astype(np.float64))
    if dtype.kind == "c":
        # Equal to a real number, or none.
        return "g", lambda part: (None, np.where(part.imag == 0, part.real, np.nan).astype(np.float64))
    if dtype.kind == "b":
        return "b", lambda part: (None, _bits(part))
    if dtype.kind in "Mm":
        return _conversion_of_times(dtype)
    if dtype.kind in "USOT":
        return None, lambda part: part.tolist()
    if dtype.kind == "V":
        return None, lambda part: [None] * len(part)
    raise TypeError(f"column {name!r} of data has dtype {dtype}, must be of numbers, booleans, texts, dates, times or objects")


def _conversion_of_times(dtype: np.dtype[Any]) -> tuple[str | None, Callable[[Array], Any]]:
    unit, count = np.datetime_data(dtype)
    is_instant = dtype.kind == "M"
    if unit in _UNITS:
        arrow, factor = _UNITS[unit]
        return (f"ts{arrow}:" if is_instant else f"tD{arrow}"), lambda part: _times(part, factor * count)
    if unit in _FINER or (is_instant and unit in "YM"):
        shown = "ns" if unit in _FINER else "D"
        to, convert = _conversion_of_times(np.dtype(f"{dtype.kind}8[{shown}]"))
        return to, lambda part: convert(part.astype(f"{dtype.kind}8[{shown}]"))
    return None, lambda part: [None] * len(part)  # of no length


def _times(part: Array, factor: int) -> tuple[Array | None, Array]:
    """Numbers of a unit; what lies beyond int64 stands at its end."""
    there = ~np.isnat(part)
    numbers = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("=")).view(np.int64)
    most = _MOST // factor
    return None if there.all() else _bits(there), np.clip(np.where(there, numbers, 0), -most, most) * factor


_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def _cell_of(value: Any) -> object:
    """What an object of another type than Python's own numbers and texts counts as: one of these, a time as its place in the union and its units, or None, a
    missing cell. The caller takes an exception for None."""
    if isinstance(value, np.generic):
        if value.dtype.kind in "Mm":
            return _cell_of_time(value)
        if value.dtype.kind in "iub":
            return value.item()
        if value.dtype.kind == "f":
            return float(value)
        return _cell_of(value.item()) if value.dtype.kind == "c" else None
    if isinstance(value, (datetime.datetime, datetime.timedelta)):
        for name in ("to_datetime64", "to_timedelta64"):  # of pandas, whose times are finer
            if hasattr(value, name):
                return _cell_of_time(getattr(value, name)())
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None and value.utcoffset() is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return _INSTANT_MEMBERS["u"], (value - _EPOCH) // _MICROSECOND
    if isinstance(value, datetime.date):
        return _DAY_MEMBER, value.toordinal() - _EPOCH.toordinal()
    if isinstance(value, datetime.timedelta):
        return _DURATION_MEMBERS["u"], value // _MICROSECOND
    if isinstance(value, datetime.time):
        return _MICROSECOND_OF_DAY_MEMBER, ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
    if isinstance(value, fractions.Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    if isinstance(value, complex):
        return value.real if value.imag == 0 else None
    return None


def _cell_of_time(value: Any) -> object:
    units = int(value.view(np.int64))
    if units == -_MOST - 1:
        return None
    unit, count = np.datetime_data(value.dtype)
    if unit not in _UNITS:
        is_instant = value.dtype.kind == "M"
        if unit not in _FINER and not (is_instant and unit in "YM"):
            return None
        return _cell_of_time(value.astype(f"{value.dtype.kind}8[{'ns' if unit in _FINER else 'D'}]"))
    arrow, factor = _UNITS[unit]
    most = _MOST // (factor * count)
    return (_INSTANT_MEMBERS if value.dtype.kind == "M" else _DURATION_MEMBERS)[arrow], max(-most, min(units, most)) * factor * count
