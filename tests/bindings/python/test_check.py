"""What surety.check says of steps, and what is said where scikit-learn is not, without it."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import surety


class Tags:
    def __init__(self, requires_fit: bool) -> None:
        self.requires_fit = requires_fit


class Scaler:
    def fit(self, X: object) -> None: ...

    def __sklearn_tags__(self) -> Tags:
        return Tags(True)


class Stateless(Scaler):
    def __sklearn_tags__(self) -> Tags:
        return Tags(False)


class OneHotEncoder(Scaler):
    def __init__(self, **said: Any) -> None:
        self.said = {"categories": "auto", "drop": None, "min_frequency": None, "max_categories": None, **said}

    def get_params(self, deep: bool) -> dict[str, Any]:
        return self.said


class Steps:
    def __init__(self, *steps: tuple[str, Any]) -> None:
        self.steps = list(steps)


class Columns:
    def __init__(self, *transformers: tuple[str, Any, list[str]], remainder: Any = "drop") -> None:
        self.transformers = list(transformers)
        self.remainder = remainder


def test_steps_that_learn_are_named() -> None:
    listed = OneHotEncoder(categories=[["a", "b"]])
    columns = Columns(("auto", OneHotEncoder(), ["t"]), ("listed", listed, ["t"]), ("kept", "passthrough", ["u"]), remainder=Scaler())
    steps = Steps(("columns", columns), ("none", None), ("rows", Stateless()), ("rare", OneHotEncoder(categories=[["a"]], max_categories=3)), ("last", Scaler()))
    found = surety.check(steps)
    assert [(finding.step, finding.kind) for finding in found] == [
        ("columns/auto", "OneHotEncoder"),
        ("columns/remainder", "Scaler"),
        ("rare", "OneHotEncoder"),
        ("last", "Scaler"),
    ]
    assert all("without a charge" in finding.reason for finding in found)
    assert surety.check(Stateless()) == [] and surety.check(listed) == []
    # What says nothing of itself is a finding, and so is what is no step at all.
    assert [finding.step for finding in surety.check(object())] == ["object"]


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is not None, reason="scikit-learn is installed")
def test_without_scikit_learn_the_estimators_say_so_in_one_line() -> None:
    with pytest.raises(ImportError, match="^surety.sklearn needs scikit-learn 1.6 or later, which cannot be imported: ") as refused:
        import surety.sklearn  # noqa: F401
    assert "\n" not in str(refused.value)
