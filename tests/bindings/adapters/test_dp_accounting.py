"""Trees of DpEvent and events: what each means is kept, what has no event is named, and the accountant passes the peer's own tests."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import dp_accounting as dpa
import pytest
from dp_accounting import dp_event as de
from dp_accounting import privacy_accountant_test
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import surety_dp as surety
from surety_dp.adapters import dp_accounting as adapter
from surety_dp.adapters import jax_privacy

ADD = dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dpa.NeighboringRelation.REPLACE_ONE
ZERO = dpa.NeighboringRelation.REPLACE_SPECIAL

JOB = de.SelfComposedDpEvent(de.PoissonSampledDpEvent(0.01, de.GaussianDpEvent(1.0)), 10000)


class PeersOwnTest(privacy_accountant_test.PrivacyAccountantTest):  # type: ignore[misc]
    """What dp_accounting asks of every accountant."""

    def _make_test_accountants(self) -> list[adapter.SuretyAccountant]:
        return [adapter.SuretyAccountant(relation) for relation in (ADD, REPLACE, ZERO)]


@pytest.mark.parametrize(
    "event, relation, text",
    [
        (JOB, ADD, "repeat(10000, poisson(0.01, gaussian(1)))"),
        (JOB, ZERO, "repeat(10000, poisson(0.01, gaussian(1)))"),
        (JOB, REPLACE, "repeat(10000, poisson(0.01, record_sum(1)))"),
        (de.GaussianDpEvent(3.0), REPLACE, "record_sum(3)"),
        (de.LaplaceDpEvent(3.0), REPLACE, "laplace(1.5)"),
        (de.LaplaceDpEvent(3.0), ADD, "laplace(3)"),
        (de.DiscreteLaplaceDpEvent(0.5, 3), ADD, "discrete_laplace(2, 3)"),
        (de.DiscreteLaplaceDpEvent(0.5, 3), REPLACE, "discrete_laplace(2, 6)"),
        (de.RandomizedResponseDpEvent(0.5, 4), REPLACE, "randomized_response(0.625, 4)"),
        (de.ZCDpEvent(0.25), ADD, "zcdp(0.25)"),
        (de.SampledWithoutReplacementDpEvent(60000, 600, de.GaussianDpEvent(2.0)), REPLACE, "without_replacement(60000, 600, record_sum(2))"),
        (de.SampledWithReplacementDpEvent(600, 700, de.GaussianDpEvent(2.0)), REPLACE, "with_replacement(600, 700, record_sum(2))"),
        (de.TruncatedSubsampledGaussianDpEvent(60000, 0.01, 700, 1.0), ADD, "truncated_poisson(0.01, 700, 60000, gaussian(1))"),
        (de.TruncatedSubsampledGaussianDpEvent(60000, 0.01, 60000, 1.0), ADD, "poisson(0.01, gaussian(1))"),
        (de.SingleEpochTreeAggregationDpEvent(5.0, 1000), ZERO, "repeat(10, gaussian(5))"),
        (de.SingleEpochTreeAggregationDpEvent(5.0, [7, 1024]), ZERO, "repeat(11, gaussian(5))"),
        (de.RepeatAndSelectDpEvent(de.GaussianDpEvent(2.0), 10.0, math.inf), ADD, "best_of(poisson_runs, 10, gaussian(2))"),
        (de.RepeatAndSelectDpEvent(de.GaussianDpEvent(2.0), 10.0, 0.5), ADD, "best_of(negative_binomial_runs, 10, 0.5, gaussian(2))"),
        (de.RepeatAndSelectDpEvent(de.GaussianDpEvent(2.0), 10.0, 1), ADD, "best_of(geometric_runs, 10, gaussian(2))"),
        (de.RepeatAndSelectDpEvent(de.GaussianDpEvent(2.0), 10.0, 0), ADD, "best_of(logarithmic_runs, 10, gaussian(2))"),
        (de.MixtureOfGaussiansDpEvent(3.0, [0.0, 0.5], [0.9, 0.1]), ZERO, "poisson(0.1, gaussian(6))"),
        (de.MixtureOfGaussiansDpEvent(3.0, [1.5], [1.0]), ADD, "gaussian(2)"),
        (de.MixtureOfGaussiansDpEvent(2.0, [2.0, 0.0, 1.0], [0.0625, 0.5625, 0.375]), ADD, "users(2, poisson(0.25, gaussian(2)))"),
        (de.MixtureOfGaussiansDpEvent(2.0, [3.0], [1.0]), ZERO, "gaussian(0.6666666666666666)"),
        (de.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.5], [0.5, 0.3, 0.2]), ADD, "mixture(0.5, 0, 0.3, 1, 0.2, 2.5, gaussian(2))"),
        (de.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 1e6], [0.81, 0.18, 0.01]), ZERO, "mixture(0.81, 0, 0.18, 1, 0.01, 1e6, gaussian(2))"),
        (de.ZCDpEvent(0.1, 0.2), ADD, "zcdp(0.2, 0.1)"),
        (de.ComposedDpEvent([de.NoOpDpEvent(), de.GaussianDpEvent(1.0), de.ComposedDpEvent([])]), ADD, "compose(gaussian(1))"),
    ],
)
def test_says_the_same(event: de.DpEvent, relation: Any, text: str) -> None:
    translated = adapter.from_dp_event(event, relation)
    assert translated == surety.Event(text, adapter.adjacency_of(relation))
    assert adapter.from_dp_event(event, adapter.adjacency_of(relation)) == translated


@pytest.mark.parametrize("relation", [ADD, REPLACE, ZERO])
@pytest.mark.parametrize(
    "event",
    [
        JOB,
        de.ComposedDpEvent([de.GaussianDpEvent(2.5), de.SelfComposedDpEvent(de.LaplaceDpEvent(7.0), 3), de.ZCDpEvent(0.1)]),
        de.DiscreteLaplaceDpEvent(0.25, 3),
        de.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 20, 1.25),
        de.RepeatAndSelectDpEvent(de.GaussianDpEvent(4.0), 10.0, 0.5),
    ],
)
def test_goes_there_and_back(event: de.DpEvent, relation: Any) -> None:
    translated = adapter.from_dp_event(event, relation)
    assert translated is not None
    assert adapter.to_dp_event(translated) == event


def test_rounds_towards_more_cost() -> None:
    scale = adapter.from_dp_event(de.DiscreteLaplaceDpEvent(0.3, 1), ADD)
    assert scale is not None
    assert float(scale.text.split("(")[1].split(",")[0]) * 0.3 <= 1
    for p in (0.1, 0.3, 0.7):
        response = adapter.from_dp_event(de.RandomizedResponseDpEvent(p, 7), REPLACE)
        assert response is not None
        truth = Fraction(float(response.text.split("(")[1].split(",")[0]))
        assert truth >= 1 - Fraction(p) * 6 / 7
        back = adapter.to_dp_event(response)
        assert back.noise_parameter <= p


@pytest.mark.parametrize("relation", [ADD, ZERO])
@pytest.mark.parametrize(("records", "rate"), [(2, 0.1), (4, 0.03)])
def test_users_in_batches_are_mixtures_of_gaussians(records: int, rate: float, relation: Any) -> None:
    """The peer's own upper bound of them lies above our lower end, and little above the upper one."""
    weights = [math.comb(records, i) * rate**i * (1 - rate) ** (records - i) for i in range(records + 1)]
    steps = de.SelfComposedDpEvent(de.MixtureOfGaussiansDpEvent(8.0, [float(i) for i in range(records + 1)], weights), 20)
    found = adapter.from_dp_event(steps, relation)
    assert found is not None
    assert re.fullmatch(rf"repeat\(20, users\({records}, poisson\([0-9.e-]+, gaussian\(8\)\)\)\)", found.text)
    ours = adapter.SuretyAccountant(relation).compose(steps)
    theirs = PLDAccountant(relation).compose(steps).get_epsilon(1e-5)
    assert ours.epsilon(1e-5).lower <= theirs and abs(ours.get_epsilon(1e-5) - theirs) < 1e-2 * theirs
    back = adapter.to_dp_event(found)
    assert back.count == 20 and back.event.standard_deviation == 8 and list(back.event.sensitivities) == [float(i) for i in range(records + 1)]
    assert max(abs(one - other) for one, other in zip(back.event.sampling_probs, weights, strict=True)) < 1e-12
    with pytest.raises(adapter.Untranslatable, match="REPLACE_ONE, must be"):
        adapter.from_dp_event(steps, REPLACE)


