"""Events: what was released, as data."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, ClassVar, SupportsIndex, final

from surety_dp import _library
from surety_dp._errors import ErrorCode, InvalidArgument
from surety_dp._types import Adjacency


def _invalid(message: str) -> InvalidArgument:
    return InvalidArgument(message, ErrorCode.INVALID_ARGUMENT)


def _shown(value: object) -> str:
    """A value for a refusal: what it is, or of what type where that would be long."""
    text = repr(value) if value is None or isinstance(value, (str, bytes, int, float)) else ""
    return f"is {text}" if 0 < len(text) <= 40 else f"is of type {type(value).__name__}"


def _number_of(value: object, name: str) -> float:
    """A number of an argument: a float, or what turns into one; no text."""
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
        except OverflowError:
            raise _invalid(f"{name} {_shown(value)}, must be a number that a float holds") from None
    raise TypeError(f"{name} {_shown(value)}, must be a number")


def _number_or_none(value: object, name: str) -> float | None:
    return None if value is None else _number_of(value, name)


def _text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} {_shown(value)}, must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _invalid(f"{name} has half of a surrogate pair in it, must be Unicode text") from None
    return value


@final
class Event:
    """What was released: a text of the event language under one adjacency. Never changes.

    ``text`` is as in docs/reference/events.md; ``adjacency`` is ``"add-or-remove-one"``, ``"replace-one"`` or ``"zero-out"``. Names in the text
    stand for the numbers that ``values`` gives them.

    >>> from surety_dp import Event
    >>> step = Event("poisson(0.01, gaussian(z))", "add-or-remove-one", {"z": 1})
    >>> print(10000 * step)
    repeat(10000, poisson(0.01, gaussian(1)))
    >>> 2 * step + Event("laplace(2)", "add-or-remove-one")
    Event('compose(repeat(2, poisson(0.01, gaussian(1))), laplace(2))', 'add-or-remove-one')

    Python's own ``sum`` of a list of events is their composition.

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

    def __init__(self, text: str, adjacency: Adjacency, values: Mapping[str, float] | None = None) -> None:
        if not isinstance(values, Mapping | None):
            raise TypeError(f"values {_shown(values)}, must be a mapping of names to numbers")
        named = {_text_of(name, "a name of values"): _number_of(value, f"values[{name!r}]") for name, value in dict(values or {}).items()}
        self._take(_library.parse_event(_text_of(text, "text"), _text_of(adjacency, "adjacency"), named))

    def _take(self, handle: _library.Event) -> None:
        self._handle = handle
        self._text = handle.text()

    @classmethod
    def from_json(cls, text: str) -> Event:
        """The event of a JSON text, which says its adjacency. It may come from anywhere: nothing in it is evaluated.

        >>> import surety_dp as surety
        >>> surety.Event.from_json(surety.Event("gaussian(2)", "replace-one").json())
        Event('gaussian(2)', 'replace-one')
        """
        return _event_of(_library.parse_json(_text_of(text, "text")))

    def json(self) -> str:
        """The event as JSON on one line, with its version and adjacency.

        >>> import surety_dp as surety
        >>> surety.Event("gaussian(2)", "replace-one").json()
        '{"adjacency":"replace-one","event":{"gaussian":{"noise_multiplier":2.0}},"version":1}'
        """
        return self._handle.json()

    @property
    def text(self) -> str:
        """The event in the event language, without its adjacency."""
        return self._text

    @property
    def adjacency(self) -> Adjacency:
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

    def __radd__(self, other: object) -> Event:
        """``sum`` of events begins with 0, which is no release."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return Event.from_json, (self.json(),)


def _event_of(handle: _library.Event) -> Event:
    event = Event.__new__(Event)
    event._take(handle)
    return event


def _handle_of(event: Event | str, adjacency: Adjacency | None, name: str = "event") -> _library.Event:
    """Of an argument: an event, or a text with the adjacency beside it."""
    if isinstance(event, Event):
        if adjacency is not None and adjacency != event.adjacency:
            raise _invalid(f"adjacency {_shown(adjacency)}, must be {event.adjacency!r} as in the event, or left out")
        return event._handle
    if not isinstance(event, str):
        raise TypeError(f"{name} {_shown(event)}, must be a surety.Event or a text")
    if adjacency is None:
        raise TypeError(f"adjacency is missing, must be given where {name} is a text: 'add-or-remove-one', 'replace-one' or 'zero-out'")
    return _library.parse_event(_text_of(event, name), _text_of(adjacency, "adjacency"), {})
