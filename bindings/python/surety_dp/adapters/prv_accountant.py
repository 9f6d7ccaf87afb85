"""Microsoft's prv_accountant: the same triples (lower, estimate, upper), from the same privacy random variables.

    from prv_accountant import PoissonSubsampledGaussianMechanism
    from surety_dp.adapters.prv_accountant import PRVAccountant
    prv = PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)
    PRVAccountant(prvs=[prv], max_self_compositions=[10000], eps_error=0.01, delta_error=1e-10).compute_epsilon(1e-5, [10000])

Lower and upper are certified ends, the estimate lies between them. ``eps_error`` is asked for as the width; ``delta_error`` and ``eps_max`` are
taken and not needed. The relation is add-or-remove-one. Nothing of prv_accountant is imported: its objects are recognized by their exact class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import surety_dp as surety
from surety_dp._foreign import is_exactly, name_of
from surety_dp._types import Adjacency

__all__ = ["DPSGDAccountant", "PRVAccountant", "event_of"]

Triple = tuple[float, float, float]

_ADJACENCY: Adjacency = "add-or-remove-one"
_PEER = "prv_accountant"


def _down(exact: Fraction) -> float:
    value = float(exact)
    return value if Fraction(value) <= exact else math.nextafter(value, -math.inf)


def event_of(prv: Any) -> surety.Event:
    """The event of a privacy random variable: Poisson-subsampled Gaussian, Gaussian, Laplace, pure and approximate.

    Raises ``ValueError``, which names the class, for any other. A parameter that is kept as its inverse is rounded towards more cost.
    """
    if type(prv) is _PoissonSubsampledGaussian or is_exactly(prv, _PEER, "PoissonSubsampledGaussianMechanism"):
        values = {"q": float(prv.p), "z": float(prv.sigma)}
        text = "poisson(q, gaussian(z))"
    elif is_exactly(prv, _PEER, "GaussianMechanism"):
        values, text = {"z": _down(1 / Fraction(float(prv.mu)))}, "gaussian(z)"
    elif is_exactly(prv, _PEER, "LaplaceMechanism"):
        values, text = {"b": _down(1 / Fraction(float(prv.mu)))}, "laplace(b)"
    elif is_exactly(prv, _PEER, "PureDPMechanism"):
        values, text = {"e": float(prv.eps)}, "pure(e)"
    elif is_exactly(prv, _PEER, "ApproximateDPMechanism") and is_exactly(prv.pure_dp, _PEER, "PureDPMechanism"):
        values, text = {"e": float(prv.pure_dp.eps), "d": float(prv.delta)}, "approx(e, d)"
    else:
        raise ValueError(f"there is no event for {name_of(prv)}")
    return surety.Event(text, _ADJACENCY, values)


def _triple(enclosure: surety.Enclosure) -> Triple:
    lower, upper = enclosure
    return lower, lower + (upper - lower) / 2 if math.isfinite(upper) else upper, upper


class PRVAccountant:
    """Has the constructor and the methods of ``prv_accountant.PRVAccountant``."""

    def __init__(
        self,
        prvs: Any,
        eps_error: float,
        delta_error: float = 0.0,
        max_self_compositions: int | Sequence[int] | None = None,
        eps_max: float | None = None,
    ) -> None:
        several = isinstance(prvs, Sequence)
        self.prvs = list(prvs) if several else [prvs]
        self.eps_error = eps_error
        self.delta_error = delta_error
        if max_self_compositions is None:
            max_self_compositions = [1] * len(self.prvs)
        elif isinstance(max_self_compositions, int):
            max_self_compositions = [max_self_compositions]
        self.max_self_compositions = list(max_self_compositions)
        if len(self.max_self_compositions) != len(self.prvs):
            raise ValueError(f"max_self_compositions are {len(self.max_self_compositions)}, must be one for each of {len(self.prvs)} prvs")
        self._events = [event_of(prv) for prv in self.prvs]

    def event(self, num_self_compositions: int | Sequence[int] | None = None) -> surety.Event | None:
        """All of them, composed; None where every count is 0."""
        counts = [1] * len(self.prvs) if num_self_compositions is None else num_self_compositions
        counts = [counts] if isinstance(counts, int) else list(counts)
        if len(counts) != len(self._events):
            raise ValueError(f"num_self_compositions are {len(counts)}, must be one for each of {len(self._events)} prvs")
        if any(count > most for count, most in zip(counts, self.max_self_compositions)):
            raise ValueError("Requested number of compositions exceeds the maximum number of compositions")
        parts = [event if count == 1 else count * event for event, count in zip(self._events, counts) if count != 0]
        if len(parts) < 2:
            return parts[0] if parts else None
        return surety.Event(f"compose({', '.join(map(str, parts))})", _ADJACENCY)

    def compute_epsilon(self, delta: float, num_self_compositions: int | Sequence[int] | None = None) -> Triple:
        """(lower, estimate, upper) of epsilon."""
        event = self.event(num_self_compositions)
        return (0.0, 0.0, 0.0) if event is None else _triple(surety.epsilon(event, delta=delta, width=self.eps_error))

    def compute_delta(self, epsilon: float, num_self_compositions: int | Sequence[int] | None = None) -> Triple:
        """(lower, estimate, upper) of delta."""
        event = self.event(num_self_compositions)
        return (0.0, 0.0, 0.0) if event is None else _triple(surety.delta(event, epsilon=epsilon, width=self.eps_error))


class _PoissonSubsampledGaussian:
    def __init__(self, sampling_probability: float, noise_multiplier: float) -> None:
        self.p = sampling_probability
        self.sigma = noise_multiplier


class DPSGDAccountant(PRVAccountant):
    """Has the constructor and the methods of ``prv_accountant.dpsgd.DPSGDAccountant``."""

    def __init__(
        self, noise_multiplier: float, sampling_probability: float, max_steps: int, eps_error: float = 0.1, delta_error: float = 1e-9
    ) -> None:
        super().__init__(_PoissonSubsampledGaussian(sampling_probability, noise_multiplier), eps_error, delta_error, max_steps)

    def compute_epsilon(self, delta: float, num_steps: int) -> Triple:  # type: ignore[override]
        """(lower, estimate, upper) of epsilon after so many steps."""
        return super().compute_epsilon(delta, num_steps)
