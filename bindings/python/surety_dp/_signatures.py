"""Signatures of public functions: they list every keyword, and an unknown keyword is refused with the nearest known one.

A function with ``**said: Unpack[Fields]`` takes the keys of a ``TypedDict``, which type checkers read. At run time the signature lists these keys.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, ForwardRef, get_args

from surety_dp import _types
from surety_dp._arguments import unexpected

_WORDS = {name: f"Literal[{', '.join(map(repr, get_args(words)))}]" for name, words in vars(_types).items() if get_args(words)}

#: Defaults of fields that are neither flags nor None.
_DEFAULTS = {"weight": 1, "delta": 0.0}


def _annotation(value: Any) -> Any:
    """The annotation with literal types written out. An annotation that is no text is returned unchanged."""
    said = value.__forward_arg__ if isinstance(value, ForwardRef) else value
    return re.sub(r"\w+", lambda name: _WORDS.get(name[0], name[0]), said) if isinstance(said, str) else said


def _written_out(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with the fields of a ``TypedDict`` as keywords."""
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            parameters.append(parameter.replace(annotation=_annotation(parameter.annotation)))
            continue
        fields = function.__globals__[str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")]
        for name, value in fields.__annotations__.items():
            annotation = _annotation(value)
            is_optional = isinstance(annotation, str) and annotation.endswith("| None")
            default = None if is_optional else _DEFAULTS.get(name, False if annotation == "bool" else None)
            parameters.append(inspect.Parameter(name, parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    return signature.replace(parameters=parameters)


def with_other_parameters(documentation: str | None, rows: Iterable[tuple[str, str]]) -> str:
    """A numpydoc docstring with a section "Other Parameters" before "Raises", of pairs of a name and its description."""
    before, raises, after = inspect.cleandoc(documentation or "").partition("Raises\n------\n")
    written = [f"{name} : optional\n{textwrap.indent(textwrap.fill(words, 146, break_on_hyphens=False), '    ')}" for name, words in rows]
    return "\n".join([before + "Other Parameters", "----------------", *written, "", raises + after]) + "\n"


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = _written_out(function)
    known = frozenset(name for name, one in signature.parameters.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    kind = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if not keywords.keys() <= known:
            raise unexpected(f"{kind}() ", next(name for name in keywords if name not in known), sorted(known - {"self", "cls"}))
        return function(*arguments, **keywords)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def check_keywords(names: dict[str, Any], public: list[str]) -> None:
    """Wraps public functions, and public methods of public classes, so that an unknown keyword is refused with the nearest known one."""
    seen: set[type] = set()
    for name in public:
        found = names[name]
        if inspect.isfunction(found):
            names[name] = _checked(found)
        elif inspect.isclass(found):
            for kind in found.__mro__:
                if kind.__module__.startswith("surety_dp") and kind not in seen:
                    seen.add(kind)
                    _check_methods(kind)


def _check_methods(kind: type) -> None:
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, classmethod):
            setattr(kind, name, classmethod(_checked(member.__func__)))
        elif inspect.isfunction(member) and member.__code__.co_filename.endswith(".py"):
            setattr(kind, name, _checked(member))
