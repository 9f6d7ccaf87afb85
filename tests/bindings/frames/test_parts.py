"""Parts of frames, and the Python lines of docs/guides/parts.md: a folder of Parquet files that DuckDB and polars stream, in less memory than it takes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import surety_dp as surety
from surety_dp import parts

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "parts.md"
STATISTICS = [surety.mean("minutes", bounds=(0, 240)), surety.count(where="minutes > 60")]
PROMISE: dict[str, Any] = {"unit": "owner", "most": 8, "epsilon": 1, "delta": 1e-6, "adjacency": "add-or-remove-one"}
ROWS = 4000
TABLE = pyarrow.table(
    {
        "owner": pyarrow.array([None if row % 97 == 0 else row // 11 for row in range(ROWS)], pyarrow.int64()),
        "minutes": pyarrow.array([None if row % 31 == 0 else row * 7919 % 241 for row in range(ROWS)], pyarrow.int32()),
    }
)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


def folder_of(path: Path, files: int = 3) -> None:
    path.mkdir()
    for file in range(files):
        size = -(-ROWS // files)
        pyarrow.parquet.write_table(TABLE.slice(file * size, size), path / f"{file}.parquet")


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda part: part.to_pandas(),
    "pandas, Arrow": lambda part: part.to_pandas(types_mapper=pandas.ArrowDtype),
    "polars": polars.from_arrow,
    "pyarrow": lambda part: part,
    "a reader": lambda part: part.to_reader(max_chunksize=7),
    "DuckDB": duckdb.from_arrow,
    "NumPy": lambda part: {"owner": part["owner"].to_pylist(), "minutes": part["minutes"].to_numpy(zero_copy_only=False)},
}


def test_parts_of_each_frame_are_the_same_bytes() -> None:
    made = surety.plan(STATISTICS, **PROMISE, replay_seed=4)
    ledger = surety.Ledger.in_memory()
    ticket = parts.assign(made, 3, ledger=ledger)
    columns = [TABLE["owner"], TABLE["owner"].to_pandas(), polars.from_arrow(TABLE)["owner"], TABLE["owner"].to_pylist()]
    numbers = [ticket.part_of(column) for column in columns]
    assert all((other == numbers[0]).all() for other in numbers)
    partials = [{parts.partial(ticket, part, frame(TABLE.filter(pyarrow.array(numbers[0] == part)))) for frame in FRAMES.values()} for part in range(3)]
    assert [len(same) for same in partials] == [1, 1, 1]
    released = parts.finish(ticket, parts.merge(one for [one] in partials), ledger=ledger)
    assert released.table == made.release(TABLE, ledger=surety.Ledger.in_memory()).table


def test_the_lines_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path / "visits")
    of_parts, of_polars = (block.replace('adjacency="add-or-remove-one"', 'adjacency="add-or-remove-one", replay_seed=9') for block in blocks("python"))
    names: dict[str, Any] = {}
    exec(compile(of_parts, str(GUIDE), "exec"), names)
    assert names["released"].table == surety.release(TABLE, STATISTICS, **PROMISE, replay_seed=9, ledger=surety.Ledger.in_memory()).table
    assert len(surety.Ledger("visits.db").audit(1e-6)["runs"]) == 1
    # A task that is tried again is the same part; the part of each row is that of the ticket.
    ticket, numbers = names["ticket"], names["ticket"].part_of(TABLE["owner"])
    for part in range(4):
        assert names["task"](part) == parts.partial(ticket, part, TABLE.filter(pyarrow.array(numbers == part)))
    exec(compile(of_polars, str(GUIDE), "exec"), names)
    whole = surety.release(
        TABLE.select(["minutes"]), STATISTICS[:1], unit=None, epsilon=1, adjacency="add-or-remove-one", replay_seed=9, ledger=surety.Ledger.in_memory()
    )
    assert names["hours"].table == whole.table


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR"])
def test_the_sql_of_the_guide_writes_the_parts_of_the_ticket(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [block] = blocks("sql")
    ticket = parts.assign(surety.plan(STATISTICS, **PROMISE), 4, ledger=surety.Ledger.in_memory())
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE visits AS SELECT CAST(range - 500 AS {kind}) AS owner, 1 AS minutes FROM range(1000) UNION ALL SELECT NULL, 1")
        database.execute(block)
        rows = 0
        for part in range(4):
            owners = database.sql(f"SELECT owner FROM 'parts/part={part}/*.parquet'").to_arrow_table()["owner"]
            rows += len(owners)
            assert set(ticket.part_of(owners)) == {part}
    assert rows == 1001


STREAMS = {
    "DuckDB": "data = duckdb.sql(\"SELECT * FROM 'big/*.parquet'\")",
    "polars": """
frame = polars.scan_parquet("big/*.parquet")
schema = frame.head(0).collect().to_arrow().schema
data = pyarrow.RecordBatchReader.from_batches(schema, (batch for piece in frame.collect_batches(chunk_size=65536) for batch in piece.to_arrow().to_batches()))
""",
}
MEASURED = """
import re, duckdb, numpy, polars, pyarrow, surety_dp as surety
def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
plan = surety.plan([surety.mean("minutes", bounds=(0, 240))], unit=None, epsilon=1, adjacency="add-or-remove-one", replay_seed=1)
before = kilobytes("VmRSS")
{}
released = plan.release(data, ledger=surety.Ledger.in_memory())
print(kilobytes("VmHWM") - before, released.table[0].value)
"""
BIG_ROWS = 24_000_000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("larger")
    (folder / "big").mkdir()
    for file in range(8):
        row = np.arange(file * BIG_ROWS // 8, (file + 1) * BIG_ROWS // 8)
        table = pyarrow.table({"owner": row // 10, "minutes": (row * 7919 % 241).astype(float)})
        pyarrow.parquet.write_table(table, folder / "big" / f"{file}.parquet", row_group_size=1 << 17, compression="zstd")
    return folder


@pytest.mark.parametrize("by", STREAMS)
def test_a_folder_is_streamed(big: Path, by: str) -> None:
    """Its rows take 384 MB in memory; a reading that held them, or a copy of one column, would need 192 MB."""
    said = subprocess.run([sys.executable, "-c", MEASURED.format(STREAMS[by])], cwd=big, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    peak, value = said.stdout.split()[-2:]  # behind the progress of DuckDB
    print(f"{by}: {int(peak) / 1024:.0f} MB for {BIG_ROWS * 16 / 1e6:.0f} MB")
    assert int(peak) * 1024 < BIG_ROWS * 8 * 0.75
    assert abs(float(value) - 120) < 0.01
