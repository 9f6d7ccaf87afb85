"""The accountant in Opacus' manner, by Opacus' own tests, and the exact noise of its optimizer."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import warnings
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
from surety.adapters.opacus import PrivacyEngine, SuretyAccountant, use_exact_noise  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None


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


class BatchSampler:
    """By its name."""


class Loader:
    """As much of PyTorch's loader as says how it draws batches."""

    def __init__(self, records: int, batch_size: int | None, sampler: str, *, drop_last: bool = False, **more: Any) -> None:
        self.dataset = range(records)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler = type(sampler, (), {"replacement": False, "num_samples": records, **more})()
        self.batch_sampler = BatchSampler()

    def __len__(self) -> int:
        assert self.batch_size is not None
        return len(self.dataset) // self.batch_size if self.drop_last else -(-len(self.dataset) // self.batch_size)


class Stepped:
    """An optimizer that only takes steps."""

    def __init__(self) -> None:
        self.accumulated_iterations = 1
        self.noise_multiplier = math.nan
        self.step_hook: Any = None

    def attach_step_hook(self, hook: Any) -> None:
        self.step_hook = hook

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.step_hook(self)


def private(engine: Any, loader: Loader, **more: Any) -> Stepped:
    optimizer = Stepped()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine.make_private(optimizer=optimizer, data_loader=loader, **more)
    return optimizer


