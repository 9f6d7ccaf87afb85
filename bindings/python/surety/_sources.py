"""Tables as the library reads them: frames of other packages by their Arrow streams, arrays of NumPy column by column, paths of CSV files; and sparse matrices.

No message repeats a cell: what a package says of a column that it cannot hand over may show one, so that its words are left out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fsdecode, fspath
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from surety import _arguments, _library

#: Of one column of a batch: the bits of what is there, None where all is, and the values behind them; of texts their offsets and letters.
Buffers: TypeAlias = tuple[Any, ...]
Array: TypeAlias = npt.NDArray[Any]

#: Rows that are handed over at once: what must be converted is, and no copy of a whole column is made.
_ROWS = 1 << 18

_NUMBERS = {"b": "c", "h": "s", "i": "i", "l": "l", "q": "l", "B": "C", "H": "S", "I": "I", "L": "L", "Q": "L", "e": "e", "f": "f", "d": "g"}
_DAYS = 86400
#: Units of NumPy's times, as a unit of Arrow and how many of it one is. Months and years are of no length.
_UNITS = {"W": ("s", 7 * _DAYS), "D": ("s", _DAYS), "h": ("s", 3600), "m": ("s", 60), "s": ("s", 1), "ms": ("m", 1), "us": ("u", 1), "ns": ("n", 1)}


def source_of(data: Any, no_limits: bool) -> _library.Source:
    """``data`` for one run. Raises ``TypeError`` for what is no table."""
    if isinstance(data, (str, bytes, PathLike)):
        path = fsdecode(fspath(data))
        return _library.path_source("./-" if path == "-" else path)  # the command's word for standard input
    if hasattr(data, "__arrow_c_stream__"):
        return _library.arrow_source(_stream_of(data), no_limits)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        if data.ndim != 1:
            raise TypeError(f"data is a structured array of {data.ndim} dimensions, must be of one")
        return _of_arrays({name: data[name] for name in data.dtype.names}, no_limits)
    if _is_sparse(data):
        raise TypeError(f"data is a sparse matrix ({type(data).__name__}), must be a table")
    if isinstance(data, Mapping):
        return _of_arrays(data, no_limits)
    wanted = "a frame with __arrow_c_stream__, a mapping of names to arrays, a structured array or a path"
    if isinstance(data, np.ndarray):
        raise TypeError(f"data is an array without names of columns, must be {wanted}")
    raise TypeError(f"data is of type {type(data).__name__}, must be {wanted}")


def _stream_of(data: Any) -> Any:
    """The capsule of its stream."""
    try:
        return data.__arrow_c_stream__()
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
    values = _flat("data.data", matrix.data, "biuf", "numbers")
    if columns < 0 or len(ends) != rows + 1:
        raise _arguments.invalid("data.indptr and data.shape do not fit together, must have one end for each row after the first 0")
    if labels is not None:
        labels = _flat("labels", np.ma.filled(labels.astype(np.float64), np.nan) if isinstance(labels, np.ma.MaskedArray) else labels, "biuf", "numbers")
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
        except Exception as error:
            why = f"whose tocsr raises {type(error).__name__}"
    elif getattr(matrix, "format", "csr") == "csr":
        return matrix
    else:
        why = f"of the format {matrix.format}"
    # Outside of the handler, as of a stream.
    raise TypeError(f"data is a sparse matrix ({kind}) {why}, must be one of compressed rows")


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


def _of_arrays(data: Mapping[Any, Any], no_limits: bool) -> _library.Source:
    columns = {_arguments.text("a name of a column", name): _array_of(name, column) for name, column in data.items()}
    if not columns:
        raise _arguments.invalid("data has no columns, must have one at least")
    first = next(iter(columns))
    for name, column in columns.items():
        if len(column) != len(columns[first]):
            raise _arguments.invalid(f"columns {first!r} and {name!r} of data have different numbers of rows, must have the same")
    formats = []
    converts = []
    for name, column in columns.items():
        arrow, convert = _conversion(name, column)
        formats.append(arrow)
        converts.append(convert)
    batches = _batches(list(columns.values()), converts)
    return _library.array_source(list(columns), formats, lambda: next(batches, None), no_limits)


def _array_of(name: str, column: Any) -> Array:
    if isinstance(column, (list, tuple)):
        array = np.empty(len(column), dtype=object)
        array[:] = column
        return array
    if not isinstance(column, np.ndarray):
        raise TypeError(f"column {name!r} of data is of type {type(column).__name__}, must be a NumPy array or a list")
    if column.ndim != 1:
        raise TypeError(f"column {name!r} of data has {column.ndim} dimensions, must have one")
    return column


def _batches(columns: list[Array], converts: list[Callable[[Array], Buffers]]) -> Iterator[tuple[int, list[Buffers]]]:
    rows = len(columns[0])
    for begin in range(0, rows, _ROWS):
        end = min(rows, begin + _ROWS)
        yield end - begin, [_with_mask(column[begin:end], convert) for column, convert in zip(columns, converts, strict=True)]


def _with_mask(part: Array, convert: Callable[[Array], Buffers]) -> Buffers:
    """What a masked array masks is missing, whatever lies there."""
    if not isinstance(part, np.ma.MaskedArray):
        return convert(part)
    there, *rest = convert(part.data)
    shown = ~np.ma.getmaskarray(part)
    if there is not None:
        shown &= np.unpackbits(there, count=len(shown), bitorder="little").astype(bool)
    return _bits(shown), *rest


def _bits(flags: Array) -> Array:
    return np.packbits(flags, bitorder="little")


def _conversion(name: str, column: Array) -> tuple[str, Callable[[Array], Buffers]]:
    """The Arrow type of a column, and how a part of it becomes an array of that type."""
    dtype = column.dtype
    if dtype.char in _NUMBERS and dtype.kind in "iuf":
        native = dtype.newbyteorder("=")
        return _NUMBERS[dtype.char], lambda part: (None, np.ascontiguousarray(part, native))
    if dtype.kind == "b":
        return "b", lambda part: (None, _bits(part))
    if dtype.kind == "U":
        return "U", lambda part: _texts([None if one is None else str(one) for one in part.tolist()])
    if dtype.kind == "S":
        return "U", lambda part: _letters(part.tolist())
    if dtype.kind in "Mm":
        unit, count = np.datetime_data(dtype)
        if unit in _UNITS:
            arrow, factor = _UNITS[unit]
            if dtype.kind == "M" and unit == "D" and count == 1:
                return "tdm", lambda part: _times(part, _DAYS * 1000)
            return (f"ts{arrow}:" if dtype.kind == "M" else f"tD{arrow}"), lambda part: _times(part, factor * count)
    if dtype.kind == "O":
        return "U", lambda part: _texts([_text_of_object(one) for one in part])
    raise TypeError(f"column {name!r} of data has dtype {dtype}, must be of numbers, booleans, texts, dates, times or objects")


def _times(part: Array, factor: int) -> Buffers:
    """Numbers of a unit; what lies beyond int64 stands at its end."""
    there = ~np.isnat(part)
    numbers = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("=")).view(np.int64)
    most = (2**63 - 1) // factor
    return None if there.all() else _bits(there), np.clip(np.where(there, numbers, 0), -most, most) * factor


def _texts(part: list[str | None]) -> Buffers:
    return _letters([None if one is None else one.encode("utf-8", "surrogatepass") for one in part])


def _letters(part: list[bytes | None]) -> Buffers:
    offsets = np.zeros(len(part) + 1, np.int64)
    np.cumsum([0 if one is None else len(one) for one in part], out=offsets[1:])
    there = None if None not in part else _bits(np.array([one is not None for one in part]))
    return there, offsets, b"".join(one for one in part if one is not None)


#: Whole numbers from here on are no finite float, and may have more digits than Python writes.
_BEYOND_FLOATS = 1 << 1024


def _text_of_object(value: object) -> str | None:
    """What an object in a column counts as, whatever else stands there: so no cell decides what the others are, or whether a table is refused. Texts are
    themselves, numbers are written out, equal ones alike (7.0 is 7, the same owner), and so count as numbers where numbers are used; all else is missing, as
    are None and NaN."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        whole = int(value)
        return str(whole) if abs(whole) < _BEYOND_FLOATS else "inf"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    return None
