"""The file from which a killed run goes on. Proof: docs/proofs/ledger.md#checkpoint.

The file holds the state after some number of steps and, except before the first step, the noisy gradient of the next one. A noisy gradient is on disk before it
leaves the optimizer, so a step whose result was seen is never computed twice. Nothing secret is in the file: neither batches nor exact sums.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

from surety_dp import _arguments
from surety_dp._errors import BadData, ErrorCode, InvalidArgument, SystemFailure
from surety_dp._events import Event
from surety_dp._ledger import Ledger, Reservation

_VERSION = 1
_NOTHING = "pure(0)"  # what the run that stands for a process may release
_KEYS = {"version", "mark", "run", "session", "plan", "steps", "parameters", "optimizer", "gradient"}


def write(path: Path, state: dict[str, Any]) -> None:
    """Replaces the file: after a crash it is the old one or the new one. Raises ``SystemFailure`` where it cannot be written."""
    torch = _arguments.package("torch", "surety_dp.torch")
    new = path.with_name(path.name + ".new")
    try:
        with open(new, "wb") as file:
            torch.save({"version": _VERSION, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise SystemFailure(f"the checkpoint {str(path)!r} cannot be written: {error.strerror}", ErrorCode.ENVIRONMENT) from error


def read(path: Path) -> dict[str, Any]:
    """The state in a file. Raises ``BadData`` where it is no checkpoint."""
    torch = _arguments.package("torch", "surety_dp.torch")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise SystemFailure(f"the checkpoint {str(path)!r} cannot be read: {error.strerror}", ErrorCode.ENVIRONMENT) from error
    except (RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise BadData(f"{str(path)!r} is not a checkpoint of surety_dp.torch, or is damaged", ErrorCode.BAD_DATA) from error
    if not isinstance(state, dict) or state.get("version") != _VERSION or state.keys() != _KEYS:
        raise BadData(f"{str(path)!r} is not a checkpoint of surety_dp.torch of version {_VERSION}", ErrorCode.BAD_DATA)
    return state


def mark_of(mark: str) -> str:
    """How notes in the ledger name a run of this module."""
    return f"[surety_dp.torch {mark}]"


def begin_session(ledger: Ledger, mark: str, run: int) -> Reservation:
    """A run of the ledger that stands for this process. It releases nothing, and only one process can settle it, after this process has ended."""
    return ledger.reserve(Event(_NOTHING, ledger.adjacency), note=f"process that takes the steps of run {run} {mark_of(mark)}")


def end_session(session: Reservation) -> None:
    """Settles the run of a process whose work is done: its checkpoint cannot be resumed any more."""
    session.settle()
    session._handle.close()


def take_over(ledger: Ledger, state: dict[str, Any], event: Event, path: Path) -> bool:
    """Makes sure that no other process takes or took steps after those of the file. True if the run is settled.

    The settlement of the former process's run is what decides: the ledger refuses it while that process lives, and accepts it once.
    """
    runs = {entry["run"]: entry for entry in ledger.audit(1e-5)["runs"]}
    run, session = runs.get(state["run"]), runs.get(state["session"])
    mark = mark_of(str(state["mark"]))
    if run is None or session is None or mark not in run["note"] or mark not in session["note"] or session["planned"] != _NOTHING:
        raise _arguments.invalid(f"the run of the checkpoint {str(path)!r} is not in the ledger, must be resumed with the ledger that it was charged to")
    if run["planned"] != str(event):
        raise _arguments.invalid(f"run {state['run']} of the ledger has the plan {run['planned']}, must be {event}: resume with the arguments of the first process")
    is_over = bool(run["state"] == "settled")
    if is_over and session["state"] == "settled":
        return True
    try:
        ledger.settle(int(state["session"]), None)
    except InvalidArgument as error:
        raise _arguments.invalid(
            f"the checkpoint {str(path)!r} cannot be resumed: its process still runs, or it was resumed before; steps after it would be released twice ({error})"
        ) from error
    return is_over
