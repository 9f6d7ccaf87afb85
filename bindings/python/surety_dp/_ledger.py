"""The ledger: a file that never says less than was released."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self, SupportsIndex

import numpy.typing as npt

from surety_dp import _library
from surety_dp._accounting import Enclosure
from surety_dp._arguments import array, flag, index, invalid, items, number, real, real_or_none, text, text_or_none, texts, whole, wrong_type
from surety_dp._arguments import path as path_of
from surety_dp._errors import BudgetExceeded, ErrorCode, SuretyError
from surety_dp._events import Event, _handle_of
from surety_dp._noise import Noise
from surety_dp._types import Adjacency, EmptyUnit, Filter


def _promise_of(promise: object) -> tuple[float, float]:
    numbers = items("promise", promise, "a pair of numbers, epsilon and delta")
    if len(numbers) != 2:
        raise invalid(f"promise has {len(numbers)} numbers, must have 2, epsilon and delta")
    return real("the epsilon of promise", numbers[0]), real("the delta of promise", numbers[1])


def _event_given(name: str, event: object) -> _library.Event:
    if not isinstance(event, Event):
        raise wrong_type(name, event, "a surety.Event")
    return event._handle


def _noise_of(noise: object) -> _library.Noise:
    if not isinstance(noise, Noise):
        raise wrong_type("noise", noise, "a surety.Noise, such as surety.GaussianNoise")
    return noise._handle


class Remaining(NamedTuple):
    """What a budget still admits: lower bounds, in the units that the ledger's filter adds up. Made by ``Ledger.remaining``."""

    amount: float  #: a lower bound of the limit minus what is spent, at least 0
    unit: str  #: "divergence" (of the filter's Renyi order), "mu^2", "rho" or "epsilon"
    epsilon: float | None  #: a lower bound of what is left of the sum of epsilons; None where the filter does not add epsilons, or a run promises none


def _left(limit: float, spent: float) -> float:
    """The difference, rounded down, at least 0."""
    if not math.isfinite(limit) or not math.isfinite(spent) or spent >= limit:
        return 0.0
    exact = Fraction(limit) - Fraction(spent)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def _extreme(fits: Callable[[float], bool]) -> float:
    """A number for which ``fits`` returned true. If ``fits`` is monotone, the nearest number for which it is false differs by a relative 1e-9."""
    good, bad = 1e9, 1e-6
    if not fits(good):
        good, bad = bad, good
        if not fits(good):
            raise BudgetExceeded("what is left of the budget does not hold so many runs, with any noise; reserve fewer runs", ErrorCode.BUDGET_EXCEEDED)
    if fits(bad):
        raise invalid("the budget holds the runs with every value of the number, must depend on it")
    while abs(math.log(good / bad)) > 1e-9:
        middle = math.sqrt(good * bad)
        if fits(middle):
            good = middle
        else:
            bad = middle
    for digits in range(1, 12):
        short = float(f"{good:.{digits}g}")
        if abs(short / good - 1) <= 1e-9 and fits(short):
            return short
    return good


