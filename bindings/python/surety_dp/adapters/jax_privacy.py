"""JAX Privacy's events: its functions (``jax_privacy.accounting.dpsgd_event`` and the like) make ``DpEvent`` trees of dp_accounting.

    from jax_privacy import accounting
    from surety_dp.adapters.jax_privacy import SuretyAccountant
    SuretyAccountant().compose(accounting.dpsgd_event(1.0, 10000, sampling_prob=0.01)).get_epsilon(1e-5)

What its samplers draw and no ``DpEvent`` says has an event of ours: ``allocated_event`` for balls in bins. This module needs dp_accounting, and
not JAX.
"""

from __future__ import annotations

import surety_dp as surety
from surety_dp._types import Adjacency
from surety_dp.adapters.dp_accounting import SuretyAccountant, Untranslatable, adjacency_of, from_dp_event, to_dp_event

__all__ = ["SuretyAccountant", "Untranslatable", "adjacency_of", "allocated_event", "from_dp_event", "to_dp_event"]


def allocated_event(
    noise_multiplier: float, epochs: int, *, batches: int, participations: int = 1, adjacency: Adjacency = "add-or-remove-one"
) -> surety.Event:
    """Epochs of balls in bins: in each of them every record is in exactly ``participations`` of the ``batches``, by a draw of its own, and an
    empty batch is released, too. ``noise_multiplier`` is over the bound on one record's gradient.
    """
    release = "record_sum" if adjacency == "replace-one" else "gaussian"
    values = {"z": noise_multiplier}
    count = "" if participations == 1 else f"{participations}, "
    epoch = surety.Event(f"allocated({batches}, {count}{release}(z))", adjacency, values)
    return epoch if epochs == 1 else epochs * epoch
