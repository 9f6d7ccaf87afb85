"""Releases of DataFrames of Spark. PySpark 4.1 or later and pyarrow must be installed, and this package on each worker, in the driver's version.

>>> from surety_dp import spark  # doctest: +SKIP
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, Unpack

try:
    import pyarrow
    from pyspark.sql import functions, types
except ImportError as error:
    raise ImportError(f"surety_dp.spark needs PySpark 4.1 or later and pyarrow, which cannot be imported: {error}") from None

from surety_dp import _arguments
from surety_dp._errors import ErrorCode, error_of
from surety_dp._ledger import Ledger
from surety_dp._release import _KEYWORDS, PlanFields
from surety_dp._release import plan as _plan
from surety_dp._released import Released
from surety_dp._signatures import check_keywords, with_other_parameters
from surety_dp._statistics import Statistic
from surety_dp._types import Adjacency
from surety_dp.parts import Ticket, assign, finish, merge, partial

__all__ = ["partials", "release"]

#: Buckets of owners: more parts than these would be empty.
_BUCKETS = 4096
#: Types of owners whose text in Spark is the name that Surety reads.
_NAMES = (types.StringType, types.ByteType, types.ShortType, types.IntegerType, types.LongType)


def _part_of(df: Any, ticket: Ticket, columns: list[str]) -> Any:
    """The part of a row, which follows from its cells alone: a task that is retried puts each row into the same part again. ``columns`` are names of Spark for
    the columns of ``df``."""
    kinds = [field.dataType for field in df.schema]
    if ticket.owner is None:
        cells = [functions.col(name) for name, kind in zip(columns, kinds, strict=True) if isinstance(kind, types.AtomicType)]
        return functions.pmod(functions.xxhash64(*cells), functions.lit(ticket.parts)).cast("int") if cells else functions.lit(0)
    texts: list[Any] = []
    for owner in (ticket.owner,) if isinstance(ticket.owner, str) else ticket.owner:
        if owner not in df.schema.names:
            raise error_of(ErrorCode.BAD_DATA, f"df has no column {owner!r}, must have the column of owners")
        place = df.schema.names.index(owner)
        # Of further columns it only matters whether a cell is there.
        if not isinstance(kinds[place], (*_NAMES, types.DateType) if texts else _NAMES):
            kind = kinds[place].simpleString()
            raise _arguments.invalid(f"column {owner!r} of owners is of type {kind}, must be a string or an integer: cast it to a string before")
        texts.append(functions.coalesce(functions.col(columns[place]).cast("string"), functions.lit("")))
    # As Ticket.part_of.
    name = texts[0]
    for text in texts[1:]:
        name = functions.when(text == "", functions.lit("")).otherwise(name)
    bucket = functions.conv(functions.substring(functions.md5(name), 1, 3), 16, 10).cast("int")
    return functions.pmod(bucket, functions.lit(ticket.parts))


def _adding_up(ticket: Ticket, names: list[str]) -> Callable[..., Iterator[pyarrow.RecordBatch]]:
    """What a worker does with the rows of one part, batch by batch, and with the row that stands for the part. The columns are those of these names, "part" and
    "is_row"."""

    def add_up(key: tuple[pyarrow.Scalar, ...], batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        def rows_of(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
            return batch.filter(batch.column(len(names) + 1)).select(range(len(names))).rename_columns(names)

        number = key[0].as_py()
        first = rows_of(next(batches))
        rows = pyarrow.RecordBatchReader.from_batches(first.schema, itertools.chain([first], map(rows_of, batches)))
        made = partial(ticket, number, rows)
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([number], pyarrow.int32()), pyarrow.array([made], pyarrow.binary())], ["part", "partial"])

    return add_up


def partials(df: Any, ticket: Ticket) -> Any:
    """The partials of all parts of a DataFrame, as a DataFrame. Nothing is computed yet: ``collect`` or another action does.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table. Rows are put into parts by the owner's name as ``Ticket.part_of`` does, and without an owner by a hash of their cells, so that a task that is
        retried makes the same part again.
    ticket : surety_dp.parts.Ticket
        Of ``surety_dp.parts.assign``.

    Returns
    -------
    pyspark.sql.DataFrame
        Of ``part``, an int, and ``partial``, bytes for ``surety_dp.parts.merge``: one row for each part of the ticket, of empty parts, too. PRIVATE.

    Raises
    ------
    BadData
        The column of owners is missing.
    InvalidArgument
        The column of owners is neither of strings nor of integers, or two columns have one name.
    TypeError
        ``df`` is no DataFrame of Spark.

    Notes
    -----
    Spark moves all columns between machines: first select the columns that the plan uses. With an owner, a worker holds the used cells of one part in memory: set `parts` large enough.
    """
    if not hasattr(df, "sparkSession") or not hasattr(df, "schema"):
        raise _arguments.wrong_type("df", df, "a DataFrame of Spark")
    if not isinstance(ticket, Ticket):
        raise _arguments.wrong_type("ticket", ticket, "a surety_dp.parts.Ticket")
    names = df.schema.names
    if len(set(names)) != len(names):
        raise _arguments.invalid("df has two columns of one name, must have different names")
    # PySpark finds columns by name on the way to a worker, and does not find all names.
    columns = [f"c{place}" for place in range(len(names))]
    rows = df.toDF(*columns).select("*", _part_of(df, ticket, columns).alias("part"), functions.lit(True).alias("is_row"))
    # One more row for each part, so that one that has no rows is a partial, too, and one that is lost is missing.
    all_parts = df.sparkSession.range(ticket.parts).select(functions.col("id").cast("int").alias("part"), functions.lit(False).alias("is_row"))
    whole = rows.unionByName(all_parts, allowMissingColumns=True)
    return whole.groupBy("part").applyInArrow(_adding_up(ticket, names), "part int, partial binary")


def release(
    df: Any,
    statistics: Iterable[Statistic],
    *,
    ledger: str | PathLike[str] | Ledger,
    unit: str | Sequence[str] | None,
    epsilon: SupportsFloat,
    adjacency: Adjacency,
    delta: SupportsFloat = 0.0,
    most: SupportsIndex | None = None,
    parts: SupportsIndex | None = None,
    ledger_must_exist: bool = False,
    **said: Unpack[PlanFields],
) -> Released:
    """Releases statistics of a DataFrame of Spark: workers add up parts, and the driver charges the ledger and draws noise once. One action.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table. Select the columns that are used first: all of them are moved between machines.
    statistics : iterable of Statistic
        As ``surety.mean`` and the like make them.
    ledger : path or Ledger
        A ledger of the driver, charged before noise is drawn. A path without a file makes a ledger, unless ``ledger_must_exist``.
    unit : str, list of str, or None
        The column that names the owner of a row, of strings or integers. A list of two or three columns, the first of these types and the others of these or
        dates: the owner is the combination of their values. None: each row is a unit of its own.
    epsilon : float
        The epsilon that all of it together costs at most.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
    delta : float
        The delta of the guarantee. Default 0, pure differential privacy.
    most : int, optional
        The number of rows of an owner that are used. Required with ``unit``.
    parts : int, optional
        The number of parts. With an owner, a worker holds the used cells of one. Default: ``spark.sql.shuffle.partitions``, and at most 4,096.
    ledger_must_exist : bool
        Whether a path without a ledger is an error.

    Returns
    -------
    Released
        As of ``surety.release`` on the whole table: equal to the last bit with the same ``replay_seed``.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint.
    BadData
        The column of owners is missing.
    BudgetExceeded
        The budget of the ledger does not allow it. Nothing is read.
    NotSupported, Unreachable
        No noise keeps the promise.
    SystemFailure
        The ledger cannot be opened or written.
    TypeError
        An argument has another type, or a keyword is unknown.

    Notes
    -----
    What fails on a worker is an exception of Spark, and costs nothing: the charge follows the action. Its message shows no cell, unless ``form_is_public``.
    """
    made = _plan(statistics, unit=unit, epsilon=epsilon, adjacency=adjacency, delta=delta, most=most, **said)
    if not hasattr(df, "sparkSession"):
        raise _arguments.wrong_type("df", df, "a DataFrame of Spark")
    if parts is None:
        parts = min(int(df.sparkSession.conf.get("spark.sql.shuffle.partitions")), _BUCKETS)
    ticket = assign(made, parts, ledger=ledger, ledger_must_exist=ledger_must_exist)
    collected = [row.partial for row in partials(df, ticket).collect()]
    return finish(ticket, merge(collected), ledger=ledger, ledger_must_exist=ledger_must_exist)


release.__doc__ = with_other_parameters(release.__doc__, _KEYWORDS.items())
check_keywords(globals(), __all__)
