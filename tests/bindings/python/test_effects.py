"""What the columns of a model add: Model.partial_effects, and Model.plot where matplotlib is not installed."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

ROWS = 400
KINDS: dict[str, dict[str, Any]] = {
    "curves": {"label": "buys>0", "terms": "additive", "algorithm": "shaped-descent"},
    "scaled": {"label": "buys>0", "rows": "scaled", "algorithm": "shaped-descent"},
    "squared": {"label": "spent", "loss": "squared", "label_bounds": (0, 10), "rows": "scaled", "algorithm": "shaped-descent"},
    "pairs": {"label": "buys>0", "pairs": [("age", "rooms")], "algorithm": "shaped-descent"},
    "classes": {"label": "kind", "classes": ["young", "old"], "classes_by": "softmax", "algorithm": "shaped-descent"},
}


def table() -> dict[str, Any]:
    random = np.random.default_rng(3)
    age = random.uniform(15, 90, ROWS)  # some beyond the bounds
    return {
        "age": age,
        "rooms": random.integers(1, 7, ROWS).astype(float),
        "income": np.exp(random.normal(8, 1, ROWS)),
        "town": random.choice(["A", "B", "C"], ROWS),
        "sex": random.choice(["f", "m"], ROWS),
        "buys": (age > 50).astype(float),
        "spent": age / 10,
        "kind": np.where(age < 50, "young", "old"),
    }


def model_of(kind: str) -> tuple[surety.Model, dict[str, Any]]:
    call = dict(KINDS[kind])
    label = call["label"].split(">")[0]
    data = {name: column for name, column in table().items() if name not in {"buys", "spent", "kind"} - {label}}
    model = surety.train(
        data,
        bounds={"age": (18, 80), "rooms": (1, 6)},
        categories={"town": ["A", "B", "C"], "sex": ["f", "m"]},
        unit=None,
        epsilon=3,
        delta=1e-5,
        adjacency="replace-one",
        ledger=surety.Ledger.in_memory(),
        **call,
    )
    return model, data


@pytest.mark.parametrize("kind", KINDS)
def test_effects_add_up_to_the_decision_function(kind: str) -> None:
    model, data = model_of(kind)
    effects = model.partial_effects(data)
    pairs = ["age:rooms"] if kind == "pairs" else []
    assert list(effects) == [*model.columns, *pairs, "(intercept)"]
    wanted = model.decision_function(data)
    assert all(effect.shape == wanted.shape for effect in effects.values())
    np.testing.assert_allclose(sum(effects.values()), wanted, rtol=0, atol=1e-13 * max(1, np.max(np.abs(wanted))))
    assert all(np.ptp(effects[name]) > 0 for name in model.columns)


def test_an_effect_is_that_of_its_column() -> None:
    model, data = model_of("scaled")
    effects = model.partial_effects(data)
    # The map is linear within bounds.
    ages = np.clip(data["age"], 18, 80)
    scale = float(model._features()["row_scale"])
    weights = dict(zip(model.feature_names_, model.weights, strict=False))
    np.testing.assert_allclose(effects["age"], weights["age"] * scale * ((ages - 49) / 31), rtol=1e-12)
    changed = model.partial_effects(dict(data, age=data["age"][::-1].copy()))
    np.testing.assert_array_equal(changed["town"], effects["town"])
    np.testing.assert_array_equal(changed["age"], effects["age"][::-1])


def test_shapes_are_on_the_scale_of_their_columns() -> None:
    model, _ = model_of("curves")
    shapes = {name: (cells, values) for name, cells, values in model._shapes(None)}
    assert tuple(shapes) == model.columns
    ages, values = shapes["age"]
    assert (ages[0], ages[-1], len(values)) == (18, 80, len(ages))
    assert shapes["town"][0] == ["A", "B", "C"] and shapes["sex"][0] == ["f", "m"]
    # Linear between knots, of which there are eight.
    second = np.abs(np.diff(values, 2)) > 1e-9
    assert 0 < second.sum() <= 6
    # Before a row is divided: the weight of a category.
    weights = dict(zip(model.feature_names_, model.weights, strict=False))
    np.testing.assert_allclose(shapes["town"][1], [weights[f"town={town}"] for town in "ABC"], rtol=1e-12)
    assert [name for name, _, _ in model._shapes(["town"])] == ["town"]


@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_those_of_the_command_and_of_shapes(kind: str) -> None:
    model, data = model_of(kind)
    effects = {effect["column"]: effect for effect in model.effects()}
    assert set(effects) == {*model.columns, *(["age:rooms"] if kind == "pairs" else [])}
    importances = [effect["importance"] for effect in effects.values() if effect["importance"] is not None]
    assert importances == sorted(importances, reverse=True)
    for name, cells, values in model._shapes(None):
        places = effects[name]["at"] or effects[name]["categories"]
        found = np.array(effects[name]["values"])
        if isinstance(cells[0], str):
            np.testing.assert_allclose(found, np.atleast_2d(values.T), rtol=1e-9, atol=1e-12)
        else:
            curves = np.atleast_2d(values.T)
            np.testing.assert_allclose(found[:, [0, -1]], curves[:, [0, -1]], rtol=1e-9, atol=1e-9)
            assert (places[0], places[-1]) == pytest.approx((cells[0], cells[-1]))


def test_odds_are_those_of_predictions() -> None:
    model, data = model_of("curves")
    effect = next(effect for effect in model.effects() if effect["column"] == "age")
    lower, upper = effect["odds"][-1]
    scores = [model.decision_function(dict(data, age=np.full(ROWS, bound))) for bound in (18.0, 80.0)]
    factors = np.exp(scores[1] - scores[0])
    assert lower * (1 - 1e-9) <= factors.min() < factors.max() <= upper * (1 + 1e-9)


def test_refusals() -> None:
    model, _ = model_of("scaled")
    with pytest.raises(ValueError, match="columns has 'village', must be columns of the model: age, rooms, income, town, sex"):
        model.plot(["village"])
    text = model.text()
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(ImportError, match="pip install matplotlib"):
            model.plot()
        assert "matplotlib" not in sys.modules
    assert model.text() == text
