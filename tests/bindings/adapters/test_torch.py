"""The optimizer and the engine with the real PyTorch; scripts/python torch installs it."""

from __future__ import annotations

import importlib.util
import math
import warnings
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("there is no PyTorch", allow_module_level=True)

import opacus
import torch
from torch.utils.data import DataLoader, TensorDataset

import surety
from surety.adapters.opacus import PrivacyEngine, use_exact_noise

HOSTILE = [0.0, 1e30, math.inf, -math.inf, math.nan]


def private(
    records: Any, *, engine: Any = None, clipping: str = "flat", noise_multiplier: float = 0.0, batch_size: int = 100, poisson: bool = False, **more: Any
) -> tuple[Any, Any, Any, Any]:
    """A linear model of these records, made private."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)).to(records.dtype)
    engine = engine or PrivacyEngine()
    bounds = [0.5, 0.5, 0.5, 0.5] if clipping == "per_layer" else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped, optimizer, loader = engine.make_private(
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
    return engine, wrapped, optimizer, loader


def stepped_sum(records: Any, clipping: str) -> Any:
    """What a step on all records releases, without noise."""
    _, model, optimizer, _ = private(records, clipping=clipping, batch_size=len(records))
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
        _, model, optimizer, _ = private(records, noise_multiplier=1e-6, batch_size=64)
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
    assert engine.get_epsilon(1e-5) > 1.9 * engine.accountant.get_epsilon(1e-5)
    told = surety.audit_log(engine.run_log(delta=1e-5), readings=["shuffled"])
    assert told["proved"]["epsilon"]["upper"] == engine.get_epsilon(1e-5)

    engine, *run = private(records, noise_multiplier=1.0, poisson=True)
    use_exact_noise(run[1], margin=1e-3)
    train(engine, *run, epochs=3)
    assert str(engine.event) == "repeat(30, poisson(0.1, gaussian(1)))"
    assert engine.get_epsilon(1e-5) == engine.accountant.get_epsilon(1e-5)
    assert surety.audit_log(engine.run_log(delta=1e-5), readings=["poisson"])["proved"]["reading"] == "poisson"


def test_opacus_own_engine_is_told_that_nobody_sees_its_loader() -> None:
    records = torch.rand((100, 3))
    model = torch.nn.Linear(3, 1)
    with pytest.warns(UserWarning, match="does not see the loader"):
        opacus.PrivacyEngine(accountant="surety").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(records), batch_size=10, shuffle=True),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
