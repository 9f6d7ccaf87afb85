"""What ``progress`` of releases and trainings calls, shows and logs: phases and public counts, and no time after the charge."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "add-or-remove-one"}
TWO = [surety.sum("x", bounds=(0, 1)), surety.count(where="x > 0.5")]
FIT: dict[str, Any] = {"label": "y>0", "algorithm": "gradient-descent", "steps": 250, "unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one"}
PHASES = [("calibrating", 0, 0), ("reading", 0, 0), ("releasing", 0, 0)]
Run = Callable[..., object]


def table(rows: int) -> dict[str, Any]:
    return {"x": np.arange(rows) % 7 / 7, "y": np.arange(rows) % 2}


def release(rows: int, ledger: Any = None, **said: Any) -> surety.Released:
    return surety.release(table(rows), TWO, **ROWS, ledger=ledger or surety.Ledger.in_memory(), **said)


def train(rows: int, ledger: Any = None, **said: Any) -> surety.Model:
    return surety.train(table(rows), **{**FIT, **said}, ledger=ledger or surety.Ledger.in_memory())


def calls(run: Run, rows: int = 100, **said: Any) -> list[tuple[str, int, int]]:
    seen: list[tuple[str, int, int]] = []
    run(rows, progress=lambda *told: seen.append(told), **said)
    return seen


def test_a_callable_is_called_with_phases_and_public_counts() -> None:
    # The number of records is private under add-or-remove-one.
    assert calls(release) == calls(release, 30_000) == [*PHASES, ("releasing", 1, 2), ("releasing", 2, 2)]
    trained = calls(train)
    assert trained == calls(train, 30_000) and trained[:3] == PHASES
    assert {(phase, all) for phase, _, all in trained[3:]} == {("releasing", 250)}
    steps = [done for _, done, _ in trained[3:]]
    assert len(steps) == 100 and steps[0] == 3 and steps[-1] == 250 and all(a * 100 // 250 < b * 100 // 250 for a, b in zip(steps, steps[1:]))


def test_plans_that_are_run_again_call_it_too() -> None:
    seen: list[tuple[str, int, int]] = []
    plan = surety.plan(TWO, **ROWS)
    for ledger in (surety.Ledger.in_memory(), surety.Ledger.in_memory()):
        plan.release(table(10), ledger=ledger, progress=lambda *told: seen.append(told))
    assert seen == [*PHASES[1:], ("releasing", 1, 2), ("releasing", 2, 2)] * 2
    seen.clear()
    training = surety.plan_training(**{**FIT, "steps": 2})
    for ledger in (surety.Ledger.in_memory(), surety.Ledger.in_memory()):
        training.train(table(10), ledger=ledger, progress=lambda *told: seen.append(told))
    again = [*PHASES, ("releasing", 1, 2), ("releasing", 2, 2)]
    assert seen == [*again[1:], *again]


def test_nothing_of_the_runs_of_a_search_is_reported() -> None:
    """The number of its runs is secret."""
    assert calls(train, tune=4, tune_over={"clip": [0.1, 0.8]}, steps=5) == PHASES


@pytest.mark.parametrize("where", ["main", "another thread"])
def test_what_a_callable_raises_ends_the_run(tmp_path: Path, where: str) -> None:
    def at(phase: str, done: int) -> Callable[[str, int, int], None]:
        def progress(*told: object) -> None:
            if told[:2] == (phase, done):
                raise KeyError(phase)

        return progress

    def error_of(run: Run, path: Path, phase: str, done: int = 0) -> KeyError:
        found: list[KeyError] = []

        def work() -> None:
            with pytest.raises(KeyError, match=phase) as raised:
                run(10, path, progress=at(phase, done))
            found.append(raised.value)

        if where == "main":
            work()
        else:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return found[0]

    for name, run in ("release", release), ("train", train):
        for phase in "calibrating", "reading":
            error_of(run, tmp_path / "none.db", phase)
            assert not (tmp_path / "none.db").exists()
        path = tmp_path / f"{name}.db"
        error = error_of(run, path, "releasing", 1 if run is release else 50)
        assert error.__notes__ == ["surety: run 1 of the ledger is charged, and stays charged with what it had released by then, or more"]
        (charged,) = surety.Ledger(path).audit(1e-5)["runs"]
        assert charged["state"] == "settled" and charged["charged"] != charged["planned"]


def test_a_callable_cannot_call_the_library() -> None:
    def again(phase: str, done: int, all: int) -> None:
        release(1, progress=again)

    with pytest.raises(surety.InvalidArgument, match="progress calls the library, must only report"):
        release(1, progress=again)
    with pytest.raises(surety.InvalidArgument, match="progress calls the library, must only report"):
        train(1, progress=lambda phase, done, all: surety.epsilon("gaussian(1)", delta=1e-5, adjacency="zero-out"))
    assert release(1).run == 1


def test_anything_else_is_refused() -> None:
    for run in release, train:
        for wrong in (None, 1, "tqdm"):
            with pytest.raises(TypeError, match=r"progress is .*, must be True, False or a callable of \(phase, done, all\)"):
                run(10, progress=wrong)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, run: Run, rows: int, **said: Any) -> str:
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stderr", screen)
    run(rows, progress=True, **said)
    return screen.getvalue()


def test_a_bar_shows_counts_and_no_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for run in release, train:
        bar = shown(monkeypatch, run, 10)
        # How long a run takes changes neither what is drawn nor how often.
        assert bar == shown(monkeypatch, run, 30_000)
        assert not re.search(r"[0-9]:[0-9]|/s|s/|\?", bar)
        assert ("releasing: 2 of 2 |" if run is release else "releasing: 250 of 250 |") in bar
        assert bar.rsplit("\r", 2)[1].strip() == "" and bar.endswith("\r")  # it is removed
    assert "of" not in shown(monkeypatch, train, 10, tune=4, tune_over={"clip": [0.1, 0.8]}, steps=5)
    assert caplog.records == []


def test_a_terminal_that_goes_away_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Terminal):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    assert release(10, progress=True).run == 1


@pytest.mark.parametrize("has_tqdm", [False, True])
def test_without_tqdm_or_a_terminal_the_logger_writes_until_the_charge(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, has_tqdm: bool
) -> None:
    caplog.set_level(logging.INFO)
    screen = io.StringIO() if has_tqdm else Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    if not has_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.autonotebook", None)
    for run in release, train:
        path = tmp_path / f"{run.__name__}.db"
        is_charged: list[bool] = []

        def see(record: logging.LogRecord, path: Path = path, is_charged: list[bool] = is_charged) -> bool:
            is_charged.append(path.exists())
            return True

        monkeypatch.setattr(logging.getLogger("surety_dp"), "filters", [see])
        caplog.clear()
        run(10, path, progress=True)
        assert [(record.name, record.levelname) for record in caplog.records] == [("surety_dp", "INFO")] * 2
        assert [record.getMessage().split(";")[0] for record in caplog.records] == ["calibrating the noise", "reading the records"]
        assert is_charged == [False, False] and path.exists()
    assert screen.getvalue() == ""
