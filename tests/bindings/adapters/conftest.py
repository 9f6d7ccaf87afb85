"""Opacus without PyTorch: its accountants need none, but its package does. Where there is no torch, they are found without the rest."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any


class Engine:
    """As much of Opacus' engine as binds a loader to an accountant; a model is its optimizer."""

    def __init__(self, *, accountant: str = "prv", secure_mode: bool = False) -> None:
        from opacus.accountants import create_accountant

        self.accountant = create_accountant(mechanism=accountant)
        assert not secure_mode

    def make_private(self, *, optimizer: Any, data_loader: Any, noise_multiplier: float, poisson_sampling: bool = True) -> Any:
        optimizer.noise_multiplier = noise_multiplier
        optimizer.step_hook = self.accountant.get_optimizer_hook_fn(sample_rate=1 / len(data_loader))
        return None, optimizer, data_loader

    def make_private_with_epsilon(self, *, data_loader: Any, target_epsilon: float, target_delta: float, epochs: int, **more: Any) -> Any:
        from opacus.accountants.utils import get_noise_multiplier

        asked = {"target_epsilon": target_epsilon, "target_delta": target_delta, "sample_rate": 1 / len(data_loader), "epochs": epochs}
        found = get_noise_multiplier(accountant=self.accountant.mechanism(), **asked)
        return self.make_private(data_loader=data_loader, noise_multiplier=found, **more)

    def get_epsilon(self, delta: float) -> float:
        return float(self.accountant.get_epsilon(delta))


def _accountants_alone() -> None:
    found = importlib.util.find_spec("opacus")
    if found is None or found.submodule_search_locations is None or importlib.util.find_spec("torch") is not None:
        return
    package = types.ModuleType("opacus")
    package.__path__ = list(found.submodule_search_locations)
    optimizers = types.ModuleType("opacus.optimizers")
    optimizers.DPOptimizer = type("DPOptimizer", (), {})  # type: ignore[attr-defined]
    package.PrivacyEngine = Engine  # type: ignore[attr-defined]
    sys.modules["opacus"] = package
    sys.modules["opacus.optimizers"] = optimizers


_accountants_alone()


def _few_examples() -> None:
    """Opacus asks for a hundred random searches of noise, of seconds each."""
    from hypothesis import settings

    settings.register_profile("few", max_examples=5, derandomize=True)
    settings.load_profile("few")


_few_examples()