def test_a_special_record_that_answers_uniformly_has_no_lower_end() -> None:
    event = de.RandomizedResponseDpEvent(0.1, 2)
    replaced = adapter.SuretyAccountant(REPLACE).compose(event).epsilon(1e-6)
    assert replaced.lower == pytest.approx(math.log(19), abs=1e-4)
    for run in (event, de.SelfComposedDpEvent(event, 1), de.ComposedDpEvent([event])):
        ours = adapter.SuretyAccountant(ZERO).compose(run)
        theirs = PLDAccountant(ZERO).compose(run).get_epsilon(1e-6)
        assert theirs == pytest.approx(math.log(10), abs=1e-4)
        assert ours.epsilon(1e-6).lower == 0
        assert ours.get_epsilon(1e-6) == replaced.upper
        assert ours.delta(1.0).lower == 0 < ours.delta(1.0).upper
    # What holds no such event keeps its lower end, also when another accountant was asked about one.
    assert adapter.SuretyAccountant(ZERO).compose(JOB).epsilon(1e-5).lower > 6
    asked = adapter.SuretyAccountant(ZERO)
    assert asked.supports(event)
    assert asked.compose(JOB).epsilon(1e-5).lower > 6


@pytest.mark.parametrize(
    "part, word",
    [
        (de.SampledWithReplacementDpEvent(10, 2.5, de.GaussianDpEvent(1.0)), "a size is 2.5"),
        (de.MixtureOfGaussiansDpEvent(1.0, [0.0, -1.0], [0.9, 0.1]), "its sensitivities must be at least 0"),
        (de.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.9, 0.05, 0.05]), "its sensitivities must be at least 0"),
        (de.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.9, math.nan]), "a weight is nan"),
        (de.ZCDpEvent(0.1, -0.2), "epsilon is -0.2"),
        (de.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.5], [0.81, 0.18, 0.1]), "weights sum to 1.09"),
        (de.UnsupportedDpEvent(), "UnsupportedDpEvent"),
        (de.SingleEpochTreeAggregationDpEvent(1.0, 8), "REPLACE_SPECIAL"),
        (de.GaussianDpEvent(math.inf), "noise_multiplier is inf"),
        (de.TruncatedSubsampledGaussianDpEvent(10, 0.1, 2.5, 1.0), "truncated_batch_size is 2.5"),
    ],
)
def test_names_what_has_no_event(part: de.DpEvent, word: str) -> None:
    for event in (part, de.ComposedDpEvent([de.GaussianDpEvent(1.0), de.SelfComposedDpEvent(part, 3)])):
        with pytest.raises(adapter.Untranslatable, match=word) as raised:
            adapter.from_dp_event(event)
        assert raised.value.part == part
        with pytest.raises(dpa.UnsupportedEventError, match="caused by subevent"):
            adapter.SuretyAccountant().compose(event)


