"""Releases of tables: what the command releases, to the last byte under replay, from paths and from columns; what is refused has cost nothing."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import re
import shlex
import subprocess
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

COMMAND = os.environ["SURETY_COMMAND"]
RECORDED = Path(__file__).parents[2] / "recorded"
RANDOM_PLANS = int(os.environ.get("SURETY_RANDOM_PLANS", "12"))

STATISTICS: dict[str, Callable[..., surety.Statistic]] = {
    "count": surety.count,
    "sum": surety.sum,
    "mean": surety.mean,
    "variance": surety.variance,
    "median": surety.median,
    "quantile": lambda column, *fractions, **said: surety.quantile(column if fractions else column.split(",")[0], *(fractions or (float(column.split(",")[1]),)), **said),
    "histogram": surety.histogram,
    "mode": surety.mode,
    "keys": surety.keys,
}


def people(rows: int = 240) -> dict[str, list[Any]]:
    """As tests/recorded/run has them, but for its damaged records."""
    towns = ["Rome", "Oslo", "Bern"]
    return {
        "who": [f"p{i * 7 % 61}" if i % 19 else None for i in range(1, rows + 1)],
        "y": [i * 13 % 11 if i % 17 else None for i in range(1, rows + 1)],
        "town": [towns[i * i % 3] for i in range(1, rows + 1)],
    }


def write_csv(table: dict[str, list[Any]], path: Path) -> Path:
    rows = [",".join("" if cell is None else str(cell) for cell in row) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([",".join(table), *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(people(), tmp_path_factory.mktemp("csv") / "people.csv")


def recorded() -> list[list[str]]:
    """The words of each release of people.csv that was recorded, once."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for line in (RECORDED / "releases.commands").read_text().splitlines():
        words = shlex.split(line)
        if words[-2:] == ["--top", "3"]:  # as many as there are, which is refused
            continue
        # Refused, a flag, a count of units, or what Python computes beforehand: they have tests of their own.
        if any(word in {"--accuracy", "--interval", "who|town", "count(units)"} for word in words) or ("--unit-period" in words and "--unit" not in words):
            continue
        if words[:3] == ["surety", "release", "people.csv"] and "--print-plan" not in words and "--queries" not in words and "--plan" not in words:
            kept = [word for word in words[3:] if word != "--json"]
            if "--format" in kept:
                del kept[kept.index("--format") : kept.index("--format") + 2]
            del kept[kept.index("--ledger") : kept.index("--ledger") + 2]
            seen[tuple(kept)] = kept
    return list(seen.values())


def call_of(words: list[str]) -> tuple[list[surety.Statistic], dict[str, Any]]:
    """The words of the command as a call."""
    said = dict(zip(words[::2], words[1::2], strict=True))
    function, column = re.fullmatch(r"(\w+)\((.*)\)", said.pop("--query")).groups()  # type: ignore[union-attr]

    def ends(text: str) -> tuple[float, ...]:
        return tuple(float(end) for end in text.split(","))

    of_query: dict[str, Callable[[str], Any]] = {
        "--bounds": ends,
        "--key-bounds": ends,
        "--edges": ends,
        "--key-edges": ends,
        "--top": int,
        "--bins": int,
        "--key-bins": int,
        "--most-per-group": int,
        "--candidates": int,
        "--categories": lambda text: text.split(","),
        "--keys": lambda text: text.split(","),
        "--by": str,
        "--where": str,
    }
    own = {name[2:].replace("-", "_"): of_query[name](said.pop(name)) for name in list(said) if name in of_query}
    of = surety.Expression(column) if re.search(r"[-+*/(]", column) else column
    statistic = STATISTICS[function](*([of] if column else []), **own)
    call: dict[str, Any] = {"unit": None, "adjacency": "replace-one", "delta": 0}
    of_plan: dict[str, Callable[[str], Any]] = {"--epsilon": float, "--delta": float, "--replay-seed": int, "--most": int, "--complete": lambda text: text.split(","), "--unit": lambda text: text.split(",") if "," in text else text}
    for name, text in said.items():
        call[name[2:].replace("-", "_")] = dict([text.split("=")]) if name == "--missing" else of_plan.get(name, str)(text)
    return [statistic], call


def asked_of_command(folder: Path, path: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "release", str(path), *words, "--ledger", "run.db", "--json"], cwd=folder, capture_output=True, text=True)


