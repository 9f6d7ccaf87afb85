"""Model.plot with the real Matplotlib."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas
import pytest

import surety_dp as surety

matplotlib.use("agg")


@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]])
def test_a_plot_has_an_axis_for_each_column(classes: list[str] | None) -> None:
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({"x": random.uniform(0, 2, 300), "free": random.normal(size=300), "t": random.choice(["u", "v"], 300)})
    frame["y"] = random.choice(["a", "b", "c"], 300)
    model = surety.train(
        frame,
        label="y" if classes else "y==a",
        classes=classes,
        bounds={"x": (0, 2)},
        categories={"t": ["u", "v"]},
        algorithm="shaped-descent",
        unit=None,
        epsilon=2,
        delta=1e-5,
        adjacency="replace-one",
        ledger=surety.Ledger.in_memory(),
    )
    axes = model.plot()
    assert [axis.get_xlabel() for axis in axes] == ["x", "free", "t"]
    curves = [line for line in axes[0].lines if len(line.get_xdata()) > 2]
    assert len(curves) == (len(classes) if classes else 1)
    assert (curves[0].get_xdata()[0], curves[0].get_xdata()[-1]) == (0, 2)
    assert len(axes[2].patches) == 2 * len(curves)
    assert "epsilon 2 at delta 1e-05" in axes[0].figure.get_suptitle()
    assert [axis.get_xlabel() for axis in model.plot(["t"])] == ["t"]
    effects = pandas.DataFrame(model.partial_effects(frame)) if classes is None else None
    if effects is not None:
        np.testing.assert_allclose(effects.sum(axis=1), model.decision_function(frame), atol=1e-12)
