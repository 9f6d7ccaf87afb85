"""What plans of releases and of trainings say, once they are prepared."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

from surety_dp import _library
from surety_dp._accounting import Enclosure
from surety_dp._events import Event, _event_of

Handle = TypeVar("Handle", _library.PlannedRelease, _library.PlannedTraining)


class Prepared(Generic[Handle]):
    """A plan that is prepared: what it costs is known, no record was read and nothing is charged."""

    __slots__ = ("_delta", "_handle", "_no_limits")

    _handle: Handle
    _delta: float
    _no_limits: bool

    @property
    def event(self) -> Event:
        """What is released, for the accountants and the ledger."""
        return _event_of(self._handle.event())

    @property
    def cost(self) -> Enclosure:
        """The epsilon of all of it together, at the delta that was promised."""
        return Enclosure(*self._handle.epsilon())

    @property
    def noise(self) -> float:
        """The scale or the multiplier that all of it shares: the least that keeps the promise."""
        return self._handle.noise()

    @property
    def unit(self) -> str:
        """Whom the promise protects: "one row", "one nr of at most 8 rows (...)"."""
        return self._handle.unit()

    def json(self) -> str:
        """The plan as the command's ``--print-plan`` prints it: with ``--plan`` the command runs it."""
        return self._handle.text()

    def _said(self) -> str:
        return f"{self.event}, {self.event.adjacency}, for {self.unit}: epsilon {self.cost.upper:.6g} at delta {self._delta:g}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} does not pickle; its json() may be written to a file")
