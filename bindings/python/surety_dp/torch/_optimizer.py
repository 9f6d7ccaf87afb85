"""The optimizer. Proofs: docs/proofs/mechanisms.md#private-optimizer, docs/proofs/ledger.md#checkpoint."""

from __future__ import annotations

import copy
import math
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from surety_dp import _arguments
from surety_dp._accounting import calibrate
from surety_dp._errors import BadData, ErrorCode, NotSupported
from surety_dp._events import Event
from surety_dp._foreign import name_of
from surety_dp._ledger import Ledger, Reservation
from surety_dp._noise import GaussianNoise, SecureBits
from surety_dp._types import Adjacency
from surety_dp.torch import _checkpoint
from surety_dp.torch._clipping import IntegerSum

torch: Any = _arguments.package("torch", "surety_dp.torch")

# The grid of the noise, in units of the sum. Integers are points of it; it is fine, so that what is charged for rounding is little.
_NOISE_STEP = 2.0**-10
# Exact float64 for the sum of all records.
_MOST_RECORDS = 2**31
_NUMBER = "the number of records"
# Coins that are drawn at a time.
_COINS = 2**20

_CLIPPINGS = {
    "ghost": "it sums in floating point, where no sensitivity is proved",
    "adaptive": "it publishes a count with noise, which is not in the event",
    "per_layer": "the noise is scaled to one norm",
}


def _refuse(what: str, why: str) -> NoReturn:
    raise NotSupported(f"{what} is not supported: {why}", ErrorCode.UNSUPPORTED)


