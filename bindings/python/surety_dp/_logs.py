"""What a log of a training run may mean."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from surety_dp import _library
from surety_dp._arguments import text, text_or_none, texts
from surety_dp._events import _number_of, _number_or_none, _shown
from surety_dp._types import Adjacency


def _phase_of(phase: object, name: str) -> list[float | int]:
    if not isinstance(phase, (list, tuple)) or len(phase) != 3:
        raise TypeError(f"{name} {_shown(phase)}, must be (noise multiplier, sampling rate, steps)")
    noise_multiplier, sampling_rate, steps = phase
    try:
        whole = operator.index(steps)
    except TypeError:
        raise TypeError(f"{name}[2] {_shown(steps)}, must be a whole number of steps") from None
    return [_number_of(noise_multiplier, f"{name}[0]"), _number_of(sampling_rate, f"{name}[1]"), whole]


def _text_of(log: str | Mapping[str, Any] | Sequence[tuple[float, float, int]]) -> str:
    if isinstance(log, str):
        return text("log", log)
    if isinstance(log, (list, tuple)):
        return json.dumps([_phase_of(phase, f"log[{i}]") for i, phase in enumerate(log)])
    if not isinstance(log, Mapping):
        raise TypeError(f"log {_shown(log)}, must be a text of JSON, its fields, or the history of an accountant")
    try:
        return json.dumps({"version": 1, **log})
    except (TypeError, ValueError, RecursionError):
        raise TypeError("log holds a value that JSON cannot hold, must be its fields as texts, numbers, lists and mappings") from None


def _numbers(*numbers: tuple[object, str]) -> tuple[float | None, ...]:
    return tuple(_number_or_none(value, name) for value, name in numbers)


def audit_log(
    log: str | Mapping[str, Any] | Sequence[tuple[float, float, int]],
    *,
    adjacency: Adjacency | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    readings: Sequence[str] = (),
    width: float | None = None,
    limit_seconds: float | None = None,
) -> dict[str, Any]:
    """What the numbers of a log cost under each way to draw batches, which of them is proved for what happened, and whether what was claimed
    holds: what ``surety audit --log --json`` prints. ``log`` is the JSON text, its fields (docs/reference/log.md), or
    the history of an accountant, a list of (noise multiplier, sampling rate, steps); ``adjacency``, ``delta`` and
    the claimed ``epsilon`` where it does not say them; ``readings`` are those to be shown beside what happened, all if none is named.

    >>> import surety_dp as surety
    >>> told = surety.audit_log(
    ...     {"noise_multiplier": 1, "batch_size": 600, "records": 60000, "epochs": 10, "sampler": "shuffled", "epsilon": 1.83, "delta": 1e-5},
    ...     adjacency="zero-out", readings=["poisson"])
    >>> [(reading["reading"], reading["claim"]) for reading in told["readings"]]
    [('poisson', 'holds'), ('shuffled', 'not proved')]
    >>> told["proved"]["reading"], told["kept"]
    ('shuffled', False)

    Raises ``SuretyError`` for a text that is no log, and for numbers that contradict each other.
    """
    epsilon, delta, width = _numbers((epsilon, "epsilon"), (delta, "delta"), (width, "width"))
    (limit_seconds,) = _numbers((limit_seconds, "limit_seconds"))
    told = json.loads(_library.audit_log(_text_of(log), text_or_none("adjacency", adjacency), epsilon, delta, texts("readings", readings), width, limit_seconds))
    assert isinstance(told, dict)
    return told


def calibrate_log(
    log: str | Mapping[str, Any] | Sequence[tuple[float, float, int]],
    *,
    adjacency: Adjacency | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    readings: Sequence[str] = (),
    width: float | None = None,
    limit_seconds: float | None = None,
) -> dict[str, Any]:
    """The least noise multiplier for a target under each way to draw the batches of a log: what ``surety calibrate --log --json`` prints.
    ``epsilon`` and ``delta`` are the target, where they are not given those of the log.

    >>> import surety_dp as surety
    >>> told = surety.calibrate_log(
    ...     {"batch_size": 600, "records": 60000, "epochs": 10, "sampler": "poisson"}, adjacency="zero-out", epsilon=2, delta=1e-5,
    ...     readings=["poisson"])
    >>> round(told["proved"]["noise_multiplier"], 6)
    0.959102

    Other arguments and errors as of ``audit_log``.
    """
    epsilon, delta, width = _numbers((epsilon, "epsilon"), (delta, "delta"), (width, "width"))
    (limit_seconds,) = _numbers((limit_seconds, "limit_seconds"))
    told = json.loads(_library.calibrate_log(_text_of(log), text_or_none("adjacency", adjacency), epsilon, delta, texts("readings", readings), width, limit_seconds))
    assert isinstance(told, dict)
    return told