KNOWN: list[de.DpEvent] = [
    de.NoOpDpEvent(),
    de.NonPrivateDpEvent(),
    de.GaussianDpEvent(1.0),
    de.LaplaceDpEvent(1.0),
    de.DiscreteLaplaceDpEvent(0.5, 1),
    de.RandomizedResponseDpEvent(0.5, 4),
    de.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.9, 0.1]),
    de.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0),
    de.SingleEpochTreeAggregationDpEvent(1.0, 8),
    de.ZCDpEvent(0.5),
    de.SelfComposedDpEvent(de.GaussianDpEvent(1.0), 3),
    de.ComposedDpEvent([de.GaussianDpEvent(1.0)]),
    de.PoissonSampledDpEvent(0.1, de.GaussianDpEvent(1.0)),
    de.SampledWithoutReplacementDpEvent(100, 10, de.GaussianDpEvent(1.0)),
    de.SampledWithReplacementDpEvent(100, 10, de.GaussianDpEvent(1.0)),
    de.RepeatAndSelectDpEvent(de.GaussianDpEvent(1.0), 10.0, 1.0),
]


@pytest.mark.parametrize("event", KNOWN, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("relation", [ADD, REPLACE, ZERO])
def test_takes_no_class_for_another(event: Any, relation: Any) -> None:
    """A subclass, a class of the same name, and what has the same attributes may release more."""
    known = type(event)
    subclass = object.__new__(type("Mine", (known,), {"__slots__": ()}))
    same_name = object.__new__(type(known.__name__, (known,), {"__slots__": ()}))
    shaped = type("Shaped", (de.DpEvent,), {})()
    for foreign in (subclass, same_name, shaped):
        for name in [field.name for field in known.__attrs_attrs__]:
            object.__setattr__(foreign, name, getattr(event, name))
        named = re.escape(f"there is no event for {type(foreign).__module__}.{type(foreign).__name__}")
        for tree in (foreign, de.SelfComposedDpEvent(foreign, 2), de.ComposedDpEvent([de.GaussianDpEvent(1.0), foreign])):
            with pytest.raises(adapter.Untranslatable, match=named):
                adapter.from_dp_event(tree, relation)
            assert not adapter.SuretyAccountant(relation).supports(tree)
            with pytest.raises(dpa.UnsupportedEventError, match=named):
                adapter.SuretyAccountant(relation).compose(tree)


def test_every_class_of_the_peer_is_known_or_refused() -> None:
    kinds = {kind for kind in vars(de).values() if isinstance(kind, type) and issubclass(kind, de.DpEvent) and kind is not de.DpEvent}
    assert {type(event) for event in KNOWN} == set(adapter._TRANSLATIONS)
    assert {kind.__name__ for kind in kinds - set(adapter._TRANSLATIONS)} == {"UnsupportedDpEvent"}


def test_refuses_what_an_event_refuses() -> None:
    with pytest.raises(adapter.Untranslatable, match="data as they are"):
        adapter.from_dp_event(de.SelfComposedDpEvent(de.GaussianDpEvent(0.0), 2))
    with pytest.raises(adapter.Untranslatable, match="data as they are"):
        adapter.from_dp_event(de.MixtureOfGaussiansDpEvent(0.0, [0.0, 1.0], [0.9, 0.1]))
    with pytest.raises(adapter.Untranslatable, match="poisson holds users.*must hold single releases"):
        adapter.from_dp_event(de.PoissonSampledDpEvent(0.5, de.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])))
    with pytest.raises(adapter.Untranslatable, match="replace-one"):
        adapter.from_dp_event(de.PoissonSampledDpEvent(0.1, de.LaplaceDpEvent(1.0)), REPLACE)
    with pytest.raises(adapter.Untranslatable, match="replace-one"):
        adapter.from_dp_event(de.SampledWithoutReplacementDpEvent(10, 2, de.GaussianDpEvent(1.0)), ADD)
    with pytest.raises(adapter.Untranslatable, match="replace-one"):
        adapter.from_dp_event(de.SampledWithReplacementDpEvent(10, 2, de.GaussianDpEvent(1.0)), ADD)