class PrivateOptimizer:
    """Steps of an optimizer of PyTorch on noisy gradients, with one charge for all of them before the first.

    ``step`` draws a Poisson batch from secret bits, computes the gradient of each record, clips and rounds it to integers (``IntegerSum``), adds exact Gaussian noise to the
    integer sum, divides by ``batch_size``, and lets ``optimizer`` take its step. The event is ``repeat(steps, poisson(batch_size / public_records, gaussian(z)))``.

    Parameters
    ----------
    model : torch.nn.Module
        On the CPU. A ``DistributedDataParallel`` takes part of each batch in each process; the process of rank 0 draws batches and noise, and charges.
    optimizer : torch.optim.Optimizer
        Of exactly the parameters that require a gradient. It sees noisy gradients only.
    records : sequence of tensors, or dataset
        Tensors with one row for each record, such as ``(features, labels)``; or a dataset with ``len`` whose items are tuples of tensors or numbers. Record i must not depend on
        other records.
    loss : callable, optional
        ``loss(output, *rest)`` of one record: the model's output for the record's first field, then its other fields, each with a first dimension of 1. Returns one number.
    gradients : callable, optional
        In place of ``loss``: ``gradients(model, *fields)`` returns the gradient of each record, a mapping of the names of parameters to tensors with a row for each record.
    steps : int
        The number of steps of the whole run, at least 1.
    batch_size : float
        The expected size of a batch: the sum is divided by it, for the real size is private.
    public_records : int, optional
        A number near the number of records that depends on no record. Required under add-or-remove-one. Default under zero-out: the number of records.
    max_grad_norm : float
        The largest l2 norm of a record's gradient, from 2^-30 to 2^30: longer ones are scaled down. A gradient with NaN or infinity counts as zero.
    noise_multiplier : float, optional
        The standard deviation of the noise divided by ``max_grad_norm``. Or ``epsilon`` and ``delta``.
    epsilon, delta : float, optional
        The guarantee of the whole run, for which the least noise is calibrated.
    adjacency : str
        Which data sets are neighbours: "add-or-remove-one" or "zero-out".
    ledger : Ledger
        Where the run is charged. None in processes of other ranks than 0.
    checkpoint : path, optional
        A file that is replaced in each step. A killed run goes on from it, at no further charge. Needs a ledger in a file.
    resume : bool
        Whether ``checkpoint`` is there and the run goes on from it, with the same arguments. The parameters and the state of ``optimizer`` are set from it.
    together : int
        How many records are given to PyTorch in one call. Default 1: no record can change the gradient of another.
    margin : float, optional
        Required with ``together`` above 1 and with ``gradients``. You vouch for it: the integer gradients of all other records together change by at most this share of
        ``max_grad_norm`` in l2 norm, where one record comes or goes. Kernels whose order depends on the place of a record in its batch may change last digits.
    clipping : str
        "flat". Ghost clipping, adaptive clipping and clipping per layer are refused.
    note : str
        A note for people, in the ledger.

    Raises
    ------
    InvalidArgument
        An argument breaks its constraint, or the checkpoint belongs to a run that goes on elsewhere. Nothing is charged.
    NotSupported
        A module of the model, an adjacency or a way of clipping has no proof here. Nothing is charged.
    BudgetExceeded
        The budget of the ledger does not allow the run. Nothing is charged.
    BadData
        The checkpoint is damaged.

    Notes
    -----
    Assumed, because no check sees it: a record's gradient is a function of the parameters and of this record; nothing that depends on the records is published except what the
    optimizer makes of noisy gradients; a checkpoint is never replaced by an older copy of it.

    Examples
    --------
    See ``surety_dp.torch``.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        records: Any,
        *,
        loss: Callable[..., Any] | None = None,
        gradients: Callable[..., Mapping[str, Any]] | None = None,
        steps: SupportsIndex,
        batch_size: SupportsFloat,
        public_records: SupportsIndex | None = None,
        max_grad_norm: SupportsFloat,
        noise_multiplier: SupportsFloat | None = None,
        epsilon: SupportsFloat | None = None,
        delta: SupportsFloat | None = None,
        adjacency: Adjacency,
        ledger: Ledger | None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
        together: SupportsIndex = 1,
        margin: SupportsFloat | None = None,
        clipping: str = "flat",
        note: str = "",
    ) -> None:
        self._steps_done = 0
        self._is_over = self._is_broken = False
        self._stepping = threading.Lock()
        self._process = os.getpid()
        self._reservation: Reservation | None = None
        self._session: Reservation | None = None
        self._run = -1
        self._mark = secrets.token_hex(8)

        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self._ranks = 1
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model, self._group = model.module, model.process_group
            self._ranks = torch.distributed.get_world_size(self._group)
            self._rank = torch.distributed.get_rank(self._group)
        elif distributed and torch.distributed.get_world_size() > 1:
            raise _arguments.invalid("torch.distributed has several processes, model must be a DistributedDataParallel")
        else:
            self._rank = 0

        self._model = model
        self._parameters = _trainable(model, optimizer)
        self._optimizer = optimizer
        self._fields = _Fields(records)
        self._loss, self._gradients = loss, gradients
        if (loss is None) == (gradients is None):
            raise TypeError("one of loss and gradients must be given")
        _require_no_mixing(model)
        if clipping != "flat":
            _refuse(f"clipping {clipping!r}", _CLIPPINGS.get(_arguments.text("clipping", clipping), "only 'flat' is known"))
        self._set_plan(adjacency, steps, batch_size, public_records, max_grad_norm, (noise_multiplier, epsilon, delta))
        self._together = _arguments.whole("together", together)
        if self._together < 1:
            raise _arguments.invalid("together is 0, must be at least 1")
        if margin is None and (self._together > 1 or gradients is not None):
            raise TypeError("margin is missing, must be given with gradients, and with together above 1")
        self._margin = 0.0 if margin is None else _arguments.number("margin", margin)
        if not 0 <= self._margin <= 2.0**20:
            raise _arguments.invalid(f"margin is {self._margin!r}, must be from 0 to 2^20")
        self._noise = GaussianNoise(
            self._noise_multiplier,
            sensitivity=math.nextafter(IntegerSum.NORM * (1 + self._margin), math.inf) if self._margin else IntegerSum.NORM,
            dimension=sum(p.numel() for p in self._parameters.values()),
            step=_NOISE_STEP,
            adjacency=self._step_event.adjacency,
        )
        self._path = None if checkpoint is None else Path(_arguments.path("checkpoint", checkpoint)).absolute()
        note = _arguments.text("note", note)
        if _arguments.flag("resume", resume) and self._path is None and self._rank == 0:
            raise TypeError("resume is True without a checkpoint, must be given with it")
        self._begin(ledger, resume, note)

    def _set_plan(
        self,
        adjacency: Adjacency,
        steps: SupportsIndex,
        batch_size: SupportsFloat,
        public_records: SupportsIndex | None,
        max_grad_norm: SupportsFloat,
        noise: tuple[SupportsFloat | None, SupportsFloat | None, SupportsFloat | None],
    ) -> None:
        relation: Any = _arguments.text("adjacency", adjacency)
        if relation not in ("add-or-remove-one", "zero-out"):
            _refuse(f"adjacency {relation!r}", "a replaced record moves the sum by twice max_grad_norm; use 'add-or-remove-one' or 'zero-out'")
        count = _arguments.whole("steps", steps)
        if count < 1:
            raise _arguments.invalid("steps is 0, must be at least 1")
        if public_records is None:
            if relation == "add-or-remove-one":
                raise TypeError("public_records is missing: under add-or-remove-one the number of records is private, must be a public number near it")
            public_records = len(self._fields)
        public = _arguments.whole("public_records", public_records)
        self._batch_size = _arguments.number("batch_size", batch_size)
        if not 1 <= public <= _MOST_RECORDS or not 0 < self._batch_size <= public:
            raise _arguments.invalid(
                f"batch_size is {self._batch_size!r} and public_records {public}, must be above 0 and at most public_records, which is from 1 to 2^31"
            )
        rate = self._batch_size / public
        # Of 2^64 equally likely words, those below this number show a head: a probability of at most the rate, by less than 2^-64.
        self._heads = math.floor(Fraction(rate) * 2**64)
        if self._heads < 1:
            raise _arguments.invalid(f"batch_size / public_records is {rate!r}, must be at least 2^-64")
        self._clip = _arguments.number("max_grad_norm", max_grad_norm)
        IntegerSum([], clip=self._clip)  # refuses a norm outside of the range
        multiplier, epsilon, delta = noise
        self._promise: tuple[float, float] | None = None
        if multiplier is None:
            if epsilon is None or delta is None:
                raise TypeError("noise_multiplier is missing, must be given, or epsilon and delta")
            self._promise = _arguments.number("epsilon", epsilon), _arguments.number("delta", delta)
            self._noise_multiplier = calibrate(
                f"repeat({count}, poisson({rate!r}, gaussian(z)))", solve="z", epsilon=self._promise[0], delta=self._promise[1], adjacency=relation
            ).value
        else:
            if epsilon is not None or delta is not None:
                raise TypeError("noise_multiplier is given with epsilon or delta, must be given without them")
            self._noise_multiplier = _arguments.number("noise_multiplier", multiplier)
        self._steps = count
        self._step_event = Event("poisson(q, gaussian(z))", relation, {"q": rate, "z": self._noise_multiplier})
        self._event = count * self._step_event

    # ---- the run

    def _begin(self, ledger: Ledger | None, resume: bool, note: str) -> None:
        """Charges the run, or takes it over from a process that has ended. All ranks then have the same parameters and the same state of the optimizer."""
        outcome: list[Any] = [None]
        if self._ranks > 1:
            self._require_same_plan(has_ledger=ledger is not None)
        if self._rank == 0:
            try:
                outcome = [self._resumed(ledger) if resume else self._started(ledger, note)]
            except BaseException as error:
                if self._ranks > 1:
                    torch.distributed.broadcast_object_list([error], src=self._root(), group=self._group)
                raise
        if self._ranks > 1:
            torch.distributed.broadcast_object_list(outcome, src=self._root(), group=self._group)
            if self._rank != 0:
                if isinstance(outcome[0], BaseException):
                    raise outcome[0]
                self._restore(outcome[0])

    def _root(self) -> int:
        return int(torch.distributed.get_global_rank(self._group, 0)) if self._group is not torch.distributed.group.WORLD else 0

    def _require_same_plan(self, *, has_ledger: bool) -> None:
        """Every process raises the same error before the charge, or none does: a process that waits for another one would wait for long."""
        own = {**self._plan(), _NUMBER: len(self._fields)}
        plans: list[Any] = [None] * self._ranks
        torch.distributed.all_gather_object(plans, (own, has_ledger), group=self._group)
        for rank, (plan, has_one) in enumerate(plans):
            if has_one != (rank == 0):
                raise _arguments.invalid(f"ledger is {'given' if has_one else 'None'} in the process of rank {rank}, must be given in that of rank 0 alone")
            for name, value in own.items():
                if plan[name] != value and name == _NUMBER:  # private under add-or-remove-one
                    raise _arguments.invalid(f"{name} in the process of rank {rank} is not that of this process, must be the same in all")
                if plan[name] != value:
                    raise _arguments.invalid(f"{name} is {plan[name]!r} in the process of rank {rank} and {value!r} here, must be the same in all")

    def _plan(self) -> dict[str, Any]:
        """What the processes of a run have in common, all of it public. The number of records is not."""
        return {
            "event": str(self._event),
            "adjacency": str(self._event.adjacency),
            "batch_size": self._batch_size,
            "max_grad_norm": self._clip,
            "margin": self._margin,
            "parameters": [[name, list(p.shape), str(p.dtype)] for name, p in self._parameters.items()],
        }

    def _started(self, ledger: Ledger | None, note: str) -> dict[str, Any]:
        ledger = self._ledger_for(ledger)
        if self._path is not None and os.path.lexists(self._path):
            raise _arguments.invalid(f"there is something at {str(self._path)!r}, checkpoint must be a new file, or resume must be True")
        self._reservation = ledger.reserve(self._event, note=f"{note} {_checkpoint.mark_of(self._mark)}".strip(), promise=self._promise)
        self._run = self._reservation.run
        if self._path is not None:
            try:
                self._session = _checkpoint.begin_session(ledger, self._mark, self._run)
                self._write(None)
                self._require_readable(self._path)
            except BaseException:
                # Nothing has been released.
                for held in (self._reservation, self._session):
                    if held is not None:
                        held.settle()
                self.close()
                raise
        return self._state(None)

    @staticmethod
    def _require_readable(path: Path) -> None:
        """A checkpoint that cannot be read again is seen before the first step."""
        try:
            _checkpoint.read(path)
        except BadData as error:
            raise _arguments.invalid(
                "the state of optimizer has values that a checkpoint cannot hold, must have tensors, numbers and texts only (torch.load with weights_only)"
            ) from error

    def _resumed(self, ledger: Ledger | None) -> dict[str, Any]:
        ledger = self._ledger_for(ledger)
        assert self._path is not None
        state = _checkpoint.read(self._path)
        plan = self._plan()
        for name, value in state["plan"].items():
            if plan.get(name) != value:
                raise _arguments.invalid(f"{name} is {plan.get(name)!r} and was {value!r} in the process of the checkpoint, must be the same")
        is_settled = _checkpoint.take_over(ledger, state, self._event, self._path)
        self._mark, self._run = state["mark"], state["run"]
        self._restore(state)
        if is_settled:
            if self._steps_done < self._steps:
                raise _arguments.invalid(f"run {self._run} of the ledger is settled, has no step left; begin a new run")
            self._is_over = True
            return state
        self._session = _checkpoint.begin_session(ledger, self._mark, self._run)
        self._write(None)
        if self._steps_done == self._steps:
            self.finish(adaptive=False)
        return state

    def _ledger_for(self, ledger: Ledger | None) -> Ledger:
        if not isinstance(ledger, Ledger):
            raise _arguments.wrong_type("ledger", ledger, "a surety.Ledger")
        if self._path is not None and ledger.path is None:
            raise _arguments.invalid("the ledger is in memory and there is a checkpoint, the ledger must be in a file: a run that goes on must find its charge")
        self._ledger = ledger
        if ledger.unit != "one row":
            _refuse(f"a ledger for {ledger.unit}", "a batch has records, one row each; use a ledger without an owner")
        return ledger

    def _state(self, gradient: list[Any] | None) -> dict[str, Any]:
        return {
            "mark": self._mark,
            "run": self._run,
            "session": -1 if self._session is None else self._session.run,
            "plan": self._plan(),
            "steps": self._steps_done,
            "parameters": [p.detach() for p in self._parameters.values()],
            "optimizer": self._optimizer.state_dict(),
            "gradient": gradient,
        }

    def _write(self, gradient: list[Any] | None) -> None:
        if self._path is not None:
            _checkpoint.write(self._path, self._state(gradient))

    def _restore(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            for parameter, value in zip(self._parameters.values(), state["parameters"], strict=True):
                parameter.copy_(value)
        # Without a copy the optimizer would change the tensors of this state in its steps.
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self._steps_done = int(state["steps"])
        if state["gradient"] is not None:
            self._apply(state["gradient"])

    # ---- a step

    def step(self) -> None:
        """Takes the next step. Its result may be published when this returns.

        Raises
        ------
        InvalidArgument
            All steps are taken, the run is over, or an earlier step failed after it was charged.
        NotSupported
            The model has changed to a mode with no proof, such as dropout.
        SystemFailure
            There are no random bits, or the checkpoint cannot be written. The run goes on from its checkpoint only.
        """
        if not self._stepping.acquire(blocking=False):
            raise _arguments.invalid("another thread takes a step, must be one at a time")
        try:
            self._step()
        finally:
            self._stepping.release()

    def _step(self) -> None:
        self._require_open()
        _require_no_mixing(self._model)
        batch = self._shared_batch()
        total = self._sum(batch[self._rank :: self._ranks])
        if self._ranks > 1:
            torch.distributed.all_reduce(torch.from_numpy(total), group=self._group)
        self._is_broken = True  # until the step is complete
        noisy = self._release(total) if self._rank == 0 else None
        self._apply(self._shared(noisy))
        self._is_broken = False
        if self._steps_done == self._steps:
            self.finish(adaptive=False)

    def _require_open(self) -> None:
        if self._process != os.getpid():
            raise _arguments.invalid("a PrivateOptimizer belongs to the process that made it, must not be used after a fork")
        if self._is_broken:
            raise _arguments.invalid("an earlier step failed after it was charged, the run must be resumed from its checkpoint")
        if self._is_over:
            raise _arguments.invalid(f"the run is over after {self._steps_done} of {self._steps} steps, must be open")

    def _draw(self) -> npt.NDArray[np.int64]:
        """The places of the records of a batch: each by its own coin."""
        records = len(self._fields)
        if self._heads == 2**64:
            return np.arange(records)
        bits, heads = SecureBits(), np.uint64(self._heads)
        parts = [begin + np.flatnonzero(bits.random_raw(min(_COINS, records - begin)) < heads) for begin in range(0, records, _COINS)]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _shared_batch(self) -> npt.NDArray[np.int64]:
        if self._ranks == 1:
            return self._draw()
        size = torch.zeros(1, dtype=torch.int64)
        batch = torch.from_numpy(self._draw()) if self._rank == 0 else None
        if batch is not None:
            size[0] = len(batch)
        torch.distributed.broadcast(size, src=self._root(), group=self._group)
        if batch is None:
            batch = torch.zeros(int(size[0]), dtype=torch.int64)
        torch.distributed.broadcast(batch, src=self._root(), group=self._group)
        drawn: npt.NDArray[np.int64] = batch.numpy()
        return drawn

    def _sum(self, batch: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The integer sum of the clipped gradients of these records."""
        added = IntegerSum([p.numel() for p in self._parameters.values()], clip=self._clip)
        for begin in range(0, len(batch), self._together):
            chosen = batch[begin : begin + self._together]
            found = self._record_gradients(self._fields.rows(chosen, self._together))
            layers = []
            for name, parameter in self._parameters.items():
                gradient = found[name]
                if tuple(gradient.shape) != (self._together, *parameter.shape):
                    raise _arguments.invalid(
                        f"the gradients of {name!r} have the shape {tuple(gradient.shape)}, must have {(self._together, *parameter.shape)}"
                    )
                rows = gradient.detach()[: len(chosen)].reshape(len(chosen), -1)
                layers.append(np.ascontiguousarray(rows.to(torch.float64 if rows.dtype == torch.float64 else torch.float32).numpy()))
            added.add(layers)
        return added.values

    def _record_gradients(self, fields: tuple[Any, ...]) -> Mapping[str, Any]:
        if self._gradients is not None:
            return self._gradients(self._model, *fields)
        parameters = {name: p.detach() for name, p in self._parameters.items()}
        rest = {name: p.detach() for name, p in self._model.named_parameters() if name not in parameters}
        rest.update(self._model.named_buffers())
        model, loss = self._model, self._loss
        assert loss is not None

        def of_record(values: Any, *record: Any) -> Any:
            output = torch.func.functional_call(model, ({**rest, **values}), (record[0].unsqueeze(0),))
            value = loss(output, *(field.unsqueeze(0) for field in record[1:]))
            if value.numel() != 1:
                raise _arguments.invalid(f"loss returns {value.numel()} numbers for one record, must return one")
            return value.reshape(())

        dimensions = (None, *([0] * len(fields)))
        # "error": random numbers of PyTorch come from a seed that is not secret.
        found: Mapping[str, Any] = torch.func.vmap(torch.func.grad(of_record), in_dims=dimensions, randomness="error")(parameters, *fields)
        return found

    def _release(self, total: npt.NDArray[np.int64]) -> list[Any]:
        """The noisy mean of gradients. It is charged before, and on disk before it is returned."""
        if self._reservation is not None:
            self._reservation.spend(self._step_event)
        values = total.astype(np.float64)
        self._noise.add_to(values)
        values *= self._clip / IntegerSum.NORM / self._batch_size
        flat, begin, gradient = torch.from_numpy(values), 0, []
        for parameter in self._parameters.values():
            gradient.append(flat[begin : begin + parameter.numel()].reshape(parameter.shape).to(parameter.dtype))
            begin += parameter.numel()
        self._write(gradient)
        return gradient

    def _shared(self, gradient: list[Any] | None) -> list[Any]:
        if self._ranks == 1:
            assert gradient is not None
            return gradient
        received = [torch.empty_like(p) for p in self._parameters.values()] if gradient is None else [part.contiguous() for part in gradient]
        for part in received:
            torch.distributed.broadcast(part, src=self._root(), group=self._group)
        return received

    def _apply(self, gradient: Sequence[Any]) -> None:
        for parameter, value in zip(self._parameters.values(), gradient, strict=True):
            parameter.grad = value.clone()
        self._optimizer.step()
        self._steps_done += 1

    # ---- the end

    def finish(self, *, adaptive: bool = True) -> None:
        """Ends the run and settles its charge. The last step does so by itself.

        Parameters
        ----------
        adaptive : bool
            Whether the end of the run depends on released values. If so, the run stays charged for all steps, and only a budget gets the other steps back.
        """
        self._require_open()
        _arguments.flag("adaptive", adaptive)
        if self._rank == 0:
            if self._reservation is not None:
                self._reservation.settle(adaptive=adaptive)
                self._reservation._handle.close()
            else:
                self._ledger.settle(self._run, self._steps_done * self._step_event if self._steps_done else None, adaptive=adaptive)
            if self._session is not None:
                _checkpoint.end_session(self._session)
        self._is_over = True

    def close(self) -> None:
        """Gives the run up in this process. It stays charged in full, and goes on from its checkpoint in another one."""
        if not self._is_over and self._process == os.getpid():
            self._is_over = True
            for held in (self._reservation, self._session):
                if held is not None:
                    held._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None and not self._is_over and not self._is_broken:
            self.finish()
        self.close()

    # ---- what is known

    @property
    def event(self) -> Event:
        """What the whole run is charged as."""
        return self._event

    @property
    def noise_multiplier(self) -> float:
        """The standard deviation of the noise divided by ``max_grad_norm`` times 1 + ``margin``."""
        return self._noise_multiplier

    @property
    def run(self) -> int:
        """The number of the run in the ledger; -1 in processes of other ranks than 0."""
        return self._run

    @property
    def steps(self) -> int:
        """The number of steps of the whole run."""
        return self._steps

    @property
    def steps_done(self) -> int:
        """How many steps are taken, those of earlier processes included."""
        return self._steps_done

    def state_dict(self) -> dict[str, Any]:
        """The run's number in the ledger, its plan, the steps that are taken, and copies of the parameters and of the state of ``optimizer``. To save a model, not to resume."""
        kept = ("run", "plan", "steps", "parameters", "optimizer")
        copied: dict[str, Any] = torch.utils._pytree.tree_map(
            lambda leaf: leaf.clone() if torch.is_tensor(leaf) else leaf, {name: value for name, value in self._state(None).items() if name in kept}
        )
        return copied

    def load_state_dict(self, state: Mapping[str, Any]) -> NoReturn:
        """Refused: steps that were taken after a state would be released a second time. ``resume=True`` goes on from ``checkpoint``."""
        raise NotSupported(
            "load_state_dict is not supported: the steps after the state would be released twice; use checkpoint and resume=True", ErrorCode.UNSUPPORTED
        )

    def __repr__(self) -> str:
        return f"<PrivateOptimizer, {self._steps_done} of {self._steps} steps: {self._event}, {self._event.adjacency}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PrivateOptimizer does not pickle: it belongs to its process, and what it holds is charged once")