def printed_by_command(folder: Path, path: Path, words: list[str]) -> str:
    done = asked_of_command(folder, path, words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def released(folder: Path, data: Any, statistics: list[surety.Statistic], call: dict[str, Any]) -> surety.Released:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return surety.release(data, statistics, ledger="run.db", **call)
    finally:
        os.chdir(before)


def two_folders(folder: Path) -> tuple[Path, Path]:
    for name in ("command", "python"):
        (folder / name).mkdir()
        (folder / name / "schema.json").write_bytes((RECORDED / "schema.json").read_bytes())
    return folder / "command", folder / "python"


@pytest.mark.parametrize("words", recorded(), ids=" ".join)
def test_recorded_releases_are_the_same_to_the_byte(words: list[str], tmp_path: Path, csv: Path) -> None:
    of_command, of_python = two_folders(tmp_path)
    said = printed_by_command(of_command, csv, words)
    statistics, call = call_of(words)
    assert released(of_python, csv, statistics, call).json() + "\n" == said
    if "--unit" in words:
        # Which rows of an owner are dropped is another choice of the same law: of a table where none is, both keep all.
        words = [word if words[place - 1] != "--most" else "40" for place, word in enumerate(words)]
        (of_command / "run.db").unlink()
        said = printed_by_command(of_command, csv, words)
        call["most"] = 40
    (of_python / "run.db").unlink()
    assert released(of_python, people(), statistics, call).json() + "\n" == said


def random_plan(choose: random.Random) -> tuple[list[str], list[surety.Statistic], dict[str, Any]]:
    """The words of some plan, and the call that says the same."""
    statistics = []
    words = []
    for _ in range(choose.randint(1, 4)):
        lower = choose.choice([-3, 0, 0.5])
        bounds = [lower, lower + choose.choice([1, 7.25, 10])]
        own: dict[str, Any] = {}
        if choose.random() < 0.4:
            own["where"] = choose.choice(["y > 3", "town == Rome and not (y < 2)", "missing(y)", "present(y)"])
        if choose.random() < 0.3:
            own["weight"] = choose.choice([0.5, 3, 4])
        function = choose.choice(["count", "sum", "mean", "variance", "median", "quantile", "bins", "categories"])
        if function not in ("median", "quantile") and choose.random() < 0.3:
            own |= choose.choice([{"by": "town", "keys": ["Rome", "Oslo"]}, {"by": "y", "key_bounds": [0, 10], "key_bins": 3}])
        if function not in ("count", "categories"):
            own["bounds"] = bounds
        if function == "bins":
            own["bins"] = choose.randint(2, 6)
        if function == "categories":
            own["categories"] = choose.sample(["Rome", "Oslo", "Bern", "New York, NY"], 2)
        if function == "median":
            own["candidates"] = choose.choice([11, 1000])
        y = choose.choice(["y", "y", "log(y) + y * y", "max(-y, 3)"])
        of: Any = y if y == "y" else surety.Expression(y)
        text = {"count": "count()", "quantile": f"quantile({y}, 0.25)", "bins": f"histogram({y})", "categories": "histogram(town)"}.get(function, f"{function}({y})")
        words += ["--query", json.dumps({"query": text, **own})]
        name = {"bins": "histogram", "categories": "histogram"}.get(function, function)
        inside = {"count": [], "quantile": [of, 0.25], "categories": ["town"]}.get(function, [of])
        statistics.append(STATISTICS[name](*inside, **own))
    call: dict[str, Any] = {
        "unit": choose.choice([None, "who"]),
        "epsilon": choose.choice([0.3, 1, 4]),
        "delta": choose.choice([0, 1e-6]),
        "adjacency": choose.choice(["add-or-remove-one", "replace-one", "zero-out"]),
        "replay_seed": choose.randint(0, 2**64 - 1),
        "confidence": choose.choice([0.9, 0.95]),
    }
    if call["unit"]:
        call |= {"most": choose.choice([40, 60]), "empty_unit": choose.choice(["one", "each"])}
    if call["delta"] and choose.random() < 0.5:
        call["noise"] = choose.choice(["laplace", "gaussian"])
    for name, value in call.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words, statistics, call


@pytest.mark.parametrize("seed", range(RANDOM_PLANS))
def test_random_plans_are_the_same_to_the_byte(seed: int, tmp_path: Path, csv: Path) -> None:
    words, statistics, call = random_plan(random.Random(seed))
    of_command, of_python = two_folders(tmp_path)
    done = asked_of_command(of_command, csv, words)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert released(of_python, people(), statistics, call).json() + "\n" == said
    (of_python / "run.db").unlink()
    assert released(of_python, csv, statistics, call).json() + "\n" == said


ROWS: dict[str, Any] = {"unit": None, "epsilon": 1e6, "adjacency": "add-or-remove-one"}


def nearly(data: Any, *statistics: surety.Statistic, **more: Any) -> list[float]:
    """The values where there is next to no noise."""
    call = {**ROWS, "ledger": surety.Ledger.in_memory(), **more}
    report = json.loads(surety.release(data, list(statistics), **call).json())
    return [round(query["value"]) for query in report.get("queries", [report])]


TOTAL = surety.sum("x", bounds=(-1000, 1000))
ROWS_OF_X = surety.count(where="present(x)")


def test_expressions_are_of_the_cells_of_one_row(tmp_path: Path) -> None:
    data: dict[str, list[Any]] = {"weight": [1, 2, None, 4], "income": [10.0, 0, 3, 100], "a b": [1, 1, 1, "x"]}

    def total(text: str, bounds: tuple[float, float] = (-1000, 1000)) -> surety.Statistic:
        return surety.sum(surety.Expression(text), bounds=bounds)

    asked = [total("weight * income"), total("weight * income", (0, 50)), total("income / weight"), total("1 / income"), total('"a b" * income'), total("min(weight, 3) + 7 / weight")]
    for table in (data, write_csv(data, tmp_path / "data.csv")):
        assert nearly(table, *asked) == [410, 60, 35, 0, 13, 18]
    for text, message in {
        "weight * wages": "'wages' is missing",
        "weight *": "expression 'weight *' ends where a column or a number must stand",
        "lgo(weight)": "did you mean 'log'?",
        "weight*2": "between two names or numbers",
    }.items():
        ledger = surety.Ledger.in_memory()
        with pytest.raises(surety.SuretyError, match=re.escape(message)):
            surety.release(data, [total(text)], **{**ROWS, "ledger": ledger})
        with pytest.raises(surety.InvalidArgument, match="has had no run yet"):
            ledger.audit(1e-5)
    with pytest.raises(surety.SuretyError, match="mean.. of an expression needs public bounds"):
        surety.plan([surety.mean(surety.Expression("weight * 2"))], unit=None, epsilon=1, adjacency="replace-one")
    with pytest.raises(surety.SuretyError, match="'expression' is not for mode"):
        surety.plan([surety.mode(surety.Expression("weight * 2"), categories=["1", "2"])], unit=None, epsilon=1, adjacency="replace-one")  # type: ignore[call-overload]


DTYPES = "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 >i2 >i4 >i8 >u8 >f4 >f8 g c8 c16 O U1 S1 m8[D] m8[24h] M8[D] >M8[D]".split()
COLUMNS: dict[str, Any] = {
    "reversed": np.arange(5, 0, -1)[::-1],
    "strided": np.repeat(np.arange(1, 6), 7)[::7],
    "of a row": np.arange(1.0, 11).reshape(5, 2, order="F")[:, 0],
    "texts": np.array(["1", "2", "3", "4", "5.0"]),
    "a list": [1, 2, 3, 4, 5],
    "a list of several kinds": [1, 2.0, "3", np.int8(4), np.float32(5)],
    "a tuple": ("1", "2", "3", "4", "5"),
    "masked": np.ma.MaskedArray(np.arange(1, 7), np.arange(6) == 5),
    "masked and none": np.ma.MaskedArray(np.array([1, 2, 3, 4, None, 5], object), np.zeros(6, bool)),
    "none": [1, 2, 3, 4, 5, None],
    "objects": [1, 2, 3, 4, b"5", float("nan"), object(), [7], np.datetime64("NaT"), 1j],
    "spans": np.array([1, 2, 3, 4, 5, "NaT"], "m8[D]"),
    "times": np.array([1, 2, 3, 4, 5, "NaT"], "M8[D]"),
    "seconds": np.array([1, 2, 3, 4, 5, "NaT"], "M8[D]").astype("M8[s]"),
}


@pytest.mark.parametrize("column", [np.array([1, 2, 3, 4, 5]).astype(dtype) for dtype in DTYPES] + list(COLUMNS.values()), ids=[*DTYPES, *COLUMNS])
def test_columns_of_every_layout_are_read(column: Any) -> None:
    assert nearly({"x": column, "other": [None] * len(column)}, TOTAL, ROWS_OF_X) == [15, 5]


@pytest.mark.parametrize(
    ("column", "total"),
    [
        (np.array([7, np.nan, np.inf, -np.inf]), 7),
        ([7, 10**400, "\ud800", "seven"], 7),
        (np.array([7, 2], "m8[W]"), 9 * 7),
        (np.array(["1970-01-08", "NaT"], "M8[D]"), 7),  # days
        (np.array([7, 2**62, -(2**62)], "M8[D]"), 7),  # beyond all bounds on both sides
    ],
)
def test_what_is_no_number_is_left_out(column: Any, total: int) -> None:
    assert nearly({"x": column}, surety.sum("x", bounds=(-1e7, 1e7)), epsilon=1e12) == [total]


def test_texts_and_dates_are_what_they_say() -> None:
    town = np.array(["Rome", "Oslo", "Zürich", "東京"])
    data = {"town": town, "letters": np.array([b"a", b"b", b"a", b"c"]), "day": np.array(["2017-06-01", "2018-01-01", "NaT", "1969-12-31"], "M8[D]"), "is": town == "Rome"}
    statistics = [
        surety.count(where='town == "Zürich"'),
        surety.count(where="letters == a"),
        surety.count(where="day >= 2017-06-01", types={"day": "date"}),
        surety.count(where="missing(day)", types={"day": "date"}),
        surety.sum("is", bounds=(0, 1)),
        surety.count(where="is == true", types={"is": "text"}),
    ]
    assert nearly(data, *statistics) == [1, 2, 2, 1, 1, 1]
    # The same of a structured array.
    rows = np.zeros(4, [("town", "U9"), ("x", ">i4")])
    rows["town"], rows["x"] = town, [1, 2, 3, 4]
    assert nearly(rows, surety.count(where="town == Oslo"), TOTAL) == [1, 10]


def test_a_batch_is_no_border() -> None:
    """More rows than are handed over at once, with what is masked and missing on both sides."""
    rows = 600_001
    x = np.ma.MaskedArray(np.ones(rows), np.arange(rows) % 3 == 0)
    y = np.where(np.arange(rows) % 2 == 0, np.nan, 1.0)
    s = np.array(["", "ab", "c"])[np.arange(rows) % 3]
    data = {"x": x, "y": y, "s": s}
    assert nearly(data, TOTAL, surety.sum("y", bounds=(0, 2)), surety.count(where="s == c")) == [400_000, 300_000, 200_000]
    assert nearly({"x": np.broadcast_to(np.float64(1), 3_000_000)}, TOTAL) == [3_000_000]


def test_zero_rows_are_a_table() -> None:
    assert nearly({"x": np.zeros(0)}, TOTAL) == [0]
    with pytest.raises(surety.SuretyError, match="has no rows"):
        surety.release({"x": []}, [TOTAL], **{**ROWS, "adjacency": "replace-one"}, ledger=surety.Ledger.in_memory())


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "data is None, must be a table or the path of one"),
    (7, TypeError, "data is of type int, must be a frame of pandas, polars, pyarrow or DuckDB, a mapping"),
    (np.zeros((3, 2)), TypeError, "data is an array without names of columns"),
    (np.zeros((3, 2), [("x", "f8")]), TypeError, "data is a structured array of 2 dimensions, must be of one"),
    ({}, ValueError, "data has no columns"),
    ({"x": [1], 3: [1]}, TypeError, "a name of a column is 3, must be a text"),
    ({"x": 7}, TypeError, "column 'x' of data is of type int, must be a NumPy array or a list"),
    ({"x": "secret"}, TypeError, "column 'x' of data is of type str, must be a NumPy array or a list"),
    ({"x": np.zeros((3, 2))}, TypeError, "column 'x' of data has 2 dimensions, must have one"),
    ([[1, 2]], TypeError, "data is of type list, must be a frame of pandas, polars, pyarrow or DuckDB, a mapping"),
    ({"x": [1, 2], "secret": [3]}, ValueError, "columns 'x' and 'secret' of data have different numbers of rows"),
    ({"y": [1, 2]}, surety.SuretyError, "column 'x'"),
    ({"x": np.zeros(3, "m8[s]"), "x ": [1, 2, 3]}, surety.SuretyError, ""),
]