def test_batches_with_replacement_go_back() -> None:
    batches = de.SelfComposedDpEvent(de.SampledWithReplacementDpEvent(60, 70, de.GaussianDpEvent(2.0)), 9)
    translated = adapter.from_dp_event(batches, REPLACE)
    assert translated is not None
    assert adapter.to_dp_event(translated) == batches
    for text in ("shuffled(10, 2, gaussian(1))", "allocated(3, gaussian(1))", "users(2, allocated(3, gaussian(1)))", "exponential(1)", "pure(1)"):
        with pytest.raises(adapter.Untranslatable, match=text.split("(")[0]):
            adapter.to_dp_event(surety.Event(text, "zero-out"))


def test_costs_what_the_event_costs() -> None:
    accountant = adapter.SuretyAccountant().compose(JOB)
    assert accountant.epsilon(1e-5) == surety.epsilon("repeat(10000, poisson(0.01, gaussian(1)))", delta=1e-5, adjacency="add-or-remove-one")
    assert accountant.get_epsilon(1e-5) == pytest.approx(6.187712390, abs=2e-9)
    assert accountant.get_epsilon(1e-10) == pytest.approx(9.3161385, abs=1e-6)
    assert accountant.get_delta(6.18771239) == pytest.approx(1e-5, rel=1e-6)
    assert adapter.SuretyAccountant().compose(de.LaplaceDpEvent(10.0), 1000).get_epsilon(1e-6) == pytest.approx(18.950287368, abs=1e-4)
    # Exact value, and that of its own tests.
    fixed = de.SelfComposedDpEvent(de.SampledWithoutReplacementDpEvent(60000, 600, de.GaussianDpEvent(2.0)), 10000)
    assert adapter.SuretyAccountant(REPLACE).compose(fixed).get_epsilon(1e-5) == pytest.approx(8.0840, abs=1e-4)