def _trainable(model: Any, optimizer: Any) -> dict[str, Any]:
    if not isinstance(model, torch.nn.Module):
        raise _arguments.wrong_type("model", model, "a torch.nn.Module")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise _arguments.wrong_type("optimizer", optimizer, "a torch.optim.Optimizer")
    found = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not found:
        raise _arguments.invalid("no parameter of the model requires a gradient, one at least must")
    own, given = set(map(id, found.values())), [id(p) for group in optimizer.param_groups for p in group["params"]]
    if own != set(given) or len(own) != len(given):
        raise _arguments.invalid("the parameters of optimizer are not those of model that require a gradient, must be exactly these")
    for name, parameter in found.items():
        if parameter.device.type != "cpu":
            _refuse(f"a parameter on {parameter.device} ({name})", "sums are proved on the CPU; move the model there")
        if parameter.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            _refuse(f"a parameter of {parameter.dtype} ({name})", "gradients must be of float16, bfloat16, float32 or float64")
    return found


def _require_no_mixing(model: Any) -> None:
    """Refuses modules whose output for a record depends on other records or on random numbers, by name."""
    for name, module in model.named_modules():
        where = f"{name_of(module)} ({name})" if name else name_of(module)
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            # InstanceNorm is of this class in some versions, and mixes nothing without running statistics.
            if not isinstance(module, torch.nn.modules.instancenorm._InstanceNorm) or module.track_running_stats:
                _refuse(where, "it mixes the records of a batch and keeps their statistics; use GroupNorm or LayerNorm")
        elif isinstance(module, torch.nn.modules.instancenorm._InstanceNorm) and module.track_running_stats:
            _refuse(where, "it keeps statistics of the records; set track_running_stats=False")
        elif isinstance(module, torch.nn.modules.dropout._DropoutNd) and module.training and module.p > 0:
            _refuse(where, "its random numbers come from a seed of PyTorch; remove it, set p=0, or call eval()")
        elif module.training and isinstance(getattr(module, "dropout", None), (int, float)) and module.dropout > 0:
            _refuse(where, "it has dropout, whose random numbers come from a seed of PyTorch; set dropout=0, or call eval()")


