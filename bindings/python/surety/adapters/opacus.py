"""Opacus: an accountant that is certified, an engine that knows its loader, and noise that is exact. Importing this module registers the accountant:

    import surety.adapters.opacus
    engine = surety.adapters.opacus.PrivacyEngine()
    opacus.accountants.utils.get_noise_multiplier(target_epsilon=3, target_delta=1e-5, sample_rate=0.01, epochs=10, accountant="surety")

As the other accountants of Opacus it takes each step for a Poisson batch (``poisson_sampling=True``, the default) under add-or-remove-one: it does
not see the loader. ``PrivacyEngine`` does, and answers what is proved of it.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import opacus
from opacus.accountants import IAccountant, register_accountant

import surety

__all__ = ["PrivacyEngine", "SuretyAccountant", "use_exact_noise"]

_ADJACENCY = "add-or-remove-one"
# Of loaders whose batches are not drawn record by record: there a record that comes or goes moves others into other batches.
_ADJACENCY_OF_EPOCHS = "zero-out"
# The bound of each layer is one on all layers, too.
_OPTIMIZERS = ("DPOptimizer", "DPPerLayerOptimizer")


class SuretyAccountant(IAccountant):  # type: ignore[misc]
    """The certified cost of the steps that were taken, each of them a Poisson batch of Gaussian noise."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []
        self._engine_sees_loader = False

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One more step."""
        last = self.history[-1] if self.history else None
        if last is not None and (last[0], last[1]) == (noise_multiplier, sample_rate):
            self.history[-1] = (last[0], last[1], last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    @property
    def event(self) -> surety.Event | None:
        """What was released; None where there was no step. Raises ``ValueError`` where a step has no noise."""
        parts = []
        for noise_multiplier, sample_rate, steps in self.history:
            step = surety.Event("poisson(q, gaussian(z))", _ADJACENCY, {"q": float(sample_rate), "z": float(noise_multiplier)})
            parts.append(step if steps == 1 else int(steps) * step)
        if len(parts) < 2:
            return parts[0] if parts else None
        return surety.Event(f"compose({', '.join(map(str, parts))})", _ADJACENCY)

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
        """What Opacus' own engine asks for, which does not say how its loader draws batches."""
        if not self._engine_sees_loader:
            warnings.warn(
                "surety takes each step for a Poisson batch, for the accountant does not see the loader: with poisson_sampling=False its answers"
                " are not proved. surety.adapters.opacus.PrivacyEngine sees it",
                stacklevel=3,
            )
        hook: Callable[[Any], None] = super().get_optimizer_hook_fn(sample_rate)
        return hook

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


