"""Opacus: an accountant that is certified, and noise that is exact. Importing this module registers the accountant:

    import surety.adapters.opacus
    engine = opacus.PrivacyEngine(accountant="surety")
    opacus.accountants.utils.get_noise_multiplier(target_epsilon=3, target_delta=1e-5, sample_rate=0.01, epochs=10, accountant="surety")

As the other accountants of Opacus it takes each step for a Poisson batch (``poisson_sampling=True``, the default) under add-or-remove-one. What a
shuffled loader costs says ``surety audit --log``: ``SuretyAccountant.run_log`` writes the log.
"""

from __future__ import annotations

import json
import math
from types import MethodType
from typing import Any

import numpy as np
from opacus.accountants import IAccountant, register_accountant

import surety

__all__ = ["SuretyAccountant", "use_exact_noise"]

_ADJACENCY = "add-or-remove-one"
# The bound of each layer is one on all layers, too.
_OPTIMIZERS = ("DPOptimizer", "DPPerLayerOptimizer")


class SuretyAccountant(IAccountant):  # type: ignore[misc]
    """The certified cost of the steps that were taken, each of them a Poisson batch of Gaussian noise."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[tuple[float, float, int]] = []

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

    def run_log(self, *, records: int, batch_size: int, sampler: str, **more: Any) -> str:
        """The log of a run with one noise multiplier, for ``surety audit --log``. ``sampler`` is how batches were drawn, "shuffled" for
        ``poisson_sampling=False``; ``more`` are other fields of docs/reference/log.md, as ``epsilon`` and ``delta``.
        """
        if len({noise_multiplier for noise_multiplier, _, _ in self.history}) != 1:
            raise ValueError(f"the run has {len(self.history)} settings, must have one noise multiplier for a log")
        fields = {"noise_multiplier": self.history[0][0], "records": records, "batch_size": batch_size, "steps": len(self), "sampler": sampler}
        return json.dumps({"version": 1, **fields, **more})


register_accountant(SuretyAccountant.mechanism(), SuretyAccountant, force=True)


def use_exact_noise(optimizer: Any, *, margin: float, log2_step: int | None = None) -> Any:
    """Makes a ``DPOptimizer`` add exact noise, to the sum of all clipped gradients as one vector, in place of ``torch.normal``.

    The sum is rounded to a public grid, and noise of the exact law is added on the grid, in float64; what goes back to float32 is computed from
    that. Bits are the operating system's; ``generator`` and ``secure_mode`` have no effect any more.

    ``margin`` is yours to vouch for: by how much, as a share of ``max_grad_norm``, one record may move the sum beyond it, since norms and sums
    are computed in floating point. The noise is scaled to the sensitivity with it, and ``optimizer.noise_multiplier`` is charged as before.
    ``log2_step`` is the grid's; without it one that fits float64. Returns the optimizer. Raises ``ValueError`` for a negative margin, and for an
    optimizer whose own noise is something else: of several machines, of ghost clipping, of AdaClip.
    """
    if not 0 <= margin < math.inf:
        raise ValueError(f"margin is {margin}, must be finite and at least 0")
    if type(optimizer).__name__ not in _OPTIMIZERS:
        raise ValueError(f"the optimizer is a {type(optimizer).__name__}, must be one of {', '.join(_OPTIMIZERS)}")
    step = None if log2_step is None else 2.0**log2_step

    def add_noise(self: Any) -> None:
        import torch  # only an optimizer of torch comes here

        sums = [p.summed_grad for p in self.params]
        for p in self.params:
            if hasattr(p.summed_grad, "_processed"):
                raise ValueError("gradients have not been cleared since the last step: call optimizer.zero_grad()")
        values = np.concatenate([s.detach().cpu().numpy().astype(np.float64).ravel() for s in sums])
        if self.noise_multiplier != 0:
            noise = surety.GaussianNoise(
                self.noise_multiplier,
                sensitivity=self.max_grad_norm * (1 + margin),
                dimension=len(values),
                adjacency=_ADJACENCY,
                step=step,
            )
            noise.add_to(values)
        begin = 0
        for p, s in zip(self.params, sums):
            noisy = torch.from_numpy(values[begin : begin + s.numel()].reshape(tuple(s.shape)).copy())
            begin += s.numel()
            p.grad = noisy.to(device=s.device, dtype=s.dtype).view_as(p)
            s._processed = True

    optimizer.add_noise = MethodType(add_noise, optimizer)
    return optimizer
