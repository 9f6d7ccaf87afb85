"""``DpEvent`` trees of Google's dp_accounting to events and back, and an accountant in its manner.

    from surety_dp.adapters.dp_accounting import SuretyAccountant
    SuretyAccountant().compose(event).get_epsilon(1e-6)

A ``GaussianDpEvent`` has a noise multiplier over the bound C on one record's value, whatever neighbours differ in: under REPLACE_ONE, where a
sum moves by 2C, it is ``record_sum(z)``, and a ``LaplaceDpEvent(z)`` is ``laplace(z / 2)``. Where a parameter of an event is not exactly a float,
it is rounded towards more cost.

A ``RandomizedResponseDpEvent`` is that of a record that is replaced, under REPLACE_SPECIAL too. There dp_accounting's special record answers
uniformly, which costs less: upper ends hold, and the lower end of ``SuretyAccountant.epsilon`` and ``delta`` is 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dp_accounting import dp_event, privacy_accountant
from dp_accounting.privacy_accountant import NeighboringRelation

import surety_dp as surety
from surety_dp._foreign import name_of
from surety_dp._types import Adjacency
from surety_dp.adapters import _binomial

__all__ = ["SuretyAccountant", "Untranslatable", "adjacency_of", "from_dp_event", "to_dp_event"]

_ADJACENCIES: dict[NeighboringRelation, Adjacency] = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add-or-remove-one",
    NeighboringRelation.REPLACE_ONE: "replace-one",
    NeighboringRelation.REPLACE_SPECIAL: "zero-out",
}


class Untranslatable(ValueError):
    """One side has no event for what the other says. ``part`` is the part that it is."""

    def __init__(self, part: Any, reason: str) -> None:
        super().__init__(f"{reason}: {part}")
        self.part = part


class _NotPrivate(Exception):
    """A part releases data as they are."""


def adjacency_of(relation: NeighboringRelation | Adjacency) -> Adjacency:
    """The adjacency of a neighboring relation; an adjacency is returned as it is."""
    return _ADJACENCIES[relation] if isinstance(relation, NeighboringRelation) else relation


def _down(exact: Fraction) -> float:
    """The largest float that is at most `exact`."""
    value = float(exact)
    return value if Fraction(value) <= exact else math.nextafter(value, -math.inf)


def _up(exact: Fraction) -> float:
    return -_down(-exact)


def _number(value: Any, event: dp_event.DpEvent, name: str) -> float:
    """A finite float as the event has it."""
    number = float(value)
    if not math.isfinite(number):
        raise Untranslatable(event, f"{name} is {number}, must be finite")
    return number


def _whole(value: Any, event: dp_event.DpEvent, name: str) -> int:
    if int(value) != value:
        raise Untranslatable(event, f"{name} is {value}, must be a whole number")
    return int(value)


def _sum_event(multiplier: Any, event: dp_event.DpEvent, adjacency: Adjacency) -> str:
    """Gaussian noise of so many times C on a sum of values of norm at most C."""
    z = _number(multiplier, event, "noise_multiplier")
    if z == 0:
        raise _NotPrivate
    return f"{'record_sum' if adjacency == 'replace-one' else 'gaussian'}({z!r})"


def _laplace(event: dp_event.LaplaceDpEvent, adjacency: Adjacency) -> str:
    scale = _number(event.noise_multiplier, event, "noise_multiplier")
    if scale == 0:
        raise _NotPrivate
    return f"laplace({scale / 2 if adjacency == 'replace-one' else scale!r})"


def _discrete_laplace(event: dp_event.DiscreteLaplaceDpEvent, adjacency: Adjacency) -> str | None:
    rate = _number(event.noise_parameter, event, "noise_parameter")
    sensitivity = _whole(event.sensitivity, event, "sensitivity")
    if sensitivity == 0:
        return None
    if rate == 0:
        raise _NotPrivate
    return f"discrete_laplace({_down(1 / Fraction(rate))!r}, {sensitivity * (2 if adjacency == 'replace-one' else 1)})"


def _randomized_response(event: dp_event.RandomizedResponseDpEvent) -> str | None:
    p = Fraction(_number(event.noise_parameter, event, "noise_parameter"))
    k = _whole(event.num_buckets, event, "num_buckets")
    if k == 1 or p == 1:
        return None
    if p == 0:
        raise _NotPrivate
    return f"randomized_response({_up(1 - p + p / k)!r}, {k})"


def _truncated(event: dp_event.TruncatedSubsampledGaussianDpEvent, adjacency: Adjacency) -> str | None:
    records = _whole(event.dataset_size, event, "dataset_size")
    largest = _whole(event.truncated_batch_size, event, "truncated_batch_size")
    rate = _number(event.sampling_probability, event, "sampling_probability")
    if records == 0 or largest == 0 or rate == 0:
        return None
    inside = _sum_event(event.noise_multiplier, event, adjacency)
    return f"poisson({rate!r}, {inside})" if largest >= records else f"truncated_poisson({rate!r}, {largest}, {records}, {inside})"


def _mixture(event: dp_event.MixtureOfGaussiansDpEvent, adjacency: Adjacency) -> str | None:
    """Of binomial weights: so many of a user's records, each in the batch by a coin of its own, move the sum by so many times one. Else the mixture itself."""
    if adjacency == "replace-one":
        raise Untranslatable(event, "the relation is REPLACE_ONE, must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL")
    sigma = Fraction(_number(event.standard_deviation, event, "standard_deviation"))
    shifts = [Fraction(_number(shift, event, "a sensitivity")) for shift in event.sensitivities]
    weights = [_number(weight, event, "a weight") for weight in event.sampling_probs]
    if len(shifts) != len(weights) or not shifts or min(shifts) < 0 or len(set(shifts)) != len(shifts):
        raise Untranslatable(event, "its sensitivities must be at least 0, each once and with its weight")
    if max(shifts) == 0:
        return None
    if sigma == 0:
        raise _NotPrivate
    step = min(shift for shift in shifts if shift > 0)
    draws = {round(shift / step): weight for shift, weight in zip(shifts, weights, strict=True)}
    one = max(shift / round(shift / step) for shift in shifts if shift > 0)
    most = max(draws)
    rate = None
    if most <= _binomial.MOST and len(draws) == len(shifts) and all(abs(shift - round(shift / step) * one) <= one / 10**9 for shift in shifts):
        rate = 1.0 if list(draws) == [1] and weights == [1.0] else _binomial.rate_of([draws.get(place, 0.0) for place in range(most + 1)])
    if rate is None:
        parts = ", ".join(f"{weight!r}, {float(shift)!r}" for shift, weight in zip(shifts, weights, strict=True))
        return f"mixture({parts}, gaussian({float(sigma)!r}))"
    inside = f"gaussian({_down(sigma / one)!r})"
    if rate < 1:
        inside = f"poisson({rate!r}, {inside})"
    return inside if most == 1 else f"users({most}, {inside})"


