"""surety_dp.spark and the lines of docs/guides/parts.md on the real engine, with workers that are killed (`scripts/python spark`)."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import surety_dp as surety
import surety_dp.spark as surety_spark
from surety_dp import parts

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "parts.md"
STATISTICS = [surety.mean("minutes", bounds=(0, 240)), surety.count(where="minutes > 60"), surety.median("minutes", bounds=(0, 240))]
ROWS = 6000
#: Columns have the names that columns of the package would have, one that Spark must quote, rows of nothing but an owner, and owners without a name.
TABLE = pyarrow.table(
    {
        "owner": [None if row % 101 == 0 else "" if row % 103 == 0 else f"p{row // 7}" for row in range(ROWS)],
        "minutes": [None if row % 37 == 0 else row * 7919 % 241 for row in range(ROWS)],
        "part": [0.5 if row % 3 else None for row in range(ROWS)],
        "Is_Row": [bool(row % 2) if row % 3 else None for row in range(ROWS)],
        "a.b `c`": [f"é{row % 5}" if row % 3 else None for row in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def visits(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    folder = tmp_path_factory.mktemp("visits")
    for file in range(3):
        pyarrow.parquet.write_table(TABLE.slice(file * ROWS // 3, ROWS // 3), folder / f"{file}.parquet")
    return session.read.parquet(str(folder))


def promise(unit: str | None, **more: Any) -> dict[str, Any]:
    return {"unit": unit, "most": None if unit is None else 4, "epsilon": 3, "adjacency": "add-or-remove-one", **more}


def runs_of(path: Path) -> int:
    return len(surety.Ledger(path).audit(1e-6)["runs"]) if path.exists() else 0


@pytest.mark.parametrize("unit", [None, "owner"])
@pytest.mark.parametrize("count", [None, 1, 5])
def test_a_release_is_that_of_one_machine(visits: DataFrame, unit: str | None, count: int | None) -> None:
    call = promise(unit, replay_seed=11)
    released = surety_spark.release(visits, STATISTICS, parts=count, ledger=surety.Ledger.in_memory(), **call)
    whole = surety.release(TABLE, STATISTICS, ledger=surety.Ledger.in_memory(), **call)
    assert released.json() == whole.json() and released.table == whole.table


@pytest.mark.parametrize("unit", [None, "owner"])
def test_a_worker_that_is_killed_is_tried_again(visits: DataFrame, unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It dies when it has read a part, and has not handed it over."""
    mark = str(tmp_path / "died")
    really = parts.partial

    def dies_once(ticket: parts.Ticket, part: int, data: Any) -> bytes:
        made = really(ticket, part, data)
        if part == 1 and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    monkeypatch.setattr(surety_spark, "partial", dies_once)  # goes to the workers with the function that calls it
    call = promise(unit, replay_seed=12)
    released = surety_spark.release(visits, STATISTICS, parts=4, ledger=tmp_path / "run.db", **call)
    assert Path(mark).exists() and runs_of(tmp_path / "run.db") == 1
    assert released.table == surety.release(TABLE, STATISTICS, ledger=surety.Ledger.in_memory(), **call).table


