"""Surety where people already account: one module for each peer, which is imported by that module alone.

``surety_dp.adapters.opacus``, ``surety_dp.adapters.dp_accounting``, ``surety_dp.adapters.prv_accountant``, ``surety_dp.adapters.jax_privacy``.
Each translates what its peer says into a ``surety.Event`` and asks for its cost; what has no event is refused by its name.
"""
