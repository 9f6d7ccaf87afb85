"""Frames of pandas, polars, pyarrow and DuckDB, handed over and taken back."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest

import surety_dp as surety
from surety_dp._sources import numbers_of, texts_of

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e6, "adjacency": "add-or-remove-one"}
BASE: dict[str, list[Any]] = {"x": [1, 2, None, 4], "t": ["a", "b", "b", None]}
TOTAL = surety.sum("x", bounds=(-1000, 1000))
OF_B = surety.count(where="t == b")


def nearly(data: Any, *statistics: surety.Statistic, **more: Any) -> list[float]:
    """The values where there is next to no noise."""
    released = surety.release(data, list(statistics), ledger=surety.Ledger.in_memory(), **{**ROWS, **more})
    return [round(row.value) for row in released.table if row.value is not None]


FRAMES: dict[str, Any] = {
    "pandas": pandas.DataFrame(BASE),
    "pandas, nullable and categorical": pandas.DataFrame({"x": pandas.array(BASE["x"], "Int64"), "t": pandas.Categorical(BASE["t"])}),
    "pandas, in reverse": pandas.DataFrame(BASE).iloc[::-1],
    "pandas, objects": pandas.DataFrame(BASE, dtype=object),
    "polars": polars.DataFrame(BASE),
    "polars, categorical": polars.DataFrame(BASE, schema={"x": polars.Int16, "t": polars.Categorical}),
    "polars, chunks": polars.concat([polars.DataFrame(BASE)[:1], polars.DataFrame(BASE)[1:]], rechunk=False),
    "pyarrow": pyarrow.table(BASE),
    "pyarrow, chunks": pyarrow.concat_tables([pyarrow.table(BASE).slice(0, 3), pyarrow.table(BASE).slice(3)]),
    "pyarrow, a batch": pyarrow.table(BASE).to_batches()[0],
    "pyarrow, dictionary": pyarrow.table({"x": BASE["x"], "t": pyarrow.array(BASE["t"]).dictionary_encode()}),
    "DuckDB": duckdb.sql("select * from (values (1, 'a'), (2, 'b'), (NULL, 'b'), (4, NULL)) as v(x, t)"),
    "NumPy": {name: np.array(column, object) for name, column in BASE.items()},
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_read_alike(name: str) -> None:
    assert nearly(FRAMES[name], TOTAL, OF_B, surety.count(where="missing(x)")) == [7, 2, 1]


def test_names_of_columns_make_no_matrix_of_a_frame() -> None:
    frame = pandas.DataFrame({name: np.arange(6.0) for name in ("tocsr", "indptr", "indices", "data", "x")})
    assert nearly(frame, TOTAL) == [15]
    call: dict[str, Any] = {"label": "x", "above": 2, "algorithm": "gradient-descent", "steps": 1, "unit": None, "epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}
    assert surety.train(frame, **call, ledger=surety.Ledger.in_memory()).columns == ("tocsr", "indptr", "indices", "data")


def test_a_column_is_read_whatever_its_name() -> None:
    """Each column holds one number in all of its rows, so that an answer says which column it is of."""
    names = ["pad", " pad", "pad ", "age", "age, 0.5", '"age"', "'age'", "a>1", "a==b", "a) where b", "(a)", "0.5", "-1", "--x", "@bounds", "not a", "units", "a\nb", " ", "é"]
    columns = {name: [place + 1] * 30 for place, name in enumerate(names)}
    made = [surety.mean(name, bounds=(0, 100)) for name in names] + [surety.quantile(name, 0.9, bounds=(0, 100)) for name in names]
    made += [surety.count(by=name, keys=[place + 1]) for place, name in enumerate(names)]
    for data in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns), duckdb.from_arrow(pyarrow.table(columns))):
        released = surety.release(data, made, ledger=surety.Ledger.in_memory(), **{**ROWS, "epsilon": 1e9})
        found = [number.value for number in released.table]
        assert found == pytest.approx(2 * [place + 1 for place in range(len(names))] + len(names) * [30], abs=0.1)


def test_a_reader_is_read_once() -> None:
    reader = pyarrow.table(BASE).to_reader()
    assert nearly(reader, TOTAL) == [7]
    assert nearly(reader, TOTAL) == [0]


def test_the_same_noise_falls_on_the_same_frame() -> None:
    """Whoever hands it over: under replay the reports are equal."""
    statistics = [surety.mean("x", bounds=(0, 5)), surety.count(by="t", keys=["a", "b"]), surety.quantile("x", 0.25, bounds=(0, 5))]
    call: dict[str, Any] = {"unit": "t", "most": 4, "epsilon": 1, "adjacency": "add-or-remove-one", "replay_seed": 7}
    reports = {surety.release(frame, statistics, ledger=surety.Ledger.in_memory(), **call).json() for frame in FRAMES.values()}
    assert len(reports) == 1


def test_names_alone_are_refused() -> None:
    twice = pandas.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(surety.InvalidArgument, match="column 'x' appears twice in data, must stand once"):
        nearly(twice, TOTAL)
    with pytest.raises(surety.SuretyError, match="column 'x' appears twice"):
        nearly(pyarrow.table([[1], [2]], names=["x", "x"]), TOTAL)
    for frame in (pandas.DataFrame({0: [1]}), pandas.DataFrame({"y": [1]})):
        with pytest.raises(surety.SuretyError, match="column 'x' is missing"):
            nearly(frame, TOTAL)
    named = pandas.DataFrame({"y": [1, 2]}, index=pandas.Index([3, 4], name="x"))
    assert nearly(named, TOTAL) == [7]


def test_what_cannot_be_handed_over_shows_no_cell() -> None:
    class Broken:
        def __arrow_c_stream__(self) -> Any:
            raise ValueError("a secret")

    with pytest.raises(TypeError, match="type Broken, whose __arrow_c_stream__ raises ValueError") as refused:
        nearly(Broken(), TOTAL)
    assert "secret" not in repr(refused.value) and refused.value.__context__ is None


@pytest.mark.parametrize("use", ["by", "histogram", "text", "number", "date", "missing", "mean", "quantile", "keys", "owner", "label"])
def test_no_type_of_a_column_is_refused(use: str) -> None:
    """A package may have chosen it by one cell."""
    columns = {
        "list": pyarrow.array([[1], None]),
        "struct": pyarrow.array([{"a": 1}, None]),
        "null": pyarrow.nulls(2),
        "binary": pyarrow.array([b"a", None]),
        "interval": pyarrow.array([(1, 2, 3), None], pyarrow.month_day_nano_interval()),
        "time": pyarrow.array([1, None], pyarrow.time64("us")),
        "duration": pyarrow.array([1, None], pyarrow.duration("s")),
        "timestamp": pyarrow.array([1, None], pyarrow.timestamp("s", "Europe/Rome")),
        "decimal": pyarrow.array([1, None], pyarrow.decimal256(50, 3)),
        "float": pyarrow.array([1.5, None]),
        "float16": pyarrow.array(np.array([1.5, np.nan], np.float16)),
        "dictionary": pyarrow.array(["a", None]).dictionary_encode(),
        "union": pyarrow.UnionArray.from_dense(pyarrow.array([0, 1], pyarrow.int8()), pyarrow.array([0, 0], pyarrow.int32()), [pyarrow.array([1]), pyarrow.array(["a"])]),
    }
    if use == "date":
        columns["run-end encoded"] = pyarrow.RunEndEncodedArray.from_arrays([2], [1])
    asked: dict[str, Any] = {
        "by": surety.count(by="c", keys=["a", "1.5"]),
        "histogram": surety.histogram("c", categories=["a"]),
        "text": surety.count(where="c == a"),
        "number": surety.count(where="c > 0"),
        "date": surety.count(where="c > 1960-01-01"),
        "missing": surety.count(where="missing(c)"),
        "mean": surety.mean("c", bounds=(0, 5)),
        "quantile": surety.quantile("c", 0.5, bounds=(0, 5)),
        "keys": surety.keys("c"),
        "owner": surety.count(),
    }
    if use == "keys":  # each takes its time to be planned
        columns = {name: columns[name] for name in ("list", "float", "timestamp")}
    more = {"unit": "c", "most": 2} if use == "owner" else {"epsilon": 1, "delta": 1e-6} if use == "keys" else {}
    plan = None if use == "label" else surety.plan([asked[use]], **{**ROWS, **more})
    for column in columns.values():
        frame = pyarrow.table({"c": column, "x": [1.0, 2.0]})
        if plan is None:
            call: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-6, "adjacency": "replace-one", "ledger": surety.Ledger.in_memory()}
            surety.train(frame, label="c", equals="a", bounds={"x": (0, 2)}, algorithm="gradient-descent", steps=1, held_out=0, **call)
        else:
            plan.release(frame, ledger=surety.Ledger.in_memory())


def test_times_and_zones() -> None:
    when = pandas.to_datetime(["2020-01-01", "2021-01-01", None]).tz_localize("Europe/Rome")
    asked = [surety.count(where="when > 2020-06-01"), surety.count(where="when == 2020-12-31"), surety.count(where="missing(when)"), surety.count(where="when > 18518")]
    for frame in (pandas.DataFrame({"when": when}), pandas.DataFrame({"when": when.astype(object)}), polars.from_pandas(pandas.DataFrame({"when": when}))):
        assert nearly(frame, *asked) == [1, 1, 1, 1], "days of UTC"


def test_timestamps_of_every_package_are_days() -> None:
    hours = np.datetime64("2024-01-01T00:00:00") + np.arange(1000).astype("m8[h]")
    asked = [surety.count(where="d >= 2024-01-10"), surety.count(where="d >= '2024-01-10'"), surety.count(by="d", keys=["2024-01-10", "2024-01-10 01:00:00"])]
    frames: list[Any] = [pandas.DataFrame({"d": hours.astype(f"M8[{unit}]")}) for unit in ("s", "ms", "us", "ns")]
    frames += [polars.DataFrame({"d": hours.astype(f"M8[{unit}]")}) for unit in ("ms", "us", "ns")]
    frames += [frames[0].astype(object), pyarrow.table({"d": hours}), duckdb.sql("select timestamp '2024-01-01' + interval (i) hour as d from range(1000) t(i)")]
    for frame in frames:
        assert nearly(frame, *asked) == [784, 784, 1, 1]
    durations = pandas.DataFrame({"x": pandas.to_timedelta(np.arange(1000) % 60, unit="D")})
    for frame in (durations, durations.astype(object), polars.from_pandas(durations)):
        assert abs(surety.release(frame, [surety.mean("x", bounds=(0, 60))], ledger=surety.Ledger.in_memory(), **ROWS).table[0].value - 29.1) < 1e-3


def test_owners_of_every_type() -> None:
    call: dict[str, Any] = {"unit": "who", "most": 2}
    who = np.repeat(np.arange(100), 3)
    objects = pandas.Series([decimal.Decimal(one) for one in who.tolist()], dtype=object)
    for owners in (who, who.astype(str), pandas.Categorical(who.astype(str)), pandas.Categorical(who), who.astype(float), objects, pandas.to_datetime(who, unit="D")):
        assert nearly(pandas.DataFrame({"who": owners, "x": 1.0}), TOTAL, **call) == [200]
    for missing in ([1, 2, None], [1, 2, 3]):
        assert nearly(pandas.DataFrame({"who": missing, "x": 1.0}), TOTAL, **call) == [3]


#: What one cell of a column may be, beside numbers 7 that are of one of these types.
BASES: list[Any] = [7, 7.0, decimal.Decimal("7"), np.int8(7), "7"]
OTHERS: list[Any] = [None, float("nan"), 7.5, decimal.Decimal("1.25"), "a", True, 2**70, pandas.Timestamp("2020-01-01"), pandas.Timedelta(days=3), datetime.date(2020, 1, 1), b"x", [1], 1j, pandas.NA, 2.0**60]
ASKED = [
    surety.count(by="g", keys=["7"]),
    surety.histogram("g", categories=["7"]),
    surety.count(where="g == 7"),
    surety.count(where="g == '7'"),
    surety.sum("g", bounds=(7, 7.0001)),
]


def made_of(cells: list[Any]) -> dict[str, Any]:
    """Frames of these cells by every package that takes them."""
    makers: dict[str, Any] = {
        "pandas": lambda: pandas.DataFrame({"g": cells}),
        "pandas, objects": lambda: pandas.DataFrame({"g": pandas.Series(cells, dtype=object)}),
        "pandas, nullable": lambda: pandas.DataFrame({"g": cells}).convert_dtypes(),
        "pandas, Arrow types": lambda: pandas.DataFrame({"g": cells}).convert_dtypes(dtype_backend="pyarrow"),
        "polars": lambda: polars.DataFrame({"g": cells}),
        "polars, not strict": lambda: polars.DataFrame({"g": cells}, strict=False),
        "polars, objects": lambda: polars.DataFrame({"g": polars.Series(cells, dtype=polars.Object)}),
        "pyarrow": lambda: pyarrow.table({"g": cells}),
        "NumPy": lambda: {"g": np.array(cells)},
        "list": lambda: {"g": cells},
    }
    made = {}
    for name, maker in makers.items():
        try:
            made[name] = maker()
        except Exception:  # it does not take them
            continue
    return made


def first_of(frame: Any) -> Any:
    column = frame["g"]
    return column.to_pylist()[0] if isinstance(column, pyarrow.ChunkedArray) else column.iloc[0] if hasattr(column, "iloc") else column[0]


@pytest.mark.parametrize("base", BASES, ids=[f"{type(base).__name__}" for base in BASES])
def test_one_cell_never_changes_how_others_are_read(base: Any) -> None:
    seen = 0
    for other in OTHERS:
        for name, frame in made_of([base] * 40 + [other]).items():
            first = first_of(frame)
            if isinstance(first, (str, bytes)) != isinstance(base, str) or not first == base:
                continue  # its package has made another cell of it
            found = nearly(frame, *ASKED)
            # The other cell, too, may have become a 7.
            assert found[:4] in ([40] * 4, [41] * 4) and 280 <= found[4] <= 287.1, (name, other)
            seen += 1
    assert seen > 80


def test_columns_of_pandas_of_every_type() -> None:
    integers = [7, None, 8]
    columns = {
        "Int64": (pandas.array(integers, "Int64"), integers),
        "Float32": (pandas.array([0.5, None], "Float32"), [0.5, None]),
        "boolean": (pandas.array([True, None, False], "boolean"), [True, None, False]),
        "Arrow integers": (pandas.array(integers, "int64[pyarrow]"), integers),
        "Arrow texts": (pandas.array(["a", None], "string[pyarrow]"), ["a", None]),
        "Arrow decimals": (pandas.array([decimal.Decimal("7.00"), None], pandas.ArrowDtype(pyarrow.decimal128(9, 2))), [7, None]),
        "Arrow dictionary": (pandas.array(["a", None], pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int8(), pyarrow.string()))), ["a", None]),
        "Python texts": (pandas.array(["a", None], "string[python]"), ["a", None]),
        "categories": (pandas.Categorical(["b", None, "a"]), ["b", None, "a"]),
        "categories of numbers": (pandas.Categorical([7.0, None, 1.5]), [7, None, 1.5]),
        "zones": (pandas.to_datetime(["2020-01-01 01:00", None]).tz_localize("Europe/Rome"), [datetime.date(2020, 1, 1), None]),
        "sparse": (pandas.arrays.SparseArray([0, 7, 0]), [0, 7, 0]),
        "index": (pandas.Index(["a", "b"]), ["a", "b"]),
        "range": (pandas.RangeIndex(3), [0, 1, 2]),
        "periods": (pandas.period_range("2020-01", periods=2, freq="M"), [None, None]),
        "intervals": (pandas.interval_range(0, 2), [None, None]),
        "objects": (pandas.Series([pandas.Timestamp("2020-01-01", tz="UTC"), pandas.NaT, pandas.NA, 7], dtype=object), [datetime.date(2020, 1, 1), None, None, 7]),
        "polars": (polars.Series([7, None, 8]), integers),
        "polars, chunks": (polars.concat([polars.Series([7]), polars.Series([None, 8])], rechunk=False), integers),
        "pyarrow": (pyarrow.chunked_array([[7], [None, 8]]), integers),
        "pyarrow, an array": (pyarrow.array([None, 7, None, 8]).slice(1), integers),
    }
    for name, (column, objects) in columns.items():
        assert texts_of(column) == texts_of(objects), name
        assert np.array_equal(numbers_of(column), numbers_of(objects), equal_nan=True), name
        frame = pandas.DataFrame({"x": column}) if name.split(",")[0] not in ("polars", "pyarrow") else {"x": column}
        assert nearly(frame, surety.count(where="missing(x)"), surety.count(where="x > 0")) == nearly({"x": objects}, surety.count(where="missing(x)"), surety.count(where="x > 0")), name


def test_frames_of_many_batches_are_read_whole() -> None:
    rows = 700_000
    texts = np.array(["a", "b"])[np.arange(rows) % 2]
    objects = pandas.DataFrame({"t": texts.astype(object), "n": pandas.array(np.arange(rows) % 3, "Int64"), "c": pandas.Categorical(texts), "s": texts})
    asked = [surety.count(where="t == b"), surety.count(where="n == 2"), surety.count(where="c == a"), surety.count(where="s == a")]
    assert nearly(objects, *asked) == [350000, 233333, 350000, 350000]


def test_columns_of_duckdb_with_one_other_cell() -> None:
    for other in ("1.25", "null", "7.5::double", "'a'::varchar", "interval 3 day", "date '2020-01-01'"):
        try:
            relation = duckdb.sql(f"select unnest([7, 7, 7]) as g union all select {other}")
            relation.fetchall()
        except duckdb.Error:
            continue
        assert nearly(duckdb.sql(f"select unnest([7, 7, 7]) as g union all select {other}"), surety.count(by="g", keys=["7"]), surety.count(where="g == '7'")) == [3, 3], other


def test_a_table_is_handed_back() -> None:
    data = polars.DataFrame({"x": np.arange(100.0), "g": ["a", "b"] * 50})
    made = surety.release(
        data, [surety.count(by="g", keys=["a", "b"]), surety.median("x", bounds=(0, 100))], ledger=surety.Ledger.in_memory(), **ROWS
    )
    names = ["query", "group", "cell", "value", "lower", "upper", "used", "used_lower", "used_upper", "total", "rank_error", "rank_error_share"]
    of_pandas, of_polars, of_arrow = made.to_pandas(), made.to_polars(), pyarrow.table(made)
    assert list(of_pandas.columns) == of_polars.columns == of_arrow.column_names == names
    assert of_polars.rows() == [tuple(row.values()) for row in of_arrow.to_pylist()] == [tuple(row) for row in made.table]
    assert of_pandas["value"].tolist() == [row.value for row in made.table] and of_pandas["lower"].isna().tolist() == [False, False, True]
    assert duckdb.sql("select count(*) from of_arrow").fetchall() == [(3,)]
    assert nearly(of_polars, surety.count(where="present(lower)")) == [2]


def test_a_large_table_is_not_copied() -> None:
    """Of 1.6 GB of numbers, in a process of its own."""
    program = """