def test_a_task_that_always_fails_costs_nothing(visits: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(ticket: parts.Ticket, part: int, data: Any) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    monkeypatch.setattr(surety_spark, "partial", dies)
    with pytest.raises((PySparkException, Py4JJavaError), match="failed 4 times"):
        surety_spark.release(visits, STATISTICS, parts=2, ledger=tmp_path / "run.db", **promise("owner"))
    assert runs_of(tmp_path / "run.db") == 0


def test_a_part_that_is_lost_or_has_other_rows_is_refused(visits: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    ticket = parts.assign(surety.plan(STATISTICS, **promise("owner")), 4, ledger=path)
    rows = surety_spark.partials(visits, ticket).collect()
    assert sorted(row.part for row in rows) == [0, 1, 2, 3]
    partials = [row.partial for row in rows]
    fewer = [row.partial for row in surety_spark.partials(visits.where("minutes > 100"), ticket).collect()]
    for lost in range(4):
        with pytest.raises(surety.InvalidArgument, match=f"part {rows[lost].part} is missing"):
            parts.finish(ticket, parts.merge(partials[:lost] + partials[lost + 1 :]), ledger=path)
    with pytest.raises(surety.InvalidArgument, match="is in both partials"):
        parts.merge([*partials, fewer[0]])
    assert runs_of(path) == 0
    again = [row.partial for row in surety_spark.partials(visits.repartition(5), ticket).collect()]  # speculation: all tasks twice
    whole = parts.merge([*partials, *again])
    assert parts.finish(ticket, whole, ledger=path).run == 1
    with pytest.raises(surety.InvalidArgument, match="has the mark"):
        parts.finish(ticket, whole, ledger=path)
    assert runs_of(path) == 1


def test_owners_are_in_the_part_of_the_ticket(session: SparkSession) -> None:
    ticket = parts.assign(surety.plan(STATISTICS, **promise("owner")), 64, ledger=surety.Ledger.in_memory())
    for owners, kind in (([*range(-500, 500), None], "bigint"), ([1, -1, None], "tinyint"), ([*map(str, range(1000)), "", None, "café", " 7", "07"], "string")):
        df = session.createDataFrame([(owner, 1) for owner in owners], f"owner {kind}, minutes int")
        found = df.select("owner", surety_spark._part_of(df, ticket, df.columns).alias("part")).collect()
        assert [row.part for row in found] == ticket.part_of([row.owner for row in found]).tolist()
    assert len({row.part for row in found}) == 64


def test_tables_without_rows_and_columns_that_spark_cannot_hash(session: SparkSession) -> None:
    call = promise(None, replay_seed=13)
    empty = session.createDataFrame([], "minutes int, tags map<string,int>")
    released = surety_spark.release(empty, STATISTICS, parts=3, ledger=surety.Ledger.in_memory(), **call)
    nothing = pyarrow.table({"minutes": pyarrow.array([], pyarrow.int32())})
    assert released.table == surety.release(nothing, STATISTICS, ledger=surety.Ledger.in_memory(), **call).table


def test_arguments_are_refused(session: SparkSession, visits: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(surety.InvalidArgument, match="of type double, must be a string or an integer"):
        surety_spark.release(visits, STATISTICS, ledger=path, **promise("part"))
    with pytest.raises(surety.BadData, match="df has no column 'OWNER'"):
        surety_spark.release(visits, STATISTICS, ledger=path, **promise("OWNER"))
    with pytest.raises(surety.InvalidArgument, match="two columns of one name"):
        surety_spark.release(visits.select("minutes", "minutes"), STATISTICS, ledger=path, **promise(None))
    with pytest.raises(TypeError, match="must be a DataFrame of Spark"):
        surety_spark.release(TABLE, STATISTICS, ledger=path, **promise(None))
    with pytest.raises(TypeError, match="did you mean 'parts'"):
        surety_spark.release(visits, STATISTICS, ledger=path, part=3, **promise(None))
    with pytest.raises(PySparkException) as caught:  # a worker refuses: a column that no query can read
        surety_spark.release(visits.drop("minutes"), STATISTICS, parts=2, ledger=path, **promise("owner"))
    assert "minutes" in str(caught.value) and "BadData" in str(caught.value)
    assert not path.exists()


def test_the_lines_of_the_guide(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = re.findall(r"^```python spark\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    pyarrow.parquet.write_table(TABLE, tmp_path / "visits" / "0.parquet")
    session.conf.set("spark.sql.files.maxPartitionBytes", "16384")
    read = session.read.parquet
    monkeypatch.setattr(type(session.read), "parquet", lambda self, path: read(str(tmp_path / path)))  # the JVM has its own working folder
    once = block.replace('ledger="visits.db"', 'ledger="visits.db", replay_seed=3')
    assert once != block
    names: dict[str, Any] = {"session": session}
    exec(compile(once, str(GUIDE), "exec"), names)
    said = {"unit": "owner", "most": 8, "epsilon": 1, "delta": 1e-6, "adjacency": "add-or-remove-one", "replay_seed": 3}
    whole = surety.release(
        TABLE.select(["owner", "minutes"]), [surety.mean("minutes", bounds=(0, 240)), surety.count(where="minutes > 60")], ledger=surety.Ledger.in_memory(), **said
    )
    assert names["released"].table == whole.table
    assert runs_of(tmp_path / "visits.db") == 1