class Ledger:
    """The open ledger at ``path``. ``create`` makes a new one. A context manager, which closes it.

    >>> import tempfile
    >>> import numpy as np
    >>> import surety_dp as surety
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
        self._handle = _library.open_ledger(path_of("path", path))

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        adjacency: Adjacency,
        epsilon: float | None = None,
        delta: float | None = None,
        filter: Filter | None = None,
        owner: str | Sequence[str] | None = None,
        most_rows: SupportsIndex = 1,
        without_name: EmptyUnit = "one",
    ) -> Self:
        """Makes a new ledger, complete or not at all. It replaces nothing.

        Parameters
        ----------
        path : path
            The new file.
        adjacency : str
            Which data sets are neighbours: "add-or-remove-one", "replace-one" or "zero-out".
        epsilon, delta : float, optional
            The budget that all runs together must keep. Both or none.
        filter : str, optional
            The rule of the budget: "renyi" (the default), "gaussian", "zcdp" or "basic".
        owner : str or list of str, optional
            The guarantee protects an owner of this name, such as "patient", with at most ``most_rows`` rows; with a list of two or three columns, such as
            ["user", "day"], the combination of their values. Default: one row.
        most_rows : int
            The largest number of rows of an owner.
        without_name : str
            Rows whose owner has no name: "one", they are one unit together, or "each", each is a unit of its own.

        Returns
        -------
        Ledger
            Open.

        Raises
        ------
        InvalidArgument
            There is something at ``path``, or an argument breaks its constraint.
        SystemFailure
            The file cannot be written.
        TypeError
            ``epsilon`` is given without ``delta``, or an argument has another type.

        Examples
        --------
        >>> import surety_dp as surety, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with surety.Ledger.create(f"{folder}/run.db", adjacency="replace-one", epsilon=1, delta=1e-5) as ledger:
        ...         ledger.adjacency, ledger.unit
        ('replace-one', 'one row')
        """
        return cls._made(path_of("path", path), adjacency, epsilon, delta, filter, owner, most_rows, without_name)

    @classmethod
    def in_memory(
        cls,
        *,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        filter: Filter | None = None,
        owner: str | Sequence[str] | None = None,
        most_rows: SupportsIndex = 1,
        without_name: EmptyUnit = "one",
    ) -> Self:
        """A new ledger that is in no file: with it, or with its process, all that was charged is forgotten, and nobody adds up what was spent on the same
        data before. For tests, for made-up data, and for data of which nothing else is ever released.

        Without ``adjacency`` it has the adjacency and the unit of its first run. The other arguments are those of ``create``, and need it.

        >>> import surety_dp as surety
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
        adjacency: Adjacency,
        epsilon: float | None,
        delta: float | None,
        filter: Filter | None,
        owner: str | Sequence[str] | None,
        most_rows: SupportsIndex,
        without_name: EmptyUnit,
    ) -> Self:
        if (epsilon is None) != (delta is None):
            raise TypeError("epsilon and delta are one budget, must be given together")
        if filter is not None and epsilon is None:
            raise TypeError("filter is given without epsilon and delta, must be given with them")
        budget = None
        if epsilon is not None and delta is not None:
            budget = real("epsilon", epsilon), real("delta", delta), text_or_none("filter", filter)
        names = [text("owner", owner)] if isinstance(owner, str) else None if owner is None else texts("owner", owner)
        ledger = cls.__new__(cls)
        ledger._handle = _library.create_ledger(
            path, text("adjacency", adjacency), budget, names, index("most_rows", most_rows), text("without_name", without_name)
        )
        return ledger

    @property
    def path(self) -> Path | None:
        """Where it is; None of one in memory."""
        return self._handle.path()

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self._handle.adjacency()

    @property
    def unit(self) -> str:
        """What a promise protects: "one row", "one patient of at most 5 rows (names byte by byte, rows without one: one unit)"."""
        return self._handle.unit()

    def reserve(
        self, event: Event | str, *, note: str = "", promise: tuple[float, float] | None = None, adjacency: Adjacency | None = None
    ) -> Reservation:
        """Charges all of ``event``, durably, before any of it may be released.

        Parameters
        ----------
        event : Event or str
            What may be released: an ``Event``, or its text under the ledger's adjacency.
        note : str
            A note for people.
        promise : (float, float), optional
            The epsilon and delta that the run is promised to cost, which ``audit`` verifies.
        adjacency : str, optional
            Of a text, where it is not the ledger's.

        Returns
        -------
        Reservation
            A context manager. At the end of its block what was not spent is given back, unless an exception ends it.

        Raises
        ------
        BudgetExceeded
            The budget does not allow it. Nothing is charged.
        NotSupported
            The filter of the budget has no theorem for the event.
        InvalidArgument
            The event has another adjacency, or an argument breaks its constraint.
        TypeError
            An argument has another type.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory()
        >>> with ledger.reserve("repeat(10, gaussian(40))", adjacency="replace-one", note="means") as run:
        ...     run.spend(surety.Event("gaussian(40)", "replace-one"))
        >>> ledger.audit(1e-5)["event"]
        'gaussian(40)'
        """
        handle = self._own(event, adjacency)
        return Reservation._of(self._handle.reserve(handle, text("note", note), None if promise is None else _promise_of(promise)))

    def settle(self, run: SupportsIndex, released: Event | None, *, adaptive: bool = False) -> None:
        """Writes what was released by a run whose process has died. You vouch for it: nobody else knows."""
        handle = None if released is None else _event_given("released", released)
        self._handle.settle(index("run", run), handle, flag("adaptive", adaptive))

    def audit(self, delta: float | None = None, *, limit_seconds: float | None = None) -> dict[str, Any]:
        """What is proved of everything that is charged, as ``surety audit --json`` prints it.

        Parameters
        ----------
        delta : float, optional
            The delta of the report. Default: the delta of the budget, or the largest delta of the promises.
        limit_seconds : float, optional
            The time that the call may take.

        Returns
        -------
        dict
            The composed event, the bounds of its epsilon, the runs with their promises, and the budget.

        Raises
        ------
        InvalidArgument
            ``delta`` is missing where there is neither a budget nor a promise, or breaks its constraint.
        DamagedLedger
            The file is not intact.
        Stopped
            ``limit_seconds`` have passed.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory(adjacency="replace-one")
        >>> ledger.reserve("gaussian(40)").settle()
        >>> ledger.audit(1e-5)["event"]
        'nothing'
        """
        report = json.loads(self._handle.audit(real_or_none("delta", delta), real_or_none("limit_seconds", limit_seconds)))
        assert isinstance(report, dict)
        return report

    def spent(self, delta: float | None = None, *, limit_seconds: float | None = None) -> Enclosure:
        """The epsilon of everything that is charged.

        Parameters
        ----------
        delta : float, optional
            The delta of the report. Default: the delta of the budget, or the largest delta of the promises.
        limit_seconds : float, optional
            The time that the call may take.

        Returns
        -------
        Enclosure
            An interval that contains the exact epsilon. Its upper bound holds.

        Raises
        ------
        InvalidArgument, DamagedLedger, Stopped
            As ``audit``.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory()
        >>> with ledger.reserve("gaussian(40)", adjacency="replace-one") as run:
        ...     run.spend(surety.Event("gaussian(40)", "replace-one"))
        >>> ledger.spent(1e-5) < 0.1
        True
        """
        cost = self.audit(delta, limit_seconds=limit_seconds)["epsilon"]
        return Enclosure(float(cost["lower"]), float(cost["upper"]))

    def _own(self, event: Event | str, adjacency: Adjacency | None = None) -> _library.Event:
        """The handle of an argument; a text has the adjacency of the ledger, unless one is given."""
        if isinstance(event, str) and adjacency is None:
            adjacency = self.adjacency
        return _handle_of(event, adjacency)

    def _standing_with_budget(self) -> dict[str, Any]:
        """The runs and the budget at one moment. Raises ``InvalidArgument`` without a budget."""
        stands = json.loads(self._handle.standing())
        if "budget" not in stands:
            raise invalid("the ledger has no budget, must have one: create it with epsilon and delta")
        assert isinstance(stands, dict)
        return stands

    def remaining(self, delta: float | None = None) -> Remaining:
        """What the budget still admits, in the units that its filter adds up: lower bounds.

        Parameters
        ----------
        delta : float, optional
            The delta of the budget: the filter compares what is charged at no other one.

        Returns
        -------
        Remaining
            Under "basic" the deltas of all runs are compared as well. ``room_for`` counts runs of an event, ``split_evenly`` chooses their noise.

        Raises
        ------
        InvalidArgument
            There is no budget, ``delta`` is another one, or the noise of a run was replayed from a known seed, so that nothing is kept.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="basic")
        >>> ledger.reserve("pure(0.25)").settle()
        >>> ledger.remaining()
        Remaining(amount=1.0, unit='epsilon', epsilon=1.0)
        >>> run = ledger.reserve("pure(0.25)")
        >>> ledger.remaining().amount
        0.75
        """
        stands = self._standing_with_budget()
        budget = stands["budget"]
        if stands["not_private"]:
            raise invalid("the noise of a run was replayed from a known seed, so the budget is not kept and nothing is left of it")
        if delta is not None and number("delta", delta) != budget["delta"]:
            raise invalid(f"delta is {delta!r}, must be the budget's, {budget['delta']!r}")
        amount = _left(float(budget["limit"]["lower"]), float(budget["spent"]["upper"]))
        epsilon = budget.get("spent_epsilon")
        if budget["unit"] == "epsilon":
            epsilon = budget["spent"]
        return Remaining(amount, budget["unit"], None if epsilon is None else _left(float(budget["epsilon"]), float(epsilon["upper"])))

    def room_for(self, event: Event | str, *, most: SupportsIndex = 1_000_000) -> int:
        """How many runs of an event, one after the other, the budget would admit now. Nothing is charged.

        Parameters
        ----------
        event : Event or str
            The event of one run: an ``Event``, or its text under the ledger's adjacency.
        most : int
            Runs are counted up to this number.

        Returns
        -------
        int
            The number of runs.

        Raises
        ------
        InvalidArgument
            There is no budget, or the event has another adjacency.
        NotSupported
            The filter of the budget has no theorem for the event.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5)
        >>> ledger.room_for("pure(0.25)")
        4
        """
        self._standing_with_budget()
        found = self._handle.room_for(self._own(event), whole("most", most))
        assert found is not None
        return found

    def split_evenly(self, runs: SupportsIndex, event: str | None = None, *, solve: str = "z") -> Event:
        """The event that each of several runs may reserve if what is left of the budget is split evenly among them. Nothing is charged.

        Parameters
        ----------
        runs : int
            The number of runs.
        event : str, optional
            A text in which ``solve`` stands for a number. The value has the least noise such that the budget admits all runs, to a relative 1e-9. Default:
            ``gaussian(z)``, or ``pure(z)`` under the filter "basic" and at delta 0.
        solve : str
            The name of the number in ``event``.

        Returns
        -------
        Event
            Of one run.

        Raises
        ------
        BudgetExceeded
            No value leaves room for so many runs.
        InvalidArgument, NotSupported
            As ``room_for``.

        Examples
        --------
        >>> import surety_dp as surety
        >>> ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="gaussian")
        >>> ledger.room_for(ledger.split_evenly(4))
        4
        >>> surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5).split_evenly(4, "pure(z)")
        Event('pure(0.25)', 'replace-one')
        """
        count = whole("runs", runs)
        if not 1 <= count <= 2**53:
            raise invalid(f"runs is {count}, must be a whole number from 1 to 2^53")
        budget = self._standing_with_budget()["budget"]
        if event is None:
            event, solve = ("pure(z)" if budget["filter"] == "basic" or budget["delta"] == 0 else "gaussian(z)"), "z"
        template, name = text("event", event), text("solve", solve)

        def made(value: float) -> Event:
            return Event(template, self.adjacency, {name: value})

        def fits(value: float) -> bool:
            return self.room_for(made(value), most=count) >= count

        return made(_extreme(fits))

    def __repr__(self) -> str:
        try:
            path = self.path
        except SuretyError:
            return "<Ledger, not open>"
        name = "in memory" if path is None else repr(str(path))
        try:
            stands = json.loads(self._handle.standing())
        except SuretyError:
            return f"<Ledger {name}>"
        said = [f"{stands['runs']} run{'s' * (stands['runs'] != 1)}", self.adjacency, f"for {self.unit}"]
        budget = stands.get("budget")
        if budget is None:
            said.append("no budget")
        else:
            spent = f"{float(budget['spent']['upper']):.6g} of {float(budget['limit']['lower']):.6g} {budget['unit']} spent"
            said.append(f"budget epsilon {budget['epsilon']:g} at delta {budget['delta']:g} ({budget['filter']} filter): {spent}")
        if stands["not_private"]:
            said.append("NOT PRIVATE: noise was replayed from a known seed")
        return f"<Ledger {name}: {', '.join(said)}>"

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
    stays charged, since a part of it may have been released. It cannot be used after the block.
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
        self._handle.spend(_event_given("event", event))

    def release(self, noise: Noise, values: npt.NDArray[Any]) -> None:
        """Spends what ``noise`` costs, then adds it to ``values``, in place, as ``noise.add_to``.

        Whatever is refused, of the array or by the reservation, is refused before anything is spent. Raises ``SuretyError`` with the code
        BUDGET_EXCEEDED where the rest of the reservation does not hold the release. Where the bits fail, the release stays charged.
        """
        self._handle.release(_noise_of(noise), array("values", values))

    def release_sum(self, noise: Noise, rows: npt.ArrayLike, *, clip: float) -> npt.NDArray[Any]:
        """Spends what ``noise`` costs, then releases the sum of ``rows``, clipped and exact, as ``noise.release_sum``: the order as of ``release``."""
        handle = _noise_of(noise)
        rows, total = noise._rows_and_sum(rows)
        self._handle.release_sum(handle, rows, real("clip", clip), total)
        return total

    def settle(self, *, adaptive: bool = False) -> None:
        """Writes what was released, durably. ``adaptive`` says that released values had a say in when the run ended."""
        self._handle.settle(flag("adaptive", adaptive))

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