@pytest.mark.parametrize(("data", "kind", "message"), REFUSED, ids=[message or str(place) for place, (_, _, message) in enumerate(REFUSED)])
def test_what_is_no_table_is_refused_and_costs_nothing(data: Any, kind: type[Exception], message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    if message == "":
        assert nearly(data, TOTAL) == [0]  # names are compared blank by blank
        return
    with pytest.raises(kind, match=re.escape(message)) as refused:
        surety.release(data, [TOTAL], **ROWS, ledger=path)
    assert "\n" not in str(refused.value) and not path.exists()


def test_a_frame_that_cannot_be_handed_over_shows_no_cell() -> None:
    class Frame:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            raise ValueError("could not convert 'a secret' of column x")

    with pytest.raises(TypeError, match="type Frame, whose __arrow_c_stream__ raises ValueError") as refused:
        surety.release(Frame(), [TOTAL], **ROWS, ledger=surety.Ledger.in_memory())
    seen: list[BaseException | None] = [refused.value]
    while seen[-1] is not None:
        assert "secret" not in str(seen[-1])
        seen.append(seen[-1].__cause__ or seen[-1].__context__)

    class NoCapsule:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            return "a capsule"

    with pytest.raises((TypeError, ValueError)):
        surety.release(NoCapsule(), [TOTAL], **ROWS, ledger=surety.Ledger.in_memory())


def test_the_ledger_is_asked_first_and_charged_before_anything_is_drawn(tmp_path: Path, csv: Path) -> None:
    call: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "replace-one"}
    statistics = [surety.mean("y", bounds=(0, 10))]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'ledger'"):
        surety.release(csv, statistics, **call)
    with pytest.raises(TypeError, match=r"ledger is None, must be a path or a surety.Ledger; Ledger.in_memory\(\) keeps nothing"):
        surety.release(csv, statistics, **call, ledger=None)  # type: ignore[arg-type]
    path = tmp_path / "run.db"
    with pytest.raises(surety.SuretyError, match=re.escape(str(path))) as refused:
        surety.release(csv, statistics, **call, ledger=path, ledger_must_exist=True)
    assert refused.value.code == surety.ErrorCode.ENVIRONMENT and not path.exists()
    first = surety.release(csv, statistics, **call, ledger=path, note="y")
    assert (first.run, json.loads(first.json())["ledger_is_new"]) == (1, True)
    with surety.Ledger(path) as ledger:
        again = surety.release(csv, statistics, **call, ledger=ledger)
        assert (again.run, json.loads(again.json())["ledger_is_new"], again.event) == (2, False, first.event)
        runs = ledger.audit(1e-5)["runs"]
        assert [(run["state"], run["charged"], run["note"]) for run in runs] == [("settled", str(first.event), note) for note in ("y", "mean(y)")]
        # The unit of the ledger is one row, and its adjacency is what it is.
        with pytest.raises(ValueError, match="unit"):
            surety.release(csv, statistics, ledger=ledger, **{**call, "unit": "who", "most": 2})
        with pytest.raises(ValueError, match="adjacency"):
            surety.release(csv, statistics, ledger=ledger, **{**call, "adjacency": "zero-out"})
        assert len(ledger.audit(1e-5)["runs"]) == 2
    with pytest.raises(ValueError, match="closed"):
        surety.release(csv, statistics, **call, ledger=ledger)
    small = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1.5, delta=1e-6)
    plan = surety.plan(statistics, **call, delta=1e-7)
    plan.release(csv, ledger=small)
    with pytest.raises(surety.SuretyError, match="the budget") as refused:
        plan.release(tmp_path / "is not looked for", ledger=small)
    assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED and len(small.audit(1e-5)["runs"]) == 1