import resource, pyarrow, numpy as np, surety_dp as surety
table = pyarrow.table({"x": np.ones(10**8), "y": np.ones(10**8)})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
surety.release(table, [surety.mean("x", bounds=(0, 2)), surety.count(where="y > 0"), surety.median("y", bounds=(0, 2))],
               unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory())
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    added = int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
    assert added <= 100


class OnceOnly:
    """A table whose stream can be opened once, and only while no other is open."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.opened = 0

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.opened += 1
        assert self.opened == 1, "the stream is opened a second time"
        return self.table.__arrow_c_stream__(requested_schema)


LEARNED = pyarrow.table({"x": [row % 10 for row in range(400)], "who": [row // 4 for row in range(400)], "y": [row % 10 // 5 for row in range(400)]})
LEARN: dict[str, Any] = {"label": "y", "above": 0, "bounds": {"x": (0, 9), "who": (0, 100)}, "unit": None, "epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", "replay_seed": 3}
TUNE: dict[str, Any] = {"algorithm": "gradient-descent", "tune": 2, "tune_over": {"steps": [2, 5]}}
WAYS: list[dict[str, Any]] = [
    {},
    {"algorithm": "gradient-descent", "steps": 3},
    TUNE,
    {"records": 400},
    {"adjacency": "zero-out"},
    {"adjacency": "add-or-remove-one", "records": 400},
    {"unit": "who", "most": 4, "records": 100},
    {"classes": ["0", "1"], "above": None},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_training_opens_its_stream_once(way: dict[str, Any]) -> None:
    """And its model is that of the table, which can be read as often as one likes."""
    if "unit" in way:
        way = {**way, "bounds": {"x": (0, 9)}}
    of_table = surety.train(LEARNED, ledger=surety.Ledger.in_memory(), **{**LEARN, **way})
    for source in (OnceOnly(LEARNED), LEARNED.to_reader(), OnceOnly(pyarrow.concat_tables([LEARNED.slice(0, 7), LEARNED.slice(7)]))):
        made = surety.train(source, ledger=surety.Ledger.in_memory(), **{**LEARN, **way})
        assert made.text() == of_table.text() and made.json() == of_table.json()


def test_a_relation_of_duckdb_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(LEARNED, path)
    of_table = surety.train(LEARNED, ledger=surety.Ledger.in_memory(), **LEARN)
    for is_reader in (False, True):
        relation = duckdb.sql(f"select * from '{path}'")
        assert surety.train(relation.to_arrow_reader() if is_reader else relation, ledger=surety.Ledger.in_memory(), **LEARN).text() == of_table.text()


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_release_opens_its_stream_once(unit: str | None) -> None:
    call: dict[str, Any] = {"unit": unit, "most": None if unit is None else 2, "epsilon": 1, "adjacency": "add-or-remove-one", "replay_seed": 1}
    asked = [surety.mean("x", bounds=(0, 9)), surety.count(by="y", keys=["0", "1"]), surety.median("x", bounds=(0, 9))]
    of_table = surety.release(LEARNED, asked, ledger=surety.Ledger.in_memory(), **call)
    plan = surety.plan(asked, **call)
    for source in (OnceOnly(LEARNED), LEARNED.to_reader()):
        assert surety.release(source, asked, ledger=surety.Ledger.in_memory(), **call).json() == of_table.json()
    assert plan.release(OnceOnly(LEARNED), ledger=surety.Ledger.in_memory()).json() == of_table.json()


def test_plans_and_models_open_a_stream_once() -> None:
    plan = surety.plan_training(**{**LEARN, "algorithm": "gradient-descent", "steps": 3})
    models = [plan.train(source, ledger=surety.Ledger.in_memory()) for source in (LEARNED, OnceOnly(LEARNED), LEARNED.to_reader())]
    assert len({model.text() for model in models}) == 1
    assert models[0].predict_proba(OnceOnly(LEARNED)).tolist() == models[0].predict_proba(LEARNED.to_reader()).tolist() == models[0].predict_proba(LEARNED).tolist()


def test_a_refused_choice_reads_what_fails_once_and_says_so() -> None:
    """What a producer raises while rows are counted comes out as it does while they are learned from."""

    def batches() -> Any:
        yield LEARNED.to_batches()[0]
        raise RuntimeError("a producer that fails")

    for more in ({}, {"algorithm": "gradient-descent", "steps": 3}):
        ledger = surety.Ledger.in_memory(adjacency="replace-one")
        with pytest.raises(surety.SuretyError, match="Arrow stream: its producer fails"):
            surety.train(pyarrow.RecordBatchReader.from_batches(LEARNED.schema, batches()), ledger=ledger, **LEARN, **more)
        assert ledger.audit(1e-6)["runs"] == []


def test_missing_memory_of_a_producer_is_missing_memory() -> None:
    """Of a stream, of objects, and of what makes them: no BAD_DATA, which would blame a cell."""

    class Starved:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise MemoryError

    class Cell(datetime.date):
        def toordinal(self) -> int:
            raise MemoryError

    def batches() -> Any:
        yield LEARNED.to_batches()[0]
        raise MemoryError

    def sources() -> Iterator[Any]:
        yield pyarrow.RecordBatchReader.from_batches(LEARNED.schema, batches())
        yield Starved()
        yield {"x": [1] * 399 + [Cell(2020, 1, 1)], "who": [1] * 400, "y": [0, 1] * 200}

    for learn in (LEARN, {**LEARN, "algorithm": "gradient-descent", "steps": 3}):
        for source in sources():
            ledger = surety.Ledger.in_memory(adjacency="replace-one")
            with pytest.raises(MemoryError):
                surety.train(source, ledger=ledger, **learn)
            assert ledger.audit(1e-6)["runs"] == []


def test_types_of_duckdb_that_arrow_lacks_are_texts() -> None:
    """Integers of any length, and bits."""
    texts = duckdb.sql("""select a::varchar as a, b::varchar as b, c::varchar as c from (values
        (7::bignum, 7::uhugeint, '101'::bit), (12345678901234567890123456789012345678901234567890::bignum, 340282366920938463463374607431768211455::uhugeint, '1'::bit),
        (null, null, null)) as v(a, b, c)""")
    numbers = duckdb.sql("select a::bignum as a, b::uhugeint as b, c::bit as c from texts")
    asked = [surety.keys(name) for name in "abc"] + [surety.mean("a", bounds=(0, 10))]
    call: dict[str, Any] = {"unit": None, "epsilon": 100, "delta": 0.1, "adjacency": "add-or-remove-one", "replay_seed": 1}
    assert len({surety.release(relation, asked, ledger=surety.Ledger.in_memory(), **call).json() for relation in (texts, numbers)}) == 1
