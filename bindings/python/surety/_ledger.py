"""The ledger: a file that never says less than was released."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, SupportsIndex

import numpy.typing as npt

from surety import _library
from surety._accounting import Enclosure
from surety._events import Event, _handle_of
from surety._noise import Noise


class Ledger:
    """The open ledger at ``path``. ``create`` makes a new one. A context manager, which closes it.

    >>> import tempfile
    >>> import numpy as np
    >>> import surety
    >>> folder = tempfile.TemporaryDirectory()
    >>> noise = surety.GaussianNoise(40, sensitivity=1, dimension=2, adjacency="replace-one")
    >>> with surety.Ledger.create(f"{folder.name}/run.db", adjacency="replace-one", epsilon=1, delta=1e-5) as ledger:
    ...     with ledger.reserve(50 * noise.event, note="means") as run:
    ...         for step in range(10):
    ...             means = np.array([0.25, 0.5])
    ...             run.release(noise, means)  # charges first, then adds the noise
    ...     report = ledger.audit(1e-5)
    >>> report["event"], report["runs"][0]["state"]
    ('repeat(10, gaussian(40))', 'settled')
    >>> folder.cleanup()

    A ledger belongs to the process that opened it: a copy made by fork refuses, and a pickle of it, too. Any number of processes may open the
    same file. Threads may share it; a run is used by one at a time.
    """

    __slots__ = ("__weakref__", "_handle")

    def __init__(self, path: str | PathLike[str]) -> None:
        self._handle = _library.open_ledger(path)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        adjacency: str,
        epsilon: float | None = None,
        delta: float | None = None,
        filter: str | None = None,
        owner: str | None = None,
        most_rows: SupportsIndex = 1,
        without_name: str = "one",
    ) -> Self:
        """Makes a new ledger, complete or not at all; it replaces nothing. With ``epsilon`` and ``delta`` every run must keep that budget, by
        the rule that ``filter`` names ("renyi", "gaussian", "zcdp" or "basic"). ``owner`` and ``most_rows`` say whom a promise protects: a person
        with at most so many rows; without them it is one row. ``without_name`` says what rows are whose owner has no name: "one", they are one unit
        together, or "each", each is a unit of its own.

        Raises ``SuretyError`` where something exists at ``path``, or an argument breaks its constraint.
        """
        return cls._made(fspath(path), adjacency, epsilon, delta, filter, owner, most_rows, without_name)

    @classmethod
    def in_memory(
        cls,
        *,
        adjacency: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        filter: str | None = None,
        owner: str | None = None,
        most_rows: SupportsIndex = 1,
        without_name: str = "one",
    ) -> Self:
        """A new ledger that is in no file: with it, or with its process, all that was charged is forgotten, and nobody adds up what was spent on the same
        data before. For tests, for made-up data, and for data of which nothing else is ever released.

        Without ``adjacency`` it has the adjacency and the unit of its first run. The other arguments are those of ``create``, and need it.

        >>> import surety
        >>> ledger = surety.Ledger.in_memory()
        >>> with ledger.reserve("gaussian(40)", adjacency="replace-one") as run:
        ...     run.spend(surety.Event("gaussian(40)", "replace-one"))
        >>> ledger.audit(1e-5)["event"], ledger.path
        ('gaussian(40)', None)
        """
        if adjacency is not None:
            return cls._made(None, adjacency, epsilon, delta, filter, owner, most_rows, without_name)
        if (epsilon, delta, filter, owner, most_rows, without_name) != (None, None, None, None, 1, "one"):
            raise TypeError("adjacency is missing, must be given with a budget or an owner")
        ledger = cls.__new__(cls)
        ledger._handle = _library.ledger_in_memory()
        return ledger

    @classmethod
    def _made(
        cls,
        path: str | PathLike[str] | None,
        adjacency: str,
        epsilon: float | None,
        delta: float | None,
        filter: str | None,
        owner: str | None,
        most_rows: SupportsIndex,
        without_name: str,
    ) -> Self:
        if (epsilon is None) != (delta is None):
            raise TypeError("epsilon and delta are one budget, must be given together")
        if filter is not None and epsilon is None:
            raise TypeError("filter is given without epsilon and delta, must be given with them")
        budget = None if epsilon is None or delta is None else (epsilon, delta, filter)
        ledger = cls.__new__(cls)
        ledger._handle = _library.create_ledger(path, adjacency, budget, owner, most_rows, without_name)
        return ledger

    @property
    def path(self) -> Path | None:
        """Where it is; None of one in memory."""
        return self._handle.path()

    @property
    def adjacency(self) -> str:
        """Which data sets are neighbours."""
        return self._handle.adjacency()

    @property
    def unit(self) -> str:
        """What a promise protects: "one row", "one patient of at most 5 rows (names byte by byte, rows without one: one unit)"."""
        return self._handle.unit()

    def reserve(
        self, event: Event | str, *, note: str = "", promise: tuple[float, float] | None = None, adjacency: str | None = None
    ) -> Reservation:
        """Charges all of ``event``, durably, before any of it may be released. ``note`` is for people; ``promise`` is the (epsilon, delta) that the
        run is said to cost, which ``audit`` compares. ``event`` is an ``Event``, or its text under the ledger's adjacency.

        Raises ``SuretyError``: with the code BUDGET_EXCEEDED where the budget does not allow it, and then nothing is charged.
        """
        if isinstance(event, str) and adjacency is None:
            adjacency = self.adjacency
        return Reservation._of(self._handle.reserve(_handle_of(event, adjacency), note, promise))

    def settle(self, run: SupportsIndex, released: Event | None, *, adaptive: bool = False) -> None:
        """Writes what was released by a run whose process has died. You vouch for it: nobody else knows."""
        self._handle.settle(run, None if released is None else _handle_of(released, None), adaptive)

    def audit(self, delta: float | None = None, *, limit_seconds: float | None = None) -> dict[str, Any]:
        """What is proved of everything that is charged, as ``surety audit --json`` prints it. Without a ``delta`` it is that of the budget, or the
        largest of the promises. ``limit_seconds`` as of ``surety.epsilon``.
        """
        report = json.loads(self._handle.audit(delta, limit_seconds))
        assert isinstance(report, dict)
        return report

    def spent(self, delta: float | None = None, *, limit_seconds: float | None = None) -> Enclosure:
        """The epsilon of everything that is charged, at ``delta``, which is as of ``audit``.

        >>> import surety
        >>> ledger = surety.Ledger.in_memory()
        >>> with ledger.reserve("gaussian(40)", adjacency="replace-one") as run:
        ...     run.spend(surety.Event("gaussian(40)", "replace-one"))
        >>> ledger.spent(1e-5) < 0.1
        True
        """
        cost = self.audit(delta, limit_seconds=limit_seconds)["epsilon"]
        return Enclosure(float(cost["lower"]), float(cost["upper"]))

    def __repr__(self) -> str:
        return f"<Ledger {'in memory' if self.path is None else repr(str(self.path))}>"

    def close(self) -> None:
        """Later calls refuse. Runs that are reserved may still be used."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Ledger does not pickle: it belongs to its process; open its path in the other")

    def __copy__(self) -> Self:
        """What is charged to a copy is charged to the ledger: both are one."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Reservation:
    """A run: what it reserved is charged, and what it releases it says before. Made by ``Ledger.reserve``.

    A context manager. Where the block ends by itself, what was not spent is given back; where an exception ends it, all of the reservation
    stays charged, for nobody knows then how far a release went. After the block it can be used no more.
    """

    __slots__ = ("_handle",)

    _handle: _library.Reservation

    def __init__(self) -> None:
        raise TypeError("a surety.Reservation is made by Ledger.reserve")

    @classmethod
    def _of(cls, handle: _library.Reservation) -> Reservation:
        reservation = cls.__new__(cls)
        reservation._handle = handle
        return reservation

    @property
    def run(self) -> int:
        """Its number in the ledger."""
        return self._handle.run()

    def spend(self, event: Event) -> None:
        """Says that ``event`` is released now, before it is. Raises ``SuretyError`` (BUDGET_EXCEEDED) where the rest of the reservation does not hold
        it: then it must not be."""
        self._handle.spend(_handle_of(event, None))

    def release(self, noise: Noise, values: npt.NDArray[Any]) -> None:
        """Spends what ``noise`` costs, then adds it to ``values``, in place, as ``noise.add_to``.

        Whatever is refused, of the array or by the reservation, is refused before anything is spent. Raises ``SuretyError`` with the code
        BUDGET_EXCEEDED where the rest of the reservation does not hold the release. Where the bits fail, the release stays charged.
        """
        self._handle.release(noise._handle, values)

    def release_sum(self, noise: Noise, rows: npt.ArrayLike, *, clip: float) -> npt.NDArray[Any]:
        """Spends what ``noise`` costs, then releases the sum of ``rows``, clipped and exact, as ``noise.release_sum``: the order as of ``release``."""
        rows, total = noise._rows_and_sum(rows)
        self._handle.release_sum(noise._handle, rows, clip, total)
        return total

    def settle(self, *, adaptive: bool = False) -> None:
        """Writes what was released, durably. ``adaptive`` says that released values had a say in when the run ended."""
        self._handle.settle(adaptive)

    @property
    def is_settled(self) -> bool:
        """Whether ``settle`` has done its work."""
        return self._handle.is_settled()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None and not self.is_settled:
            self.settle()
        self._handle.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Reservation does not pickle: it belongs to its process, and what it holds is charged once")
