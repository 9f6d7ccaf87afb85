"""Opacus: a certified accountant, an engine that checks optimizer and loader, and exact noise. Importing this module registers the accountant:

    import surety_dp.adapters.opacus
    engine = surety_dp.adapters.opacus.PrivacyEngine()
    opacus.accountants.utils.get_noise_multiplier(target_epsilon=3, target_delta=1e-5, sample_rate=0.01, epochs=10, accountant="surety")

The accountant computes the cost of Poisson batches whose noise multiplier and rate are given to it, under add-or-remove-one. It sees neither optimizer
nor loader, so it gives no step hook to Opacus' own engine. ``PrivacyEngine`` sees both: it has a table of known combinations, and refuses all others.
"""

from __future__ import annotations

import json
import math
import sys
import weakref
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import metadata
from types import FrameType, MethodType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import opacus
from opacus.accountants import IAccountant, register_accountant

import surety_dp as surety
from surety_dp._foreign import class_of, is_exactly, name_of
from surety_dp._types import Adjacency

__all__ = ["PrivacyEngine", "SuretyAccountant", "use_exact_noise"]

_ADJACENCY: Adjacency = "add-or-remove-one"
# Opacus computes its rate and its divisor from the number of records, which only such neighbours share.
_ADJACENCY_OF_RECORDS: Adjacency = "zero-out"
# The only version whose classes were read for the table below.
_VERSION = "1.6.0"


class _Known(NamedTuple):
    """What is known of an optimizer of Opacus."""

    clipping: str
    modules: tuple[str, ...]  # classes of ``opacus.grad_sample`` that compute the gradients, or their norms, of each record by itself
    adds_pieces: bool  # a batch may come in several pieces, by BatchMemoryManager


_GRADIENTS = ("GradSampleModule", "GradSampleHooks")
_NORMS = ("GradSampleModuleFastGradientClipping", "GradSampleHooksFastGradientClipping")
# Optimizers of ``opacus.optimizers``, by the exact class. Each combination is compared with its charge under PyTorch by tests/bindings/adapters/test_torch.py.
_KNOWN = {
    "DPOptimizer": _Known("flat", _GRADIENTS, True),
    "DPPerLayerOptimizer": _Known("per_layer", _GRADIENTS, True),
    "DPOptimizerFastGradientClipping": _Known("flat", _NORMS, True),
    # The number of unclipped records is that of the last piece, which one more record may move by many.
    "AdaClipDPOptimizer": _Known("adaptive", _GRADIENTS, False),
}
# Exact noise replaces clipping and sum as well, so it needs the gradients, and no more releases than their sum.
_EXACT = ("DPOptimizer", "DPPerLayerOptimizer")
# Methods that an optimizer must have from its class, or from this module.
_METHODS = (
    "_check_skip_next_step",
    "accumulate",
    "add_noise",
    "clip_and_accumulate",
    "pre_step",
    "scale_grad",
    "signal_skip_step",
    "update_max_grad_norm",
    "zero_grad",
)
_OURS: weakref.WeakSet[Any] = weakref.WeakSet()


def _require_version() -> None:
    version = metadata.version("opacus")
    if version != _VERSION:
        raise ValueError(f"opacus is {version}, must be {_VERSION}: the classes of no other version were checked")


def _known_of(optimizer: Any, names: tuple[str, ...]) -> tuple[str, _Known]:
    """The row of the table. Raises ``ValueError``, which names the class, where there is none."""
    for name in names:
        if is_exactly(optimizer, "opacus.optimizers", name):
            return name, _KNOWN[name]
    raise ValueError(f"the optimizer is a {name_of(optimizer)}, must be exactly one of opacus.optimizers: {', '.join(names)}")


def _replace(optimizer: Any, function: Callable[..., Any]) -> None:
    """Gives one optimizer a method of ours in place of that of its class."""
    _OURS.add(function)
    setattr(optimizer, function.__name__, MethodType(function, optimizer))


def _replaced_method(optimizer: Any) -> str | None:
    """Which method somebody else gave to this one optimizer, in a sentence."""
    for name in _METHODS:
        own = vars(optimizer).get(name)
        if own is not None and getattr(own, "__func__", own) not in _OURS:
            return f"{name} of the {type(optimizer).__name__} has been replaced, must be that of its class"
    return None


def _clip_of(optimizer: Any, known: _Known) -> float:
    """The norm to which the optimizer clips the gradient of a record."""
    return math.hypot(*map(float, optimizer.max_grad_norms)) if known.clipping == "per_layer" else float(optimizer.max_grad_norm)