def test_a_plan_runs_again_and_again(csv: Path) -> None:
    plan = surety.plan([surety.count()], unit=None, epsilon=1, adjacency="add-or-remove-one")
    ledger = surety.Ledger.in_memory()
    values = [json.loads(plan.release(people(), ledger=ledger).json())["value"] for _ in range(40)]
    assert len(ledger.audit(1e-5)["runs"]) == 40 and len(set(values)) > 1
    assert surety.Ledger.in_memory().path is None
    with pytest.raises(ValueError, match="is closed"):
        ledger.close()
        plan.release(csv, ledger=ledger)


def test_a_unit_keeps_its_most_rows() -> None:
    data = {"who": np.repeat(np.arange(100), 10), "x": np.ones(1000)}
    call: dict[str, Any] = {"unit": "who", "most": 3, "epsilon": 1e6, "adjacency": "add-or-remove-one"}
    assert nearly(data, TOTAL, **call) == [300]
    assert nearly({**data, "who": np.array([None] * 1000)}, TOTAL, **call, empty_unit="one") == [3]
    assert nearly({**data, "who": np.array([None] * 1000)}, TOTAL, **call, empty_unit="each") == [1000]
    # Equal objects are one owner, however they are written, and -0.0 is 0. A float beyond 2^53 names nobody.
    alike = np.array([7, 7.0, np.float32(7), np.int8(7), "7"] * 100 + [0, -0.0, 0.5, 2.0**60, 2**60] * 100, object)
    assert nearly({**data, "who": alike}, TOTAL, **call) == [3 * 5]
    for owners in (np.ones(1000), np.full(1000, np.nan)):
        assert nearly({**data, "who": owners}, TOTAL, **call) == [3]