@pytest.mark.skipif(HAS_TORCH, reason="the engine is Opacus' own; test_torch.py asks it")
class TestEngine:
    """Answers what is proved of how its loader draws batches."""

    def test_of_a_poisson_loader_says_what_the_accountant_says(self) -> None:
        engine = PrivacyEngine()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _, optimizer, _ = engine.make_private(optimizer=Stepped(), data_loader=Loader(1000, 100, "RandomSampler"), noise_multiplier=1.0)
        assert engine.get_epsilon(1e-5) == 0 and engine.event is None
        optimizer.step(30)
        assert engine.adjacency == "add-or-remove-one"
        assert engine.get_epsilon(1e-5) == engine.accountant.get_epsilon(1e-5) == pytest.approx(4.178, abs=1e-3)
        told = surety.audit_log(engine.run_log(epsilon=4.2, delta=1e-5), readings=["poisson"])
        assert told["proved"]["epsilon"]["upper"] == engine.get_epsilon(1e-5) and told["kept"]

    @pytest.mark.parametrize("sampler, word", [("RandomSampler", "shuffled"), ("SequentialSampler", "deterministic")])
    @pytest.mark.parametrize("steps, epochs", [(30, 3), (31, 4)])
    def test_of_other_loaders_says_what_is_proved_of_them(self, sampler: str, word: str, steps: int, epochs: int) -> None:
        engine = PrivacyEngine()
        with pytest.warns(UserWarning, match=f"batches are {word}.*zero-out"):
            _, optimizer, _ = engine.make_private(
                optimizer=Stepped(), data_loader=Loader(1000, 100, sampler), noise_multiplier=1.0, poisson_sampling=False
            )
        optimizer.step(steps)
        assert engine.adjacency == "zero-out"
        assert str(engine.event) == f"repeat({epochs}, {word}(1000, 100, gaussian(1)))"
        upper = engine.get_epsilon(1e-5)
        assert upper > 1.9 * engine.accountant.get_epsilon(1e-5)
        # The audit of its log says the same, and that the accountant's number is not proved.
        told = surety.audit_log(engine.run_log(epsilon=engine.accountant.get_epsilon(1e-5), delta=1e-5), readings=["poisson"])
        assert told["proved"]["reading"] == word
        assert told["proved"]["epsilon"]["upper"] == upper
        assert not told["kept"]
        assert surety.audit_log(engine.run_log(epsilon=upper, delta=1e-5), readings=["poisson"])["kept"]

    def test_of_a_schedule_takes_each_epochs_least_noise(self) -> None:
        engine = PrivacyEngine()
        optimizer = private(engine, Loader(1050, 100, "RandomSampler", drop_last=True), noise_multiplier=2.0, poisson_sampling=False)
        optimizer.step(15)
        optimizer.noise_multiplier = 1.0  # in the middle of the second epoch
        optimizer.step(10)
        optimizer.noise_multiplier = 2.0
        optimizer.step(10)
        assert str(engine.event) == "compose(repeat(2, shuffled(1050, 100, gaussian(2))), repeat(2, shuffled(1050, 100, gaussian(1))))"
        with pytest.raises(ValueError, match="one noise multiplier"):
            engine.run_log()
        optimizer.noise_multiplier = 0.0
        optimizer.step()
        assert engine.get_epsilon(1e-5) == math.inf

    def test_adds_up_what_its_loaders_release(self) -> None:
        engine = PrivacyEngine()
        first = private(engine, Loader(1000, 100, "RandomSampler"), noise_multiplier=1.0)
        second = private(engine, Loader(1000, 500, "RandomSampler"), noise_multiplier=3.0, poisson_sampling=False)
        for _ in range(4):  # in turns
            first.step()
            second.step()
        assert str(engine.event) == "compose(repeat(4, poisson(0.1, gaussian(1))), repeat(2, shuffled(1000, 500, gaussian(3))))"
        with pytest.raises(ValueError, match="2 runs"):
            engine.run_log()
        second.accumulated_iterations = 2
        second.step()
        with pytest.raises(ValueError, match="several batches"):
            engine.get_epsilon(1e-5)

    def test_refuses_what_nobody_knows(self) -> None:
        for loader in (
            Loader(1000, 100, "WeightedRandomSampler"),
            Loader(1000, 100, "RandomSampler", replacement=True),
            Loader(1000, 100, "RandomSampler", num_samples=2000),
            Loader(1000, None, "RandomSampler"),
        ):
            with pytest.raises(ValueError, match="how the loader draws"):
                private(PrivacyEngine(), loader, noise_multiplier=1.0, poisson_sampling=False)
        with pytest.raises(ValueError, match="accountant is 'rdp'"):
            PrivacyEngine(accountant="rdp")
        engine = PrivacyEngine()
        engine.accountant.load_state_dict(stepped((1.0, 0.1, 5)).state_dict())
        with pytest.raises(ValueError, match="has 5 steps and this engine has seen 0"):
            engine.get_epsilon(1e-5)

    def test_finds_the_noise_that_is_proved(self) -> None:
        for poisson, most in ((True, 2.0), (False, 6.4)):
            engine = PrivacyEngine()
            optimizer = Stepped()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                engine.make_private_with_epsilon(
                    optimizer=optimizer,
                    data_loader=Loader(6000, 60, "RandomSampler"),
                    target_epsilon=2.0,
                    target_delta=1e-5,
                    epochs=10,
                    poisson_sampling=poisson,
                )
            optimizer.step(1000)
            assert engine.get_epsilon(1e-5) <= 2.0
            assert 0.9 < optimizer.noise_multiplier < most

    def test_the_accountant_alone_says_that_it_does_not_see_the_loader(self) -> None:
        theirs = sys.modules["opacus"].PrivacyEngine(accountant="surety")  # type: ignore[attr-defined]
        with pytest.warns(UserWarning, match="does not see the loader"):
            theirs.make_private(
                optimizer=Stepped(), data_loader=Loader(1000, 100, "RandomSampler"), noise_multiplier=1.0, poisson_sampling=False
            )


class Tensor(np.ndarray):  # type: ignore[type-arg]
    """As much of a tensor as clipping and noise ask for, where there is no torch."""

    device = "cpu"

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> Any:
        return np.asarray(self)

    def numel(self) -> int:
        return int(self.size)

    def to(self, *, device: str = "cpu", dtype: Any = None) -> Tensor:
        assert device == "cpu"
        return self.astype(dtype or self.dtype)

    def view_as(self, other: Any) -> Tensor:
        return self.reshape(other.shape)


