"""What surety.check reports without scikit-learn: it trusts no shape, name or tag. tests/bindings/frames/test_sklearn.py has the real classes."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import surety_dp as surety


class Tags:
    requires_fit = False


class Stateless:
    """As its tags say."""

    def fit(self, X: object) -> None: ...

    def __sklearn_tags__(self) -> Tags:
        return Tags()


class Normalizer(Stateless):
    """By its name."""


class OneHotEncoder(Stateless):
    """By its name, with the parameters that the real one learns nothing with."""

    categories, drop, min_frequency, max_categories, handle_unknown = [["a"]], None, None, None, "ignore"

    def get_params(self, deep: bool) -> dict[str, Any]:
        return {"categories": [["a"]], "drop": None, "min_frequency": None, "max_categories": None, "handle_unknown": "ignore"}


class Private(Stateless):
    """As its attributes say."""

    _is_private = True


class Pipeline:
    """With steps, of which the last is none of the class that it says."""

    memory = None

    def __init__(self) -> None:
        self.steps = [("rows", "passthrough")]
        self.transformers = [("rows", "passthrough", [0])]
        self.transformer_list = [("rows", None)]
        self.remainder = "drop"


@pytest.mark.parametrize("step", [Stateless(), Normalizer(), OneHotEncoder(), Private(), Pipeline(), len, None, "passthrough", 3, Normalizer])
def test_a_class_that_is_not_listed_is_a_finding(step: Any) -> None:
    (found,) = surety.check(step)
    assert found.step == found.kind == type(step).__name__
    assert "without a charge" in found.reason


def test_a_search_over_what_only_looks_private_is_no_search_of_private_estimators() -> None:
    search = Stateless()
    search.estimator = Private()  # type: ignore[attr-defined]
    (found,) = surety.check(search)
    assert "PrivateSearch" not in found.reason


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is not None, reason="scikit-learn is installed")
def test_without_scikit_learn_the_estimators_say_so_in_one_line() -> None:
    with pytest.raises(ImportError, match="^surety_dp.sklearn needs scikit-learn 1.6 or later, which cannot be imported: ") as refused:
        import surety_dp.sklearn  # noqa: F401
    assert "\n" not in str(refused.value)