def test_memory_is_let_go() -> None:
    class Watched(np.ndarray[Any, np.dtype[Any]]):
        pass

    array = np.zeros(1000).view(Watched)
    gone = weakref.ref(array)
    surety.release({"x": array}, [TOTAL], **ROWS, ledger=surety.Ledger.in_memory())
    with pytest.raises(surety.SuretyError):
        surety.release({"x": array}, [surety.count(where="y > 1")], **ROWS, ledger=surety.Ledger.in_memory())
    del array
    gc.collect()
    assert gone() is None


def test_threads_release_at_once(csv: Path) -> None:
    ledger = surety.Ledger.in_memory()
    plan = surety.plan([surety.count(), TOTAL], unit=None, epsilon=1, delta=1e-6, adjacency="add-or-remove-one")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                plan.release({"x": np.arange(1000)}, ledger=ledger)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(ledger.audit(1e-5)["runs"]) == 80


def test_nothing_of_it_is_a_pickle() -> None:
    made = surety.release({"x": [1]}, [TOTAL], **ROWS, ledger=surety.Ledger.in_memory())
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="made by surety.release"):
        surety.Released()


def shown() -> surety.Released:
    data = {"x": np.arange(1000.0), "g": np.array(["<b>&'", "two\nlines", "\u202e"] * 333 + ["<b>&'"])}
    statistics = [
        surety.count(by="g", keys=["<b>&'", "two\nlines", "\u202e"]),
        surety.mean("x", bounds=(0, 1000)),
        surety.histogram("x", bounds=(0, 1000), bins=2),
        surety.median("x", bounds=(0, 1000), candidates=1001),
        surety.histogram("x", bounds=(0, 1000), bins=2, by="g", keys=["two\nlines"]),
    ]
    return surety.release(data, statistics, **{**ROWS, "epsilon": 1000}, ledger=surety.Ledger.in_memory())


