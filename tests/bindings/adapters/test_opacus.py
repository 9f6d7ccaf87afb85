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

import surety_dp as surety  # noqa: E402
from surety_dp.adapters.opacus import PrivacyEngine, SuretyAccountant, use_exact_noise  # noqa: E402

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


def of(module: str, name: str) -> Any:
    """A double of conftest.py, in the place of a class of PyTorch or Opacus."""
    return getattr(sys.modules[module], name)


def loader_of(records: int, batch_size: int | None, sampler: str = "RandomSampler", *, drop_last: bool = False, **more: Any) -> Any:
    draws = of("torch.utils.data", sampler)(records)
    vars(draws).update(more)
    return of("torch.utils.data", "DataLoader")(records, batch_size, draws, drop_last=drop_last)


def private(engine: Any, loader: Any, **more: Any) -> tuple[Any, Any]:
    """The optimizer and the loader that ``make_private`` returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = engine.make_private(data_loader=loader, **{"noise_multiplier": 1.0, **more})
    return made[1], made[-1]


def train(optimizer: Any, loader: Any, passes: int, *, until: int | None = None) -> None:
    """Steps on each batch of each pass, or on those before ``until``."""
    for _ in range(passes):
        for place, _batch in enumerate(loader):
            if place == until:
                break
            optimizer.step()


@pytest.mark.skipif(HAS_TORCH, reason="the engine is Opacus' own; test_torch.py tests it")
class TestEngine:
    """Returns what is proved of how its loader draws batches."""

    def test_of_a_poisson_loader_says_what_the_accountant_says(self) -> None:
        engine = PrivacyEngine()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _, optimizer, loader = engine.make_private(data_loader=loader_of(1000, 100), noise_multiplier=1.0)
        assert engine.get_epsilon(1e-5) == 0 and engine.event is None
        optimizer.step(30)
        # Rate and divisor come from the number of records, which such neighbours share.
        assert engine.adjacency == "zero-out" and any("public_records" in sentence for sentence in engine.assumes)
        assert str(engine.event) == "repeat(30, poisson(0.1, gaussian(1)))" and engine.accountant.event == engine.event
        assert engine.get_epsilon(1e-5) == engine.accountant.get_epsilon(1e-5) == pytest.approx(4.178, abs=1e-3)
        told = surety.audit_log(engine.run_log(epsilon=4.2, delta=1e-5), readings=["poisson"])
        assert told["proved"]["epsilon"]["upper"] == engine.get_epsilon(1e-5) and told["kept"]
        # torch.rand draws multiples of 2^-24: fewer of them are below the rate than the rate says.
        assert 0.1 - 2**-24 < loader.batch_sampler.sample_rate < 0.1 and loader.batch_sampler.sample_rate * 2**24 % 1 == 0

    def test_of_a_public_number_of_records(self) -> None:
        engine = PrivacyEngine()
        optimizer, loader = private(engine, loader_of(1037, 100), public_records=1000)
        optimizer.step(30)
        assert engine.adjacency == "add-or-remove-one" and not any("public_records" in sentence for sentence in engine.assumes)
        assert str(engine.event) == "repeat(30, poisson(0.1, gaussian(1)))" and optimizer.expected_batch_size == 100
        for wrong in (0, -1, 2.5, True, "1000"):
            with pytest.raises(ValueError, match="public_records is"):
                private(PrivacyEngine(), loader_of(1000, 100), public_records=wrong)
        with pytest.raises(ValueError, match="public_records is given and poisson_sampling is False"):
            private(PrivacyEngine(), loader_of(1000, 100), public_records=1000, poisson_sampling=False)

    @pytest.mark.parametrize("sampler, word", [("RandomSampler", "shuffled"), ("SequentialSampler", "deterministic")])
    def test_of_other_loaders_says_what_is_proved_of_them(self, sampler: str, word: str) -> None:
        engine = PrivacyEngine()
        with pytest.warns(UserWarning, match=f"batches are {word}.*zero-out"):
            _, optimizer, loader = engine.make_private(data_loader=loader_of(1000, 100, sampler), noise_multiplier=1.0, poisson_sampling=False)
        train(optimizer, loader, 3)
        assert engine.adjacency == "zero-out"
        assert str(engine.event) == f"repeat(3, {word}(1000, 100, gaussian(1)))"
        upper = engine.get_epsilon(1e-5)
        claimed = stepped((1.0, 0.1, 30)).get_epsilon(1e-5)
        assert upper > 1.9 * claimed
        # The accountant has no bound of its own for such steps, nor has a copy.
        for accountant in (engine.accountant, SuretyAccountant()):
            accountant.load_state_dict(engine.accountant.state_dict())
            with pytest.raises(ValueError, match=f"batches are {word}, must be poisson"):
                accountant.get_epsilon(1e-5)
        # The audit of its log says the same, and that the accountant's number is not proved.
        told = surety.audit_log(engine.run_log(epsilon=claimed, delta=1e-5), readings=["poisson"])
        assert told["proved"]["reading"] == word
        # The audit looks closer than an answer does.
        assert 0.9999 * upper < told["proved"]["epsilon"]["upper"] <= upper
        assert not told["kept"]
        assert surety.audit_log(engine.run_log(epsilon=upper, delta=1e-5), readings=["poisson"])["kept"]
        # A pass that is left early may hold a record, too.
        train(optimizer, loader, 2, until=3)
        assert str(engine.event) == f"repeat(5, {word}(1000, 100, gaussian(1)))"

    def test_of_a_loader_of_two_optimizers_counts_each(self) -> None:
        engine, loader = PrivacyEngine(), loader_of(1000, 100)
        first, _ = private(engine, loader, poisson_sampling=False)
        second, _ = private(engine, loader, noise_multiplier=2.0, poisson_sampling=False)
        train(first, loader, 2)
        train(second, loader, 1)
        assert str(engine.event) == "compose(repeat(2, shuffled(1000, 100, gaussian(1))), repeat(1, shuffled(1000, 100, gaussian(2))))"

    def test_of_passes_that_are_read_together_counts_each(self) -> None:
        engine = PrivacyEngine()
        optimizer, loader = private(engine, loader_of(1000, 100), poisson_sampling=False)
        both = [iter(loader), iter(loader)]
        for batches in both:
            next(batches)
        optimizer.step(2)
        for _ in range(4):
            for batches in both:
                next(batches)
                optimizer.step()
        assert str(engine.event) == "repeat(2, shuffled(1000, 100, gaussian(1)))"

    def test_of_steps_that_no_batch_stands_for_refuses_an_answer(self) -> None:
        optimizer, loader = private(PrivacyEngine(), loader_of(1000, 100), poisson_sampling=False)
        with pytest.raises(ValueError, match="without a batch of the loader"):
            optimizer.step()
        optimizer, loader = private(PrivacyEngine(), loader_of(1000, 100), poisson_sampling=False)
        with pytest.raises(ValueError, match="more than 10 steps"):
            for _ in loader:
                optimizer.step(2)

    def test_of_a_schedule_takes_each_epochs_least_noise(self) -> None:
        engine = PrivacyEngine()
        optimizer, loader = private(engine, loader_of(1050, 100, drop_last=True), noise_multiplier=2.0, poisson_sampling=False)
        for place, _batch in enumerate(batch for _ in range(4) for batch in loader):
            optimizer.noise_multiplier = 1.0 if 15 <= place < 25 else 2.0
            optimizer.step()
        assert str(engine.event) == "compose(repeat(2, shuffled(1050, 100, gaussian(2))), repeat(2, shuffled(1050, 100, gaussian(1))))"
        with pytest.raises(ValueError, match="one noise multiplier"):
            engine.run_log()
        optimizer.noise_multiplier = 0.0
        train(optimizer, loader, 1)
        assert engine.get_epsilon(1e-5) == math.inf

    def test_adds_up_what_its_loaders_release(self) -> None:
        engine = PrivacyEngine()
        first, _ = private(engine, loader_of(1000, 100))
        second, loader = private(engine, loader_of(1000, 500), noise_multiplier=3.0, poisson_sampling=False)
        for _ in range(2):  # in turns
            for _batch in loader:
                first.step()
                second.step()
        assert str(engine.event) == "compose(repeat(4, poisson(0.1, gaussian(1))), repeat(2, shuffled(1000, 500, gaussian(3))))"
        with pytest.raises(ValueError, match="2 runs"):
            engine.run_log()

    @pytest.mark.parametrize(
        "std, combined, epsilon", [(0.6, 0.5694947974514994, 9.3152), (2.0, 0.9176629354822471, 3.4097), (10.0, 0.9962709627734357, 2.8765)]
    )
    def test_of_adaclip_prices_its_count(self, std: float, combined: float, epsilon: float) -> None:
        engine = PrivacyEngine()
        optimizer, _ = private(engine, loader_of(500, 50), clipping="adaptive", unclipped_num_std=std, rows=50, expected_batch_size=50)
        optimizer.step(10)
        assert engine.event is not None
        multiplier = float(str(engine.event).split("gaussian(")[1].rstrip(")"))
        assert multiplier == pytest.approx(combined, rel=1e-9) and multiplier <= combined
        assert str(engine.event).startswith("repeat(10, poisson(0.1, ")
        assert engine.get_epsilon(1e-5) == pytest.approx(epsilon, abs=1e-4)
        assert engine.accountant.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
        # The number is divided by the expected size of a batch, which no record changes, and not by the size.
        optimizer.sample_size = 43
        optimizer.update_max_grad_norm()
        assert optimizer.divided_by == 50

    def test_of_adaclip_finds_the_noise_with_its_count(self) -> None:
        more: dict[str, Any] = {"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 1, "clipping": "adaptive", "rows": 50}
        engine = PrivacyEngine()
        optimizer = engine.make_private_with_epsilon(data_loader=loader_of(500, 50), unclipped_num_std=1.0, **more)[1]
        optimizer.step(10)
        assert 2.99 < engine.get_epsilon(1e-5) <= 3
        with pytest.raises(ValueError, match="unclipped_num_std is 0.5, must be above 0.8"):
            PrivacyEngine().make_private_with_epsilon(data_loader=loader_of(500, 50), unclipped_num_std=0.5, **more)

    @pytest.mark.parametrize("more", [{}, {"clipping": "per_layer"}, {"grad_sample_mode": "ghost"}])
    def test_of_batches_in_pieces_counts_steps(self, more: dict[str, Any]) -> None:
        engine = PrivacyEngine()
        made = engine.make_private(data_loader=loader_of(500, 50), noise_multiplier=1.0, **more)
        pieces = of("opacus.utils.batch_memory_manager", "BatchSplittingSampler")([3, 1, 2], made[1])
        for _ in pieces:
            made[0].get_clipping_coef()
            made[1].step()
        assert made[1].steps == 3 and str(engine.event) == "repeat(3, poisson(0.1, gaussian(1)))"

    def test_refuses_batches_that_are_added_before_the_noise(self) -> None:
        def managed(batches: list[int], **more: Any) -> tuple[Any, Any]:
            optimizer, _ = private(PrivacyEngine(), loader_of(500, 50), **more)
            return optimizer, of("opacus.utils.batch_memory_manager", "BatchSplittingSampler")(batches, optimizer)

        optimizer, pieces = managed([2])
        with pytest.raises(ValueError, match="other code than BatchMemoryManager"):
            optimizer.signal_skip_step(True)
        optimizer.accumulated_iterations = 2
        with pytest.raises(ValueError, match="the step adds 2 batches"):
            optimizer.step()
        optimizer, pieces = managed([2, 2])
        for _ in pieces:  # is left after the first piece
            optimizer.step()
            break
        with pytest.raises(ValueError, match="several passes"):
            for _ in pieces:
                optimizer.step()
        optimizer, pieces = managed([2, 2])
        drawn = iter(pieces)
        for _ in range(3):
            next(drawn)
        optimizer.step(2)
        with pytest.raises(ValueError, match="left before all its batches"):
            next(iter(pieces))
        optimizer, pieces = managed([1, 2], clipping="adaptive", unclipped_num_std=1.0, rows=3)
        with pytest.raises(ValueError, match="AdaClipDPOptimizer comes in pieces"):
            for _ in pieces:
                optimizer.step()
        assert optimizer.steps == 1

    def test_refuses_noise_for_another_norm(self) -> None:
        optimizer, _ = private(PrivacyEngine(), loader_of(500, 50), clipping="per_layer", max_grad_norms=[3.0, 4.0], max_grad_norm=4.9999998)
        assert optimizer.max_grad_norm == 5  # and not as float32 rounds it
        optimizer.step()
        optimizer.max_grad_norm = 4.0  # as a scheduler does
        with pytest.raises(ValueError, match="records were clipped to 5 and the noise is scaled to max_grad_norm = 4"):
            optimizer.step()
        module, optimizer, _, _ = PrivacyEngine().make_private(data_loader=loader_of(500, 50), noise_multiplier=1.0, grad_sample_mode="ghost")
        with pytest.raises(ValueError, match="gradients were not clipped"):
            optimizer.step()
        module, optimizer, _, _ = PrivacyEngine().make_private(data_loader=loader_of(500, 50), noise_multiplier=1.0, grad_sample_mode="ghost")
        optimizer.max_grad_norm = 0.5
        module.get_clipping_coef()
        with pytest.raises(ValueError, match="records were clipped to 1 and the noise is scaled to max_grad_norm = 0.5"):
            optimizer.step()
        optimizer, _ = private(PrivacyEngine(), loader_of(500, 50))
        pieces = of("opacus.utils.batch_memory_manager", "BatchSplittingSampler")([2], optimizer)
        with pytest.raises(ValueError, match="records were clipped to 1 and the noise is scaled to max_grad_norm = 0.5"):
            for _ in pieces:
                optimizer.step()
                optimizer.max_grad_norm = 0.5

    @pytest.mark.parametrize(
        "part, module, name, more",
        [
            ("optimizer", "opacus.optimizers", "DPOptimizer", {}),
            ("optimizer", "opacus.optimizers", "DPPerLayerOptimizer", {"clipping": "per_layer"}),
            ("optimizer", "opacus.optimizers", "AdaClipDPOptimizer", {"clipping": "adaptive"}),
            ("optimizer", "opacus.optimizers", "DPOptimizerFastGradientClipping", {"grad_sample_mode": "ghost"}),
            ("module", "opacus.grad_sample", "GradSampleModule", {}),
            ("module", "opacus.grad_sample", "GradSampleModuleFastGradientClipping", {"grad_sample_mode": "ghost"}),
            ("criterion", "opacus.utils.fast_gradient_clipping_utils", "DPLossFastGradientClipping", {"grad_sample_mode": "ghost"}),
        ],
    )
    def test_refuses_every_class_that_is_not_in_the_table(self, part: str, module: str, name: str, more: dict[str, Any]) -> None:
        known = of(module, name)
        same_name = type(name, (known,), {})
        subclass = type("Mine", (known,), {})
        for kind in (subclass, same_name):
            with pytest.raises(ValueError, match=f"the {part} is a \\S*test_opacus.{kind.__name__}, must be exactly"):
                private(PrivacyEngine(), loader_of(500, 50), made={part: kind}, **more)
        shaped = type("Shaped", (), {key: value for key, value in vars(known).items() if key not in ("__dict__", "__weakref__")})
        if part != "optimizer":
            with pytest.raises(ValueError, match=f"the {part} is a .*Shaped, must be exactly"):
                private(PrivacyEngine(), loader_of(500, 50), made={part: shaped}, **more)

    @pytest.mark.parametrize("name", ["DistributedDPOptimizer", "SimpleDistributedPerLayerOptimizer", "FSDPOptimizerFastGradientClipping"])
    def test_refuses_optimizers_of_several_machines(self, name: str) -> None:
        kind = type(name, (of("opacus.optimizers", "DistributedDPOptimizer"),), {})
        with pytest.raises(ValueError, match=name):
            private(PrivacyEngine(), loader_of(500, 50), made={"optimizer": kind})

    @pytest.mark.parametrize("optimizer", ["DPOptimizer", "AdaClipDPOptimizer", "DPOptimizerFastGradientClipping"])
    @pytest.mark.parametrize("module", ["GradSampleModule", "GradSampleModuleFastGradientClipping", "GradSampleModuleNoOp"])
    def test_refuses_modules_that_do_not_go_with_the_optimizer(self, optimizer: str, module: str) -> None:
        made = {"optimizer": of("opacus.optimizers", optimizer), "module": of("opacus.grad_sample", module)}
        if (optimizer == "DPOptimizerFastGradientClipping", module) in ((False, "GradSampleModule"), (True, "GradSampleModuleFastGradientClipping")):
            return
        with pytest.raises(ValueError, match=f"the module is a .*{module}, must be"):
            private(PrivacyEngine(), loader_of(500, 50), made=made)

    def test_refuses_loaders_that_are_not_in_the_table(self) -> None:
        for loader in (
            loader_of(1000, 100, "WeightedRandomSampler"),
            loader_of(1000, 100, replacement=True),
            loader_of(1000, 100, num_samples=2000),
            loader_of(1000, None),
        ):
            with pytest.raises(ValueError, match="how the loader draws"):
                private(PrivacyEngine(), loader, poisson_sampling=False)
        for name, place in (("RandomSampler", "batch_sampler.sampler"), ("BatchSampler", "batch_sampler"), ("DataLoader", "")):
            loader = loader_of(1000, 100)
            thing = getattr(loader.batch_sampler, "sampler") if place.endswith(".sampler") else loader.batch_sampler if place else loader
            thing.__class__ = type("Mine", (of("torch.utils.data", name),), {})
            with pytest.raises(ValueError, match=r"test_opacus\.Mine"):
                private(PrivacyEngine(), loader, poisson_sampling=False)
        with pytest.raises(ValueError, match=r"test_opacus\.Mine"):
            private(PrivacyEngine(), loader)  # its length would be the rate

        def drawn_otherwise(loader: Any) -> Any:
            loader.batch_sampler.__class__ = type("Mine", (of("opacus.utils.uniform_sampler", "UniformWithReplacementSampler"),), {})
            return loader

        with pytest.raises(ValueError, match="the sampler is a \\S*test_opacus.Mine"):
            private(PrivacyEngine(), loader_of(1000, 100), made={"loader": drawn_otherwise})
        with pytest.raises(ValueError, match="the loader is a \\S*test_opacus.Mine"):
            private(PrivacyEngine(), loader_of(1000, 100), made={"loader": lambda loader: type("Mine", (), {"__len__": lambda _: 10})()})
        with pytest.raises(ValueError, match="rand_on_empty"):
            private(PrivacyEngine(), loader_of(1000, 100), rand_on_empty=True)

    def test_refuses_what_nobody_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ValueError, match="accountant is 'rdp'"):
            PrivacyEngine(accountant="rdp")
        engine = PrivacyEngine()
        engine.accountant.load_state_dict(stepped((1.0, 0.1, 5)).state_dict())
        with pytest.raises(ValueError, match="has 5 steps and this engine has seen 0"):
            engine.get_epsilon(1e-5)
        for name in ("add_noise", "clip_and_accumulate", "pre_step"):
            optimizer, _ = private(engine := PrivacyEngine(), loader_of(1000, 100))
            old = optimizer.pre_step
            setattr(optimizer, name, lambda *_: None)
            with pytest.raises(ValueError, match=f"{name} of the DPOptimizer has been replaced"):
                old()
            # Whoever catches that has no answer all the same.
            with pytest.raises(ValueError, match="a step was refused, so what was released is not known"):
                engine.get_epsilon(1e-5)
        optimizer, _ = private(PrivacyEngine(), loader_of(1000, 100))
        optimizer.attach_step_hook(lambda _: None)
        with pytest.raises(ValueError, match="the step hook of the optimizer has been replaced"):
            optimizer.step()
        with pytest.raises(ValueError, match="add_noise of the DPOptimizer has been replaced"):
            private(PrivacyEngine(), loader_of(1000, 100), add_noise=lambda: None)
        monkeypatch.setattr("importlib.metadata.version", lambda _: "1.5.4")
        with pytest.raises(ValueError, match="opacus is 1.5.4, must be 1.6.0"):
            private(PrivacyEngine(), loader_of(500, 50))

    def test_finds_the_noise_that_is_proved(self) -> None:
        for poisson, most in ((True, 2.0), (False, 6.4)):
            engine = PrivacyEngine()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, optimizer, loader = engine.make_private_with_epsilon(
                    data_loader=loader_of(6000, 60), target_epsilon=2.0, target_delta=1e-5, epochs=10, poisson_sampling=poisson
                )
            if poisson:
                optimizer.step(1000)
            else:
                train(optimizer, loader, 10)
            assert 1.99 < engine.get_epsilon(1e-5) <= 2.0
            assert 0.9 < optimizer.noise_multiplier < most

    def test_the_accountant_alone_sees_no_loader(self) -> None:
        theirs = sys.modules["opacus"].PrivacyEngine(accountant="surety")  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="use surety_dp.adapters.opacus.PrivacyEngine"):
            private(theirs, loader_of(1000, 100))


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


@pytest.fixture(autouse=True)
def optimizers_of_opacus(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests put in the place of Opacus' classes goes away with them."""
    for name in ("DPOptimizer", "DPPerLayerOptimizer"):
        monkeypatch.setattr(f"opacus.optimizers.{name}", getattr(sys.modules["opacus.optimizers"], name))


