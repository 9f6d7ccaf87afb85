"""The ledger: charged before released, and never less."""

from __future__ import annotations

import copy
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

ONE = surety.Event("gaussian(40)", "replace-one")


def new_ledger(folder: Path, **options: Any) -> surety.Ledger:
    return surety.Ledger.create(folder / "run.db", adjacency="replace-one", **options)


def charged(ledger: surety.Ledger) -> list[tuple[str, str]]:
    return [(run["state"], run["charged"]) for run in ledger.audit(1e-5)["runs"]]


def test_a_run_is_charged_before_it_releases_and_settles_with_its_block(tmp_path: Path) -> None:
    noise = surety.GaussianNoise(40, sensitivity=1, dimension=2, adjacency="replace-one")
    with new_ledger(tmp_path) as ledger:
        with ledger.reserve(100 * ONE, note="means", promise=(1.0, 1e-5)) as run:
            assert charged(ledger) == [("reserved", "repeat(100, gaussian(40))")]
            values = np.zeros(2)
            for _ in range(3):
                run.release(noise, values)
            assert values.all() and run.run == 1 and not run.is_settled
        assert run.is_settled
        assert charged(ledger) == [("settled", "repeat(3, gaussian(40))")]
        assert ledger.audit(1e-5)["runs"][0]["note"] == "means"
        with pytest.raises(ValueError, match="over"):
            run.spend(ONE)
        with pytest.raises(ValueError, match="over"):
            run.settle()
        assert (ledger.path, ledger.adjacency, ledger.unit) == (tmp_path / "run.db", "replace-one", "one row")
    with pytest.raises(ValueError, match="closed"):
        ledger.audit(1e-5)
    ledger.close()
    with surety.Ledger(tmp_path / "run.db") as again:
        assert charged(again) == [("settled", "repeat(3, gaussian(40))")]


