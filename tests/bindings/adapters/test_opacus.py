"""The accountant in Opacus' manner, by Opacus' own tests, and the exact noise of its optimizer."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

opacus_accountants = pytest.importorskip("opacus.accountants")

from opacus.accountants import create_accountant, registry  # noqa: E402
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402
from opacus.tests import accountants_test  # noqa: E402

import surety  # noqa: E402
from surety.adapters.opacus import SuretyAccountant, use_exact_noise  # noqa: E402


def stepped(*steps: tuple[float, float, int]) -> SuretyAccountant:
    accountant = SuretyAccountant()
    for noise_multiplier, sample_rate, count in steps:
        for _ in range(count):
            accountant.step(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    return accountant


class TestOfRegistry(accountants_test.AccountantRegistryTest):  # type: ignore[misc]
    """Opacus' own, with ours in its registry."""


class TestInTheirPlace(accountants_test.AccountingTest):  # type: ignore[misc]
    """Opacus' own tests of its Renyi accountant, with ours in its place: whatever they say of it holds of ours, but that where they compare with a
    number that is an upper bound, ours is at most that and at least 0.85 of it."""

    @pytest.fixture(autouse=True)
    def in_the_place_of_renyi(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setitem(registry._ACCOUNTANTS, "rdp", SuretyAccountant)
        monkeypatch.setattr(accountants_test, "RDPAccountant", SuretyAccountant)
        yield

    def assertAlmostEqual(self, first: Any, second: Any, *arguments: Any, **more: Any) -> None:
        assert 0.85 * second <= first <= second + 10.0 ** -more.get("places", 7)


def test_costs_what_the_event_costs() -> None:
    accountant = stepped((1.0, 0.01, 10000))
    assert accountant.history == [(1.0, 0.01, 10000)]
    assert len(accountant) == 10000
    assert accountant.epsilon(1e-5) == surety.epsilon("repeat(10000, poisson(0.01, gaussian(1)))", delta=1e-5, adjacency="add-or-remove-one")
    assert accountant.get_epsilon(1e-5, alphas=[2.0], eps_error=0.1) == pytest.approx(6.187712390, abs=2e-9)
    schedule = stepped((1.0, 0.01, 2), (1.5, 0.01, 1), (1.5, 0.02, 3))
    assert str(schedule.event) == "compose(repeat(2, poisson(0.01, gaussian(1))), poisson(0.01, gaussian(1.5)), repeat(3, poisson(0.02, gaussian(1.5))))"
    assert SuretyAccountant().get_epsilon(1e-5) == 0
    assert stepped((0.0, 0.1, 1)).get_epsilon(1e-5) == math.inf
    with pytest.raises(ValueError, match="sampling rate is 1.5"):
        stepped((1.0, 1.5, 1)).get_epsilon(1e-5)


def test_is_registered_and_calibrates() -> None:
    assert isinstance(create_accountant("surety"), SuretyAccountant)
    found = get_noise_multiplier(
        target_epsilon=1, target_delta=1e-6, sample_rate=0.001, steps=100000, accountant="surety", epsilon_tolerance=1e-6
    )
    assert found == pytest.approx(1.50583356, abs=3e-6)
    assert found >= 1.505833


def test_is_no_looser_than_the_others() -> None:
    ours = stepped((1.5, 0.04, 2250))
    for mechanism in ("rdp", "prv"):
        other = create_accountant(mechanism)
        other.history = list(ours.history)
        assert ours.get_epsilon(1e-5) <= other.get_epsilon(delta=1e-5)


def test_keeps_its_state() -> None:
    accountant = stepped((1.0, 0.01, 5), (2.0, 0.01, 1))
    copy = SuretyAccountant()
    copy.load_state_dict(accountant.state_dict())
    assert copy.history == accountant.history
    assert accountant.state_dict()["mechanism"] == "surety"
    with pytest.raises(ValueError, match="mechanism"):
        create_accountant("prv").load_state_dict(accountant.state_dict())


def test_writes_a_log_that_the_command_reads(tmp_path: Any) -> None:
    program = os.environ.get("SURETY_COMMAND")
    if program is None:
        pytest.skip("SURETY_COMMAND does not name a command to compare with")
    accountant = stepped((1.0, 0.01, 1000))
    log = accountant.run_log(records=60000, batch_size=600, sampler="shuffled", adjacency="zero-out", epsilon=1.83, delta=1e-5)
    done = subprocess.run([program, "audit", "--log", "-", "--reading", "poisson", "--json"], input=log, capture_output=True, text=True)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["readings"][0]["epsilon"]["upper"] == accountant.get_epsilon(1e-5)
    assert told["proved"]["reading"] == "shuffled"
    with pytest.raises(ValueError, match="one noise multiplier"):
        stepped((1.0, 0.1, 1), (2.0, 0.1, 1)).run_log(records=10, batch_size=1, sampler="poisson")


class Tensor:
    """As much of a tensor as noise is added to, for where there is no torch."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.device = array.shape, array.dtype, "cpu"

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self.array

    def numel(self) -> int:
        return int(self.array.size)

    def to(self, *, device: str, dtype: Any) -> Tensor:
        assert device == self.device
        return Tensor(self.array.astype(dtype))

    def view_as(self, other: Any) -> Tensor:
        return Tensor(self.array.reshape(other.shape))


def optimizer_of(sums: list[Any], name: str = "DPOptimizer") -> Any:
    """As much of Opacus' as adds noise."""
    optimizer = type(name, (), {"noise_multiplier": 2.0, "max_grad_norm": 0.5})()
    optimizer.params = []
    for s in sums:
        p = SimpleNamespace(shape=s.shape, summed_grad=Tensor(s), grad=None)
        optimizer.params.append(p)
    return optimizer


def test_adds_exact_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=Tensor))
    sums = [np.full((200, 100), 3, dtype=np.float32), np.full((), -5, dtype=np.float32), np.full(7, 11, dtype=np.float32)]
    optimizer = use_exact_noise(optimizer_of(sums), margin=2**-10)
    optimizer.add_noise()
    for p, s in zip(optimizer.params, sums):
        assert p.grad.array.shape == s.shape and p.grad.array.dtype == np.float32
        assert abs(float((p.grad.array - s).mean())) < 7 / math.sqrt(s.size)
        assert p.summed_grad.array is s and (s == s.flat[0]).all()
    assert abs(float((optimizer.params[0].grad.array - 3).std()) - 1) < 7 / math.sqrt(2 * 20000)
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.add_noise()
    optimizer = use_exact_noise(optimizer_of(sums), margin=0, log2_step=-4)
    optimizer.add_noise()
    assert (optimizer.params[0].grad.array * 16 % 1 == 0).all()
    optimizer = use_exact_noise(optimizer_of(sums), margin=0)
    optimizer.noise_multiplier = 0
    optimizer.add_noise()
    assert (optimizer.params[2].grad.array == 11).all()


def test_refuses_what_makes_no_exact_noise() -> None:
    for margin in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="margin"):
            use_exact_noise(optimizer_of([]), margin=margin)
    for name in ("DistributedDPOptimizer", "AdaClipDPOptimizer", "DPOptimizerFastGradientClipping", "object"):
        with pytest.raises(ValueError, match=name):
            use_exact_noise(optimizer_of([], name), margin=0)
