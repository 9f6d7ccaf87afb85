"""The accountant in Opacus' manner, by Opacus' own tests, and the exact noise of its optimizer."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator
from typing import Any

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


def test_adds_exact_noise() -> None:
    torch = pytest.importorskip("torch")

    class DPOptimizer:
        """As much of Opacus' as adds noise."""

        noise_multiplier, max_grad_norm = 2.0, 0.5

        def __init__(self) -> None:
            self.params = [torch.nn.Parameter(torch.zeros(200, 100)), torch.nn.Parameter(torch.zeros(7))]
            for p in self.params:
                p.summed_grad = torch.full_like(p, 3.0).detach()

    optimizer = use_exact_noise(DPOptimizer(), margin=2**-10)
    optimizer.add_noise()
    noise = optimizer.params[0].grad - 3
    assert noise.shape == (200, 100) and noise.dtype == torch.float32
    assert abs(float(noise.mean())) < 7 * 1 / math.sqrt(20000)
    assert abs(float(noise.std()) - 1) < 0.05
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.add_noise()
    with pytest.raises(ValueError, match="margin"):
        use_exact_noise(DPOptimizer(), margin=-1)
    with pytest.raises(ValueError, match="is a object"):
        use_exact_noise(object(), margin=0)
