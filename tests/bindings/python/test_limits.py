"""Questions that end in their time, and when Control-C is pressed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surety_dp as surety

# Of minutes, if nobody stops it: a test that ends soon was stopped.
LONG = "compose(" + ", ".join(f"allocated({1000 + i}, gaussian(1))" for i in range(2000)) + ")"
ZERO_OUT: surety.Adjacency = "zero-out"

QUESTIONS: dict[str, Callable[..., Any]] = {
    "epsilon": lambda **more: surety.epsilon(LONG, delta=1e-6, adjacency=ZERO_OUT, **more),
    "delta": lambda **more: surety.delta(LONG, epsilon=1, adjacency=ZERO_OUT, **more),
    "explain": lambda **more: surety.explain(LONG, delta=1e-6, adjacency=ZERO_OUT, **more),
    "curve": lambda **more: surety.curve(LONG, [0.5, 1], adjacency=ZERO_OUT, **more),
    "tradeoff": lambda **more: surety.tradeoff(LONG, [0.1], adjacency=ZERO_OUT, **more),
    "risk": lambda **more: surety.risk(LONG, adjacency=ZERO_OUT, **more),
    "calibrate": lambda **more: surety.calibrate(
        LONG.replace("gaussian(1)", "gaussian(z)"), solve="z", epsilon=1, delta=1e-6, adjacency=ZERO_OUT, **more
    ),
    "calibrate risk": lambda **more: surety.calibrate(
        LONG.replace("gaussian(1)", "gaussian(z)"), solve="z", advantage=0.1, adjacency=ZERO_OUT, **more
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_end_in_their_time(question: str) -> None:
    with pytest.raises(surety.SuretyError, match=r"longer than limit_seconds 0\.05") as stopped:
        QUESTIONS[question](limit_seconds=0.05)
    assert stopped.value.code == surety.ErrorCode.STOPPED
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="limit_seconds"):
            QUESTIONS[question](limit_seconds=wrong)


def test_audits_end_in_their_time(tmp_path: Path) -> None:
    with surety.Ledger.create(tmp_path / "run.db", adjacency=ZERO_OUT) as ledger:
        ledger.reserve(LONG)
        with pytest.raises(surety.SuretyError) as stopped:
            ledger.audit(1e-6, limit_seconds=0.05)
        assert stopped.value.code == surety.ErrorCode.STOPPED
    told = {"noise_multiplier": 1, "batch_size": 7, "largest_batch": 9, "records": 70001, "epochs": 1000, "sampler": "truncated_poisson"}
    with pytest.raises(surety.SuretyError) as stopped:
        surety.audit_log(told, adjacency="add-or-remove-one", delta=1e-6, limit_seconds=1e-3)
    assert stopped.value.code == surety.ErrorCode.STOPPED


def test_an_answer_in_time_is_the_answer() -> None:
    easy = "repeat(100, poisson(0.01, gaussian(1)))"
    answer = surety.epsilon(easy, delta=1e-6, adjacency=ZERO_OUT)
    assert surety.epsilon(easy, delta=1e-6, adjacency=ZERO_OUT, limit_seconds=1000) == answer


def interrupted_after(question: Callable[[], Any], seconds: float) -> BaseException:
    """The exception that a signal makes of a question."""

    def send() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell that starts the tests in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        question()
    except BaseException as error:
        thread.join()
        return error
    finally:
        signal.signal(signal.SIGINT, before)
    raise AssertionError("it was not interrupted")


@pytest.mark.parametrize("question", ["epsilon", "calibrate"])
def test_the_keyboard_interrupts_a_question(question: str) -> None:
    error = interrupted_after(QUESTIONS[question], 0.3)
    assert isinstance(error, KeyboardInterrupt)
    # Nothing of it is left.
    assert surety.epsilon("gaussian(1)", delta=1e-6, adjacency=ZERO_OUT).lower > 0


def test_a_handler_that_raises_nothing_changes_nothing() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        easy = "compose(" + ", ".join(f"poisson(0.01, gaussian({1 + i / 100}))" for i in range(12)) + ")"
        expected = surety.epsilon(easy, delta=1e-6, adjacency=ZERO_OUT)
        thread = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        thread.start()
        assert surety.epsilon(easy, delta=1.1e-6, adjacency=ZERO_OUT).upper < expected.upper
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_other_threads_have_a_limit_and_no_signals() -> None:
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            QUESTIONS["epsilon"](limit_seconds=0.05)
        except surety.SuretyError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert [error.code for error in errors if isinstance(error, surety.SuretyError)] == [surety.ErrorCode.STOPPED]