class _Fields:
    """The records, as a tuple of fields with a row for each."""

    def __init__(self, records: Any) -> None:
        self._tensors: tuple[Any, ...] | None = None
        if torch.is_tensor(records):
            records = (records,)
        elif type(records) is torch.utils.data.TensorDataset:
            records = records.tensors
        if isinstance(records, (tuple, list)) and records and all(map(torch.is_tensor, records)):
            self._tensors = tuple(one.detach().cpu() for one in records)
            self._count = len(self._tensors[0])
            if any(len(one) != self._count for one in self._tensors):
                raise _arguments.invalid("the tensors of records have different numbers of rows, must have the same")
        elif hasattr(records, "__getitem__") and hasattr(records, "__len__") and not isinstance(records, (tuple, list)):
            self._records, self._count = records, len(records)
        else:
            raise _arguments.wrong_type("records", records, "a sequence of tensors, or a dataset with len and items")
        if self._count > _MOST_RECORDS:
            raise _arguments.invalid(f"there are {self._count} records, must be at most 2^31")

    def __len__(self) -> int:
        return self._count

    def rows(self, chosen: npt.NDArray[np.int64], count: int) -> tuple[Any, ...]:
        """The fields of these records, and rows of zeros up to ``count``: PyTorch sees one shape in every call."""
        if self._tensors is not None:
            places = torch.from_numpy(np.ascontiguousarray(chosen))
            fields = [one.index_select(0, places) for one in self._tensors]
        else:
            items = [self._records[int(place)] for place in chosen]
            items = [item if isinstance(item, (tuple, list)) else (item,) for item in items]
            fields = [torch.stack([torch.as_tensor(value) for value in column]) for column in zip(*items, strict=True)]
        missing = count - len(chosen)
        if missing:
            fields = [torch.cat([field, field.new_zeros((missing, *field.shape[1:]))]) for field in fields]
        return tuple(fields)
