"""Opacus without PyTorch: its accountants need none, but its package does. Where there is no torch, they are imported without the rest, and for the rest there
are doubles: the adapter identifies a class by its module and name, so the doubles stand there. tests/bindings/adapters/test_torch.py uses the real classes."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any


class DPOptimizer:
    """As much of an optimizer as takes steps. Its noise is nothing."""

    def __init__(self, *, noise_multiplier: float = 1.0, max_grad_norm: float = 1.0, **more: Any) -> None:
        self.noise_multiplier = noise_multiplier
        self.max_grad_norm: Any = max_grad_norm
        self.accumulated_iterations = 1
        self.expected_batch_size = more.get("expected_batch_size", 100)
        self.params: list[Any] = []
        self.steps = 0
        self.step_hook: Any = None
        self._step_skip_queue: list[bool] = []
        for name, value in more.items():
            setattr(self, name, value)

    def attach_step_hook(self, hook: Any) -> None:
        self.step_hook = hook

    def signal_skip_step(self, do_skip: bool = True) -> None:
        self._step_skip_queue.append(do_skip)

    def clip_and_accumulate(self) -> None: ...

    def add_noise(self) -> None: ...

    def pre_step(self, closure: Any = None) -> bool:
        self.clip_and_accumulate()
        if self._step_skip_queue and self._step_skip_queue.pop(0):
            return False
        self.add_noise()
        self.step_hook(self)
        return True

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.steps += bool(self.pre_step())


class DPPerLayerOptimizer(DPOptimizer):
    max_grad_norms = (1.0,)


class AdaClipDPOptimizer(DPOptimizer):
    def update_max_grad_norm(self) -> None:
        self.divided_by = self.sample_size

    @property
    def grad_samples(self) -> list[Any]:
        return [range(self.rows)]


class DPOptimizerFastGradientClipping(DPOptimizer):
    pass


class DistributedDPOptimizer(DPOptimizer):
    pass


class GradSampleModule:
    max_grad_norm = 1.0

    def get_clipping_coef(self) -> float:
        return 1.0


class GradSampleModuleFastGradientClipping(GradSampleModule):
    pass


class GradSampleModuleNoOp(GradSampleModule):
    pass


class DPLossFastGradientClipping:
    pass


class SequentialSampler:
    def __init__(self, records: int) -> None:
        self.num_samples = records
        self.replacement = False

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.num_samples))


class RandomSampler(SequentialSampler):
    pass


class WeightedRandomSampler(SequentialSampler):
    pass


class BatchSampler:
    """Its batches are numbers of records."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[int]:
        size = 0
        for _ in self.sampler:
            size += 1
            if size == self.batch_size:
                yield size
                size = 0
        if size and not self.drop_last:
            yield size


class DataLoader:
    """As much of PyTorch's loader as draws batches. Batches are their sizes."""

    num_workers = timeout = 0
    collate_fn = worker_init_fn = multiprocessing_context = generator = prefetch_factor = None
    pin_memory = persistent_workers = False

    def __init__(self, records: int, batch_size: int | None, sampler: Any = None, *, drop_last: bool = False) -> None:
        self.dataset = range(records)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.batch_sampler: Any = None if batch_size is None else BatchSampler(sampler or RandomSampler(records), batch_size, drop_last)

    def __len__(self) -> int:
        assert self.batch_size is not None
        return len(self.dataset) // self.batch_size if self.drop_last else -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[int]:
        return iter(self.batch_sampler)


class UniformWithReplacementSampler:
    def __init__(self, sample_rate: float) -> None:
        self.sample_rate = sample_rate


class DPDataLoader(DataLoader):
    def __init__(self, dataset: Any, *, sample_rate: float, **more: Any) -> None:
        super().__init__(len(dataset), None)
        self.batch_sampler = UniformWithReplacementSampler(sample_rate)

    def __len__(self) -> int:
        return int(1 / self.batch_sampler.sample_rate)