def tensor(array: Any) -> Tensor:
    return np.asarray(array).view(Tensor)


TORCH = SimpleNamespace(
    float64=np.float64,
    isfinite=np.isfinite,
    sqrt=np.sqrt,
    einsum=lambda form, *values: tensor(np.einsum(form, *values)),
    trunc=np.trunc,
    where=lambda which, yes, no: tensor(np.where(which, yes, no)),
    clamp=lambda values, min: np.maximum(values, min),
    from_numpy=tensor,
)


class Optimizer:
    """As much of Opacus' as clips, sums and adds noise."""

    noise_multiplier = 0.0
    max_grad_norm = 1.0

    def __init__(self, samples: list[Any]) -> None:
        self.params = [SimpleNamespace(shape=s.shape[1:], dtype=s.dtype, device="cpu", grad=None) for s in samples]
        self.refill(samples)
        self.zero_grad()

    def refill(self, samples: list[Any]) -> None:
        for p, s in zip(self.params, samples):
            p.grad_sample = tensor(s.copy())

    def zero_grad(self) -> None:
        for p in self.params:
            p.summed_grad = None

    @property
    def grad_samples(self) -> list[Any]:
        return [p.grad_sample for p in self.params]

    def clip_and_accumulate(self) -> None:
        """Opacus' own, which exact noise replaces: in the order of the records, as some kernels add."""
        norms = np.sqrt(sum((s.reshape(len(s), -1) ** 2).sum(1) for s in self.grad_samples))
        factors = np.minimum(self.max_grad_norm / (norms + 1e-6), 1)
        for p in self.params:
            terms = p.grad_sample * factors.reshape(-1, *[1] * (p.grad_sample.ndim - 1))
            p.summed_grad = tensor(np.cumsum(terms.astype(p.dtype), axis=0, dtype=p.dtype)[-1])


def optimizer_of(samples: list[Any], name: str = "DPOptimizer", **more: Any) -> Any:
    return type(name, (Optimizer,), more)(samples)


@pytest.fixture
def torch_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", TORCH)


def stepped_sum(optimizer: Any) -> Any:
    """What a step releases, as one vector."""
    optimizer.clip_and_accumulate()
    optimizer.add_noise()
    return np.concatenate([np.asarray(p.grad, dtype=np.float64).ravel() for p in optimizer.params])


@pytest.mark.usefixtures("torch_double")
def test_adds_exact_noise() -> None:
    # One record, whose parts are clipped to 3, 5 and 11 in every number.
    samples = [np.full((1, 200, 100), 3, dtype=np.float32), np.full(1, -5, dtype=np.float32), np.full((1, 7), 11, dtype=np.float32)]
    wide = optimizer_of(samples, noise_multiplier=1 / 512, max_grad_norm=512.0)
    use_exact_noise(wide, margin=2**-10)
    wide.clip_and_accumulate()
    wide.add_noise()
    for p, s in zip(wide.params, samples):
        assert p.grad.shape == s.shape[1:] and p.grad.dtype == np.float32
        assert abs(float((p.grad - s[0]).mean())) < 7 / math.sqrt(s.size)
    assert abs(float((wide.params[0].grad - 3).std()) - 1) < 7 / math.sqrt(2 * 20000)
    with pytest.raises(ValueError, match="zero_grad"):
        wide.add_noise()
    with pytest.raises(ValueError, match="zero_grad"):
        wide.clip_and_accumulate()
    coarse = use_exact_noise(optimizer_of(samples, noise_multiplier=1.0), margin=0, log2_step=-4)
    assert (stepped_sum(coarse) * 16 % 1 == 0).all()
    none = use_exact_noise(optimizer_of(samples, max_grad_norm=512.0), margin=0)
    stepped_sum(none)
    assert (none.params[2].grad == 11).all()


