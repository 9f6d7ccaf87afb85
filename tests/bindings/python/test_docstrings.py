"""Docstrings: those of the most used functions have the sections of numpydoc and name every argument; examples of methods are run, since doctest of a module
finds those of its functions and classes alone."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import surety_dp as surety

CLASSES = [getattr(surety, name) for name in surety.__all__ if inspect.isclass(getattr(surety, name))]


def examples_of_methods(kind: type) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(kind, kind.__name__, module=False, globs={}) if test.examples and test.name != kind.__name__]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if examples_of_methods(kind)])
def test_examples_of_methods_say_what_they_show(kind: type) -> None:
    for test in examples_of_methods(kind):
        failures: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test, out=failures.append)
        assert not failures, "".join(failures)


def test_methods_with_examples_are_found() -> None:
    names = {test.name for kind in CLASSES for test in examples_of_methods(kind)}
    assert {"Ledger.spent", "Ledger.split_evenly", "Event.from_json", "Noise.release_sum"} <= names


def test_names_are_on_one_page_of_the_reference_each() -> None:
    """As the site wants them, whose leg runs less often."""
    pages = " ".join(path.read_text() for path in (Path(__file__).parents[3] / "bindings/python/reference").glob("*.rst")).split()
    names = set(surety.__all__) - {"__version__"}
    assert len(pages) > 100 and {name: pages.count(f"surety_dp.{name}") for name in names} == dict.fromkeys(names, 1)


DOCUMENTED: list[Any] = [
    *(surety.epsilon, surety.delta, surety.explain, surety.curve, surety.tradeoff, surety.risk, surety.calibrate, surety.plan, surety.release),
    *(surety.count, surety.count_units, surety.count_distinct, surety.sum, surety.mean, surety.variance, surety.median, surety.quantile, surety.histogram, surety.mode),
    *(surety.distinct, surety.keys, surety.plan_training, surety.train, surety.GaussianNoise, surety.LaplaceNoise, surety.Noise.add_to, surety.Noise.release_sum),
    *(surety.Ledger.create, surety.Ledger.reserve, surety.Ledger.audit, surety.Ledger.spent, surety.Ledger.remaining, surety.Ledger.room_for, surety.Ledger.split_evenly),
]


def sections_of(documentation: str) -> dict[str, str]:
    parts = re.split(r"^(\w[\w ]*)\n-+\n", inspect.cleandoc(documentation), flags=re.MULTILINE)
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda documented: documented.__qualname__)
def test_docstrings_have_sections_and_name_every_argument(documented: Any) -> None:
    sections = sections_of(documented.__doc__ or "")
    returns = [] if inspect.isclass(documented) or documented.__name__ == "add_to" else ["Returns"]
    assert {"Summary", "Parameters", *returns, "Raises", "Examples"} <= set(sections)
    order = ["Summary", "Parameters", "Returns", "Other Parameters", "Raises", "Warns", "Notes", "Examples"]
    assert [name for name in order if name in sections] == list(sections)
    assert re.fullmatch(r"[A-Za-z][^\n]{10,160}[.:]", sections["Summary"].strip())
    text = sections["Parameters"] + sections.get("Other Parameters", "")
    named = {name.lstrip("*") for line in re.findall(r"^[*\w][^\n]*$", text, re.MULTILINE) for name in line.partition(" : ")[0].split(", ")}
    assert named == set(inspect.signature(documented).parameters) - {"self", "cls"}
    assert ">>> " in sections["Examples"]