class _Run:
    """The steps of one optimizer, and how its batches are drawn: the word of a log, ``poisson``, ``shuffled`` or ``deterministic``."""

    def __init__(self, loader: Any, *, poisson_sampling: bool) -> None:
        self.sampler = "poisson" if poisson_sampling else _sampler_of(loader)
        self.records = len(loader.dataset)
        self.batch_size = loader.batch_size
        self.drop_last = bool(getattr(loader, "drop_last", False))
        self.batches = len(loader)
        self.steps: list[tuple[float, int, int]] = []  # noise multiplier, batches that are one step, how many of these

    def step(self, optimizer: Any) -> None:
        z, pieces = float(optimizer.noise_multiplier), int(optimizer.accumulated_iterations)
        if self.steps and self.steps[-1][:2] == (z, pieces):
            self.steps[-1] = (z, pieces, self.steps[-1][2] + 1)
        else:
            self.steps.append((z, pieces, 1))

    def __len__(self) -> int:
        return sum(count for _, _, count in self.steps)

    @property
    def adjacency(self) -> str:
        return _ADJACENCY if self.sampler == "poisson" else _ADJACENCY_OF_EPOCHS

    def events(self, adjacency: str) -> list[surety.Event]:
        """That cost at most what was released. Of an epoch that has not ended, and of its steps of most noise, it counts as one whole one of its
        least noise."""
        if self.sampler == "poisson":
            return [
                int(count) * surety.Event("poisson(q, gaussian(z))", adjacency, {"q": pieces / self.batches, "z": z})
                for z, pieces, count in self.steps
            ]
        # Steps of several batches may reach from one epoch into the next, where a record may be in one of them twice.
        if any(pieces > 1 for _, pieces, _ in self.steps):
            raise ValueError("steps are of several batches, must be of one each for a loader that is not Poisson")
        least: list[float] = []
        taken = 0  # batches so far
        for z, _, count in self.steps:
            first, taken = taken, taken + count
            for epoch in range(first // self.batches, -(-taken // self.batches)):
                if epoch < len(least):
                    least[epoch] = min(least[epoch], z)
                else:
                    least.append(z)
        made: list[surety.Event] = []
        for z in dict.fromkeys(least):
            epoch_event = surety.Event(f"{self.sampler}({self.records}, {self.batch_size}, gaussian(z))", adjacency, {"z": z})
            made.append(least.count(z) * epoch_event)
        return made


def _sampler_of(loader: Any) -> str:
    """How a loader of PyTorch that Opacus leaves as it is draws its batches."""
    if loader.batch_size is not None and type(getattr(loader, "batch_sampler", None)).__name__ == "BatchSampler":
        sampler = loader.sampler
        name = type(sampler).__name__
        if name == "SequentialSampler":
            return "deterministic"
        if name == "RandomSampler" and not sampler.replacement and sampler.num_samples == len(loader.dataset):
            return "shuffled"
    raise ValueError(
        "how the loader draws its batches is not known, must be poisson_sampling=True, or a DataLoader with a batch_size and with shuffle=True or False"
    )


class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """Opacus' engine with the certified accountant, which sees how the loader draws batches. ``get_epsilon`` answers the upper end that is proved:

    * ``poisson_sampling=True``: of Poisson batches, under add-or-remove-one;
    * ``poisson_sampling=False`` and ``shuffle=True``: of shuffled epochs, under zero-out, where no amplification is proved: much more. It warns;
    * ``shuffle=False``: of batches in the order of the data, likewise.

    Other loaders are refused by ``make_private``, and so are answers after a checkpoint of steps that another engine has taken.
    """

    def __init__(self, *, accountant: str = "surety", secure_mode: bool = False) -> None:
        if accountant != SuretyAccountant.mechanism():
            raise ValueError(f"accountant is {accountant!r}, must be 'surety' for this engine; opacus.PrivacyEngine has the others")
        super().__init__(accountant=accountant, secure_mode=secure_mode)
        self.accountant._engine_sees_loader = True
        self._runs: list[_Run] = []

    def make_private(self, *, data_loader: Any, poisson_sampling: bool = True, **more: Any) -> Any:
        """As Opacus', whose arguments it takes. Warns for a loader that is not Poisson, and raises ``ValueError`` for one whose batches are drawn in
        a way that nothing is known of."""
        run = _Run(data_loader, poisson_sampling=poisson_sampling)
        made = super().make_private(data_loader=data_loader, poisson_sampling=poisson_sampling, **more)
        # Opacus may have made another loader.
        run.batches = len(made[-1])
        if run.sampler != "poisson":
            warnings.warn(
                f"batches are {run.sampler}, for which no amplification by sampling is proved: get_epsilon answers what is proved of them under"
                f" {run.adjacency}; with poisson_sampling=True the same noise costs less",
                stacklevel=2,
            )
        optimizer = made[1]
        counts = optimizer.step_hook

        def step_hook(stepped: Any) -> None:
            counts(stepped)
            run.step(stepped)

        optimizer.attach_step_hook(step_hook)
        self._runs.append(run)
        return made

    def make_private_with_epsilon(
        self,
        *,
        data_loader: Any,
        target_epsilon: float,
        target_delta: float,
        epochs: int,
        poisson_sampling: bool = True,
        **more: Any,
    ) -> Any:
        """As Opacus', with the noise that is proved to meet the target for how this loader draws batches."""
        if poisson_sampling:
            return super().make_private_with_epsilon(
                data_loader=data_loader, target_epsilon=target_epsilon, target_delta=target_delta, epochs=epochs, **more
            )
        run = _Run(data_loader, poisson_sampling=False)
        event = f"repeat({int(epochs)}, {run.sampler}({run.records}, {run.batch_size}, gaussian(z)))"
        found = surety.calibrate(event, solve="z", epsilon=target_epsilon, delta=target_delta, adjacency=run.adjacency)
        return self.make_private(data_loader=data_loader, poisson_sampling=False, noise_multiplier=found.value, **more)

    @property
    def adjacency(self) -> str:
        """Under which ``get_epsilon`` answers: add-or-remove-one, or zero-out where a loader is not Poisson."""
        return _ADJACENCY if all(run.sampler == "poisson" for run in self._runs) else _ADJACENCY_OF_EPOCHS

    @property
    def event(self) -> surety.Event | None:
        """That costs at most what was released; None where there was no step. Raises ``ValueError`` where a step has no noise, for steps that this
        engine has not seen, and for steps of several batches of a loader that is not Poisson."""
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
        """The upper end that is proved, under ``adjacency``. Infinity where a step had no noise. Raises as ``event``."""
        if any(z == 0 for run in self._runs for z, _, _ in run.steps):
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
        fields = {"adjacency": run.adjacency, "drop_last": run.drop_last}
        if run.sampler == "poisson":
            fields["sampling_rate"] = 1 / run.batches
        return _log_of([z for z, _, _ in run.steps], len(run), run.records, run.batch_size, run.sampler, {**fields, **more})


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

    Returns the optimizer. Raises ``ValueError`` for a negative margin, and for an optimizer whose own noise is something else: of several
    machines, of ghost clipping, of AdaClip; in a step for ``max_grad_norm`` beyond 2^-200 to 2^200 or one that changes inside a batch, and for
    batches of more than 2^21 records. Parameters are of any type that float64 holds: float16, bfloat16, float32, float64.
    """
    if not 0 <= margin < math.inf:
        raise ValueError(f"margin is {margin}, must be finite and at least 0")
    if type(optimizer).__name__ not in _OPTIMIZERS:
        raise ValueError(f"the optimizer is a {type(optimizer).__name__}, must be one of {', '.join(_OPTIMIZERS)}")
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

    optimizer.clip_and_accumulate = MethodType(clip_and_accumulate, optimizer)
    optimizer.add_noise = MethodType(add_noise, optimizer)
    return optimizer
