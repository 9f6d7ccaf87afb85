"""First tries of somebody who has not read the manual: each is refused before the charge, or the result warns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surety_dp as surety

TABLE: dict[str, Any] = {"visits": np.arange(600) % 7 * 1.0, "coins": np.arange(600) % 90 * 0.5, "health": np.arange(600) // 3 % 2}
FIT: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "replace-one", "algorithm": "gradient-descent", "steps": 2}
ASK: dict[str, Any] = {"unit": None, "epsilon": 1, "adjacency": "replace-one"}


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smoothed-hinge"])
def test_a_column_is_no_label_of_two_classes(loss: Any) -> None:
    ledger = surety.Ledger.in_memory()
    with pytest.raises(ValueError, match="label is visits, a column without a comparison.*'visits>0'.*classes must list them"):
        surety.train(TABLE, label="visits", loss=loss, delta=1e-6, **FIT, ledger=ledger)
    with pytest.raises(ValueError, match="a column without a comparison"):
        surety.plan_training(label="visits", loss=loss, delta=1e-6, **FIT)


def test_a_column_is_a_label_of_numbers_or_of_listed_classes() -> None:
    common = {**FIT, "delta": 1e-6, "ledger": surety.Ledger.in_memory()}
    assert surety.train(TABLE, label="visits", loss="squared", label_bounds=(0, 6), clip=1, **common).loss == "squared"
    classes = {**common, "algorithm": "shaped-descent"}
    assert surety.train(TABLE, label="health", classes=[0, 1], **classes).classes_ == ("0", "1")


def test_truth_values_are_the_classes_1_and_0() -> None:
    truths = {**TABLE, "health": TABLE["health"] == 1}
    common = {**FIT, "algorithm": "shaped-descent", "delta": 1e-6, "epsilon": 100, "replay_seed": 1}
    models = [surety.train(table, label="health", classes=[0, 1], ledger=surety.Ledger.in_memory(), **common) for table in (TABLE, truths)]
    assert models[0].text() == models[1].text()


def test_delta_is_needed() -> None:
    call = {**FIT, "algorithm": "auto", "steps": None}
    with pytest.raises(ValueError, match="delta is None, must be given where algorithm is 'auto'"):
        surety.train(TABLE, label="visits>0", **call, ledger=surety.Ledger.in_memory())
    pure = surety.train(TABLE, label="visits>0", delta=0, **call, ledger=surety.Ledger.in_memory())
    assert pure.cost is not None and pure.cost.upper <= 1 and "gaussian" not in str(pure.event)
    with pytest.raises(surety.SuretyError, match="delta is 0, must be greater than 0 for gradient-descent"):
        surety.train(TABLE, label="visits>0", **FIT, ledger=surety.Ledger.in_memory())


def test_what_a_release_warns_of() -> None:
    def release(statistic: surety.Statistic, **more: Any) -> surety.Released:
        return surety.release(TABLE, [statistic], **{**ASK, **more}, ledger=surety.Ledger.in_memory(), replay_seed=1)

    usual = release(surety.mean("visits", bounds=(0, 6)))
    assert usual.warnings == () and usual.notes == ()
    assert "as wide as [0, 6]" in release(surety.mean("visits", bounds=(0, 6)), epsilon=1e-9).warnings[0]
    nobody = release(surety.histogram("health", categories=["yes", "no"]))
    assert "every interval holds 0" in nobody.warnings[0] and "every interval holds 0" in repr(nobody)
    assert "the interval holds 0" in release(surety.count(where="health=='yes'")).warnings[0]
    large = release(surety.mean("visits", bounds=(0, 6)), epsilon=50, delta=0.1)
    assert [note.split(" = ")[0] for note in large.notes] == ["epsilon", "delta"]
    with pytest.raises(ValueError, match="no cell meets both"):
        release(surety.count(where="visits>5 and visits<3"))
