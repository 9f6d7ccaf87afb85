"""starved.py FOLDER ONCE ALWAYS LIMITS: calibrates, releases, trains and audits again and again, each time in a process of its own.

ONCE processes have no memory for one allocation, ALWAYS have none from one allocation on, and LIMITS have little address space. Prints as JSON how they ended
and where: one of the ends below, or what is wrong. tests/faults must be preloaded."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import surety_dp as surety

ALL = ctypes.CDLL(None)
ALL.faults_fail_allocation.argtypes = [ctypes.c_uint64, ctypes.c_int]
ALL.faults_fail_allocation.restype = ctypes.c_uint64
LINE = "surety: error: memory is exhausted\n"
ANSWER, MEMORY_ERROR, OUT_OF_MEMORY, ENDED = "answer", "MemoryError", "SuretyError", "a line and exit 5"
RUNS = 3  # of a job
EVENT = "repeat(10, poisson(0.01, gaussian(2)))"


def asked() -> str:
    return repr(surety.epsilon(EVENT, delta=1e-5, adjacency="add-or-remove-one"))


def job(path: Path) -> tuple[str, float]:
    sigma = surety.calibrate("repeat(3, gaussian(sigma))", solve="sigma", epsilon=1, delta=1e-6, adjacency="replace-one").value
    noise = surety.GaussianNoise(2.0, sensitivity=1, dimension=4, adjacency="replace-one")
    said: dict[str, Any] = {"unit": None, "epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}
    with surety.Ledger.create(path, adjacency="replace-one") as ledger:
        with ledger.reserve(3 * noise.event, note="four numbers") as run:
            run.release(noise, np.zeros(4))
        surety.release({"x": [1.0, 2.0] * 5}, [surety.sum("x", bounds=(0, 3))], ledger=ledger, **said)
        table = {"x": [0.1, 0.9] * 10, "y": [0, 1] * 10}
        surety.train(table, label="y>0", bounds={"x": (0, 1)}, algorithm="gradient-descent", steps=2, ledger=ledger, **said)
        assert len(ledger.audit(1e-6)["runs"]) == RUNS
    return asked(), sigma


def attempt(path: Path, starve: Callable[[], None], feed: Callable[[], None], truth: tuple[str, float]) -> str:
    """What became of the job, and of the ledger and of later calls after it."""
    released = False
    try:
        starve()
        found = job(path)
        feed()
        released = True
        if found != truth:
            return f"answered {found}, not {truth}"
        end = ANSWER
    except MemoryError:
        feed()
        end = MEMORY_ERROR
    except surety.SuretyError as error:
        feed()
        if error.code is not surety.ErrorCode.ENVIRONMENT or "out of memory" not in str(error):
            return f"{error.code}: {error}"
        end = OUT_OF_MEMORY
    if asked() != truth[0]:
        return "a later question has another answer"
    if path.exists():
        with surety.Ledger(path) as ledger:
            runs = ledger.audit(1e-6)["runs"]
        if len(runs) > RUNS or (released and len(runs) != RUNS):
            return f"the ledger has {len(runs)} runs"
    elif released:
        return "there is no ledger"
    return end


def ended(folder: Path, starve: Callable[[], None], feed: Callable[[], None], truth: tuple[str, float]) -> str:
    path, said = folder / "run.db", folder / "said"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        try:
            end = attempt(path, starve, feed, truth)
        except BaseException as error:
            feed()
            end = repr(error)
        os.write(writer, end.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        end = pipe.read()
    status, text = os.waitpid(child, 0)[1], said.read_text()
    if os.WIFSIGNALED(status):
        end = f"signal {os.WTERMSIG(status)}: {text}"
    elif os.WEXITSTATUS(status) != 0:
        end = ENDED if os.WEXITSTATUS(status) == 5 and text == LINE else f"exit code {os.WEXITSTATUS(status)}: {text}"
        if path.exists():
            with surety.Ledger(path) as ledger:
                ledger.audit(1e-6)
    left = [name for name in os.listdir(folder) if name.startswith(".surety")]
    if left:
        end = f"{end}, and left {left}"
    for name in os.listdir(folder):
        os.unlink(folder / name)
    return end


def spread(first: int, last: int, count: int) -> list[int]:
    return sorted({first + k * (last - first) // (count - 1) for k in range(count)})


def main(once: int, always: int, limits: int) -> None:
    with tempfile.TemporaryDirectory(prefix="starved-", dir=sys.argv[1]) as name:
        folder = Path(name)
        job(folder / "first.db")
        ALL.faults_fail_allocation(0, 0)
        truth = job(folder / "second.db")
        allocations = ALL.faults_fail_allocation(0, 0)
        for file in os.listdir(folder):
            os.unlink(folder / file)
        ends: dict[str, list[str]] = {}

        def note(what: str, end: str) -> None:
            ends.setdefault(end, []).append(what)

        for all_later, count in ((0, once), (1, always)):
            for at in spread(1, allocations, count):
                end = ended(folder, lambda: ALL.faults_fail_allocation(at, all_later), lambda: ALL.faults_fail_allocation(0, 0), truth)
                note(f"{'all from' if all_later else 'only'} {at} of {allocations}", end)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        for more in spread(0, 1 << 21, limits):
            end = ended(
                folder,
                lambda: resource.setrlimit(resource.RLIMIT_AS, (used + more, before[1])),
                lambda: resource.setrlimit(resource.RLIMIT_AS, before),
                truth,
            )
            note(f"{more} bytes of address space", end)
        print(json.dumps(ends))


main(*(int(word) for word in sys.argv[2:5]))