def _tree(event: dp_event.SingleEpochTreeAggregationDpEvent, adjacency: Adjacency) -> str:
    if adjacency != "zero-out":
        raise Untranslatable(event, f"the relation is {adjacency}, must be REPLACE_SPECIAL (zero-out)")
    counts: Sequence[int] = [event.step_counts] if isinstance(event.step_counts, int) else list(event.step_counts)
    steps = max((_whole(count, event, "step_counts") for count in counts), default=0)
    if steps < 1:
        raise Untranslatable(event, "step_counts are none, must be at least 1")
    # A record is in one step, which touches a node for each level of its tree.
    return f"repeat({steps.bit_length()}, {_sum_event(event.noise_multiplier, event, adjacency)})"


def _best_of(event: dp_event.RepeatAndSelectDpEvent, inside: str | None) -> str | None:
    if inside is None:
        return None
    mean, shape = _number(event.mean, event, "mean"), float(event.shape)
    laws = {math.inf: "poisson_runs", 1.0: "geometric_runs", 0.0: "logarithmic_runs"}
    if shape in laws:
        return f"best_of({laws[shape]}, {mean!r}, {inside})"
    return f"best_of(negative_binomial_runs, {mean!r}, {shape!r}, {inside})"


def _zcdp(event: dp_event.ZCDpEvent) -> str | None:
    rho, xi = _number(event.rho, event, "rho"), _number(event.xi, event, "xi")
    if xi == 0:
        return None if rho == 0 else f"zcdp({rho!r})"
    return f"zcdp({xi!r}, {rho!r})"


