"""Arguments as the library's plans write them: what is of a wrong type is a TypeError, what no plan can hold a ValueError."""

from __future__ import annotations

import difflib
import importlib
import math
import operator
from collections.abc import Iterable, Mapping
from os import PathLike, fsdecode, fsencode, fspath
from typing import Any, SupportsFloat

import numpy as np

from surety_dp import _library
from surety_dp._events import _invalid as invalid
from surety_dp._events import _number_of, _shown, _text_of

__all__ = ["invalid"]


def wrong_type(name: str, value: object, wanted: str) -> TypeError:
    return TypeError(f"{name} {_shown(value)}, must be {wanted}")


def unexpected(caller: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword that ``caller`` does not have. It names the keyword for a word of another tool, or else the nearest known one."""
    known = list(known)
    if meaning := _library.meaning_of(name, known):
        return TypeError(f"{caller}got an unexpected keyword argument {name!r}; {meaning}")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return TypeError(f"{caller}got an unexpected keyword argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def text(name: str, value: object) -> str:
    return str(_text_of(value, name))


def number(name: str, value: object) -> float:
    result = _number_of(value, name)
    if not math.isfinite(result):
        raise invalid(f"{name} is {result}, must be finite")
    return result


def real(name: str, value: object) -> float:
    """A number, which the library checks."""
    return _number_of(value, name)


def real_or_none(name: str, value: object) -> float | None:
    return None if value is None else _number_of(value, name)


def text_or_none(name: str, value: object) -> str | None:
    return None if value is None else text(name, value)


def index(name: str, value: Any) -> int:
    """A whole number, which the library checks."""
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(name, value, "a whole number") from None


def integer(name: str, value: Any) -> int:
    result = index(name, value)
    if not -(2**63) <= result < 2**63:
        raise invalid(f"{name} is beyond 64 bits, must be a whole number from -2^63 to 2^63 - 1")
    return result


def whole(name: str, value: Any) -> int:
    result = index(name, value)
    if not 0 <= result < 2**64:
        raise invalid(f"{name} is {result if abs(result) < 2**64 else 'beyond 2^64'}, must be a whole number from 0 to 2^64 - 1")
    return result


def items(name: str, value: object, wanted: str) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong_type(name, value, wanted)
    try:
        return list(value)
    except TypeError:  # an array of no dimension
        raise wrong_type(name, value, wanted) from None


def pair(name: str, value: object) -> list[float]:
    ends = items(name, value, "a pair of numbers")
    if len(ends) != 2:
        raise invalid(f"{name} has {len(ends)} numbers, must have 2, lower and upper")
    return [number(name, end) for end in ends]


def numbers(name: str, value: object) -> list[float]:
    return [number(f"an item of {name}", one) for one in items(name, value, "a list of numbers")]


def texts(name: str, value: object) -> list[str]:
    return [text(f"an item of {name}", one) for one in items(name, value, "a list of texts")]


def columns(name: str, value: object) -> str | list[str]:
    """A column, or a list of columns."""
    if isinstance(value, str):
        return text(name, value)
    return [text(f"an item of {name}", one) for one in items(name, value, "a text or a list of texts")]


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
    return [cell(f"an item of {name}", one) for one in items(name, value, "a list of texts, numbers or truth values")]


def path(name: str, value: Any) -> str:
    try:
        result = fsdecode(fspath(value))
    except TypeError:
        raise wrong_type(name, value, "a path") from None
    if "\0" in result:
        raise invalid(f"{name} has a null character in it, must be a path")
    try:
        fsencode(result)
    except UnicodeEncodeError:
        raise invalid(f"{name} has half of a surrogate pair in it, must be a path") from None
    return result


def array(name: str, value: Any) -> Any:
    """The array, which the library checks. None is refused here: the binding has a message of its own for it."""
    if value is None:
        raise wrong_type(name, value, "an array of float64, float32 or int64")
    return value


def package(name: str, caller: str) -> Any:
    """Imports a package that only ``caller`` needs. Raises ``ImportError`` with the name to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{caller} needs the package {name.partition('.')[0]}, which cannot be imported ({error}); install it with pip") from None


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value


def quoted(values: Iterable[str]) -> str:
    """Texts as one: those with commas and quotes, too."""
    return ",".join('"' + value.replace('"', '""') + '"' for value in values)