def test_groups_are_by_several_columns() -> None:
    data = {"x": np.arange(300.0), "g": np.array(["a", "b", "c, d"] * 100), "h": np.array(["p"] * 150 + ["q"] * 150)}

    def ask(by: list[str], keys: Any) -> surety.Released:
        return surety.release(data, [surety.count(by=by, keys=keys)], **{**ROWS, "epsilon": 1000}, ledger=surety.Ledger.in_memory())

    made = ask(by=["g", "h"], keys=[["a", "c, d"], ("p", "q")])
    assert [(row.group, row.value) for row in made.table] == [("a, p", 50), ("a, q", 50), ('"c, d", p', 50), ('"c, d", q', 50)]
    assert json.loads(made.json())["groups"][2]["columns"] == {"g": "c, d", "h": "p"}
    with pytest.raises(ValueError, match="1 lists, must have one for each of the 2 columns"):
        ask(by=["g", "h"], keys=["a", "b"])


def test_a_table_has_the_numbers_of_the_report() -> None:
    made = shown()
    said = json.loads(made.json())["queries"]
    assert [row.query for row in made.table] == [said[k]["query"] for k in (0, 0, 0, 1, 2, 2, 3, 4, 4)]
    assert [row.group for row in made.table] == ["<b>&'", "two\nlines", "\u202e", *[None] * 4, *["two\nlines"] * 2]
    assert [row.cell for row in made.table] == [None] * 4 + [cell["cell"] for cell in said[2]["cells"]] + [None] + [cell["cell"] for cell in said[2]["cells"]]
    used = said[1]["used"]
    assert made.table[3][3:] == (said[1]["value"], *said[1]["interval"], used["value"], *used["interval"], used.get("total", {}).get("value"), None, None)
    assert made.table[6][3:] == (said[3]["value"], *[None] * 6, said[3]["rank_error"], 0)
    assert f"rank error below {said[3]['rank_error']:.4g}" in repr(made)
    assert [row.value for row in made.table[:3]] == [334, 333, 333] and isinstance(made.table[0].value, int)
    assert made.table[8].value == said[4]["groups"][0]["cells"][1]["value"]
    one = surety.release({"x": [1, 2]}, [surety.count()], **ROWS, ledger=surety.Ledger.in_memory())
    assert one.table == (surety.Number("count()", None, None, 2, 2, 2),)


def test_a_quantile_has_an_interval_where_one_is_requested() -> None:
    data = {"x": np.arange(1000.0)}
    ask = {**ROWS, "epsilon": 100}
    made = surety.release(
        data, [surety.quantile("x", 0.25, 0.5, 0.75, bounds=(0, 1000), candidates=1001, interval=True)], **ask, ledger=surety.Ledger.in_memory()
    )
    for row, exact in zip(made.table, (249, 499, 749), strict=True):
        assert row.lower is not None and row.upper is not None and row.value is not None and row.rank_error is not None
        assert row.lower <= row.value <= row.upper and row.lower <= exact <= row.upper and row.upper - row.lower < 20
        assert row.rank_error < 5
        assert f"[{row.lower:.10g}, {row.upper:.10g}]; rank error below {row.rank_error:.4g}" in repr(made)
    alone = surety.release(data, [surety.median("x", bounds=(0, 1000), interval=False)], **ask, ledger=surety.Ledger.in_memory())
    assert alone.table[0].lower is None and alone.table[0].rank_error is not None
    with pytest.raises(TypeError, match="interval"):
        surety.median("x", bounds=(0, 1000), interval=1)  # type: ignore[call-overload]