def _repeated(event: dp_event.SelfComposedDpEvent, adjacency: Adjacency) -> str | None:
    inside = _text(event.event, adjacency)
    return None if inside is None else f"repeat({_whole(event.count, event, 'count')}, {inside})"


def _composed(event: dp_event.ComposedDpEvent, adjacency: Adjacency) -> str | None:
    parts = [part for part in [_text(part, adjacency) for part in event.events] if part is not None]
    return f"compose({', '.join(parts)})" if parts else None


def _poisson(event: dp_event.PoissonSampledDpEvent, adjacency: Adjacency) -> str | None:
    rate = _number(event.sampling_probability, event, "sampling_probability")
    inside = None if rate == 0 else _text(event.event, adjacency)
    return None if inside is None else f"poisson({rate!r}, {inside})"


def _fixed_size(event: Any, adjacency: Adjacency, word: str) -> str | None:
    inside = _text(event.event, adjacency)
    sizes = [_whole(size, event, "a size") for size in (event.source_dataset_size, event.sample_size)]
    return None if inside is None or sizes[1] == 0 else f"{word}({sizes[0]}, {sizes[1]}, {inside})"


def _promise(event: Any) -> str | None:
    epsilon, delta = _number(event.epsilon, event, "epsilon"), _number(event.delta, event, "delta")
    if delta == 0:
        return None if epsilon == 0 else f"pure({epsilon!r})"
    return f"approx({epsilon!r}, {delta!r})"


def _discrete_gaussian(event: Any, adjacency: Adjacency) -> str | None:
    """Of one coordinate: of more, or of an unknown number, the curve is another one. Its sensitivity is that of neighbours that differ in the presence of a record."""
    if event.dimension != 1:
        raise Untranslatable(event, f"dimension is {event.dimension}, must be 1")
    if adjacency == "replace-one":
        raise Untranslatable(event, "the relation is REPLACE_ONE, must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL")
    sigma, sensitivity = _number(event.sigma, event, "sigma"), _whole(event.sensitivity, event, "sensitivity")
    if sensitivity == 0:
        return None
    if sigma == 0:
        raise _NotPrivate
    return f"discrete_gaussian({sigma!r}, {sensitivity})"


def _choice(event: Any, word: str) -> str | None:
    epsilon = _number(event.epsilon, event, "epsilon")
    return None if epsilon == 0 else f"{word}({epsilon!r})"


def _allocated(event: Any, adjacency: Adjacency) -> str | None:
    """Each record is in exactly so many of the steps, uniform and independent of all others."""
    steps, selected = _whole(event.num_steps, event, "num_steps"), _whole(event.num_selected, event, "num_selected")
    if selected == 0:
        return None
    if type(event.event) is not dp_event.GaussianDpEvent:
        raise Untranslatable(event, f"its event is {name_of(event.event)}, must be GaussianDpEvent")
    inside = _sum_event(event.event.noise_multiplier, event, adjacency)
    return f"allocated({steps}, {inside})" if selected == 1 else f"allocated({steps}, {selected}, {inside})"


def _not_private(event: dp_event.NonPrivateDpEvent, adjacency: Adjacency) -> str | None:
    raise _NotPrivate


