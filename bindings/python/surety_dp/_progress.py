"""How far a run is: what ``progress`` of a release or a training calls, shows or logs.

What is shown follows from public numbers alone. A time after the charge may be private (docs/trust.md#time). So the bar shows no time and is removed at the end, and
the logger writes nothing after the charge.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from surety_dp import _arguments
from surety_dp._types import Progress, ReportsProgress

_logger = logging.getLogger("surety_dp")

_RECORDS = {
    "calibrating": "calibrating the noise",
    "reading": "reading the records; the charge follows, and no message after it, since later times may be private",
}


def _log(phase: str, done: int, all: int) -> None:
    if all == 0 and phase in _RECORDS:
        _logger.info(_RECORDS[phase])


class _Bar:
    """A bar of tqdm. How often it is drawn does not depend on the time."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def __call__(self, phase: str, done: int, all: int) -> None:
        with suppress(Exception):  # a terminal that went away is no reason to stop
            if all == 0 or self._bar is None or self._bar.total != all:
                self.close()
                counts = ": {n_fmt} of {total_fmt} |{bar}|" if all else ""
                # A smallest interval of 0 draws at each call, and a step of 1 keeps the monitor of tqdm from drawing at other times.
                self._bar = self._tqdm(desc=phase, total=all or None, bar_format="{desc}" + counts, leave=False, mininterval=0, miniters=1)
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        with suppress(Exception):
            if self._bar is not None:
                self._bar.close()
        self._bar = None


def _bar() -> _Bar | None:
    """None without tqdm, and where standard error is neither a terminal nor a notebook: the times at which a file grows could be watched."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tqdm, where a notebook has no widgets
            from tqdm.autonotebook import tqdm
        is_watched = tqdm.__module__ == "tqdm.notebook" or sys.stderr.isatty()
    except Exception:
        return None
    return _Bar(tqdm) if is_watched else None


@contextmanager
def reporting(progress: Progress) -> Iterator[ReportsProgress | None]:
    """What the library calls with a phase and public counts: the given callable, a bar or the logger; None for False."""
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise _arguments.wrong_type("progress", progress, "True, False or a callable of (phase, done, all)")
    bar = _bar() if progress else None
    try:
        yield bar or (_log if progress else None)
    finally:
        if bar is not None:
            bar.close()
