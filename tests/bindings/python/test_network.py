"""Privacy does not need convexity: the gradients of a network of two layers go through the door, and the charge is that of any other sum of rows of that norm."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import surety_dp as surety

Numbers = npt.NDArray[np.float64]

UNITS, STEPS, CLIP, EPSILON = 12, 120, 1.0, 4.0


def gradients(weights: Numbers, inputs: Numbers, labels: Numbers) -> Numbers:
    """The logistic loss of sum of a_j tanh(<w_j, (u, 1)>), one row a record; labels are -1 and 1."""
    hidden, output = weights[: 3 * UNITS].reshape(UNITS, 3), weights[3 * UNITS :]
    with_one = np.hstack([inputs, np.ones((len(inputs), 1))])
    active = np.tanh(with_one @ hidden.T)
    slope = -labels / (1 + np.exp(labels * (active @ output)))
    of_hidden = (slope[:, None] * output * (1 - active**2))[:, :, None] * with_one[:, None, :]
    of_both: Numbers = np.hstack([of_hidden.reshape(len(inputs), -1), slope[:, None] * active])
    return of_both


def right(weights: Numbers, inputs: Numbers, labels: Numbers) -> float:
    hidden, output = weights[: 3 * UNITS].reshape(UNITS, 3), weights[3 * UNITS :]
    with_one = np.hstack([inputs, np.ones((len(inputs), 1))])
    return float(np.mean(np.sign(np.tanh(with_one @ hidden.T) @ output) == labels))


def test_a_network_learns_what_no_line_divides_at_the_charge_of_its_releases(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    inputs = draw.uniform(-1, 1, (8000, 2))
    labels = np.where(inputs[:, 0] * inputs[:, 1] > 0, 1.0, -1.0)
    train, test = slice(0, 6000), slice(6000, None)

    found = surety.calibrate(f"repeat({STEPS}, gaussian(z))", epsilon=EPSILON, delta=1e-6, adjacency="zero-out")
    noise = surety.GaussianNoise(found.value, sensitivity=CLIP, dimension=4 * UNITS, adjacency="zero-out")
    weights = draw.normal(size=4 * UNITS)
    with surety.Ledger.create(tmp_path / "network.db", adjacency="zero-out") as ledger:
        with ledger.reserve(STEPS * noise.event, note="a network") as run:
            for _ in range(STEPS):
                rows = gradients(weights, inputs[train], labels[train])
                weights = weights - 16 * run.release_sum(noise, rows, clip=CLIP) / 6000
        report: Any = ledger.audit(1e-6)
    assert report["event"] == f"repeat({STEPS}, gaussian({found.value!r}))"
    assert EPSILON - 1e-3 < report["epsilon"]["upper"] <= EPSILON
    assert right(weights, inputs[test], labels[test]) > 0.85  # a line has a half
    # Its loss is not convex in the weights: the midpoint of two networks that say the same is no network of the kind.
    swapped = np.concatenate([-weights[: 3 * UNITS], -weights[3 * UNITS :]])
    assert right(swapped, inputs[test], labels[test]) == right(weights, inputs[test], labels[test])
    assert np.allclose((weights + swapped) / 2, 0)