def test_is_no_looser_than_the_peer_and_within_what_is_known() -> None:
    event = de.ComposedDpEvent([JOB, de.SelfComposedDpEvent(de.LaplaceDpEvent(20.0), 10), de.GaussianDpEvent(5.0)])
    ours = adapter.SuretyAccountant().compose(event)
    pld = PLDAccountant().compose(event).get_epsilon(1e-6)
    assert ours.epsilon(1e-6).lower <= pld
    assert ours.get_epsilon(1e-6) <= pld * (1 + 1e-4)
    assert ours.get_epsilon(1e-6) <= RdpAccountant().compose(event).get_epsilon(1e-6)


def test_counts_composition() -> None:
    accountant = adapter.SuretyAccountant()
    for _ in range(3):
        accountant.compose(de.GaussianDpEvent(10.0), 2)
    accountant.compose(de.LaplaceDpEvent(10.0))
    assert str(accountant.event) == "compose(repeat(6, gaussian(10)), laplace(10))"
    assert accountant.ledger == de.ComposedDpEvent([de.SelfComposedDpEvent(de.GaussianDpEvent(10.0), 6), de.LaplaceDpEvent(10.0)])


def test_calibrates_by_the_peers_search() -> None:
    found = dpa.calibrate_dp_mechanism(
        adapter.SuretyAccountant,
        lambda z: de.SelfComposedDpEvent(de.PoissonSampledDpEvent(0.001, de.GaussianDpEvent(z)), 100000),
        1.0,
        1e-6,
        dpa.ExplicitBracketInterval(0.5, 5.0),
        tol=1e-7,
    )
    assert found == pytest.approx(1.50583356, abs=2e-7)


