"""Releases and trainings that are called off by Control-C, and what other threads do meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

ROWS: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "add-or-remove-one"}
# 2^40 rows without memory: an hour to read, so that a test that ends was interrupted while it read.
LONG = {"x": np.broadcast_to(np.float64(1), 2**40)}
TOTAL = surety.sum("x", bounds=(0, 1))
FIT: dict[str, Any] = {"label": "y>0", "algorithm": "gradient-descent", "steps": 2, "unit": None, "epsilon": 1, "delta": 1e-5, "adjacency": "replace-one"}


def interrupted(work: Callable[[], Any], is_time: Callable[[], bool]) -> BaseException:
    """The exception that a signal makes of work, sent once it is time."""
    over = threading.Event()

    def send() -> None:
        while not is_time() and not over.is_set():
            time.sleep(0.002)
        if not over.is_set():  # else work has ended by itself, and the signal would end the tests
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        work()
    except BaseException as error:
        return error
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    raise AssertionError("it was not interrupted")


def after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def test_the_keyboard_ends_the_reading_of_columns_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    error = interrupted(lambda: surety.release(LONG, [TOTAL, surety.count(where="x > 0.5")], **ROWS, ledger=path), after(0.4))
    assert isinstance(error, KeyboardInterrupt)
    assert error.__notes__ == ["surety: nothing was charged, and nothing was released"] and not path.exists()
    # Nothing of it is left.
    assert surety.release({"x": [1]}, [TOTAL], **ROWS, ledger=path).run == 1


@pytest.mark.parametrize("unit", [None, "x"])
def test_the_keyboard_ends_the_reading_of_a_file(tmp_path: Path, unit: str | None) -> None:
    """Of a pipe that never ends; of owners the first of two passes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    file = tmp_path / "table.csv"
    endless: subprocess.Popen[bytes] | None = None
    if unit is None:
        endless = subprocess.Popen(["sh", "-c", f"(echo x; exec yes 1) > {pipe}"])
    else:
        file.write_text("x\n" + "1\n" * 4_000_000)
    call = {**ROWS, "unit": unit} | ({"most": 2} if unit else {})
    try:
        error = interrupted(
            lambda: surety.release(file if unit else pipe, [TOTAL if unit is None else surety.count()], **call, ledger=tmp_path / "run.db"), after(0.4)
        )
    finally:
        if endless is not None:
            endless.kill()
            endless.wait()
    assert isinstance(error, KeyboardInterrupt)
    assert error.__notes__ == ["surety: nothing was charged, and nothing was released"] and not (tmp_path / "run.db").exists()


def test_what_was_charged_before_the_keyboard_stays_charged() -> None:
    """Between two of many releases, once the ledger has the charge."""
    statistics = [surety.median("x", bounds=(0, 1), candidates=50_000)] * 2000
    ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
    error = interrupted(
        lambda: surety.release({"x": [1]}, statistics, **{**ROWS, "epsilon": 100}, ledger=ledger), lambda: len(ledger.audit(0.0)["runs"]) > 0
    )
    assert isinstance(error, KeyboardInterrupt)
    assert error.__notes__ == ["surety: run 1 of the ledger is charged, and stays charged with what it had released by then, or more"]
    (run,) = ledger.audit(0.0)["runs"]
    assert run["state"] == "settled" and 0 < run["charged"].count("pure") and run["charged"] != run["planned"]


def test_the_keyboard_ends_the_reading_of_a_training_and_costs_nothing(tmp_path: Path) -> None:
    long = {"x": np.broadcast_to(np.float64(1), 2**40), "y": np.broadcast_to(np.float64(1), 2**40)}
    error = interrupted(lambda: surety.train(long, **FIT, no_limits=True, ledger=tmp_path / "run.db"), after(0.4))
    assert isinstance(error, KeyboardInterrupt)
    assert error.__notes__ == ["surety: nothing was charged, and nothing was released"] and not (tmp_path / "run.db").exists()


def test_what_a_training_was_charged_before_the_keyboard_stays_charged() -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one")
    table = {"x": np.arange(100_000) % 7 * 1.0, "y": np.arange(100_000) % 2}
    call = {**FIT, "steps": 100_000}
    error = interrupted(lambda: surety.train(table, **call, ledger=ledger), lambda: len(ledger.audit(1e-5)["runs"]) > 0)
    assert isinstance(error, KeyboardInterrupt)
    assert error.__notes__ == ["surety: run 1 of the ledger is charged, and stays charged with what it had released by then, or more"]
    (run,) = ledger.audit(1e-5)["runs"]
    assert run["state"] == "settled" and run["charged"] != run["planned"]


def test_a_handler_that_raises_nothing_changes_nothing() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        data = {"x": np.broadcast_to(np.float64(1), 10**8)}
        assert surety.release(data, [TOTAL], **ROWS, ledger=surety.Ledger.in_memory()).run == 1
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_the_lock_of_the_interpreter_is_free() -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        began, before = time.thread_time(), counted
        surety.release({"x": np.ones(1 << 18), "g": np.zeros(1 << 18, np.int8)}, [surety.count(where="g == 0 and x > 0")] * 40, **ROWS, ledger=surety.Ledger.in_memory())
        took = time.thread_time() - began
        during = counted - before
    finally:
        over.set()
        thread.join()
    # One that waited for the lock would count some ten times, for 5 ms at a time where nothing else gives it up.
    assert during > 20_000 * took