class BatchSplittingSampler:
    """Of a memory manager: batches come in pieces, as it tells the optimizer."""

    def __init__(self, batches: list[int], optimizer: Any) -> None:
        self.batches, self.optimizer = batches, optimizer

    def __iter__(self) -> Iterator[int]:
        for pieces in self.batches:
            for piece in range(pieces):
                self.optimizer.signal_skip_step(do_skip=piece + 1 < pieces)
                yield piece


class Engine:
    """As much of Opacus' engine as makes an optimizer and binds it to an accountant and a loader. ``made`` are classes in place of those that it would make."""

    def __init__(self, *, accountant: str = "prv", secure_mode: bool = False) -> None:
        from opacus.accountants import create_accountant

        self.accountant = create_accountant(mechanism=accountant)
        assert not secure_mode

    def make_private(
        self,
        *,
        data_loader: Any,
        noise_multiplier: float,
        poisson_sampling: bool = True,
        clipping: str = "flat",
        grad_sample_mode: str = "hooks",
        made: dict[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        loader = DPDataLoader(data_loader.dataset, sample_rate=1 / len(data_loader)) if poisson_sampling else data_loader
        ghost = grad_sample_mode == "ghost"
        names: dict[str, Any] = {"flat": DPOptimizer, "per_layer": DPPerLayerOptimizer, "adaptive": AdaClipDPOptimizer}
        classes: dict[str, Any] = {
            "optimizer": DPOptimizerFastGradientClipping if ghost else names[clipping],
            "module": GradSampleModuleFastGradientClipping if ghost else GradSampleModule,
            "criterion": DPLossFastGradientClipping,
            **(made or {}),
        }
        optimizer = classes["optimizer"](noise_multiplier=noise_multiplier, **more)
        optimizer.attach_step_hook(self.accountant.get_optimizer_hook_fn(sample_rate=1 / len(loader)))
        loader = classes.get("loader", lambda loader: loader)(loader)
        return (classes["module"](), optimizer, *([classes["criterion"]()] if ghost else []), loader)


#: The doubles by the modules that the adapter looks for them in.
DOUBLES: dict[str, list[type]] = {
    "opacus.optimizers": [DPOptimizer, DPPerLayerOptimizer, AdaClipDPOptimizer, DPOptimizerFastGradientClipping, DistributedDPOptimizer],
    "opacus.grad_sample": [GradSampleModule, GradSampleModuleFastGradientClipping, GradSampleModuleNoOp],
    "opacus.data_loader": [DPDataLoader],
    "opacus.utils.uniform_sampler": [UniformWithReplacementSampler],
    "opacus.utils.batch_memory_manager": [BatchSplittingSampler],
    "opacus.utils.fast_gradient_clipping_utils": [DPLossFastGradientClipping],
    "torch.utils.data": [DataLoader, BatchSampler, RandomSampler, SequentialSampler, WeightedRandomSampler],
}


def _accountants_alone() -> None:
    found = importlib.util.find_spec("opacus")
    if found is None or found.submodule_search_locations is None or importlib.util.find_spec("torch") is not None:
        return
    package = types.ModuleType("opacus")
    package.__path__ = list(found.submodule_search_locations)
    package.PrivacyEngine = Engine  # type: ignore[attr-defined]
    sys.modules["opacus"] = package
    for name, classes in DOUBLES.items():
        module = types.ModuleType(name)
        for one in classes:
            setattr(module, one.__name__, one)
        sys.modules[name] = module
    package.optimizers = sys.modules["opacus.optimizers"]  # type: ignore[attr-defined]


_accountants_alone()


def _few_examples() -> None:
    """Opacus asks for a hundred random searches of noise, of seconds each."""
    from hypothesis import settings

    settings.register_profile("few", max_examples=5, derandomize=True)
    settings.load_profile("few")


_few_examples()
