"""The optimizer and the engine with the real PyTorch; scripts/python torch installs it."""

from __future__ import annotations

import importlib.util
import itertools
import math
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("there is no PyTorch", allow_module_level=True)

import opacus
import opacus.optimizers
import torch
from opacus.schedulers import LambdaGradClip
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch.utils.data import DataLoader, TensorDataset

import surety_dp as surety
from surety_dp.adapters.opacus import PrivacyEngine, use_exact_noise

HOSTILE = [0.0, 1e30, math.inf, -math.inf, math.nan]


def private(
    records: Any, *, engine: Any = None, clipping: str = "flat", noise_multiplier: float = 0.0, batch_size: int = 100, poisson: bool = False, **more: Any
) -> tuple[Any, ...]:
    """A linear model of these records, made private."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)).to(records.dtype)
    engine = engine or PrivacyEngine()
    bounds = [0.5, 0.5, 0.5, 0.5] if clipping == "per_layer" else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped, optimizer, *criterion, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(records), batch_size=batch_size, shuffle=True),
            noise_multiplier=noise_multiplier,
            max_grad_norm=bounds,
            clipping=clipping,
            poisson_sampling=poisson,
            loss_reduction="sum",
            **more,
        )
    # Without a wrapper, hooks stand on the model itself.
    return engine, (wrapped if more.get("wrap_model", True) else model), optimizer, *criterion, loader


def stepped_sum(records: Any, clipping: str) -> Any:
    """What a step on all records releases, without noise."""
    # Batches that no loader has drawn are for an engine that does not certify them.
    _, model, optimizer, _ = private(records, engine=opacus.PrivacyEngine(accountant="rdp"), clipping=clipping, batch_size=len(records))
    use_exact_noise(optimizer, margin=0)
    optimizer.zero_grad()
    model(records).sum().backward()
    optimizer.step()
    return torch.cat([p.grad.reshape(-1) for p in optimizer.params]).double()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("clipping", ["flat", "per_layer"])
@pytest.mark.parametrize("value", HOSTILE)
def test_no_record_moves_the_sum_by_more_than_its_norm(value: float, clipping: str, dtype: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    records = torch.rand((100, 3), generator=generator).to(dtype)
    without = stepped_sum(records[1:], clipping)
    assert without.norm() > 50
    records[0] = value
    moved = (stepped_sum(records, clipping) - without).norm()
    # Sums of bfloat16 are rounded to its 8 bits when they are handed back.
    assert moved <= 1 + {torch.float32: 1e-4, torch.float64: 1e-9, torch.bfloat16: 0.5}[dtype]
    if not math.isfinite(value) and clipping == "flat":
        assert moved <= {torch.float32: 1e-4, torch.float64: 1e-9, torch.bfloat16: 0.5}[dtype]


def test_pieces_of_a_batch_and_noise() -> None:
    records = torch.rand((64, 3), generator=torch.Generator().manual_seed(2))
    noisy = []
    for pieces in (1, 4):
        # Pieces by hand are for an engine that does not certify them.
        _, model, optimizer, _ = private(records, engine=opacus.PrivacyEngine(accountant="rdp"), noise_multiplier=1e-6, batch_size=64)
        use_exact_noise(optimizer, margin=0)
        optimizer.zero_grad()
        for piece, part in enumerate(records.chunk(pieces)):
            optimizer.signal_skip_step(do_skip=piece + 1 < pieces)
            model(part).sum().backward()
            optimizer.step()
            if piece + 1 < pieces:
                optimizer.zero_grad()
        noisy.append(torch.cat([p.grad.reshape(-1) for p in optimizer.params]))
    assert (noisy[0] - noisy[1]).abs().max() < 1e-4
    assert not torch.equal(noisy[0], noisy[1])
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.step()


def train(engine: Any, model: Any, optimizer: Any, loader: Any, epochs: int) -> None:
    for _ in range(epochs):
        for (batch,) in loader:
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()


def test_the_engine_answers_what_is_proved_of_its_loader() -> None:
    records = torch.rand((1000, 3))
    engine, *run = private(records, noise_multiplier=1.0)
    use_exact_noise(run[1], margin=1e-3)
    train(engine, *run, epochs=3)
    assert str(engine.event) == "repeat(3, shuffled(1000, 100, gaussian(1)))"
    poisson = surety.epsilon("repeat(30, poisson(0.1, gaussian(1)))", delta=1e-5, adjacency="zero-out").upper
    assert engine.get_epsilon(1e-5) > 1.9 * poisson
    told = surety.audit_log(engine.run_log(delta=1e-5), readings=["shuffled"])
    assert told["proved"]["epsilon"]["upper"] == engine.get_epsilon(1e-5)

    engine, *run = private(records, noise_multiplier=1.0, poisson=True)
    use_exact_noise(run[1], margin=1e-3)
    train(engine, *run, epochs=3)
    assert str(engine.event) == "repeat(30, poisson(0.1, gaussian(1)))"
    assert engine.get_epsilon(1e-5) == engine.accountant.get_epsilon(1e-5)
    assert surety.audit_log(engine.run_log(delta=1e-5), readings=["poisson"])["proved"]["reading"] == "poisson"


def test_opacus_own_engine_does_not_pass_its_loader() -> None:
    records = torch.rand((100, 3))
    model = torch.nn.Linear(3, 1)
    with pytest.raises(ValueError, match="use surety_dp.adapters.opacus.PrivacyEngine"):
        opacus.PrivacyEngine(accountant="surety").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(records), batch_size=10, shuffle=True),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )


# The table of the adapter: what an optimizer releases in a step is a list of sums with noise of their own. One record moves sum k by m_k, whose noise has
# standard deviation s_k: together that is a Gaussian release of noise multiplier 1 / root(sum of (m_k / s_k)^2), which must be at least the one in the event.

ADACLIP = {"target_unclipped_quantile": 0.5, "clipbound_learning_rate": 0.2, "max_clipbound": 1e8, "min_clipbound": 1e-8, "unclipped_num_std": 0.6}
KNOWN: dict[str, dict[str, Any]] = {
    "flat": {},
    "flat, functorch": {"grad_sample_mode": "functorch"},
    "flat, hooks on the model": {"wrap_model": False},
    "per layer": {"clipping": "per_layer"},
    "per layer, hooks on the model": {"clipping": "per_layer", "wrap_model": False},
    "ghost": {"grad_sample_mode": "ghost"},
    "ghost, hooks on the model": {"grad_sample_mode": "ghost", "wrap_model": False},
    "AdaClip": {"clipping": "adaptive", **ADACLIP},
    "AdaClip, hooks on the model": {"clipping": "adaptive", "wrap_model": False, **ADACLIP},
}


def take_step(engine: Any, model: Any, optimizer: Any, *rest: Any, most: int | None = None) -> None:
    """One step on each batch of one pass, whose batches come in pieces of up to ``most`` records."""
    *criterion, loader = rest

    def losses(batch: Any) -> Any:
        weights = batch.norm(dim=1)
        return criterion[0](model(batch), weights) if criterion else (model(batch).squeeze(1) * weights).sum()

    def through(batches: Any) -> None:
        for (batch,) in batches:
            optimizer.zero_grad()
            losses(batch).backward()
            optimizer.step()

    if most is None:
        through(loader)
    else:
        with BatchMemoryManager(data_loader=loader, max_physical_batch_size=most, optimizer=optimizer) as batches:
            through(batches)


class Sum(torch.nn.Module):
    """The same loss, as the wrapper of ghost clipping takes one."""

    reduction = "sum"

    def forward(self, output: Any, weights: Any) -> Any:
        losses = output.squeeze(1) * weights
        return losses if self.reduction == "none" else losses.sum()


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, float]]]:
    """What noise is added to, and its standard deviation, in the order of the releases. The noise is 0."""
    seen: list[tuple[Any, float]] = []

    def generate(std: Any, reference: Any, generator: Any = None, secure_mode: bool = False) -> Any:
        seen.append((reference.detach().double().reshape(-1).clone(), float(std)))
        return torch.zeros_like(reference)

    for name in ("optimizer", "adaclipoptimizer", "optimizer_fast_gradient_clipping"):
        monkeypatch.setattr(f"opacus.optimizers.{name}._generate_noise", generate)
    yield seen


def released_by(records: Any, seen: list[tuple[Any, float]], most: int | None = None, **more: Any) -> tuple[Any, Any]:
    """All that is released in one step on all records, over its noise, and the engine."""
    more = {"noise_multiplier": 1.0, "batch_size": len(records), "poisson": True, **more}
    if more.get("grad_sample_mode") == "ghost":
        more["criterion"] = Sum()
    seen.clear()
    made = private(records, **more)
    take_step(*made, most=most)
    return torch.cat([values / std for values, std in seen]), made[0]


def charged_by(engine: Any) -> float:
    """The noise multiplier in the event of one step on all records."""
    text = str(engine.event)
    assert text.startswith("repeat(1, poisson(1, gaussian("), text
    return float(text.split("gaussian(")[1].rstrip(")"))


def record_of(norm: float, direction: Any) -> Any:
    """The record in this direction whose gradient has this norm."""

    def gradient(scale: float) -> float:
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
        (model(direction * scale).squeeze(1) * (direction * scale).norm(dim=1)).sum().backward()
        return math.hypot(*[float(p.grad.norm()) for p in model.parameters()])

    lower, upper = 0.0, 1e4
    for _ in range(60):
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if gradient(middle) < norm else (lower, middle)
    return direction * lower


def neighbours() -> tuple[Any, list[Any]]:
    """Records, and one more: far beyond the clip, at it, just below it, zero."""
    generator = torch.Generator().manual_seed(7)
    # A batch that is cut at 16 records has one more piece with the 49th.
    others = 0.3 * torch.randn((48, 3), generator=generator)
    norms = (0.0, 1e-3, 0.5, 0.9, 0.999, 0.99999, 1.001, 2.0, 1e3, 1e6)
    return others, [record_of(norm, direction / direction.norm()) for norm in norms for direction in torch.randn((2, 1, 3), generator=generator)]


@pytest.mark.parametrize("most", [None, 16], ids=["whole", "in pieces"])
@pytest.mark.parametrize("name", KNOWN)
def test_no_record_moves_a_known_combination_by_more_than_its_charge(name: str, most: int | None, releases: list[tuple[Any, float]]) -> None:
    more = KNOWN[name]
    if most is not None and "AdaClip" in name:
        with pytest.raises(ValueError, match="AdaClipDPOptimizer comes in pieces"):
            released_by(torch.randn((47, 3)), releases, most, **more)
        return
    largest = 0.0
    without, ones = neighbours()
    released, _ = released_by(without, releases, most, **more)
    for one in ones:
        other, engine = released_by(torch.cat([without, one]), releases, most, **more)
        moved = float((other - released).norm())
        assert moved * charged_by(engine) <= 1 + 1e-4
        largest = max(largest, moved * charged_by(engine))
    print(f"{name}, {'whole' if most is None else f'pieces of {most}'}: {largest:.4f} of its charge")
    assert largest > 0.99


def test_of_adaclip_charges_its_count() -> None:
    records = torch.randn((500, 3), generator=torch.Generator().manual_seed(5))
    for std, epsilon in ((0.6, 9.3152), (2.0, 3.4097), (10.0, 2.8765)):
        engine, *run = private(records, noise_multiplier=1.0, batch_size=50, poisson=True, clipping="adaptive", **{**ADACLIP, "unclipped_num_std": std})
        take_step(engine, *run)
        assert len(engine.accountant) == 10
        assert engine.get_epsilon(1e-5) == pytest.approx(epsilon, abs=1e-4) == engine.accountant.get_epsilon(1e-5)


def test_of_adaclip_an_empty_batch_is_a_step_and_no_size_of_a_batch_is_used() -> None:
    records = torch.randn((3, 3), generator=torch.Generator().manual_seed(5))
    torch.manual_seed(1)
    engine, *run = private(records, noise_multiplier=1.0, batch_size=1, poisson=True, clipping="adaptive", **ADACLIP)
    for _ in range(10):
        take_step(engine, *run)
    assert len(engine.accountant) == 30 and run[1].sample_size == run[1].expected_batch_size == 1


def test_rate_and_divisor_of_a_public_number_are_those_of_neighbours() -> None:
    made = []
    for records in (999, 1000, 1001):
        engine, _, optimizer, loader = private(torch.rand((records, 3)), noise_multiplier=1.0, poisson=True, public_records=1000)
        made.append((optimizer.expected_batch_size, loader.batch_sampler.sample_rate, len(loader), engine.adjacency))
    assert len(set(made)) == 1 and made[0][0] == 100 and made[0][2:] == (10, "add-or-remove-one")
    engine, _, optimizer, loader = private(torch.rand((999, 3)), noise_multiplier=1.0, poisson=True)
    assert (optimizer.expected_batch_size, engine.adjacency) == (99, "zero-out")  # of 1000 records it is 100


def test_the_loader_draws_no_more_often_than_its_rate() -> None:
    for batches in (3, 10, 997):
        _, _, _, loader = private(torch.rand((2 * batches, 3)), noise_multiplier=1.0, batch_size=2, poisson=True)
        draws = torch.arange(2**12, dtype=torch.float64) / 2**24 + (loader.batch_sampler.sample_rate - 2**11 / 2**24)
        # Of the multiples of 2^-24 next to the rate, which torch.rand draws alike, those below it:
        assert int((draws.float() < loader.batch_sampler.sample_rate).sum()) + (loader.batch_sampler.sample_rate - 2**11 / 2**24) * 2**24 <= 2**24 / batches


def test_of_other_loaders_counts_passes() -> None:
    records = torch.rand((1000, 3))
    for workers in (0, 2):
        engine, model, optimizer, loader = private(records, noise_multiplier=1.0)
        loader = loader if workers == 0 else None
        if loader is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                base = DataLoader(TensorDataset(records), batch_size=100, shuffle=True, num_workers=workers)
                plain = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
                model, optimizer, loader = (engine := PrivacyEngine()).make_private(
                    module=plain, optimizer=torch.optim.SGD(plain.parameters(), lr=1.0), data_loader=base, noise_multiplier=1.0, max_grad_norm=1.0,
                    poisson_sampling=False, loss_reduction="sum",
                )
        train(engine, model, optimizer, loader, epochs=1)
        take_step(engine, model, optimizer, loader, most=30)
        for _ in range(2):  # left early
            for (batch,) in itertools.islice(loader, 3):
                optimizer.zero_grad()
                model(batch).sum().backward()
                optimizer.step()
        assert str(engine.event) == "repeat(4, shuffled(1000, 100, gaussian(1)))"


# What is refused would be wrong: in Opacus as it is, one record moves these by more than the charge.


def test_a_norm_that_a_scheduler_changes_is_not_that_of_ghost_clipping(releases: list[tuple[Any, float]]) -> None:
    for name in ("ghost", "per layer"):
        records = torch.randn((20, 3))
        more = {**KNOWN[name], **({"criterion": Sum()} if name == "ghost" else {})}
        made = private(records, noise_multiplier=1.0, batch_size=20, poisson=True, **more)
        LambdaGradClip(made[2], scheduler_function=lambda _: 0.5)
        with pytest.raises(ValueError, match="records were clipped to 1 and the noise is scaled to max_grad_norm = 0.5"):
            take_step(*made)
    moved = []
    for count in (19, 20):
        releases.clear()
        records = torch.cat([torch.randn((19, 3), generator=torch.Generator().manual_seed(2)), torch.full((1, 3), 1e3)])[:count]
        theirs = opacus.PrivacyEngine(accountant="rdp")
        made = private(records, engine=theirs, noise_multiplier=1.0, batch_size=count, poisson=True, grad_sample_mode="ghost", criterion=Sum())
        LambdaGradClip(made[2], scheduler_function=lambda _: 0.5)
        take_step(*made)
        moved.append(torch.cat([values / std for values, std in releases]))
    assert (moved[1] - moved[0]).norm() > 1.99


def test_ghost_clipping_without_its_loss_clips_nothing() -> None:
    records = torch.randn((20, 3))
    _, model, optimizer, _, _ = private(records, noise_multiplier=1.0, batch_size=20, poisson=True, grad_sample_mode="ghost", criterion=Sum())
    model(records).sum().backward()
    with pytest.raises(ValueError, match="gradients were not clipped"):
        optimizer.step()


def test_the_count_of_adaclip_in_pieces_moves_by_many(releases: list[tuple[Any, float]]) -> None:
    counts = []
    for count in (16, 17):
        releases.clear()
        engine = opacus.PrivacyEngine(accountant="rdp")
        made = private(torch.full((count, 3), 1e-3), engine=engine, noise_multiplier=1.0, batch_size=count, poisson=True, clipping="adaptive", **ADACLIP)
        take_step(*made, most=16)
        counts.append(float(releases[-1][0]))
    assert counts[0] - counts[1] > 5


def test_refuses_classes_that_are_not_in_the_table() -> None:
    records = torch.rand((100, 3))

    class Engine(PrivacyEngine):
        def _prepare_optimizer(self, **more: Any) -> Any:
            made = super()._prepare_optimizer(**more)
            made.__class__ = type("Mine", (type(made),), {})
            return made

    with pytest.raises(ValueError, match="the optimizer is a \\S*test_torch.*Mine, must be exactly one of opacus.optimizers"):
        private(records, engine=Engine(), poisson=True)
    for more, named in (
        ({"grad_sample_mode": "no_op"}, "GradSampleModuleNoOp"),
        ({"grad_sample_mode": "ew"}, "GradSampleModuleExpandedWeights"),
        ({"rand_on_empty": True}, "rand_on_empty"),
    ):
        with pytest.raises(ValueError, match=named):
            private(records, poisson=True, **more)
    engine, *run = private(records, noise_multiplier=1.0, poisson=True)
    run[1].add_noise = types.MethodType(lambda self: None, run[1])
    with pytest.raises(ValueError, match="add_noise of the DPOptimizer has been replaced"):
        train(engine, *run, epochs=1)
    # A learning rate scheduler replaces step(), which is none of the releases.
    engine, *run = private(records, noise_multiplier=1.0, poisson=True)
    torch.optim.lr_scheduler.StepLR(run[1], step_size=1)
    train(engine, *run, epochs=1)
    assert str(engine.event) == "repeat(1, poisson(1, gaussian(1)))"
    engine, *run = private(records, noise_multiplier=1.0, poisson=True)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with pytest.raises(ValueError, match="the default type of torch is torch.bfloat16"):
            train(engine, *run, epochs=1)
    finally:
        torch.set_default_dtype(torch.float32)
    run[1].__class__ = type("DPOptimizer", (type(run[1]),), {})
    with pytest.raises(ValueError, match="must be exactly one of"):
        use_exact_noise(run[1], margin=0)
