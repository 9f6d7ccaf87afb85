"""Opacus without PyTorch: its accountants need none, but its package does. Where there is no torch, they are found without the rest."""

from __future__ import annotations

import importlib.util
import sys
import types


def _accountants_alone() -> None:
    found = importlib.util.find_spec("opacus")
    if found is None or found.submodule_search_locations is None or importlib.util.find_spec("torch") is not None:
        return
    package = types.ModuleType("opacus")
    package.__path__ = list(found.submodule_search_locations)
    optimizers = types.ModuleType("opacus.optimizers")
    optimizers.DPOptimizer = type("DPOptimizer", (), {})  # type: ignore[attr-defined]
    sys.modules["opacus"] = package
    sys.modules["opacus.optimizers"] = optimizers


_accountants_alone()


def _few_examples() -> None:
    """Opacus asks for a hundred random searches of noise, of seconds each."""
    from hypothesis import settings

    settings.register_profile("few", max_examples=5, derandomize=True)
    settings.load_profile("few")


_few_examples()
