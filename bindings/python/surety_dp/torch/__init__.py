"""Private training of PyTorch models: exact batches, integer sums of clipped gradients, exact noise, one charge before the first step.

>>> import torch
>>> import surety_dp as surety
>>> from surety_dp.torch import PrivateOptimizer
>>> _ = torch.manual_seed(1)
>>> features, labels = torch.randn(1000, 4), torch.randint(0, 2, (1000,))
>>> model = torch.nn.Linear(4, 2)
>>> ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
>>> private = PrivateOptimizer(
...     model,
...     torch.optim.SGD(model.parameters(), lr=0.5),
...     (features, labels),
...     loss=torch.nn.functional.cross_entropy,
...     steps=20,
...     batch_size=50,
...     public_records=1000,
...     max_grad_norm=1.0,
...     epsilon=1,
...     delta=1e-5,
...     adjacency="add-or-remove-one",
...     ledger=ledger,
... )
>>> while private.steps_done < private.steps:
...     private.step()
>>> ledger.audit(1e-5)["event"] == str(private.event), ledger.spent(1e-5) <= 1
(True, True)
"""

from surety_dp.torch._clipping import IntegerSum
from surety_dp.torch._optimizer import PrivateOptimizer

__all__ = ["IntegerSum", "PrivateOptimizer"]