#: What is known of each class, by the exact class: a subclass may release more than its base.
_TRANSLATIONS: dict[type, Callable[[Any, Adjacency], str | None]] = {
    dp_event.NoOpDpEvent: lambda event, adjacency: None,
    dp_event.NonPrivateDpEvent: _not_private,
    dp_event.GaussianDpEvent: lambda event, adjacency: _sum_event(event.noise_multiplier, event, adjacency),
    dp_event.LaplaceDpEvent: _laplace,
    dp_event.DiscreteLaplaceDpEvent: _discrete_laplace,
    dp_event.RandomizedResponseDpEvent: lambda event, adjacency: _randomized_response(event),
    dp_event.MixtureOfGaussiansDpEvent: _mixture,
    dp_event.TruncatedSubsampledGaussianDpEvent: _truncated,
    dp_event.SingleEpochTreeAggregationDpEvent: _tree,
    dp_event.ZCDpEvent: lambda event, adjacency: _zcdp(event),
    dp_event.SelfComposedDpEvent: _repeated,
    dp_event.ComposedDpEvent: _composed,
    dp_event.PoissonSampledDpEvent: _poisson,
    dp_event.SampledWithoutReplacementDpEvent: lambda event, adjacency: _fixed_size(event, adjacency, "without_replacement"),
    dp_event.SampledWithReplacementDpEvent: lambda event, adjacency: _fixed_size(event, adjacency, "with_replacement"),
    dp_event.RepeatAndSelectDpEvent: lambda event, adjacency: _best_of(event, _text(event.event, adjacency)),
}

#: Classes that not every version of dp_accounting has, by name. Permute-and-flip has losses within epsilon of 0.
_LATER: dict[str, Callable[[Any, Adjacency], str | None]] = {
    "EpsilonDeltaDpEvent": lambda event, adjacency: _promise(event),
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "ExponentialMechanismDpEvent": lambda event, adjacency: _choice(event, "exponential"),
    "PermuteAndFlipDpEvent": lambda event, adjacency: _choice(event, "pure"),
    "RandomAllocationDpEvent": _allocated,
}
_TRANSLATIONS.update({getattr(dp_event, name): translation for name, translation in _LATER.items() if hasattr(dp_event, name)})


def _text(event: dp_event.DpEvent, adjacency: Adjacency) -> str | None:
    """In the event language; None for what releases nothing."""
    translation = _TRANSLATIONS.get(type(event))
    if translation is None:
        raise Untranslatable(event, f"there is no event for {name_of(event)}")
    text = translation(event, adjacency)
    if text is not None and type(event) is not dp_event.ComposedDpEvent:
        try:
            surety.Event(text, adjacency)  # an event that refuses its own parameters is the part to name, not the whole
        except surety.SuretyError as error:
            raise Untranslatable(event, str(error)) from error
    return text


def from_dp_event(event: dp_event.DpEvent, relation: NeighboringRelation | Adjacency = NeighboringRelation.ADD_OR_REMOVE_ONE) -> surety.Event | None:
    """The event that a ``DpEvent`` is under this relation; ``None`` for one that releases nothing.

    Raises ``Untranslatable``, which names the part that has no event: what releases data as they are, and what an event refuses under the adjacency.
    """
    adjacency = adjacency_of(relation)
    try:
        text = _text(event, adjacency)
    except _NotPrivate:
        raise Untranslatable(event, "there is no event for what releases data as they are") from None
    if text is None:
        return None
    try:
        return surety.Event(text, adjacency)
    except surety.SuretyError as error:
        raise Untranslatable(event, str(error)) from error


def _gaussian_back(inside: dict[str, Any], adjacency: Adjacency, part: Any) -> float:
    """The multiplier over C of a release in a batch that dp_accounting knows with Gaussian noise alone."""
    if len(inside) == 1:
        if "record_sum" in inside:
            return float(inside["record_sum"]["noise_multiplier"])
        if "gaussian" in inside:
            return float(inside["gaussian"]["noise_multiplier"]) * (2 if adjacency == "replace-one" else 1)
    raise Untranslatable(part, "dp_accounting has such batches of one Gaussian release alone")


def _users_back(fields: dict[str, Any], adjacency: Adjacency, part: Any) -> dp_event.DpEvent:
    """A mixture of Gaussians, for a batch."""
    inside, records = fields["event"], fields["records"]
    rate = inside["poisson"]["sampling_rate"] if "poisson" in inside else 1.0
    inside = inside["poisson"]["event"] if "poisson" in inside else inside
    if adjacency == "replace-one" or "gaussian" not in inside:
        raise Untranslatable(part, "dp_accounting has users in Poisson batches of Gaussian releases alone, under ADD_OR_REMOVE_ONE and REPLACE_SPECIAL")
    weights = _binomial.weights_of(records, rate)
    kept = [place for place, weight in enumerate(weights) if weight > 0]
    return dp_event.MixtureOfGaussiansDpEvent(inside["gaussian"]["noise_multiplier"], [float(place) for place in kept], [weights[place] for place in kept])