def optimizer_of(samples: list[Any], name: str = "DPOptimizer", **more: Any) -> Any:
    """An optimizer whose class stands in the place of that of Opacus."""
    kind = type(name, (Optimizer,), more)
    if name in ("DPOptimizer", "DPPerLayerOptimizer"):
        setattr(sys.modules["opacus.optimizers"], name, kind)
    return kind(samples)


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


def test_refuses_what_makes_no_exact_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for margin in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="margin"):
            use_exact_noise(optimizer_of([]), margin=margin)
    for name in ("DistributedDPOptimizer", "AdaClipDPOptimizer", "DPOptimizerFastGradientClipping", "object"):
        with pytest.raises(ValueError, match=name):
            use_exact_noise(optimizer_of([], name), margin=0)
    known = optimizer_of([])
    subclass = type("Mine", (type(known),), {})([])
    elsewhere = type("DPOptimizer", (Optimizer,), {})([])
    for foreign, named in ((subclass, r"\S*test_opacus.Mine"), (elsewhere, r"\S*test_opacus.DPOptimizer"), (None, "builtins.NoneType")):
        with pytest.raises(ValueError, match=f"the optimizer is a {named}, must be exactly one of opacus.optimizers"):
            use_exact_noise(foreign, margin=0)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.7.0")
    with pytest.raises(ValueError, match="opacus is 1.7.0, must be 1.6.0"):
        use_exact_noise(known, margin=0)
