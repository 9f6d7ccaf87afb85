"""Events: what was released, as data."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, ClassVar, SupportsIndex, final

from surety import _library


@final
class Event:
    """What was released: a text of the event language under one adjacency. Never changes.

    ``text`` is as in docs/reference/events.md; ``adjacency`` is ``"add-or-remove-one"``, ``"replace-one"`` or ``"zero-out"``. Names in the text
    stand for the numbers that ``values`` gives them.

    >>> from surety import Event
    >>> step = Event("poisson(0.01, gaussian(z))", "add-or-remove-one", {"z": 1})
    >>> print(10000 * step)
    repeat(10000, poisson(0.01, gaussian(1)))
    >>> 2 * step + Event("laplace(2)", "add-or-remove-one")
    Event('compose(repeat(2, poisson(0.01, gaussian(1))), laplace(2))', 'add-or-remove-one')

    Equality is that of structure: ``2 * e`` and ``e + e`` cost the same and are different events.

    >>> 2 * step == step + step
    False

    Events pickle as their JSON text, which is parsed like any that may be hostile.

    Raises ``ValueError`` (a ``SuretyError``) that names the position in the text and what was expected there.
    """

    __slots__ = ("_handle", "_text")
    # NumPy's numbers leave products to this class.
    __array_ufunc__: ClassVar[None] = None

    _handle: _library.Event
    _text: str

    def __init__(self, text: str, adjacency: str, values: Mapping[str, float] | None = None) -> None:
        self._take(_library.parse_event(text, adjacency, dict(values or {})))

    def _take(self, handle: _library.Event) -> None:
        self._handle = handle
        self._text = handle.text()

    @classmethod
    def from_json(cls, text: str) -> Event:
        """The event of a JSON text, which says its adjacency. It may come from anywhere: nothing in it is evaluated.

        >>> Event.from_json(Event("gaussian(2)", "replace-one").json())
        Event('gaussian(2)', 'replace-one')
        """
        return _event_of(_library.parse_json(text))

    def json(self) -> str:
        """The event as JSON on one line, with its version and adjacency.

        >>> Event("gaussian(2)", "replace-one").json()
        '{"adjacency":"replace-one","event":{"gaussian":{"noise_multiplier":2.0}},"version":1}'
        """
        return self._handle.json()

    @property
    def text(self) -> str:
        """The event in the event language, without its adjacency."""
        return self._text

    @property
    def adjacency(self) -> str:
        """Which data sets are neighbours."""
        return self._handle.adjacency()

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Event({self._text!r}, {self.adjacency!r})"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(self._text)}</code> ({html.escape(self.adjacency)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._text == other._text and self.adjacency == other.adjacency

    def __hash__(self) -> int:
        return hash((self._text, self.adjacency))

    def __mul__(self, count: SupportsIndex) -> Event:
        """``repeat(count, self)``: so many releases, each chosen with knowledge of the earlier results."""
        if not hasattr(count, "__index__"):
            return NotImplemented
        return _event_of(_library.repeat(count, self._handle))

    __rmul__ = __mul__

    def __add__(self, other: Event) -> Event:
        """``compose(self, other)``: one release of each."""
        if not isinstance(other, Event):
            return NotImplemented
        return _event_of(_library.compose([*self._handle.parts(), *other._handle.parts()]))

    def __reduce__(self) -> tuple[Any, ...]:
        return Event.from_json, (self.json(),)


def _event_of(handle: _library.Event) -> Event:
    event = Event.__new__(Event)
    event._take(handle)
    return event


def _handle_of(event: Event | str, adjacency: str | None) -> _library.Event:
    """Of an argument: an event, or a text with the adjacency beside it."""
    if isinstance(event, Event):
        if adjacency is not None and adjacency != event.adjacency:
            raise ValueError(f"adjacency is {adjacency!r}, must be {event.adjacency!r} as in the event")
        return event._handle
    if not isinstance(event, str):
        raise TypeError(f"event is of type {type(event).__name__}, must be a surety.Event or a text")
    if adjacency is None:
        raise TypeError("adjacency is missing, must be given where the event is a text")
    return _library.parse_event(event, adjacency, {})
