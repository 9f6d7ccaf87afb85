"""What people pass beside frames: a Series, a lazy frame, the path of a Parquet file; and wide tables of what was released."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

import surety_dp as surety

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e6, "adjacency": "add-or-remove-one"}
TOTAL = surety.sum("x", bounds=(-1000, 1000))
FRAME = pandas.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "g": ["a", "b", "b", "a"]})
#: A mean has two numbers, one of which is in the denominator.
LOUD: dict[str, Any] = {**ROWS, "epsilon": 1e9}


def nearly(data: Any, *statistics: surety.Statistic, **more: Any) -> list[float]:
    released = surety.release(data, list(statistics), ledger=surety.Ledger.in_memory(), **{**ROWS, **more})
    return [round(row.value) for row in released.table if row.value is not None]


SERIES: dict[str, Any] = {
    "pandas": FRAME.x,
    "pandas, nullable": FRAME.x.astype("Float64"),
    "pandas, objects": FRAME.x.astype(object),
    "pandas, with an index of names": FRAME.set_index("g").x,
    "polars": polars.Series("x", [1.0, 2.0, None, 4.0]),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_is_a_table_of_one_column(name: str) -> None:
    assert nearly(SERIES[name], TOTAL, surety.count(where="missing(x)")) == [7, 1]
    assert round(float(surety.sum(SERIES[name], bounds=(-1000, 1000), ledger=surety.Ledger.in_memory(), **ROWS))) == 7  # type: ignore[arg-type]


def test_a_series_without_a_name_is_refused_as_a_table_and_taken_as_a_column() -> None:
    for series in (pandas.Series([1.0]), pandas.Series([1.0], name=3), polars.Series([1.0])):
        with pytest.raises(ValueError, match="must have a text as its name: pass a mapping"):
            nearly(series, TOTAL)
        assert surety.sum(series, bounds=(0, 9), ledger=surety.Ledger.in_memory(), **ROWS).table[0].query == "sum(value)"


NEARLY: list[tuple[Any, str]] = [
    (polars.DataFrame({"x": [1.0]}).lazy(), "data is of type LazyFrame, must be a table: pass frame.collect()"),
    (FRAME.groupby("g"), "data is of type DataFrameGroupBy, must be a table: pass the frame, and by= and keys= to the statistics"),
    (FRAME.groupby("g").x, "data is of type SeriesGroupBy, must be a table: pass the frame, and by= and keys= to the statistics"),
    (io.StringIO("x\n1\n"), "data is of type StringIO, must be a table: pass the path of the file"),
    (FRAME.to_dict("records"), "data is of type list, must be a frame of pandas, polars, pyarrow or DuckDB"),
]


@pytest.mark.parametrize(("data", "message"), NEARLY, ids=[message[16:30] for _, message in NEARLY])
def test_what_is_nearly_a_table_is_refused_with_what_to_pass(data: Any, message: str) -> None:
    for call in (
        lambda: nearly(data, TOTAL),
        lambda: surety.train(data, label="x", above=0, ledger=surety.Ledger.in_memory(), **{**ROWS, "delta": 1e-6, "epsilon": 1}),
    ):
        with pytest.raises(TypeError) as refused:
            call()
        assert str(refused.value).startswith(message)


def test_parquet_is_read_by_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.to_parquet(path)
    for given in (path, str(path), str(path).encode()):
        assert nearly(given, TOTAL, surety.count(by="g", keys=["a", "b"]), surety.count(where="missing(x)")) == [7, 2, 2, 1]
    with pytest.raises(TypeError, match="pass file.read"):
        nearly(pyarrow.parquet.ParquetFile(path), TOTAL)
    with pytest.raises(TypeError, match="pass dataset.to_table"):
        nearly(pyarrow.dataset.dataset(path), TOTAL)
    # Several row groups, and an index of pandas without a name, which is no column of its frame.
    many = pandas.DataFrame({"x": np.arange(3000.0), "y": np.arange(3000) % 2}, index=np.arange(3000) + 7)
    path = tmp_path / "many.pq"
    many.to_parquet(path, row_group_size=100, index=True)
    assert "__index_level_0__" in pyarrow.parquet.ParquetFile(path).schema_arrow.names
    assert nearly(path, surety.sum("x", bounds=(0, 5000)), surety.count()) == [2999 * 1500, 3000]
    call: dict[str, Any] = {"label": "y", "above": 0, "bounds": {"x": (0, 3000)}, "algorithm": "gradient-descent", "steps": 3, "replay_seed": 3}
    promise: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}
    models = [surety.train(data, ledger=surety.Ledger.in_memory(), **promise, **call) for data in (path, many)]
    assert models[0].columns == ("x",) and models[0].text() == models[1].text()
    assert (models[0].predict(path) == models[0].predict(many)).all()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="a Parquet file, needs the package pyarrow, which cannot be imported"):
        nearly(path, TOTAL)


def test_a_damaged_parquet_file_is_bad_data_and_shows_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pandas.DataFrame({"x": ["secret"] * 1000}).to_parquet(path)
    whole = path.read_bytes()
    ledger = tmp_path / "run.db"
    for damaged in (whole[: len(whole) // 2], b"PAR1" + b"secret" * 100, whole[:4] + b"\xff" * 60 + whole[64:]):
        path.write_bytes(damaged)
        with pytest.raises(surety.BadData) as refused:
            surety.release(path, [surety.keys("x")], ledger=ledger, **{**ROWS, "epsilon": 1, "delta": 1e-3})
        assert "secret" not in str(refused.value) and "\n" not in str(refused.value)


WIDE = [surety.mean("x", bounds=(0, 5), by="g", keys=["a", "b", "c"]), surety.count(by="g", keys=["a", "b"])]


def test_a_wide_frame_has_a_row_for_each_group() -> None:
    data = {"x": np.tile([1.0, 4.0], 500), "g": np.tile(["a", "b"], 500)}
    released = surety.release(data, WIDE, ledger=surety.Ledger.in_memory(), **LOUD)
    wide = released.to_pandas(wide=True)
    assert list(wide.index) == ["a", "b", "c"] and wide.index.name == "group"
    mean, count = "mean(x) by g", "count() by g"
    assert list(wide.columns) == [mean, f"{mean} lower", f"{mean} upper", count, f"{count} lower", f"{count} upper"]
    assert wide.loc["a", mean] == pytest.approx(1, abs=0.1) and wide.loc["b", mean] == pytest.approx(4, abs=0.1)
    assert wide.loc["b", count] == 500 and np.isnan(wide.loc["c", count])
    by_rows = {(row.query, row.group): row for row in released.table}
    for group in ("a", "b"):
        row = by_rows[count, group]
        assert tuple(wide.loc[group, [count, f"{count} lower", f"{count} upper"]]) == (row.value, row.lower, row.upper)
    of_polars = released.to_polars(wide=True)
    assert of_polars["group"].to_list() == ["a", "b", "c"] and of_polars[count].to_list() == [500, 500, None]
    # Cells are an index of their own, and the long table is as it was.
    cells = surety.release(data, [surety.histogram("g", categories=["a", "b"]), surety.count()], ledger=surety.Ledger.in_memory(), **LOUD).to_pandas(wide=True)
    assert cells.index.names == ["group", "cell"] and list(cells["histogram(g)"][:2]) == [500, 500] and cells["count()"].iloc[2] == 1000
    assert len(released.to_pandas()) == len(released.to_pandas(wide=False)) == 5
    twice = surety.release(data, [surety.count(), surety.count()], ledger=surety.Ledger.in_memory(), **LOUD)
    with pytest.raises(ValueError, match=r"query 'count\(\)' appears twice"):
        twice.to_pandas(wide=True)
