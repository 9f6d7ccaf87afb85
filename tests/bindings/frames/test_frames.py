"""Frames of pandas, polars, pyarrow and DuckDB, handed over and taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import surety

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e6, "adjacency": "add-or-remove-one"}
BASE: dict[str, list[Any]] = {"x": [1, 2, None, 4], "t": ["a", "b", "b", None]}
TOTAL = surety.sum("x", bounds=(-1000, 1000))
OF_B = surety.count(where="t == b")


def nearly(data: Any, *statistics: surety.Statistic, **more: Any) -> list[float]:
    """The values where there is next to no noise."""
    report = json.loads(surety.release(data, list(statistics), ledger=surety.Ledger.in_memory(), **{**ROWS, **more}).json())
    return [round(query["value"]) for query in report.get("queries", [report])]


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


def test_what_cannot_be_handed_over_shows_no_cell() -> None:
    mixed = pandas.DataFrame({"x": [1, 2], "other": [1, "a secret"]})
    twice = pandas.DataFrame([[1, 2]], columns=["x", "x"])
    for frame in (mixed, twice):
        with pytest.raises(TypeError, match="type DataFrame, whose __arrow_c_stream__ raises") as refused:
            nearly(frame, TOTAL)
        assert "secret" not in repr(refused.value) and refused.value.__context__ is None
    with pytest.raises(surety.SuretyError, match="column 'x' appears twice"):
        nearly(pyarrow.table([[1], [2]], names=["x", "x"]), TOTAL)
    for frame in (pandas.DataFrame({0: [1]}), pandas.DataFrame({"y": [1]})):
        with pytest.raises(surety.SuretyError, match="column 'x' is missing"):
            nearly(frame, TOTAL)
    with pytest.raises(surety.SuretyError, match="column 'x' is of the type"):
        nearly(pyarrow.table({"x": [[1], [2]]}), TOTAL)


def test_times_and_zones() -> None:
    when = pandas.to_datetime(["2020-01-01", "2021-01-01", None]).tz_localize("Europe/Rome")
    for frame in (pandas.DataFrame({"when": when}), polars.from_pandas(pandas.DataFrame({"when": when}))):
        assert nearly(frame, surety.count(where="when > 1600000000"), surety.count(where="missing(when)")) == [1, 1]


def test_owners_are_texts_or_integers() -> None:
    call: dict[str, Any] = {"unit": "who", "most": 2}
    who = np.repeat(np.arange(100), 3)
    for owners in (who, who.astype(str), pandas.Categorical(who.astype(str))):
        assert nearly(pandas.DataFrame({"who": owners, "x": 1.0}), TOTAL, **call) == [200]
    with pytest.raises(surety.SuretyError, match="'who' is of the type float64"):
        nearly(pandas.DataFrame({"who": who.astype(float), "x": 1.0}), TOTAL, **call)


def test_a_table_is_handed_back() -> None:
    data = polars.DataFrame({"x": np.arange(100.0), "g": ["a", "b"] * 50})
    made = surety.release(
        data, [surety.count(by="g", keys=["a", "b"]), surety.median("x", bounds=(0, 100))], ledger=surety.Ledger.in_memory(), **ROWS
    )
    names = ["query", "group", "cell", "value", "lower", "upper"]
    of_pandas, of_polars, of_arrow = made.to_pandas(), made.to_polars(), pyarrow.table(made)
    assert list(of_pandas.columns) == of_polars.columns == of_arrow.column_names == names
    assert of_polars.rows() == [tuple(row.values()) for row in of_arrow.to_pylist()] == [tuple(row) for row in made.table]
    assert of_pandas["value"].tolist() == [row.value for row in made.table] and of_pandas["lower"].isna().tolist() == [False, False, True]
    assert duckdb.sql("select count(*) from of_arrow").fetchall() == [(3,)]
    assert nearly(of_polars, surety.count(where="present(lower)")) == [2]


def test_a_large_table_is_not_copied() -> None:
    """Of 1.6 GB of numbers, in a process of its own."""
    program = """
import resource, pyarrow, numpy as np, surety
table = pyarrow.table({"x": np.ones(10**8), "y": np.ones(10**8)})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
surety.release(table, [surety.mean("x", bounds=(0, 2)), surety.count(where="y > 0"), surety.median("y", bounds=(0, 2))],
               unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory())
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    added = int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
    assert added <= 100