def test_a_mean_says_how_many_records_it_uses_and_warns_of_few() -> None:
    amounts = {"amount": [f"{2.5 * k:,.2f}" for k in range(2000)]}
    mean = surety.mean("amount", bounds=(0, 5000))
    promise: dict[str, Any] = {"unit": None, "epsilon": 1000, "adjacency": "replace-one"}

    few = surety.release(amounts, [mean], **promise, ledger=surety.Ledger.in_memory())
    (row,) = few.table
    assert row.used == 400 and isinstance(row.used, int) and row.total == 2000 and row.value == pytest.approx(498.75, abs=1)
    assert row.used_lower is not None and row.used_upper is not None and row.used_lower <= 400 <= row.used_upper
    (warning,) = few.warnings
    assert "of 2000 records have a number in 'amount'" in warning and "thousands" in warning
    for text in (repr(few), few._repr_html_()):
        assert "warning: mean(amount)" in text and " of 2000" in text

    read = surety.release(amounts, [mean], **promise, thousands=",", ledger=surety.Ledger.in_memory())
    assert read.table[0].value == pytest.approx(2498.75, abs=1) and read.table[0].used == 2000 and read.warnings == ()

    complete = surety.release({"amount": [1.0, 2.0]}, [mean], **promise, complete=["amount"], ledger=surety.Ledger.in_memory())
    assert complete.table[0].used is None and "used" not in json.loads(complete.json()) and "used" not in repr(complete)
    with pytest.raises(ValueError, match="thousands must be"):
        surety.release(amounts, [mean], **promise, thousands="x", ledger=surety.Ledger.in_memory())


def test_what_is_shown_is_escaped_and_says_what_was_promised() -> None:
    made = shown()
    page = made._repr_html_()
    assert "&lt;b&gt;&amp;&#x27;" in page and "<b>" not in page and page.count("<tr>") == 1 + len(made.table)
    for text in (repr(made), page):
        assert "two\\nlines" in text and "\\u202e" in text and "\u202e" not in text
        assert "epsilon 1000 at delta 0, add-or-remove-one, for one row: run 1 of memory" in text and "NOT PRIVATE" not in text
    lines = repr(made).splitlines()
    assert len(lines) == 2 + len(made.table) and lines[0].split() == ["query", "group", "cell", "value", "interval", "used"]
    again = surety.release({"x": [1]}, [TOTAL], **ROWS, ledger=surety.Ledger.in_memory(), replay_seed=1)
    assert "NOT PRIVATE" in repr(again) and "NOT PRIVATE" in again._repr_html_() and repr(again).splitlines()[0].split() == ["query", "value", "interval"]


def test_a_table_is_handed_over_as_a_stream_and_taken_as_one() -> None:
    """Its numbers are released again, with next to no noise."""
    made = shown()
    values = [row.value for row in made.table if row.value is not None]
    statistics = [
        surety.sum("value", bounds=(0, 1e4)),
        surety.count(where="present(lower)"),
        surety.count(where="missing(group)"),
        surety.count(where="group == \"<b>&'\" and value == 334"),
    ]
    total, *counts = nearly(made, *statistics, epsilon=1e9)
    assert abs(total - sum(values)) < 1 and counts == [8, 4, 1]
    # Each asks for a stream of its own; a capsule that nobody takes is let go, and one that was taken is taken once.
    capsule = made.__arrow_c_stream__()
    del made
    source = surety._library.arrow_source(capsule, False)
    with pytest.raises(ValueError, match="released"):
        surety._library.arrow_source(capsule, False)
    del source, capsule
    gc.collect()
    with pytest.raises((TypeError, ValueError)):
        surety._library.arrow_source("arrow_array_stream", False)


class Panel:
    """What of Matplotlib's axes a plot of released numbers asks."""

    def __init__(self) -> None:
        self.bars: list[float] = []
        self.names: list[str] = []
        self.intervals: list[list[float]] = []
        self.title = ""

    def barh(self, places: range, values: list[float], color: str) -> None:
        assert len(places) == len(values)
        self.bars = values

    def plot(self, ends: list[float], places: list[int], **look: Any) -> None:
        self.intervals.append(ends)

    def set_yticks(self, places: range, labels: list[str]) -> None:
        assert len(places) == len(labels)
        self.names = labels

    def invert_yaxis(self) -> None: ...

    def set_title(self, title: str, **look: Any) -> None:
        self.title = title


def test_released_numbers_plot_on_given_axes() -> None:
    table = {"town": ["Rome"] * 40 + ["$x^2$\n"] * 2}
    queries = [surety.count(by="town", keys=["Rome", "$x^2$\n"]), surety.histogram("age", bounds=(0, 600), bins=600), surety.median("age", bounds=(0, 600))]
    released = surety.release(
        {**table, "age": np.arange(42)}, queries, unit=None, epsilon=1, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory(), replay_seed=7
    )
    panels = [Panel() for _ in queries]
    assert released.plot(panels) == panels
    groups, cells, median = panels
    assert groups.title == "count() by town" and groups.names == ["Rome", r"\$x^2\$\n"]
    assert [groups.bars, groups.intervals] == [[row.value for row in released.table[:2]], [[row.lower, row.upper] for row in released.table[:2]]]
    assert cells.title == "histogram(age) (and 100 more)" and len(cells.bars) == len(cells.names) == len(cells.intervals) == 500
    assert cells.bars == [row.value for row in released.table[2:502]]
    assert median.bars == [released.table[-1].value] and median.intervals == []
    with pytest.raises(surety.InvalidArgument, match="^axes are 2, must be 3, one for each query$"):
        released.plot(panels[:2])