def test_an_exception_keeps_the_whole_charge(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:
        with pytest.raises(KeyError):
            with ledger.reserve("repeat(5, gaussian(40))") as run:
                run.spend(ONE)
                raise KeyError
        assert charged(ledger) == [("reserved", "repeat(5, gaussian(40))")]
        with pytest.raises(ValueError, match="over"):
            run.spend(ONE)
        # Nobody can spend any more: who knows what was released may say so.
        ledger.settle(run.run, 2 * ONE)
        assert charged(ledger) == [("settled", "repeat(2, gaussian(40))")]


def test_what_is_not_reserved_is_not_spent(tmp_path: Path) -> None:
    noise = surety.GaussianNoise(40, sensitivity=1, dimension=1, adjacency="replace-one")
    with new_ledger(tmp_path) as ledger, ledger.reserve(ONE) as run:
        values = np.zeros(1)
        run.release(noise, values)
        before = values.copy()
        with pytest.raises(surety.SuretyError) as refused:
            run.release(noise, values)
        assert type(refused.value) is surety.BudgetExceeded and refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED
        assert np.array_equal(values, before)
        run.settle(adaptive=True)
        assert run.is_settled
        with pytest.raises(ValueError):
            run.settle()


def test_what_is_refused_is_not_spent(tmp_path: Path) -> None:
    noise = surety.GaussianNoise(40, sensitivity=1, dimension=3, adjacency="replace-one")
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    wrong: list[Any] = [
        np.zeros(5),  # the wrong shape
        np.zeros(3, dtype=np.float32),  # no step for floats
        np.zeros(3, dtype=np.int64),
        np.zeros(3, dtype=np.complex128),
        np.zeros(3, dtype=">f8"),
        np.zeros(6)[::2],
        np.frombuffer(bytearray(25), dtype=np.uint8, offset=1)[:24].view(np.float64),  # not aligned
        read_only,
        [0.0, 0.0, 0.0],
        None,
    ]
    with new_ledger(tmp_path) as ledger, ledger.reserve(2 * noise.event) as run:
        for values in wrong:
            with pytest.raises((TypeError, ValueError, BufferError)):
                run.release(noise, values)
        for rows, clip in [
            (np.zeros((2, 5)), 0.5),
            (np.zeros((2, 3)), 0.6),  # twice that, under replace-one, is more than 1
            (np.zeros((2, 3)), -1.0),
            (np.zeros((2, 3)), np.nan),
            (np.zeros(3), 0.5),
            (np.zeros((2, 3), dtype=np.int64), 0.5),
            (np.zeros((2, 3), dtype=">f8"), 0.5),
            (None, 0.5),
        ]:
            with pytest.raises((TypeError, ValueError)):
                run.release_sum(noise, rows, clip=clip)  # type: ignore[arg-type]
        # Both releases are still there, and no more.
        run.release(noise, np.zeros(3))
        assert run.release_sum(noise, np.zeros((2, 3)), clip=0.5).shape == (3,)
        with pytest.raises(surety.SuretyError, match="beyond what is left") as refused:
            run.release_sum(noise, np.zeros((2, 3)), clip=0.5)
        assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED


def test_budgets_refuse_and_charge_nothing(tmp_path: Path) -> None:
    found = surety.calibrate("repeat(100, gaussian(z))", epsilon=1, delta=1e-5, adjacency="replace-one")
    with new_ledger(tmp_path, epsilon=1, delta=1e-5, filter="gaussian", owner="patient", most_rows=5) as ledger:
        assert ledger.unit == "one patient of at most 5 rows (names byte by byte, rows without one: one unit)"
        ledger.reserve(found.event).settle()
        ledger.reserve(found.event)
        with pytest.raises(surety.SuretyError) as refused:
            ledger.reserve(found.event)
        assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED
        assert len(charged(ledger)) == 2
    with surety.Ledger.create(tmp_path / "each.db", adjacency="replace-one", owner="patient", without_name="each") as each:
        assert each.unit == "one patient of at most 1 row (names byte by byte, rows without one: each a unit)"
        assert each.audit(0.1)["unit"]["empty"] == "each"
    options: Any
    for options in [{"epsilon": 1}, {"delta": 0.1}, {"filter": "renyi"}]:
        with pytest.raises(TypeError):
            surety.Ledger.create(tmp_path / "other.db", adjacency="replace-one", **options)
    with pytest.raises(ValueError, match="must be one or each"):
        surety.Ledger.create(tmp_path / "other.db", adjacency="replace-one", owner="patient", without_name="two")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        new_ledger(tmp_path)
    with pytest.raises(surety.SuretyError) as missing:
        surety.Ledger(tmp_path / "none.db")
    assert missing.value.code == surety.ErrorCode.ENVIRONMENT
    (tmp_path / "noise.db").write_bytes(b"x" * 100)
    with pytest.raises(surety.SuretyError) as damaged:
        surety.Ledger(tmp_path / "noise.db")
    assert damaged.value.code == surety.ErrorCode.DAMAGED_LEDGER


def test_a_pipe_beside_a_ledger_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger, ledger.reserve(ONE):
        pass
    path = tmp_path / "run.db"
    for ending in ["-journal", "-wal", "-shm"]:
        beside = Path(f"{path}{ending}")
        os.mkfifo(beside, 0o666)
        with pytest.raises(surety.SuretyError, match=re.escape(beside.name)) as refused:
            surety.Ledger(path)
        assert refused.value.code == surety.ErrorCode.ENVIRONMENT
        beside.unlink()
    with surety.Ledger(path) as again:
        assert len(charged(again)) == 1


def test_a_working_folder_that_is_gone_is_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(surety.SuretyError) as opened:
        surety.Ledger("run.db")
    with pytest.raises(surety.SuretyError) as created:
        surety.Ledger.create("run.db", adjacency="replace-one")
    assert opened.value.code == created.value.code == surety.ErrorCode.ENVIRONMENT


def test_ledgers_and_runs_do_not_pickle(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger, ledger.reserve(ONE) as run:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="does not pickle"):
                attempt(run)
        with pytest.raises(TypeError, match="does not pickle"):
            pickle.dumps(ledger)
        # A copy is no other ledger, whose charges would be forgotten.
        assert copy.copy(ledger) is ledger and copy.deepcopy([ledger])[0] is ledger
    with pytest.raises(TypeError):
        surety.Reservation()


def test_threads_share_a_ledger_and_a_run(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:
        shared = ledger.reserve(800 * ONE)

        def work() -> None:
            for _ in range(100):
                shared.spend(ONE)
            with ledger.reserve(ONE) as own:
                own.spend(ONE)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(surety.SuretyError):
            shared.spend(ONE)
        shared.settle()
        assert sorted(charged(ledger)) == [("settled", "gaussian(40)")] * 8 + [("settled", "repeat(800, gaussian(40))")]


def test_pythons_sqlite_beside_ours_drops_no_lock(tmp_path: Path) -> None:
    """A run is alive by a lock that no close drops."""
    settle = f"import surety_dp as surety; surety.Ledger({str(tmp_path / 'run.db')!r}).settle(1, None)"
    with new_ledger(tmp_path) as ledger:
        with ledger.reserve(2 * ONE) as run:
            other = sqlite3.connect(tmp_path / "run.db")
            assert [name for (name,) in other.execute("select name from sqlite_master order by name")] == ["entry", "head"]
            with pytest.raises(sqlite3.IntegrityError):
                other.execute("insert into head values (2, 0, 0)")
            other.close()
            run.spend(ONE)
            # Alive for every other process still.
            done = subprocess.run([sys.executable, "-c", settle], capture_output=True, text=True)
            assert done.returncode == 1 and "run 1 is still running" in done.stderr
        assert charged(ledger) == [("settled", "gaussian(40)")]
    done = subprocess.run([sys.executable, "-c", settle], capture_output=True, text=True)
    assert done.returncode == 1 and "settled already" in done.stderr


CHARGING = """
import pathlib, sqlite3, sys, threading
import surety_dp as surety

path = pathlib.Path(sys.argv[1])


def read_on_and_on() -> None:
    # Python's own SQLite: each close drops the POSIX locks of this process.
    while True:
        foreign = sqlite3.connect(path, timeout=0.01)
        try:
            foreign.execute("SELECT count(*) FROM entry").fetchone()
        except sqlite3.DatabaseError:
            pass
        foreign.close()


threading.Thread(target=read_on_and_on, daemon=True).start()
one = surety.Event("gaussian(40)", "replace-one")
with surety.Ledger(path) as ledger:
    while True:
        run = ledger.reserve(3 * one)
        print(run.run, flush=True)
        run.spend(one)
        run.settle()
"""


def test_nothing_is_lost_beside_another_copy_of_sqlite(tmp_path: Path) -> None:
    """Four processes charge and are killed, each reading the ledger with Python's SQLite meanwhile."""
    path = tmp_path / "run.db"
    new_ledger(tmp_path).close()
    program = tmp_path / "charging.py"
    program.write_text(CHARGING)
    rng = np.random.default_rng(7)
    reported: list[int] = []

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, str(program), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        reported.append(int(process.stdout.readline()))
        time.sleep(0.3 * rng.random())
        process.kill()
        # By the reader that has the first line: it may hold more. The last one may end anywhere, and is left out.
        told = process.stdout.read().rpartition("\n")[0].split()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait()
        reported.extend(int(run) for run in told)

    processes = [start() for _ in range(4)]
    for _ in range(8):
        kill(processes.pop(0))
        processes.append(start())
        foreign = sqlite3.connect(path, timeout=20)
        assert foreign.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        foreign.close()
    for process in processes:
        kill(process)
    with surety.Ledger(path) as ledger:
        runs = ledger.audit(1e-5)["runs"]
    assert len(reported) >= 12 and len(set(reported)) == len(reported)
    assert set(reported) <= {run["run"] for run in runs}
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_ledger_in_memory_is_that_of_its_first_run() -> None:
    ledger = surety.Ledger.in_memory()
    assert ledger.path is None
    with pytest.raises(ValueError, match="has had no run yet"):
        ledger.audit(1e-5)
    with pytest.raises(ValueError, match="has had no run yet"):
        ledger.reserve("gaussian(40)")
    with ledger.reserve(5 * ONE) as run:
        run.spend(ONE)
    assert charged(ledger) == [("settled", "gaussian(40)")] and (ledger.adjacency, ledger.unit) == ("replace-one", "one row")
    with pytest.raises(ValueError, match="adjacency"):
        ledger.reserve("gaussian(40)", adjacency="zero-out")
    # Each is one by itself, and what it holds goes with it.
    other = surety.Ledger.in_memory(adjacency="zero-out", epsilon=1, delta=1e-5, owner="person", most_rows=3)
    assert other.unit.startswith("one person of at most 3 rows") and other.adjacency == "zero-out" and other.path is None
    ledger.close()
    for question in (lambda: ledger.audit(1e-5), lambda: ledger.path, lambda: ledger.reserve(ONE)):
        with pytest.raises(ValueError, match="closed"):
            question()


def test_a_ledger_in_memory_keeps_its_budget() -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="gaussian")
    ledger.reserve("repeat(50, gaussian(40))").settle()
    with pytest.raises(surety.SuretyError, match="the budget") as refused:
        ledger.reserve("repeat(500, gaussian(40))")
    assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED
    with pytest.raises(TypeError, match="adjacency is missing"):
        surety.Ledger.in_memory(epsilon=1, delta=1e-5)
    with pytest.raises(TypeError):
        surety.Ledger.create(None, adjacency="replace-one")  # type: ignore[arg-type]


def test_threads_share_a_ledger_in_memory() -> None:
    ledger = surety.Ledger.in_memory()

    def work() -> None:
        for _ in range(20):
            with ledger.reserve(ONE) as run:
                run.spend(ONE)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.audit(1e-5)["event"] == "repeat(160, gaussian(40))"


def test_an_audit_without_a_delta_is_at_that_of_the_promises() -> None:
    with surety.Ledger.in_memory() as ledger:
        surety.release({"x": [1.0, 2.0, 3.0]}, [surety.mean("x", bounds=(0, 4))], unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=ledger)
        assert ledger.audit() == ledger.audit(1e-6) and ledger.audit()["delta"] == 1e-6


def test_what_is_spent_is_the_epsilon_of_the_audit(tmp_path: Path) -> None:
    with surety.Ledger.create(tmp_path / "run.db", adjacency="replace-one", epsilon=1, delta=1e-5) as ledger:
        assert repr(ledger).startswith(f"<Ledger {str(tmp_path / 'run.db')!r}: 0 runs, replace-one, for one row, budget epsilon 1 at delta 1e-05 (renyi filter): 0 of ")
        assert tuple(ledger.spent()) == (0, 0)
        event = surety.Event("gaussian(40)", "replace-one")
        with ledger.reserve(event) as run:
            run.spend(event)
        expected = surety.epsilon(event, delta=1e-6)
        assert tuple(ledger.spent(1e-6)) == tuple(expected) and ledger.spent() < expected
    assert repr(ledger) == "<Ledger, not open>"
    assert repr(surety.Ledger.in_memory()) == "<Ledger in memory>"
    free = surety.Ledger.in_memory(adjacency="replace-one")
    free.reserve("gaussian(40)").settle()
    assert repr(free) == "<Ledger in memory: 1 run, replace-one, for one row, no budget>"
    replayed = surety.Ledger.in_memory()
    surety.release({"x": [1.0]}, [surety.count()], unit=None, epsilon=1, adjacency="add-or-remove-one", ledger=replayed, replay_seed=1)
    assert "NOT PRIVATE" in repr(replayed)


def filters() -> list[tuple[Any, str, surety.Event]]:
    """A filter, its unit, and a release that costs something under it."""
    gaussian, pure = surety.Event("gaussian(20)", "replace-one"), surety.Event("pure(0.125)", "replace-one")
    return [("basic", "epsilon", pure), ("renyi", "divergence", gaussian), ("renyi", "divergence", pure), ("gaussian", "mu^2", gaussian), ("zcdp", "rho", gaussian)]


@pytest.mark.parametrize(("filter", "unit", "event"), filters())
def test_what_remains_of_a_budget_is_a_lower_bound(filter: Any, unit: str, event: surety.Event) -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter=filter)
    whole = ledger.remaining()
    assert whole.unit == unit and whole == ledger.remaining(1e-5)
    room = ledger.room_for(event)
    assert 3 < room < 1000 and ledger.room_for(event.text, most=2) == 2
    left = [whole.amount]
    while True:
        budget = ledger.audit()["budget"]
        now = ledger.remaining()
        # Never more than the exact difference of the certified bounds, nor far below it.
        exact = max(Fraction(budget["limit"]["lower"]) - Fraction(budget["spent"]["upper"]), Fraction(0))
        assert Fraction(now.amount) <= exact <= Fraction(now.amount) * (1 + Fraction(1, 2**50))
        if now.epsilon is not None:
            sums = budget.get("spent_epsilon", budget["spent"])
            assert Fraction(now.epsilon) == 1 - Fraction(sums["upper"])
        try:
            with ledger.reserve(event) as run:
                run.spend(event)
        except surety.BudgetExceeded:
            break
        room -= 1
        assert ledger.room_for(event) == room
        left.append(ledger.remaining().amount)
    assert room == 0 and left == sorted(left, reverse=True) and left[0] > left[-1] >= 0


