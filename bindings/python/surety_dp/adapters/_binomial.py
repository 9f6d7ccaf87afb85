"""Weights of a binomial law as floats, and the law of such weights, exactly: what is rounded is rounded towards more draws.

More draws are more cost: where the tails of one law of shifts of a Gaussian are at least those of another, so are its hockey-stick divergences from no shift,
in both directions, since every half-line that a test may be is hit by a larger shift at least as often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

#: The most records of a user that an event has.
MOST = 256

_RELATIVE = Fraction(1, 10**9)
_ABSOLUTE = Fraction(1, 10**15)


def _up(exact: Fraction) -> float:
    """The least float that is at least ``exact``."""
    value = float(exact)
    return value if Fraction(value) >= exact else math.nextafter(value, math.inf)


def _tails(count: int, rate: float) -> tuple[list[int], int]:
    """The probability of at least i draws, for i from 1 to ``count``, over one denominator."""
    drawn, of = rate.as_integer_ratio()
    tails = []
    rest = 0
    for place in range(count, 0, -1):
        rest += math.comb(count, place) * drawn**place * (of - drawn) ** (count - place)
        tails.append(rest)
    return tails[::-1], of**count


def weights_of(count: int, rate: float) -> list[float]:
    """Weights for 0 to ``count`` draws at ``rate``, next to the binomial ones, whose tails are at least its tails."""
    weights = [0.0] * (count + 1)
    rest = Fraction(0)
    tails, of = _tails(count, rate)
    for place in range(count, 0, -1):
        weights[place] = _up(max(Fraction(0), Fraction(tails[place - 1], of) - rest))
        rest += Fraction(weights[place])
    weights[0] = max(0.0, float(1 - rest))
    return weights


def rate_of(weights: Sequence[float]) -> float | None:
    """The least rate at which the tails of a binomial law are at least those of ``weights``, of 0 to ``len(weights) - 1`` draws, of which the first is what the
    others leave; None where they are not, within 1e-9 of each tail, those of a binomial law."""
    count = len(weights) - 1
    exact = [Fraction(weight) for weight in weights]
    if not 1 <= count <= MOST or min(exact) < 0 or abs(sum(exact, Fraction(-1))) > _RELATIVE:
        return None
    tails = [min(sum(exact[place:], Fraction(0)), Fraction(1)) for place in range(1, count + 1)]

    def covers(rate: float) -> bool:
        found, of = _tails(count, rate)
        return all(own * asked.denominator >= asked.numerator * of for own, asked in zip(found, tails, strict=True))

    near = float(sum(tails) / count)
    lower, upper = near * (1 - 1e-8), min(1.0, near * (1 + 1e-8))
    if not covers(upper):
        return None
    while lower < (middle := lower + (upper - lower) / 2) < upper:
        lower, upper = (lower, middle) if covers(middle) else (middle, upper)
    found, of = _tails(count, upper)
    fits = all(Fraction(own, of) - asked <= max(_ABSOLUTE, _RELATIVE * asked) for own, asked in zip(found, tails, strict=True))
    return upper if fits and upper > 0 else None
