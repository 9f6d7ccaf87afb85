"""What type checkers find. ``mypy --strict`` reads this file: an error that is expected and not found is an unused ``type: ignore``."""

from __future__ import annotations

import inspect
import json
import typing
from pathlib import Path
from typing import Any, assert_type, get_args

import pytest

import surety_dp as surety
from surety_dp import _release, _train, _types


def test_a_wrong_word_is_found_by_the_type_checker_and_refused() -> None:
    with pytest.raises(ValueError, match="must be add-or-remove-one, replace-one or zero-out"):
        surety.epsilon("gaussian(1)", delta=1e-5, adjacency="replace_one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be add-or-remove-one, replace-one or zero-out"):
        surety.Event("gaussian(1)", "neighbours")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be add-or-remove-one, replace-one or zero-out"):
        surety.plan([surety.count()], unit=None, epsilon=1, adjacency="substitute")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be add-or-remove-one, replace-one or zero-out"):
        surety.plan_training(label="y>0", algorithm="constant", unit=None, epsilon=1, adjacency="Replace-One")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="filter is 'renyy'"):
        surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter="renyy")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="loss is 'huber'"):
        surety.plan_training(label="y>0", algorithm="gradient-descent", loss="huber", unit=None, epsilon=1, delta=1e-6, adjacency="replace-one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="algorithm is 'sgd'"):
        surety.plan_training(label="y>0", algorithm="sgd", unit=None, epsilon=1, delta=1e-6, adjacency="replace-one")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean 'bounds'"):
        surety.mean("x", bound=(0, 1))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="steps is '3', must be a whole number"):
        surety.plan_training(label="y>0", algorithm="gradient-descent", steps="3", unit=None, epsilon=1, delta=1e-6, adjacency="replace-one")  # type: ignore[arg-type]


def test_an_adjacency_that_is_returned_may_be_passed_on() -> None:
    event = surety.Event("gaussian(1)", "zero-out")
    assert_type(event.adjacency, surety.Adjacency)
    with surety.Ledger.in_memory(adjacency=event.adjacency) as ledger:
        assert_type(ledger.adjacency, surety.Adjacency)
        assert surety.Event("laplace(1)", ledger.adjacency).adjacency == "zero-out"


def enumerations(schema: Any) -> dict[str, set[str]]:
    """Of each option of a plan the words that any algorithm takes."""
    found: dict[str, set[str]] = {}
    if isinstance(schema, list):
        parts = [enumerations(one) for one in schema]
    else:
        parts = [enumerations(one) for one in schema.values()] if isinstance(schema, dict) else []
        for name, member in (schema.get("properties", {}) if isinstance(schema, dict) else {}).items():
            if isinstance(member, dict) and "enum" in member:
                found.setdefault(name.replace("-", "_"), set()).update(member["enum"])
    for part in parts:
        for name, words in part.items():
            found.setdefault(name, set()).update(words)
    return found


def words_of(annotation: Any) -> set[str]:
    """Of ``Literal[...] | None``."""
    return {word for one in (get_args(annotation) or ()) for word in (get_args(one) or (one,)) if isinstance(word, str)}


def test_the_words_are_those_of_plans() -> None:
    schema = json.loads((Path(__file__).parents[3] / "docs" / "reference" / "plan.schema.json").read_text())
    of_plans = enumerations(schema)
    assert set(get_args(surety.Adjacency)) == of_plans.pop("adjacency")
    fields = typing.get_type_hints(_train.TrainingFields, vars(_train))
    typed = {name: words_of(hint) for name, hint in fields.items() if words_of(hint)}
    assert {"loss", "geometry", "tune_by", "topology", "noise"} <= set(typed)
    noise = of_plans.pop("noise")
    release_noise = set(get_args(_types.ReleaseNoise))
    assert typed.pop("noise") | release_noise == noise and release_noise == {"best", "laplace", "gaussian"}
    for name, words in typed.items():
        assert words == of_plans[name], name
    # And every enumeration of a plan has a type, but for members of queries and of the plan itself.
    assert set(of_plans) - set(typed) == {"version", "command", "function"}
    assert words_of(typing.get_type_hints(_release.PlanFields, vars(_release))["empty_unit"]) == typed["empty_unit"]
    assert set(get_args(_types.Algorithm)) == {"auto", *_train._ALGORITHMS}


def test_every_word_of_a_ledger_and_of_a_norm_is_taken() -> None:
    for filter in get_args(_types.Filter):
        surety.Ledger.in_memory(adjacency="replace-one", epsilon=1, delta=1e-5, filter=filter)
    for norm in get_args(_types.Norm):
        surety.KNormNoise(2, norm=norm, sensitivity=1, dimension=2, adjacency="replace-one")


def test_signatures_show_the_words() -> None:
    assert inspect.signature(surety.epsilon).parameters["adjacency"].annotation == "Literal['add-or-remove-one', 'replace-one', 'zero-out'] | None"
    assert inspect.signature(surety.train).parameters["loss"].annotation == "Literal['logistic', 'squared', 'smoothed-hinge', 'hinge'] | None"