HOSTILE = [0.0, 1e30, math.inf, -math.inf, math.nan]


@pytest.mark.usefixtures("torch_double")
@pytest.mark.parametrize("clipping", ["flat", "per_layer"])
@pytest.mark.parametrize("where", [(0, 1, 2), (1,)], ids=["everywhere", "in one layer"])
@pytest.mark.parametrize("value", HOSTILE)
def test_no_record_moves_the_sum_by_more_than_its_norm(clipping: str, where: tuple[int, ...], value: float) -> None:
    generator = np.random.default_rng(1)
    samples = [generator.standard_normal((100, *shape)).astype(np.float32) for shape in ((4, 3), (), (5,))]
    more: dict[str, Any] = {"max_grad_norms": [0.3, 0.5, 0.7]} if clipping == "per_layer" else {}
    name = "DPPerLayerOptimizer" if clipping == "per_layer" else "DPOptimizer"
    most = math.hypot(0.3, 0.5, 0.7) if clipping == "per_layer" else 1.0
    without = stepped_sum(use_exact_noise(optimizer_of([s[1:] for s in samples], name, **more), margin=0))
    assert np.linalg.norm(without) > 3  # the sum of the others, which must not vanish
    for layer in where:
        samples[layer][0] = value
    moved = stepped_sum(use_exact_noise(optimizer_of(samples, name, **more), margin=0)) - without
    assert np.linalg.norm(moved) <= most * (1 + 1e-6)  # as float32 shows it
    if not math.isfinite(value) and clipping == "flat":
        assert (moved == 0).all()
    if not math.isfinite(value) and clipping == "per_layer" and where == (1,):
        assert np.linalg.norm(moved) > 0.7 and moved[12] == 0  # the other layers of that record count


@pytest.mark.usefixtures("torch_double")
def test_sums_are_exact_in_any_order() -> None:
    # In float32 and in this order, the first row moves the sum by 2.
    rows = np.concatenate([np.ones(16384), np.full(3000, 0.51 * 2**-9)]).astype(np.float32)[:, None]
    theirs = [optimizer_of([rows]), optimizer_of([rows[1:]])]
    for optimizer in theirs:
        optimizer.clip_and_accumulate()
    assert theirs[0].params[0].summed_grad - theirs[1].params[0].summed_grad == 2
    for order in (rows, rows[::-1]):
        ours = [use_exact_noise(optimizer_of([part]), margin=0) for part in (order, order[1:] if order is rows else order[:-1])]
        for optimizer in ours:
            optimizer.clip_and_accumulate()
        assert ours[0].params[0].summed_grad - ours[1].params[0].summed_grad == 1
    # Batches of several pieces are one sum.
    pieces = use_exact_noise(optimizer_of([rows[:100]]), margin=0)
    pieces.clip_and_accumulate()
    pieces.refill([rows[100:]])
    pieces.clip_and_accumulate()
    assert (pieces.params[0].summed_grad == ours[0].params[0].summed_grad).all()
    pieces.max_grad_norm = 2.0
    pieces.refill([rows])
    with pytest.raises(ValueError, match="inside a batch"):
        pieces.clip_and_accumulate()
    pieces.zero_grad()
    for wrong in (0.0, math.nan, math.inf, 2.0**201):
        pieces.max_grad_norm = wrong
        with pytest.raises(ValueError, match="max_grad_norm"):
            pieces.clip_and_accumulate()
    empty = use_exact_noise(optimizer_of([rows[:0]]), margin=0)
    assert (stepped_sum(empty) == 0).all()


def test_refuses_what_makes_no_exact_noise() -> None:
    for margin in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="margin"):
            use_exact_noise(optimizer_of([]), margin=margin)
    for name in ("DistributedDPOptimizer", "AdaClipDPOptimizer", "DPOptimizerFastGradientClipping", "object"):
        with pytest.raises(ValueError, match=name):
            use_exact_noise(optimizer_of([], name), margin=0)