def test_jax_privacys_events() -> None:
    # As jax_privacy.accounting makes them.
    event = de.SelfComposedDpEvent(de.PoissonSampledDpEvent(0.1, de.GaussianDpEvent(3.0)), 512)
    assert jax_privacy.SuretyAccountant().compose(event).get_epsilon(1e-6) == pytest.approx(3.77, abs=5e-3)
    truncated = de.SelfComposedDpEvent(de.TruncatedSubsampledGaussianDpEvent(60000, 0.01, 700, 1.0), 1000)
    assert jax_privacy.from_dp_event(truncated) == surety.Event("repeat(1000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", "add-or-remove-one")
    allocated = jax_privacy.allocated_event(1.0, 10, batches=100)
    assert str(allocated) == "repeat(10, allocated(100, gaussian(1)))"
    assert surety.epsilon(allocated, delta=1e-5).upper == pytest.approx(1.70155, abs=1e-5)
    assert str(jax_privacy.allocated_event(1.5, 1, batches=20, participations=2, adjacency="replace-one")) == "allocated(20, 2, record_sum(1.5))"


@pytest.mark.parametrize(
    "name, fields, relation, text",
    [
        ("EpsilonDeltaDpEvent", {"epsilon": 0.5, "delta": 0.0}, REPLACE, "pure(0.5)"),
        ("EpsilonDeltaDpEvent", {"epsilon": 0.5, "delta": 1e-6}, ADD, "approx(0.5, 1e-06)"),
        ("EpsilonDeltaDpEvent", {"epsilon": 0.0, "delta": 0.0}, ADD, None),
        ("DiscreteGaussianDpEvent", {"sigma": 10.0, "sensitivity": 3.0, "dimension": 1}, ADD, "discrete_gaussian(10.0, 3)"),
        ("DiscreteGaussianDpEvent", {"sigma": 10.0, "sensitivity": 1.0, "dimension": None}, ADD, "dimension is None, must be 1"),
        ("DiscreteGaussianDpEvent", {"sigma": 10.0, "sensitivity": 1.5, "dimension": 1}, ADD, "sensitivity is 1.5, must be a whole number"),
        ("DiscreteGaussianDpEvent", {"sigma": 10.0, "sensitivity": 1.0, "dimension": 1}, REPLACE, "the relation is REPLACE_ONE"),
        ("ExponentialMechanismDpEvent", {"epsilon": 1.5}, REPLACE, "exponential(1.5)"),
        ("PermuteAndFlipDpEvent", {"epsilon": 1.5}, REPLACE, "pure(1.5)"),
        ("PermuteAndFlipDpEvent", {"epsilon": math.inf}, REPLACE, "epsilon is inf, must be finite"),
        ("RandomAllocationDpEvent", {"event": de.GaussianDpEvent(2.0), "num_selected": 10, "num_steps": 100}, ADD, "allocated(100, 10, gaussian(2.0))"),
        ("RandomAllocationDpEvent", {"event": de.GaussianDpEvent(2.0), "num_selected": 1, "num_steps": 100}, REPLACE, "allocated(100, record_sum(2.0))"),
        ("RandomAllocationDpEvent", {"event": de.GaussianDpEvent(2.0), "num_selected": 0, "num_steps": 100}, ADD, None),
        ("RandomAllocationDpEvent", {"event": de.LaplaceDpEvent(2.0), "num_selected": 1, "num_steps": 100}, ADD, "LaplaceDpEvent, must be GaussianDpEvent"),
        ("RandomAllocationDpEvent", {"event": de.GaussianDpEvent(2.0), "num_selected": 1, "num_steps": 9.5}, ADD, "num_steps is 9.5, must be a whole number"),
    ],
)
def test_classes_of_later_versions(name: str, fields: dict[str, Any], relation: Any, text: str | None) -> None:
    event = getattr(de, name)(**fields) if hasattr(de, name) else SimpleNamespace(**fields)
    try:
        found = adapter._LATER[name](event, adapter.adjacency_of(relation))
    except adapter.Untranslatable as refused:
        assert text is not None and text in str(refused)
        return
    assert found == text
    assert found is None or surety.Event(found, adapter.adjacency_of(relation))