VISITS: dict[str, Any] = {
    "user": np.array([7, 12, 7, 7, 1, 7, 7]),
    "day": ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-01", "", None, "2024-01-01"],
    "last, first": ["a", "b", "a", "c", "d", "e", "a"],
    "x": np.arange(7.0),
}
OF_VISITS: dict[str, Any] = {"epsilon": 1, "adjacency": "replace-one", "most": 4}


def test_combinations_of_columns_are_units(tmp_path: Path) -> None:
    def units(unit: Any, data: Any = VISITS, **more: Any) -> Any:
        ledger = surety.Ledger.in_memory()
        released = surety.release(data, [surety.count_units()], unit=unit, ledger=ledger, **(OF_VISITS | more))
        assert ledger.unit in repr(released)
        return released.table[0].value, ledger.unit

    told = "one combination of user,day of at most 4 rows (names byte by byte, rows without one: one unit)"
    assert units(["user", "day"]) == (4, told)
    assert units(["user", "day"], empty_unit="each")[0] == 5
    assert units("user")[0] == 3
    assert units(["last, first"])[0] == units("last, first")[0] == 5
    assert units(["user", "last, first"])[1].startswith('one combination of user,"last, first" of ')
    assert units(["user", "day", "last, first"])[0] == 5
    csv = tmp_path / "visits.csv"
    csv.write_text("user,day,x\n7,2024-01-01,1\n12,2024-01-01,1\n7,2024-01-02,1\n,2024-01-02,1\n")
    assert units(("user", "day"), csv) == (4, told)
    dated = {**VISITS, "day": np.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-01", "NaT", "NaT", "2024-01-01"], "datetime64[D]")}
    assert units(["user", "day"], dated) == (4, told)
    for unit, why in [
        (["user", "user"], "names column 'user' twice"),
        (list("abcdefghij"), "unit names 10 columns, must name at most 3"),
        (["user", ""], "on both sides of each comma"),
        (["user", "night"], "column 'night' is missing"),
    ]:
        with pytest.raises(surety.SuretyError, match=re.escape(why)):
            units(unit)
    with pytest.raises(TypeError, match="unit"):
        units(7)


def test_ledgers_may_be_of_combinations() -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one", owner=["user", "day"], most_rows=4)
    assert ledger.unit.startswith("one combination of user,day of at most 4 rows")
    surety.release(VISITS, [surety.count_units()], unit=["user", "day"], ledger=ledger, **OF_VISITS)
    with pytest.raises(surety.InvalidArgument, match="must be the ledger's"):
        surety.release(VISITS, [surety.count_units()], unit=["day", "user"], ledger=ledger, **OF_VISITS)


def test_periods_say_what_a_user_has_over_time() -> None:
    call: dict[str, Any] = {"unit": ["user", "day"], "ledger": surety.Ledger.in_memory(), **OF_VISITS}
    over = surety.release(VISITS, [surety.count(where="x > 2")], unit_period="day", **call).over_time
    assert over is not None
    assert (over["user"], over["period"], over["delta"]) == (["user"], "day", 0)
    assert [bound["periods"] for bound in over["bounds"]] == [7, 31, 365]
    assert [bound[kind] for bound in over["bounds"] for kind in ("of_one_run", "of_run_each")] == pytest.approx([7, 7, 31, 31, 365, 365])
    assert surety.release(VISITS, [surety.count(where="x > 2")], **call).over_time is None
    with pytest.raises(surety.InvalidArgument, match=re.escape("unit_period is 'x', must be one of the columns user,day")):
        surety.release(VISITS, [surety.count(where="x > 2")], unit_period="x", **call)


def test_epsilon_for_an_accuracy() -> None:
    call: dict[str, Any] = {"unit": None, "adjacency": "add-or-remove-one"}
    epsilon = surety.epsilon_for([surety.count()], error=50, **call)
    assert epsilon == pytest.approx(np.log(20) / 50.5, rel=3e-4)  # whole numbers are beyond 50 where the noise is beyond 50.5
    assert surety.epsilon_for([surety.count()], error=50, confidence=0.9, **call) == 0.0456
    released = surety.release({"x": np.arange(100.0)}, [surety.count()], epsilon=epsilon, ledger=surety.Ledger.in_memory(), **call)
    [number] = released.table
    assert number.lower is not None and number.upper is not None and number.upper - number.lower <= 100
    with pytest.raises(surety.NotSupported, match=re.escape("accuracy is not for mean(x)")):
        surety.epsilon_for([surety.mean("x", bounds=(0, 1))], error=1, **call)
    with pytest.raises(surety.Unreachable, match="accuracy needs an epsilon above 1000"):
        surety.epsilon_for([surety.sum("x", bounds=(0, 1))], error=1e-4, **call)
    with pytest.raises(surety.InvalidArgument, match="error is 0"):
        surety.epsilon_for([surety.count()], error=0, **call)