def test_a_budget_that_is_split_evenly_admits_every_share_and_hardly_more() -> None:
    for filter, _, event in filters():
        ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter=filter)
        ledger.reserve(event).settle()
        with ledger.reserve(event) as run:
            run.spend(event)
        kind = event.text.split("(")[0]
        share = ledger.split_evenly(5, f"{kind}(x)", solve="x")
        if (filter, kind) != ("renyi", "pure"):
            assert share == ledger.split_evenly(5)
        value = float(share.text[len(kind) + 1 : -1])
        more = value * (1 + 1e-6) if kind == "pure" else value / (1 + 1e-6)
        assert ledger.room_for(surety.Event("e(x)".replace("e", kind), "replace-one", {"x": more})) == 4
        for _ in range(5):
            with ledger.reserve(share) as run:
                run.spend(share)
        with pytest.raises(surety.BudgetExceeded):
            ledger.reserve(share)
    assert surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="basic").split_evenly(4).text == "pure(0.25)"


def test_what_no_budget_answers_is_refused() -> None:
    free = surety.Ledger.in_memory(adjacency="replace-one")
    for question in (free.remaining, lambda: free.room_for(ONE), lambda: free.split_evenly(2)):
        with pytest.raises(surety.InvalidArgument, match="the ledger has no budget, must have one"):
            question()
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="gaussian")
    with pytest.raises(surety.InvalidArgument, match="delta is 1e-06, must be the budget's, 1e-05"):
        ledger.remaining(1e-6)
    with pytest.raises(surety.NotSupported):
        ledger.room_for("laplace(1)")
    with pytest.raises(surety.InvalidArgument, match="runs is 0, must be a whole number from 1"):
        ledger.split_evenly(0)
    with pytest.raises(surety.InvalidArgument, match="must depend on it"):
        ledger.split_evenly(1, "gaussian(1000)")
    basic = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="basic")
    basic.reserve("pure(1)")
    with pytest.raises(surety.BudgetExceeded, match="reserve fewer runs"):
        basic.split_evenly(1)
    replayed = surety.Ledger.in_memory(adjacency="add-or-remove-one", epsilon=1, delta=1e-5)
    surety.release({"x": [1.0]}, [surety.count()], unit=None, epsilon=0.5, adjacency="add-or-remove-one", ledger=replayed, replay_seed=1)
    with pytest.raises(surety.InvalidArgument, match="nothing is left of it"):
        replayed.remaining()
