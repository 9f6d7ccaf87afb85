"""The triples of prv_accountant, from its own random variables."""

from __future__ import annotations

from typing import Any

import prv_accountant
import pytest

import surety_dp as surety
from surety_dp.adapters.prv_accountant import DPSGDAccountant, PRVAccountant, event_of

DPSGD = prv_accountant.PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)


def test_triples_hold_the_truth_and_lie_within_the_peers() -> None:
    arguments: dict[str, Any] = {"prvs": [DPSGD], "max_self_compositions": [10000], "eps_error": 0.1, "delta_error": 1e-8}
    lower, estimate, upper = PRVAccountant(**arguments).compute_epsilon(1e-5, [10000])
    assert lower <= 6.187712390 <= upper
    assert lower <= estimate <= upper
    theirs = prv_accountant.PRVAccountant(**arguments).compute_epsilon(1e-5, [10000])
    assert theirs[0] <= lower and upper <= theirs[2]
    assert DPSGDAccountant(1.0, 0.01, 10000).compute_epsilon(1e-5, 10000)[2] == upper
    lower, estimate, upper = PRVAccountant(**arguments).compute_delta(6.18771239, [10000])
    assert lower <= estimate <= upper and upper == pytest.approx(1e-5, rel=1e-5)


def test_several_variables_compose() -> None:
    prvs = [DPSGD, prv_accountant.LaplaceMechanism(mu=0.25), prv_accountant.GaussianMechanism(noise_multiplier=4.0)]
    accountant = PRVAccountant(prvs, 0.01, 1e-9, [100, 10, 1])
    assert str(accountant.event([100, 3, 1])) == "compose(repeat(100, poisson(0.01, gaussian(1))), repeat(3, laplace(4)), gaussian(4))"
    assert accountant.event([0, 0, 1]) == surety.Event("gaussian(4)", "add-or-remove-one")
    assert accountant.compute_epsilon(1e-6, [0, 0, 0]) == (0.0, 0.0, 0.0)
    assert str(event_of(prv_accountant.PureDPMechanism(eps=0.5))) == "pure(0.5)"
    assert str(event_of(prv_accountant.ApproximateDPMechanism(epsilon=0.5, delta=1e-6))) == "approx(0.5, 1e-06)"
    with pytest.raises(ValueError, match="exceeds the maximum"):
        accountant.compute_epsilon(1e-6, [101, 0, 0])
    with pytest.raises(ValueError, match="one for each of 3"):
        accountant.compute_epsilon(1e-6, [1])
    with pytest.raises(ValueError, match="no event for builtins.int"):
        PRVAccountant([3], 0.1, 1e-9)


KNOWN = [
    DPSGD,
    prv_accountant.LaplaceMechanism(mu=0.25),
    prv_accountant.GaussianMechanism(noise_multiplier=4.0),
    prv_accountant.PureDPMechanism(eps=0.5),
    prv_accountant.ApproximateDPMechanism(epsilon=0.5, delta=1e-6),
]


@pytest.mark.parametrize("prv", KNOWN, ids=lambda prv: type(prv).__name__)
def test_takes_no_class_for_another(prv: Any) -> None:
    """A subclass, a class of the same name, and what has the same attributes may be another random variable."""
    known = type(prv)
    event_of(prv)
    for kind in (type("Mine", (known,), {}), type(known.__name__, (known,), {}), type(known.__name__, (), {}), type("Shaped", (), {})):
        foreign = object.__new__(kind)
        vars(foreign).update(vars(prv))
        with pytest.raises(ValueError, match=f"no event for {kind.__module__}.{kind.__name__}"):
            event_of(foreign)
    if known is prv_accountant.ApproximateDPMechanism:
        foreign = prv_accountant.ApproximateDPMechanism(epsilon=0.5, delta=1e-6)
        foreign.pure_dp = type("Mine", (), {"eps": 0.1})()
        with pytest.raises(ValueError, match="no event for prv_accountant"):
            event_of(foreign)