class SuretyAccountant(IAccountant):  # type: ignore[misc]
    """The certified cost of the steps that were taken, each of them a Poisson batch of Gaussian noise."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []
        self._of_engine = False
        self._batches = "poisson"  # or the last kind of batches that were not
        self._adjacency: Adjacency = _ADJACENCY

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One more step."""
        last = self.history[-1] if self.history else None
        if last is not None and (last[0], last[1]) == (noise_multiplier, sample_rate):
            self.history[-1] = (last[0], last[1], last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    @property
    def event(self) -> surety.Event | None:
        """What was released; None where there was no step. Raises ``ValueError`` where a step has no noise, and after steps whose batches were not Poisson."""
        if self._batches != "poisson":
            raise ValueError(f"batches are {self._batches}, must be poisson for the accountant: use get_epsilon of the PrivacyEngine that took the steps")
        parts = []
        for noise_multiplier, sample_rate, steps in self.history:
            step = surety.Event("poisson(q, gaussian(z))", self._adjacency, {"q": float(sample_rate), "z": float(noise_multiplier)})
            parts.append(step if steps == 1 else int(steps) * step)
        if len(parts) < 2:
            return parts[0] if parts else None
        return surety.Event(f"compose({', '.join(map(str, parts))})", self._adjacency)

    def epsilon(self, delta: float, *, width: float | None = None) -> surety.Enclosure:
        """Both ends of what was spent. Infinity where a step had no noise."""
        if any(noise_multiplier == 0 and steps > 0 for noise_multiplier, _, steps in self.history):
            return surety.Enclosure(math.inf, math.inf)
        event = self.event
        return surety.Enclosure(0.0, 0.0) if event is None else surety.epsilon(event, delta=delta, width=width)

    def get_epsilon(self, delta: float, *, width: float | None = None, **_: Any) -> float:
        """The upper end of what was spent. Arguments of other accountants are taken and not needed."""
        return self.epsilon(delta, width=width).upper

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        return "surety"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Refused to Opacus' own engine, which does not pass its loader: the batches of its steps are not known."""
        if not self._of_engine:
            raise ValueError("the accountant does not see how batches are drawn: use surety_dp.adapters.opacus.PrivacyEngine in place of opacus.PrivacyEngine")

        def hook(optimizer: Any) -> None:
            raise ValueError("a step was taken before make_private returned")

        return hook

    def state_dict(self, destination: Any = None) -> Any:
        """That of Opacus, how batches were drawn, and the adjacency."""
        state = super().state_dict(destination)
        state["batches"], state["adjacency"] = self._batches, self._adjacency
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """As Opacus'."""
        super().load_state_dict(state_dict)
        self._batches, self._adjacency = state_dict.get("batches", "poisson"), state_dict.get("adjacency", _ADJACENCY)

    def run_log(self, *, records: int, batch_size: int, sampler: str, **more: Any) -> str:
        """The log of a run with one noise multiplier, for ``surety audit --log``. ``sampler`` is how batches were drawn, "shuffled" for
        ``poisson_sampling=False``; ``more`` are other fields of docs/reference/log.md, as ``epsilon`` and ``delta``.
        """
        return _log_of([noise_multiplier for noise_multiplier, _, _ in self.history], len(self), records, batch_size, sampler, more)


def _log_of(noise_multipliers: list[float], steps: int, records: int, batch_size: int, sampler: str, more: dict[str, Any]) -> str:
    if len(set(noise_multipliers)) != 1:
        raise ValueError(f"the run has {len(noise_multipliers)} settings, must have one noise multiplier for a log")
    fields = {"noise_multiplier": noise_multipliers[0], "records": records, "batch_size": batch_size, "steps": steps, "sampler": sampler}
    return json.dumps({"version": 1, **fields, **more})


register_accountant(SuretyAccountant.mechanism(), SuretyAccountant, force=True)


def _with_count(noise_multiplier: float, count_std: float) -> float:
    """The noise multiplier of gradients and count of AdaClip together, rounded down.

    With noise multiplier z and s = ``unclipped_num_std``, Opacus adds noise of (z^-2 - (2 s)^-2)^(-1/2) times the clip to the sum, and of s to the number of
    unclipped records. One record moves the sum by the clip and the number by 1: ((z^-2 - (2 s)^-2) + s^-2)^(-1/2). Opacus' formula is for a number that moves
    by 1/2.
    """
    z, s = Fraction(noise_multiplier), Fraction(count_std)
    least = math.sqrt(1 / (1 / z**2 + Fraction(3, 4) / s**2))
    return least * (1 - 2.0**-50)  # what the conversion and the root round off, and the doubles of Opacus' own formula


def _without_count(combined: float, count_std: float) -> float:
    """The noise multiplier for which ``_with_count`` is at least ``combined``."""
    # A little more noise than that, for what is rounded there and here.
    rest = 1 / (Fraction(combined) * (1 + Fraction(1, 2**48))) ** 2 - Fraction(3, 4) / Fraction(count_std) ** 2
    if rest <= 0:
        least = math.sqrt(0.75) * combined
        raise ValueError(f"unclipped_num_std is {count_std:g}, must be above {least:.4g}: the target leaves no noise for the gradients")
    return math.sqrt(1 / rest) * (1 + 2.0**-50)


class _Passes:
    """The sampler of a loader, which reports when a pass over the data begins and ends."""

    def __init__(self, sampler: Any, run: _Run) -> None:
        self.sampler = sampler
        self._run = run

    def __iter__(self) -> Iterator[int]:
        self._run.open.append(len(self._run.passes))
        opened = self._run.open[-1]
        self._run.passes.append((math.inf, 0))
        try:
            yield from self.sampler
        finally:
            self._run.open.remove(opened)

    def __len__(self) -> int:
        return len(self.sampler)

    @property
    def generator(self) -> Any:
        return self.sampler.generator

    @generator.setter
    def generator(self, generator: Any) -> None:
        self.sampler.generator = generator


class _Run:
    """The steps of one optimizer, and how its batches are drawn, as a log names it: ``poisson``, ``shuffled`` or ``deterministic``."""

    def __init__(self, loader: Any, *, poisson_sampling: bool, public: bool) -> None:
        self.sampler = _poisson_of(loader) if poisson_sampling else _sampler_of(loader)
        self.public = public
        self.records = len(loader.dataset)
        self.batch_size = loader.batch_size
        self.drop_last = bool(getattr(loader, "drop_last", False))
        self.batches = len(loader)
        self.rate = 1.0
        self.steps: list[tuple[float, int]] = []  # noise multiplier, and how many steps have it
        self.passes: list[tuple[float, int]] = []  # least noise multiplier and steps of each pass over the data, where batches are not Poisson
        self.open: list[int] = []  # passes that have not ended
        self.refusal: str | None = None
        self._signals: list[FrameType] = []  # of pieces that were drawn and not added yet: the pass that drew them
        self._pieces: list[FrameType | None] = []  # of the batch that is being added
        self._clips: list[float] = []  # by which they were clipped

    def watch(self, made: tuple[Any, ...], count: Callable[[float, float], None]) -> None:
        """Checks what ``make_private`` has made, and counts each of its steps. Raises ``ValueError`` for a class that is not in the table."""
        module, optimizer, loader = made[0], made[1], made[-1]
        name, known = _known_of(optimizer, tuple(_KNOWN))
        if not any(is_exactly(module, "opacus.grad_sample", one) for one in known.modules):
            raise ValueError(f"the module is a {name_of(module)}, must be exactly one of opacus.grad_sample: {', '.join(known.modules)}")
        replaced = _replaced_method(optimizer)
        if replaced is not None:
            raise ValueError(replaced)
        if known.clipping == "per_layer":
            # Opacus computes the norm of all layers in float32, which may round it down.
            optimizer.max_grad_norm = max(float(optimizer.max_grad_norm), _clip_of(optimizer, known))
        if self.sampler == "poisson":
            self.rate = _rate_of(loader)
        else:
            self._watch_passes(loader)
        self.batches = len(loader)
        if known.clipping == "adaptive":
            _mend_adaclip(optimizer)
        norms = None
        if known.modules is _NORMS:
            if not is_exactly(made[2], "opacus.utils.fast_gradient_clipping_utils", "DPLossFastGradientClipping"):
                raise ValueError(f"the criterion is a {name_of(made[2])}, must be exactly the DPLossFastGradientClipping of opacus")
            norms = _watch_norms(module)

        def pre_step(stepped: Any, closure: Any = None) -> Any:
            if stepped.step_hook is not step_hook:
                self._refuse("the step hook of the optimizer has been replaced: its steps would not be counted")
            self._add_piece(stepped, known, norms)
            return type(stepped).pre_step(stepped, closure)

        def signal_skip_step(stepped: Any, do_skip: bool = True) -> None:
            self._signal(sys._getframe(1))
            type(stepped).signal_skip_step(stepped, do_skip)

        def step_hook(stepped: Any) -> None:
            z = self._step(stepped, known)
            count(z, self.rate)

        _replace(optimizer, pre_step)
        _replace(optimizer, signal_skip_step)
        optimizer.attach_step_hook(step_hook)

    def _watch_passes(self, loader: Any) -> None:
        # A loader of several runs reports to each of them.
        loader.batch_sampler.sampler = _Passes(loader.batch_sampler.sampler, self)

    def _refuse(self, reason: str) -> NoReturn:
        """Of a step whose cost is not known. What it releases may be published all the same, so there is no answer from then on."""
        self.refusal = reason
        raise ValueError(reason)

    def _signal(self, caller: FrameType) -> None:
        """A piece was drawn. Only the sampler of Opacus' BatchMemoryManager knows which pieces are of one batch."""
        splitting: Any = class_of("opacus.utils.batch_memory_manager", "BatchSplittingSampler")
        if splitting is None or caller.f_code is not splitting.__iter__.__code__:
            self._refuse("signal_skip_step was called by other code than BatchMemoryManager: a step that adds several batches may hold a record several times")
        if self._signals and self._signals[-1] is not caller:
            self._refuse("a pass of BatchMemoryManager was left before all its batches were stepped on: which pieces are of one batch is not known")
        self._signals.append(caller)

    def _add_piece(self, optimizer: Any, known: _Known, norms: list[float] | None) -> None:
        """One call of ``step()``: records of one piece are clipped and added."""
        replaced = _replaced_method(optimizer)
        if replaced is not None:
            self._refuse(replaced)
        self._pieces.append(self._signals.pop(0) if self._signals else None)
        if len(set(map(id, self._pieces))) > 1:
            self._refuse("the step adds pieces of several passes over the data: a record may be in it several times")
        if len(self._pieces) > 1 and not known.adds_pieces:
            self._refuse(
                f"the batch of {type(optimizer).__name__} comes in pieces, must come whole: the number of unclipped records would be that of its last piece"
            )
        if norms is None:
            self._clips.append(_clip_of(optimizer, known))
        elif norms:
            self._clips.append(norms.pop())
            norms.clear()
        else:
            self._refuse("gradients were not clipped: call backward() of the loss that the criterion of make_private returns")

    def _step(self, optimizer: Any, known: _Known) -> float:
        """The noise multiplier of a step, whose batch has been added."""
        clip, noise = max(self._clips), float(optimizer.max_grad_norm)
        self._pieces.clear()
        self._clips.clear()
        batches = int(optimizer.accumulated_iterations)
        if batches != 1:
            self._refuse(f"the step adds {batches} batches, must add one: a record may be in several of them. Use BatchMemoryManager for large batches")
        if not clip <= noise:
            self._refuse(f"records were clipped to {clip:g} and the noise is scaled to max_grad_norm = {noise:g}: both must be the same")
        torch = sys.modules.get("torch")
        if self.sampler == "poisson" and torch is not None and torch.get_default_dtype() not in (torch.float32, torch.float64):
            self._refuse(f"the default type of torch is {torch.get_default_dtype()}, must be float32 or float64: batches are drawn by numbers of that type")
        z = float(optimizer.noise_multiplier)
        if known.clipping == "adaptive" and z != 0:
            z = _with_count(z, float(optimizer.unclipped_num_std))
        self._count(z)
        return z

    def _count(self, z: float) -> None:
        if self.sampler != "poisson":
            if not self.passes:
                self._refuse("a step was taken without a batch of the loader that make_private returned")
            # A pass that others were begun in may still go on.
            for place in {*self.open, len(self.passes) - 1}:
                least, count = self.passes[place]
                self.passes[place] = (min(least, z), count + 1)
            if self.open in ([], [len(self.passes) - 1]) and self.passes[-1][1] > self.batches:
                self._refuse(f"a pass over the data has more than {self.batches} steps, must have one for each batch of the loader")
        if self.steps and self.steps[-1][0] == z:
            self.steps[-1] = (z, self.steps[-1][1] + 1)
        else:
            self.steps.append((z, 1))

    def __len__(self) -> int:
        return sum(count for _, count in self.steps)

    @property
    def adjacency(self) -> Adjacency:
        return _ADJACENCY if self.public else _ADJACENCY_OF_RECORDS

    def events(self, adjacency: Adjacency) -> list[surety.Event]:
        """That cost at least what was released. A pass that was left early counts as a whole one of its least noise."""
        if self.sampler == "poisson":
            return [int(count) * surety.Event("poisson(q, gaussian(z))", adjacency, {"q": self.rate, "z": z}) for z, count in self.steps]
        least = [z for z, count in self.passes if count > 0]
        made: list[surety.Event] = []
        for z in dict.fromkeys(least):
            epoch_event = surety.Event(f"{self.sampler}({self.records}, {self.batch_size}, gaussian(z))", adjacency, {"z": z})
            made.append(least.count(z) * epoch_event)
        return made


def _mend_adaclip(optimizer: Any) -> None:
    """Opacus divides the noisy number of unclipped records by the private size of the batch, and fails where a batch is empty. Both would be releases of
    their own. Here it divides by the expected size, as the authors of the method do, and an empty batch adds nothing."""

    def clip_and_accumulate(self: Any) -> None:
        if len(self.grad_samples[0]) > 0:
            type(self).clip_and_accumulate(self)
        else:
            opacus.optimizers.DPOptimizer.clip_and_accumulate(self)
            self.unclipped_num = self.unclipped_num + self.grad_samples[0].new_zeros(())

    def update_max_grad_norm(self: Any) -> None:
        self.sample_size = self.expected_batch_size
        type(self).update_max_grad_norm(self)

    _replace(optimizer, clip_and_accumulate)
    _replace(optimizer, update_max_grad_norm)


def _watch_norms(module: Any) -> list[float]:
    """Under ghost clipping gradients are clipped by the module, when ``backward()`` of the wrapped loss computes its coefficients: the norms that it clips
    to, one for each such call."""
    norms: list[float] = []
    theirs = type(module).get_clipping_coef

    def get_clipping_coef(self: Any) -> Any:
        norms.append(float(self.max_grad_norm))
        return theirs(self)

    module.get_clipping_coef = MethodType(get_clipping_coef, module)
    return norms


def _rate_of(loader: Any) -> float:
    """The rate of Opacus' Poisson loader. Its draws are multiples of 2^-24, so a rate between two of them would be rounded up: it is rounded down."""
    if not is_exactly(loader, "opacus.data_loader", "DPDataLoader"):
        raise ValueError(f"the loader is a {name_of(loader)}, must be exactly an opacus.data_loader.DPDataLoader")
    sampler = loader.batch_sampler
    if not is_exactly(sampler, "opacus.utils.uniform_sampler", "UniformWithReplacementSampler"):
        raise ValueError(f"the sampler is a {name_of(sampler)}, must be exactly an opacus.utils.uniform_sampler.UniformWithReplacementSampler")
    rate = float(sampler.sample_rate)
    if rate < 2.0**-24:
        raise ValueError(f"the sampling rate is {rate:g}, must be at least 2^-24: torch.rand draws no smaller number")
    sampler.sample_rate = math.floor(rate * 2.0**24) / 2.0**24
    return rate


_DATA = "torch.utils.data"


def _poisson_of(loader: Any) -> str:
    """Of a loader that Opacus replaces by its own: its length becomes the rate."""
    if not is_exactly(loader, _DATA, "DataLoader") and not is_exactly(loader, "opacus.data_loader", "DPDataLoader"):
        raise ValueError(f"how the loader draws its batches is not known: it is a {name_of(loader)}, must be exactly a torch.utils.data.DataLoader")
    return "poisson"


def _sampler_of(loader: Any) -> str:
    """How a loader of PyTorch that Opacus leaves as it is draws its batches."""
    if not is_exactly(loader, _DATA, "DataLoader"):
        raise ValueError(f"how the loader draws its batches is not known: it is a {name_of(loader)}, must be exactly a torch.utils.data.DataLoader")
    batches = loader.batch_sampler
    if loader.batch_size is None or not is_exactly(batches, _DATA, "BatchSampler"):
        raise ValueError(f"how the loader draws its batches is not known: its batch_sampler is a {name_of(batches)}, must be made from a batch_size")
    sampler = batches.sampler
    while type(sampler) is _Passes:
        sampler = sampler.sampler
    if is_exactly(sampler, _DATA, "SequentialSampler"):
        return "deterministic"
    if is_exactly(sampler, _DATA, "RandomSampler") and not sampler.replacement and sampler.num_samples == len(loader.dataset):
        return "shuffled"
    raise ValueError(
        f"how the loader draws its batches is not known: its sampler is a {name_of(sampler)}, must be poisson_sampling=True, or a DataLoader with a batch_size"
        " and with shuffle=True or False"
    )


def _public_loader(loader: Any, records: int) -> Any:
    """A Poisson loader whose rate is computed from a public number of records."""
    wanted = class_of("opacus.data_loader", "DPDataLoader")
    assert wanted is not None, "opacus.PrivacyEngine has loaded it"
    names = (
        "dataset",
        "num_workers",
        "collate_fn",
        "pin_memory",
        "timeout",
        "worker_init_fn",
        "multiprocessing_context",
        "generator",
        "prefetch_factor",
        "persistent_workers",
    )
    return wanted(sample_rate=1 / -(-records // loader.batch_size), **{name: getattr(loader, name) for name in names})


class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """Opacus' engine with the certified accountant. ``get_epsilon`` returns the upper bound that is proved for how the loader draws its batches:

    * ``poisson_sampling=True``: of Poisson batches, under zero-out, or with ``public_records`` under add-or-remove-one;
    * ``poisson_sampling=False`` and ``shuffle=True``: of shuffled epochs, under zero-out. No amplification is proved for them, so it is much more. It warns;
    * ``shuffle=False``: of batches in the order of the data, likewise.

    Opacus computes the sampling rate and the number that it divides gradients by from the number of records. Neighbours under zero-out share that number.
    Neighbours under add-or-remove-one do not, so there both must come from a public number: ``public_records``.

    ``make_private`` accepts flat, per-layer, ghost and adaptive clipping (AdaClip, with the cost of its count of unclipped records) of one process, by the
    exact class. It refuses every other optimizer, module, loader and sampler with a message that names the class. A step is refused if it adds several
    batches, if its noise is not scaled to the norm that records were clipped to, and if a method of the optimizer was replaced. ``get_epsilon`` is refused
    after a checkpoint of steps that another engine has taken.

    ``assumes`` lists what no check can see.
    """

    def __init__(self, *, accountant: str = "surety", secure_mode: bool = False) -> None:
        if accountant != SuretyAccountant.mechanism():
            raise ValueError(f"accountant is {accountant!r}, must be 'surety' for this engine; opacus.PrivacyEngine has the others")
        super().__init__(accountant=accountant, secure_mode=secure_mode)
        self.accountant._of_engine = True
        self._runs: list[_Run] = []

    def make_private(self, *, data_loader: Any, poisson_sampling: bool = True, public_records: int | None = None, **more: Any) -> Any:
        """As Opacus', whose arguments it takes. ``public_records`` is a number near the number of records that does not depend on any record: rate and
        divisor are computed from it. Warns for a loader that is not Poisson. Raises ``ValueError`` for a class that is not in the table of known ones."""
        _require_version()
        if more.get("rand_on_empty"):
            raise ValueError("rand_on_empty is True, must be False: a random record in place of an empty batch makes one record move the sum by twice the clip")
        if public_records is not None:
            if not poisson_sampling:
                raise ValueError("public_records is given and poisson_sampling is False: batches that are not Poisson have no bound under add-or-remove-one")
            data_loader, expected = _of_public(data_loader, public_records)
        run = _Run(data_loader, poisson_sampling=poisson_sampling, public=public_records is not None)
        made = super().make_private(data_loader=data_loader, poisson_sampling=poisson_sampling, **more)
        if public_records is not None:
            made[1].expected_batch_size = expected
        run.watch(made, lambda z, rate: self.accountant.step(noise_multiplier=z, sample_rate=rate))
        if run.sampler != "poisson":
            self.accountant._batches = run.sampler
            warnings.warn(
                f"batches are {run.sampler}, for which no amplification by sampling is proved: get_epsilon returns what is proved of them under"
                f" {run.adjacency}; with poisson_sampling=True the same noise costs less",
                stacklevel=2,
            )
        self._runs.append(run)
        self.accountant._adjacency = self.adjacency
        return made

    def make_private_with_epsilon(
        self,
        *,
        data_loader: Any,
        target_epsilon: float,
        target_delta: float,
        epochs: int,
        poisson_sampling: bool = True,
        public_records: int | None = None,
        **more: Any,
    ) -> Any:
        """As Opacus', with the noise that is proved to meet the target for how this loader draws batches."""
        if poisson_sampling:
            batches = len(data_loader) if public_records is None else len(_of_public(data_loader, public_records)[0])
            event = f"repeat({int(epochs) * batches}, poisson({1 / batches!r}, gaussian(z)))"
            adjacency = _ADJACENCY_OF_RECORDS if public_records is None else _ADJACENCY
        else:
            run = _Run(data_loader, poisson_sampling=False, public=False)
            event, adjacency = f"repeat({int(epochs)}, {run.sampler}({run.records}, {run.batch_size}, gaussian(z)))", run.adjacency
        z = surety.calibrate(event, solve="z", epsilon=target_epsilon, delta=target_delta, adjacency=adjacency).value
        if more.get("clipping") == "adaptive":
            z = _without_count(z, more["unclipped_num_std"])
        return self.make_private(
            data_loader=data_loader, poisson_sampling=poisson_sampling, public_records=public_records, noise_multiplier=z, **more
        )

    @property
    def adjacency(self) -> Adjacency:
        """Under which ``get_epsilon`` answers: add-or-remove-one if every loader has ``public_records``, else zero-out."""
        return _ADJACENCY if all(run.public for run in self._runs) else _ADJACENCY_OF_RECORDS

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the answers rest on and no check of this engine sees, one sentence each."""
        found = [
            "Batches are drawn by the loader that make_private returned, and each of them, also an empty one, is followed by one optimizer.step().",
            "The gradient of each record is computed from that record alone: by the dataset, its collate_fn, the model and the loss.",
            "The loss is reduced over the batch as loss_reduction says. Under ghost clipping backward() is called on the loss of the wrapped criterion alone.",
            "The model is changed by the optimizer alone, and nothing else that depends on the data is published, not even the size of a batch.",
            "Clipping, sums and noise are those of real numbers. PyTorch computes in floating point with noise that a seed repeats: see use_exact_noise.",
        ]
        if self.adjacency == _ADJACENCY_OF_RECORDS:
            found.append("Neighbours have the same number of records (zero-out): Opacus computes rate and divisor from it. Or set public_records.")
        return tuple(found)

    @property
    def event(self) -> surety.Event | None:
        """That costs at least what was released; None where there was no step. Raises ``ValueError`` where a step has no noise, for steps that this
        engine has not seen, and after a step that was refused."""
        for run in self._runs:
            if run.refusal is not None:
                raise ValueError(f"a step was refused, so what was released is not known: {run.refusal}")
        seen = sum(map(len, self._runs))
        if seen != len(self.accountant):
            raise ValueError(
                f"the accountant has {len(self.accountant)} steps and this engine has seen {seen}: how the batches of the others were drawn is not known"
            )
        parts = [event for run in self._runs for event in run.events(self.adjacency)]
        if len(parts) < 2:
            return parts[0] if parts else None
        return surety.Event(f"compose({', '.join(map(str, parts))})", self.adjacency)

    def get_epsilon(self, delta: float) -> float:
        """The upper bound that is proved, under ``adjacency``. Infinity where a step had no noise. Raises as ``event``."""
        if all(run.refusal is None for run in self._runs) and any(z == 0 for run in self._runs for z, _ in run.steps):
            return math.inf
        event = self.event
        return 0.0 if event is None else surety.epsilon(event, delta=delta).upper

    def run_log(self, **more: Any) -> str:
        """The log of the run, for ``surety audit --log``. ``more`` are other fields of docs/reference/log.md, as ``epsilon`` and ``delta``.
        Raises ``ValueError`` where there was not one run with one noise multiplier."""
        runs = [run for run in self._runs if run.steps]
        if len(runs) != 1 or len(runs[0]) != len(self.accountant):
            raise ValueError(f"the engine has seen {len(runs)} runs, must be one, with all steps of the accountant, for a log")
        run = runs[0]
        fields: dict[str, Any] = {"adjacency": run.adjacency, "drop_last": run.drop_last}
        if run.sampler == "poisson":
            fields["sampling_rate"] = run.rate
        return _log_of([z for z, _ in run.steps], len(run), run.records, run.batch_size, run.sampler, {**fields, **more})


def _of_public(loader: Any, records: int) -> tuple[Any, int]:
    """A Poisson loader, and the expected size of its batches, from a public number of records."""
    if isinstance(records, bool) or not isinstance(records, int) or records < 1:
        raise ValueError(f"public_records is {records!r}, must be a whole number of at least 1")
    if not is_exactly(loader, _DATA, "DataLoader") or loader.batch_size is None:
        raise ValueError(f"the loader is a {name_of(loader)}, must be exactly a torch.utils.data.DataLoader with a batch_size for public_records")
    made = _public_loader(loader, records)
    return made, max(1, records // len(made))


# Rows of one batch, at most: their clipped sum is then exact in float64.
_MOST_ROWS = 2**21
# Numbers that are clipped at a time: copies in float64 that stay in a cache.
_AT_ONCE = 2**17


def _row_sums(rows: Any) -> Any:
    """The sum of each row, by halves. Columns are added to each other, so the order in which a row is added does not depend on how many
    rows there are: a reduction of the library's own may choose another order where one record comes."""
    if rows.shape[1] == 0:
        return rows.sum(1)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        folded = rows[:, :half] + rows[:, half : 2 * half]
        if rows.shape[1] % 2 == 1:
            folded[:, :1] += rows[:, 2 * half :]
        rows = folded
    return rows[:, 0]


def _add_clipped(torch: Any, samples: list[Any], norms: list[float], sums: list[Any]) -> list[Any]:
    """``sums`` and the rows of ``samples``, each of which is a layer's per-sample gradients, a row a record, of any shape behind that.

    ``norms`` is one norm for the whole record or one for each layer. A record's part is clipped to its norm C and rounded toward zero to multiples
    of a power of two, C 2^-31 to C 2^-30; a part whose norm is not finite is zero. So a part depends on its record alone, and its l2 norm is at
    most C (1 + (d + 16) 2^-53), d the numbers of all layers; sums of up to 2^21 of them are exact in any order. docs/proofs/mechanisms.md#sums-elsewhere
    """
    count = len(samples[0])
    widths = [math.prod(sample.shape[1:]) for sample in samples]
    sums = [0.0 if s is None else s.reshape(width) for s, width in zip(sums, widths)]
    at_once = max(1, _AT_ONCE // max(1, sum(widths)))
    for begin in range(0, max(1, count), at_once):
        parts = [sample[begin : begin + at_once].detach() for sample in samples]
        rows = [part.reshape(len(part), width).to(dtype=torch.float64) for part, width in zip(parts, widths)]
        squares = [_row_sums(row * row) for row in rows]
        if len(norms) == 1:
            total = sum(square.to(device=squares[0].device) for square in squares)
            squares = [total.to(device=square.device) for square in squares]
        for layer, (row, square) in enumerate(zip(rows, squares)):
            norm = norms[layer if len(norms) > 1 else 0]
            step = 2.0 ** (math.frexp(norm)[1] - 31)
            finite = torch.isfinite(square)
            factor = norm / torch.clamp(torch.where(finite, torch.sqrt(square), norm), min=norm)
            # Dividing by the step, a power of two, rounds nothing.
            steps = torch.trunc(torch.where(finite[:, None], row * (factor / step)[:, None], 0.0))
            sums[layer] = sums[layer] + steps.sum(0) * step
    return [s.reshape(sample.shape[1:]) for s, sample in zip(sums, samples)]


def use_exact_noise(optimizer: Any, *, margin: float, log2_step: int | None = None) -> Any:
    """Makes a ``DPOptimizer`` clip and sum exactly, and add exact noise, to the sum of all clipped gradients as one vector, in place of
    ``torch.normal``.

    Each record's gradient is clipped in float64 and rounded toward zero to a public grid, on which sums are exact: sums in float32 do not keep
    the sensitivity of their formula, and no margin mends that. A record whose gradient is not finite anywhere counts as zero; under per-layer
    clipping, in those layers. Noise of the exact law is added on a public grid, in float64; what goes back to the parameters' type is computed from
    that. Bits are the operating system's; ``generator`` and ``secure_mode`` have no effect any more.

    ``margin`` is yours to vouch for, 0 or more: by how much, as a share of ``max_grad_norm``, one record may change the gradients of all *others*
    together. It is 0 where each record's gradient is computed by itself; kernels that choose their order by the size of a batch change last
    digits. Batch normalization and the like, which mix records, are beyond any margin. The noise is scaled to the sensitivity with it, and
    ``optimizer.noise_multiplier`` is charged as before. ``log2_step`` is the grid's of the noise; without it one that fits float64.

    Returns the optimizer. Raises ``ValueError`` for a negative margin, and for an optimizer that is not exactly a ``DPOptimizer`` or a
    ``DPPerLayerOptimizer`` of Opacus: of several machines, of ghost clipping, AdaClip, subclasses; in a step for ``max_grad_norm`` beyond 2^-200 to
    2^200 or one that changes inside a batch, and for batches of more than 2^21 records. Parameters are of any type that float64 holds: float16,
    bfloat16, float32, float64.
    """
    if not 0 <= margin < math.inf:
        raise ValueError(f"margin is {margin}, must be finite and at least 0")
    _require_version()
    _known_of(optimizer, _EXACT)
    step = None if log2_step is None else 2.0**log2_step
    norms: list[float] = []  # by which the records of this batch are clipped
    rows = 0

    def require_unused(tensors: Any) -> None:
        for tensor in tensors if isinstance(tensors, list) else [tensors]:
            if hasattr(tensor, "_processed"):
                raise ValueError("gradients have not been cleared since the last step: call optimizer.zero_grad()")

    def mark_used(tensors: Any) -> None:
        for tensor in tensors if isinstance(tensors, list) else [tensors]:
            tensor._processed = True

    def clip_and_accumulate(self: Any) -> None:
        import torch  # only an optimizer of torch comes here

        nonlocal norms, rows
        now = [float(norm) for norm in getattr(self, "max_grad_norms", [self.max_grad_norm])]
        for norm in now:
            if not 2.0**-200 <= norm <= 2.0**200:
                raise ValueError(f"max_grad_norm is {norm}, must be from 2^-200 to 2^200")
        for p in self.params:
            require_unused(p.grad_sample)
        samples = self.grad_samples
        sums = [p.summed_grad for p in self.params]
        if all(s is None for s in sums):
            norms, rows = now, 0
        elif now != norms:
            raise ValueError("max_grad_norm has changed inside a batch, must be one from zero_grad() to the next")
        rows += len(samples[0])
        if rows > _MOST_ROWS:
            raise ValueError("the batch has more than 2^21 records, must have at most that many for an exact sum")
        for p, s in zip(self.params, _add_clipped(torch, samples, norms, sums)):
            p.summed_grad = s
            mark_used(p.grad_sample)

    def add_noise(self: Any) -> None:
        import torch  # as above

        sums = [p.summed_grad for p in self.params]
        for s in sums:
            require_unused(s)
        values = np.concatenate([s.cpu().numpy().ravel() for s in sums])
        if self.noise_multiplier != 0:
            clipping = (len(values) + 16) * 2.0**-53
            noise = surety.GaussianNoise(
                self.noise_multiplier,
                sensitivity=math.hypot(*norms) * (1 + margin) * (1 + clipping) * (1 + 2.0**-50),
                dimension=len(values),
                adjacency=_ADJACENCY,
                step=step,
            )
            noise.add_to(values)
        begin = 0
        for p, s in zip(self.params, sums):
            noisy = torch.from_numpy(values[begin : begin + s.numel()].reshape(tuple(s.shape)).copy())
            begin += s.numel()
            p.grad = noisy.to(device=p.device, dtype=p.dtype).view_as(p)
            mark_used(s)

    _replace(optimizer, clip_and_accumulate)
    _replace(optimizer, add_noise)
    return optimizer
