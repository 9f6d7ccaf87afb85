"""Binomial laws as floats: what is rounded never has fewer draws."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from surety_dp.adapters import _binomial

LAWS = [(1, 0.1), (2, 0.1), (3, 0.3), (4, 1e-9), (16, 0.1), (40, 0.02), (2, 0.75), (5, 1.0)]


def masses(count: int, rate: float) -> list[Fraction]:
    exact = Fraction(rate)
    return [math.comb(count, i) * exact**i * (1 - exact) ** (count - i) for i in range(count + 1)]


def covers(some: list[Fraction], others: list[Fraction]) -> bool:
    """Each tail, from the first draw on, is at least the other's."""
    ahead = Fraction(0)
    for one, other in zip(some[:0:-1], others[:0:-1], strict=True):
        ahead += one - other
        if ahead < 0:
            return False
    return True


@pytest.mark.parametrize(("count", "rate"), LAWS)
def test_weights_are_rounded_towards_more_draws(count: int, rate: float) -> None:
    weights = [Fraction(weight) for weight in _binomial.weights_of(count, rate)]
    exact = masses(count, rate)
    assert covers(weights, exact) and abs(sum(weights, Fraction(-1))) < Fraction(1, 10**12)
    assert all(abs(own - of) < Fraction(1, 10**14) for own, of in zip(weights, exact, strict=True))


@pytest.mark.parametrize(("count", "rate"), LAWS)
def test_a_rate_is_the_least_that_covers_the_weights(count: int, rate: float) -> None:
    for weights in ([float(mass) for mass in masses(count, rate)], _binomial.weights_of(count, rate)):
        found = _binomial.rate_of(weights)
        assert found is not None and abs(found - rate) <= 1e-12 * rate
        exact = [Fraction(weight) for weight in weights]
        assert covers(masses(count, found), exact)
        assert found == 1 or not covers(masses(count, math.nextafter(found, 0)), exact)


@pytest.mark.parametrize(
    "weights",
    [[1.0], [1.0, 0.0], [0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [0.81, 0.18, 0.01 + 1e-7], [0.81, 0.19, 0.0], [1.2, -0.2], [0.5, 0.4], [0.0] * 300],
)
def test_other_weights_have_none(weights: list[float]) -> None:
    assert _binomial.rate_of(weights) is None
