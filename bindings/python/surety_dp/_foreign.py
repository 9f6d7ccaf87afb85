"""Objects of other packages, recognized by the identity of their class: a subclass, and a class of the same name elsewhere, may do anything."""

from __future__ import annotations

import sys
from typing import Any


def class_of(module: str, name: str) -> type | None:
    """The class ``name`` of a module; None if the module is not loaded, when there is no object of its classes either."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def is_exactly(thing: Any, module: str, name: str) -> bool:
    """True if ``thing`` is an instance of this class, and not of a subclass."""
    return type(thing) is class_of(module, name)


def name_of(thing: Any) -> str:
    """The class of ``thing`` with its module, for messages."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