def _back(tree: dict[str, Any], adjacency: Adjacency) -> dp_event.DpEvent:
    ((kind, fields),) = tree.items()
    replaces = adjacency == "replace-one"
    if kind in ("gaussian", "record_sum"):
        return dp_event.GaussianDpEvent(_gaussian_back(tree, adjacency, tree))
    if kind == "laplace":
        return dp_event.LaplaceDpEvent(fields["scale"] * (2 if replaces else 1))
    if kind == "discrete_laplace":
        sensitivity = fields["sensitivity"]
        if replaces and sensitivity % 2:
            raise Untranslatable(tree, "dp_accounting has no sensitivity of one record for this one of a replacement")
        return dp_event.DiscreteLaplaceDpEvent(_up(1 / Fraction(fields["scale"])), sensitivity // 2 if replaces else sensitivity)
    if kind == "randomized_response":
        truth, k = Fraction(fields["truth"]), fields["categories"]
        if truth < Fraction(1, k):
            raise Untranslatable(tree, "dp_accounting has no randomized response that lies more often than by chance")
        return dp_event.RandomizedResponseDpEvent(max(0.0, _down((1 - truth) * Fraction(k, k - 1))), k)
    if kind == "zcdp":
        return dp_event.ZCDpEvent(fields["rho"], fields.get("xi", 0.0))
    if kind == "repeat":
        return dp_event.SelfComposedDpEvent(_back(fields["event"], adjacency), fields["count"])
    if kind == "compose":
        return dp_event.ComposedDpEvent([_back(part, adjacency) for part in fields])
    if kind == "poisson":
        return dp_event.PoissonSampledDpEvent(fields["sampling_rate"], _back(fields["event"], adjacency))
    if kind == "cyclic":
        rounds = -(-fields["rounds"] // fields["groups"])
        return dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(fields["sampling_rate"], _back(fields["event"], adjacency)), rounds)
    if kind == "mixture":
        if replaces:
            raise Untranslatable(tree, "dp_accounting has mixtures under ADD_OR_REMOVE_ONE and REPLACE_SPECIAL alone")
        weights, shifts = zip(*fields["components"], strict=True)
        return dp_event.MixtureOfGaussiansDpEvent(_gaussian_back(fields["event"], adjacency, tree), list(shifts), list(weights))
    if kind == "users":
        return _users_back(fields, adjacency, tree)
    if kind == "without_replacement":
        return dp_event.SampledWithoutReplacementDpEvent(fields["records"], fields["batch_size"], _back(fields["event"], adjacency))
    if kind == "with_replacement":
        return dp_event.SampledWithReplacementDpEvent(fields["records"], fields["batch_size"], _back(fields["event"], adjacency))
    if kind == "truncated_poisson":
        multiplier = _gaussian_back(fields["event"], adjacency, tree)
        return dp_event.TruncatedSubsampledGaussianDpEvent(fields["records"], fields["sampling_rate"], fields["largest"], multiplier)
    if kind == "best_of":
        if "cap" in fields:
            raise Untranslatable(tree, "dp_accounting has no number of runs with a cap")
        shapes = {"poisson_runs": math.inf, "geometric_runs": 1.0, "logarithmic_runs": 0.0}
        shape = shapes[fields["runs"]] if fields["runs"] in shapes else fields["shape"]
        if shape < 0:
            raise Untranslatable(tree, "dp_accounting has no negative binomial law of negative shape")
        return dp_event.RepeatAndSelectDpEvent(_back(fields["event"], adjacency), fields["mean"], shape)
    raise Untranslatable(tree, f"dp_accounting has no event for {kind}")


def to_dp_event(event: surety.Event) -> dp_event.DpEvent:
    """The ``DpEvent`` of an event, to be accounted for under the relation of its adjacency.

    Raises ``Untranslatable`` for what dp_accounting has no event for: shuffled, deterministic, parallel and allocated batches, users elsewhere than in
    Poisson batches of Gaussian releases, choices, promises, discrete and generalized Gaussian noise.
    """
    return _back(json.loads(event.json())["event"], event.adjacency)


@lru_cache(1024)
def _refusal(event: surety.Event) -> str | None:
    """Why nobody can account for one such release; None where somebody can."""
    try:
        surety.delta(event, epsilon=1.0, width=0.1)
    except surety.SuretyError as error:
        if error.code == surety.ErrorCode.UNSUPPORTED:
            return str(error)
    return None


class SuretyAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]
    """A ``PrivacyAccountant`` whose epsilon and delta are the certified upper ends; ``epsilon`` and ``delta`` give both.

    Works with ``dp_accounting.calibrate_dp_mechanism``. ``width`` is what accountants on a grid aim at, in epsilon.
    """

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE, *, width: float | None = None
    ) -> None:
        super().__init__(neighboring_relation)
        self._adjacency = adjacency_of(neighboring_relation)
        self._width = width
        self._releases: list[tuple[surety.Event, int]] = []
        self._not_private = False
        self._upper_alone = False

    def _error(self, event: dp_event.DpEvent, reason: str) -> Any:
        return self.CompositionErrorDetails(invalid_event=event, error_message=reason)

    def _maybe_compose(self, event: dp_event.DpEvent, count: int, do_compose: bool) -> Any:
        if type(event) is dp_event.SelfComposedDpEvent:
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if type(event) is dp_event.ComposedDpEvent:
            for part in event.events:
                error = self._maybe_compose(part, count, do_compose)
                if error is not None:
                    return error
            return None
        try:
            text = _text(event, self._adjacency)
            translated = None if text is None else surety.Event(text, self._adjacency)
        except _NotPrivate:
            self._not_private = self._not_private or do_compose
            return None
        except Untranslatable as error:
            return self._error(error.part, str(error))
        except surety.SuretyError as error:
            return self._error(event, str(error))
        if translated is None:
            return None
        if not do_compose:
            refusal = _refusal(translated)
            return None if refusal is None else self._error(event, refusal)
        # The special record answers uniformly, a zeroed one as some record does: a mixture of such, which costs no more.
        self._upper_alone = self._upper_alone or (self._adjacency == "zero-out" and "randomized_response" in str(translated))
        if self._releases and self._releases[-1][0] == translated:
            count += self._releases.pop()[1]
        self._releases.append((translated, count))
        return None

    @property
    def event(self) -> surety.Event | None:
        """All that was composed; None where that releases nothing, or data as they are."""
        if self._not_private or not self._releases:
            return None
        whole = [event if count == 1 else count * event for event, count in self._releases]
        # In one step: a sum of sums would be as deep as it is long.
        return whole[0] if len(whole) == 1 else surety.Event(f"compose({', '.join(map(str, whole))})", self._adjacency)

    def epsilon(self, target_delta: float) -> surety.Enclosure:
        """Both ends of epsilon; 0 and the upper end where a special record answers a randomized response."""
        return self._asked(lambda event: surety.epsilon(event, delta=target_delta, width=self._width), math.inf, target_delta >= 1)

    def delta(self, target_epsilon: float) -> surety.Enclosure:
        """Both ends of delta; 0 and the upper end where a special record answers a randomized response."""
        return self._asked(lambda event: surety.delta(event, epsilon=target_epsilon, width=self._width), 1.0, target_epsilon == math.inf)

    def _asked(self, ask: Callable[[surety.Event], surety.Enclosure], worst: float, is_nothing: bool) -> surety.Enclosure:
        if self._not_private:
            return surety.Enclosure(worst, worst)
        event = self.event
        if event is None or is_nothing:
            return surety.Enclosure(0.0, 0.0)
        found = ask(event)
        return surety.Enclosure(0.0, found.upper) if self._upper_alone else found

    def get_epsilon(self, target_delta: float) -> float:
        return self.epsilon(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        return self.delta(target_epsilon).upper
