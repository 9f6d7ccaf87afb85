"""Arguments as the library's plans write them: what is of a wrong type is a TypeError, what no plan can hold a ValueError."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Mapping
from os import PathLike, fsdecode, fspath
from typing import Any, SupportsFloat

import numpy as np

from surety._errors import ErrorCode, InvalidArgument
from surety._events import _number_of, _shown, _text_of


def invalid(message: str) -> InvalidArgument:
    return InvalidArgument(message, ErrorCode.INVALID_ARGUMENT)


def wrong_type(name: str, value: object, wanted: str) -> TypeError:
    return TypeError(f"{name} {_shown(value)}, must be {wanted}")


def unexpected(caller: str, name: str, known: Iterable[str]) -> TypeError:
    """Of a keyword that ``caller`` does not have: names the one that is meant, if one is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return TypeError(f"{caller}got an unexpected keyword argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def text(name: str, value: object) -> str:
    said = _text_of(value, name)
    try:
        said.encode()
    except UnicodeEncodeError:
        raise invalid(f"{name} has half of a surrogate pair in it, must be Unicode text") from None
    return str(said)


def number(name: str, value: object) -> float:
    result = _number_of(value, name)
    if not math.isfinite(result):
        raise invalid(f"{name} is {result}, must be finite")
    return result


def whole(name: str, value: Any) -> int:
    try:
        result = operator.index(value)
    except TypeError:
        raise wrong_type(name, value, "a whole number") from None
    if not 0 <= result < 2**64:
        raise invalid(f"{name} is {result if abs(result) < 2**64 else 'beyond 2^64'}, must be a whole number from 0 to 2^64 - 1")
    return result


def _items(name: str, value: object, wanted: str) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong_type(name, value, wanted)
    return list(value)


def pair(name: str, value: object) -> list[float]:
    ends = _items(name, value, "a pair of numbers")
    if len(ends) != 2:
        raise invalid(f"{name} has {len(ends)} numbers, must have 2, lower and upper")
    return [number(name, end) for end in ends]


def texts(name: str, value: object) -> list[str]:
    return [text(f"an item of {name}", one) for one in _items(name, value, "a list of texts")]


def cell(name: str, value: object) -> str:
    """A text, or a number or truth value as the text of a cell that holds it: whole numbers are written as 7, truth values as true and false."""
    if isinstance(value, str):
        return text(name, value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if not isinstance(value, SupportsFloat) or isinstance(value, (bytes, bytearray)):
        raise wrong_type(name, value, "a text, a number or a truth value")
    result = number(name, value)
    return str(int(result)) if result.is_integer() else repr(result)


def cells(name: str, value: object) -> list[str]:
    return [cell(f"an item of {name}", one) for one in _items(name, value, "a list of texts, numbers or truth values")]


def path(name: str, value: str | PathLike[str]) -> str:
    try:
        return fsdecode(fspath(value))
    except TypeError:
        raise wrong_type(name, value, "a path") from None


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value


def quoted(values: Iterable[str]) -> str:
    """Texts as one: those with commas and quotes, too."""
    return ",".join('"' + value.replace('"', '""') + '"' for value in values)
