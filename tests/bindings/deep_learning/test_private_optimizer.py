"""The optimizer under the real PyTorch. scripts/python torch runs this."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import surety_dp as surety
from surety_dp.torch import IntegerSum, PrivateOptimizer, _checkpoint, _optimizer

torch.set_num_threads(1)
HOSTILE = [math.nan, math.inf, -math.inf, 1e308, 1e30, 5e-324, 1e-40]
NORM = IntegerSum.NORM


def squared_error(output: Any, target: Any) -> Any:
    return ((output.squeeze(-1) - target) ** 2).sum()


def model_of(dtype: Any = torch.float32) -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).to(dtype)


def records_of(count: int = 40, dtype: Any = torch.float32) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(5)
    return torch.randn((count, 3), generator=generator).to(dtype), torch.randn(count, generator=generator).to(dtype)


def private_of(records: Any = None, model: Any = None, **more: Any) -> PrivateOptimizer:
    records = records_of() if records is None else records
    model = model_of() if model is None else model
    adjacency = more.pop("adjacency", "add-or-remove-one")
    settings: dict[str, Any] = {
        "loss": squared_error,
        "steps": 3,
        "batch_size": 10,
        "public_records": 40,
        "max_grad_norm": 1.0,
        "noise_multiplier": 1.0,
        "adjacency": adjacency,
    }
    settings.update(more)
    if "gradients" in more:
        del settings["loss"]
    if "ledger" not in settings:
        settings["ledger"] = surety.Ledger.in_memory(adjacency=adjacency)
    optimizer = settings.pop("optimizer", None) or torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    return PrivateOptimizer(model, optimizer, records, **settings)


def numbers_of(model: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([p.detach().double().numpy().ravel() for p in model.parameters()])


def square(vector: Any) -> int:
    return sum(int(value) ** 2 for value in vector)


# The sum


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("value", HOSTILE)
def test_one_record_moves_the_integer_sum_by_at_most_the_norm(value: float, dtype: Any) -> None:
    features, targets = records_of(30, dtype)
    features[11], targets[11] = torch.tensor(value, dtype=torch.float64).to(dtype), torch.tensor(value, dtype=torch.float64).to(dtype)
    private = private_of((features, targets), model_of(dtype))
    everything = np.arange(30)
    moved = private._sum(everything) - private._sum(np.delete(everything, 11))
    assert square(moved) <= NORM**2
    assert np.array_equal(moved, private._sum(everything[11:12]))
    if not math.isfinite(value):
        assert not moved.any()


def test_gradients_are_those_of_autograd_clipped() -> None:
    features, targets = records_of()
    model = model_of()
    private = private_of((features, targets), model)
    for place in range(40):
        model.zero_grad()
        squared_error(model(features[place : place + 1]), targets[place : place + 1]).backward()
        gradient = np.concatenate([p.grad.double().numpy().ravel() for p in model.parameters()])
        wanted = gradient / max(1.0, float(np.linalg.norm(gradient)))
        assert np.abs(private._sum(np.array([place])) / NORM - wanted).max() < 4e-6


def test_several_records_in_one_call_are_within_the_margin() -> None:
    """What is measured, not proved: the docstring leaves the margin to the caller."""
    records = records_of(150)
    alone, together = private_of(records), private_of(records, together=64, margin=1e-2)
    everything = np.arange(150)
    # All places shift by one, so that kernels may round in another way.
    moved = [one._sum(everything) - one._sum(everything[1:]) - one._sum(everything[:1]) for one in (alone, together)]
    assert not moved[0].any()
    assert math.sqrt(square(moved[1])) <= 1e-2 * NORM
    print(f"moved by {math.sqrt(square(moved[1])) / NORM:.2g} of the clip")
    assert np.abs(alone._sum(everything) - together._sum(everything)).max() < 1e-4 * NORM


def test_gradients_of_opacus() -> None:
    from opacus import GradSampleModule

    records = records_of()
    model = model_of()

    def gradients(given: Any, features: Any, targets: Any) -> dict[str, Any]:
        wrapped = GradSampleModule(copy.deepcopy(given), loss_reduction="sum")
        squared_error(wrapped(features), targets).backward()
        return {name.removeprefix("_module."): p.grad_sample for name, p in wrapped.named_parameters()}

    theirs = private_of(records, model, gradients=gradients, together=7, margin=1e-3)
    difference = theirs._sum(np.arange(40)) - private_of(records, model)._sum(np.arange(40))
    assert np.abs(difference).max() < 1e-5 * NORM
    with pytest.raises(ValueError, match="the gradients of '0.weight' have the shape"):
        private_of(records, model, gradients=lambda given, *fields: {n: p for n, p in given.named_parameters()}, margin=0)._sum(np.arange(2))


# Batches


class Words:
    """Words in place of secret bits."""

    words = np.array([], np.uint64)

    def random_raw(self, count: int) -> Any:
        return self.words[:count]


def test_a_coin_shows_a_head_for_words_below_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_optimizer, "SecureBits", Words)
    private = private_of(records_of(5), batch_size=12, public_records=40)  # 0.3 is not a double
    heads = private._heads
    assert heads <= 0.3 * 2**64 < heads + 2**12 and float(str(private.event).split("poisson(")[1].split(",")[0]) * 2**64 >= heads
    Words.words = np.array([heads, heads - 1, 0, 2**64 - 1, heads + 1], np.uint64)
    assert private._draw().tolist() == [1, 2]
    assert private_of(records_of(5), batch_size=40)._draw().tolist() == [0, 1, 2, 3, 4]


def test_batches_are_those_of_independent_coins() -> None:
    private = private_of(records_of(1000), batch_size=250, public_records=1000)
    drawn = np.zeros((400, 1000), bool)
    for row in drawn:
        row[private._draw()] = True
    # Exact tails of a million coins, of each record, and of pairs of neighbours.
    assert 1e-9 < stats.binomtest(int(drawn.sum()), drawn.size, 0.25).pvalue
    assert min(stats.binomtest(int(count), 400, 0.25).pvalue for count in drawn.sum(0)) > 1e-9
    both = int((drawn[:, 1::2] & drawn[:, ::2]).sum())
    assert 1e-9 < stats.binomtest(both, 400 * 500, 0.0625).pvalue


def test_batches_across_pieces_of_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_optimizer, "_COINS", 7)
    private = private_of(records_of(40), batch_size=39, public_records=40)
    drawn = [private._draw() for _ in range(200)]
    assert all((np.diff(batch) > 0).all() for batch in drawn) and set(np.concatenate(drawn).tolist()) == set(range(40))


def test_empty_batches_release_noise() -> None:
    private = private_of(records_of(1), batch_size=1e-3, public_records=10**6)
    before = numbers_of(private._model)
    private.step()
    assert (numbers_of(private._model) != before).all()


# Noise and charge


def noise_of(private: PrivateOptimizer, seen: list[float]) -> np.ndarray[Any, Any]:
    """What a step adds to the mean, over the largest move of one record."""
    theirs = private._apply

    def apply(gradient: Any) -> None:
        seen.extend((np.concatenate([part.double().numpy().ravel() for part in gradient]) * private._batch_size / private._clip).tolist())
        theirs(gradient)

    private._apply = apply  # type: ignore[method-assign]
    while private.steps_done < private.steps:
        private.step()
    return np.array(seen)


def require_law_of_noise(private: PrivateOptimizer, wanted: float) -> None:
    """The values of a model with no gradient have the normal law of this deviation."""
    found = noise_of(private, [])
    assert len(found) > 4000
    chi = float((found**2).sum()) / wanted**2
    assert 1e-9 < stats.chi2.cdf(chi, len(found)) < 1 - 1e-9, chi / len(found)
    assert stats.kstest(found / wanted, "norm").pvalue > 1e-9


@pytest.mark.parametrize(("multiplier", "clip", "margin"), [(1.0, 1.0, None), (0.6, 3e-4, None), (4.0, 100.0, 0.5)])
def test_noise_is_that_of_the_event(multiplier: float, clip: float, margin: float | None) -> None:
    def without_gradient(**more: Any) -> PrivateOptimizer:
        model = model_of()
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        return private_of((torch.zeros(40, 3), torch.zeros(40)), model, optimizer=optimizer, batch_size=1, public_records=4, steps=200, **more)

    private = without_gradient(noise_multiplier=multiplier, max_grad_norm=clip, margin=margin)
    private._fields._count = 2  # fewer gradients to compute
    assert str(private.event) == f"repeat(200, poisson(0.25, gaussian({multiplier:g})))"
    require_law_of_noise(private, multiplier * (1 + (margin or 0)))
    # A tenth less noise is seen.
    private = without_gradient(noise_multiplier=0.9 * multiplier)
    private._fields._count = 2
    with pytest.raises(AssertionError):
        require_law_of_noise(private, multiplier)


def test_the_run_is_charged_before_noise_is_drawn() -> None:
    ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one", epsilon=100, delta=1e-5)
    private = private_of(ledger=ledger, note="a model")
    event = "repeat(3, poisson(0.25, gaussian(1)))"
    states = []

    class Noise:
        def add_to(self, values: Any) -> None:
            states.append(ledger.audit(1e-5)["runs"][0])

    theirs, private._noise = private._noise, Noise()  # type: ignore[assignment]
    for _ in range(3):
        private.step()
    private._noise = theirs
    assert len(states) == 3 and all(one["charged"] == event and one["state"] == "reserved" for one in states)
    assert states[0]["note"].startswith("a model [surety_dp.torch ")
    report = ledger.audit(1e-5)
    assert report["event"] == event == str(private.event) and report["runs"][0]["state"] == "settled" and len(report["runs"]) == 1
    with pytest.raises(ValueError, match="the run is over after 3 of 3 steps"):
        private.step()


def test_a_target_is_calibrated_and_promised() -> None:
    ledger = surety.Ledger.in_memory(adjacency="zero-out")
    private = private_of(ledger=ledger, adjacency="zero-out", public_records=None, noise_multiplier=None, epsilon=1, delta=1e-5, steps=50)
    wanted = surety.calibrate("repeat(50, poisson(0.25, gaussian(z)))", solve="z", epsilon=1, delta=1e-5, adjacency="zero-out").value
    assert private.noise_multiplier == wanted
    run = ledger.audit(1e-5)["runs"][0]
    assert run["kept"] and run["promise"] == {"epsilon": 1, "delta": 1e-5} and ledger.spent(1e-5) <= 1


def test_a_budget_that_is_too_small_releases_nothing() -> None:
    ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one", epsilon=0.1, delta=1e-5)
    model = model_of()
    before = numbers_of(model)
    with pytest.raises(surety.BudgetExceeded):
        private_of(model=model, ledger=ledger)
    assert ledger.audit(1e-5)["event"] == "nothing" and (numbers_of(model) == before).all()


def test_a_run_that_ends_early() -> None:
    charged = {}
    for adaptive in (True, False):
        ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
        private = private_of(ledger=ledger)
        private.step()
        private.finish(adaptive=adaptive)
        charged[adaptive] = ledger.audit(1e-5)["event"]
        with pytest.raises(ValueError, match="the run is over after 1 of 3 steps"):
            private.step()
    assert charged == {True: "repeat(3, poisson(0.25, gaussian(1)))", False: "poisson(0.25, gaussian(1))"}


def test_a_step_that_failed_after_its_charge_is_not_taken_again() -> None:
    private = private_of()

    class Noise:
        def add_to(self, values: Any) -> None:
            raise surety.SystemFailure("no bits", 6)

    private._noise = Noise()  # type: ignore[assignment]
    with pytest.raises(surety.SystemFailure):
        private.step()
    with pytest.raises(ValueError, match="failed after it was charged"):
        private.step()
    # Before the charge nothing has happened, and it may be tried again.
    private = private_of()
    theirs, private._sum = private._sum, lambda batch: 1 / 0  # type: ignore[method-assign,assignment]
    with pytest.raises(ZeroDivisionError):
        private.step()
    private._sum = theirs  # type: ignore[method-assign]
    private.step()
    assert private.steps_done == 1


# Refusals


class Scaled(torch.nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.body = torch.nn.Linear(3, 4)
        self.inner = inner
        self.head = torch.nn.Linear(4, 1)

    def forward(self, features: Any) -> Any:
        return self.head(self.inner(self.body(features)))


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        (torch.nn.BatchNorm1d(4), "BatchNorm1d"),
        (torch.nn.SyncBatchNorm(4), "SyncBatchNorm"),
        (torch.nn.LazyBatchNorm1d(), "BatchNorm1d"),
        (torch.nn.InstanceNorm1d(4, track_running_stats=True), "InstanceNorm1d"),
        (torch.nn.Dropout(0.5), "Dropout"),
        (torch.nn.AlphaDropout(0.1), "AlphaDropout"),
        (torch.nn.LSTM(4, 4, num_layers=2, dropout=0.1), "LSTM"),
        (torch.nn.MultiheadAttention(4, 2, dropout=0.1), "MultiheadAttention"),
    ],
)
def test_modules_that_mix_records_are_refused_by_name(inner: Any, named: str) -> None:
    model = Scaled(inner)
    if "Lazy" in type(inner).__name__:
        model(torch.zeros(2, 3))
    ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
    with pytest.raises(surety.NotSupported, match=f"{named} \\(inner\\) is not supported"):
        private_of(model=model, ledger=ledger)
    assert ledger.audit(1e-5)["event"] == "nothing"


def test_modules_that_mix_nothing_are_accepted() -> None:
    for inner in (torch.nn.Dropout(0.0), torch.nn.LayerNorm(4), torch.nn.GroupNorm(2, 4), torch.nn.Dropout(0.5).eval()):
        private_of(model=Scaled(inner)).step()
    # A mode that changes later is seen in the step.
    model = Scaled(torch.nn.Dropout(0.5).eval())
    private = private_of(model=model)
    model.train()
    with pytest.raises(surety.NotSupported, match="Dropout"):
        private.step()


def test_random_numbers_of_a_model_are_refused() -> None:
    class Noisy(torch.nn.Module):
        def forward(self, values: Any) -> Any:
            return values + torch.rand_like(values)

    private = private_of(model=Scaled(Noisy()), batch_size=40)
    with pytest.raises(RuntimeError, match="random"):
        private.step()


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"adjacency": "replace-one"}, surety.NotSupported, "replaced record moves the sum by twice"),
        ({"clipping": "ghost"}, surety.NotSupported, "clipping 'ghost' is not supported"),
        ({"clipping": "adaptive"}, surety.NotSupported, "publishes a count"),
        ({"clipping": "per_layer"}, surety.NotSupported, "per_layer"),
        ({"public_records": None}, TypeError, "public_records is missing"),
        ({"noise_multiplier": None}, TypeError, "noise_multiplier is missing"),
        ({"epsilon": 1.0, "delta": 1e-5}, TypeError, "without them"),
        ({"noise_multiplier": 0.0}, ValueError, "multiplier"),
        ({"noise_multiplier": math.nan}, ValueError, "noise_multiplier"),
        ({"max_grad_norm": 0.0}, ValueError, "clip is 0"),
        ({"max_grad_norm": math.inf}, ValueError, "max_grad_norm"),
        ({"batch_size": 41}, ValueError, "batch_size is 41"),
        ({"batch_size": 0}, ValueError, "batch_size is 0"),
        ({"steps": 0}, ValueError, "steps is 0"),
        ({"together": 4}, TypeError, "margin is missing"),
        ({"together": 0}, ValueError, "together is 0"),
        ({"margin": -0.1}, ValueError, "margin is -0.1"),
        ({"gradients": lambda model, *fields: {}}, TypeError, "margin is missing"),
        ({"loss": None}, TypeError, "one of loss and gradients"),
        ({"ledger": None}, TypeError, "ledger"),
        ({"ledger": "run.db"}, TypeError, "ledger"),
        ({"resume": True}, TypeError, "resume is True without a checkpoint"),
        ({"checkpoint": "run.pt"}, ValueError, "in memory"),
        ({"optimizer": torch.optim.SGD(model_of().parameters(), lr=1.0)}, ValueError, "exactly these"),
        ({"records": [1, 2]}, TypeError, "records"),
        ({"records": (torch.zeros(2, 3), torch.zeros(3))}, ValueError, "different numbers of rows"),
    ],
)
def test_arguments_that_have_no_proof_are_refused_and_charge_nothing(more: dict[str, Any], error: Any, words: str) -> None:
    adjacency = more.get("adjacency", "add-or-remove-one")
    ledger = surety.Ledger.in_memory(adjacency=adjacency)
    with pytest.raises(error, match=words):
        private_of(**{"ledger": ledger, **more})
    assert ledger.audit(1e-5)["event"] == "nothing"


def test_parameters_of_other_devices_and_types_are_refused() -> None:
    for model, words in (
        (torch.nn.Linear(3, 1, device="meta"), "a parameter on meta \\(weight\\)"),
        (torch.nn.Linear(3, 1, dtype=torch.complex64), "a parameter of torch.complex64"),
    ):
        with pytest.raises(surety.NotSupported, match=words):
            private_of(model=model)


def test_ledgers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="adjacency"):
        private_of(ledger=surety.Ledger.in_memory(adjacency="zero-out"))
    with pytest.raises(surety.NotSupported, match="patient"):
        private_of(ledger=surety.Ledger.in_memory(adjacency="add-or-remove-one", owner="patient", most_rows=3))


def test_what_would_release_twice_is_refused() -> None:
    private = private_of()
    private.step()
    state = private.state_dict()
    assert state["steps"] == 1 and state["run"] == private.run == 1 and len(state["parameters"]) == 4
    private.step()
    assert not torch.equal(state["parameters"][0], private.state_dict()["parameters"][0])  # a copy
    with pytest.raises(surety.NotSupported, match="released twice"):
        private.load_state_dict(state)
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(private)
    child = os.fork()
    if child == 0:
        try:
            private.step()
        except ValueError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_frozen_parameters_and_buffers_stay() -> None:
    model = model_of()
    model[0].weight.requires_grad_(False)
    model.register_buffer("kept", torch.ones(2))
    private = private_of(model=model)
    before = model[0].weight.detach().clone()
    private.step()
    assert torch.equal(model[0].weight, before) and not torch.equal(model[0].bias, model_of()[0].bias)


def test_datasets_and_tensors_have_the_same_sum() -> None:
    features, targets = records_of()

    class Records(torch.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 40

        def __getitem__(self, place: int) -> Any:
            return features[place], float(targets[place])

    chosen = np.array([3, 17, 39])
    wanted = private_of()._sum(chosen)
    for records in (Records(), torch.utils.data.TensorDataset(features, targets), [features, targets]):
        assert np.array_equal(private_of(records)._sum(chosen), wanted)


# Killed processes. A child builds the optimizer, takes its steps, and writes what may have been published to a file; it is killed at one moment of many.

STEPS = 3


class Life:
    """One process of a run. Its moments are counted; at one of them it is killed."""

    def __init__(self, folder: Path, killed_at: int) -> None:
        self.folder, self.killed_at, self.moments = folder, killed_at, 0

    def moment(self) -> None:
        self.moments += 1
        if self.moments == self.killed_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, holder: Any, name: str) -> None:
        """Makes a moment before and after a function."""
        theirs = getattr(holder, name)

        def wrapped(*arguments: Any, **keywords: Any) -> Any:
            self.moment()
            found = theirs(*arguments, **keywords)
            self.moment()
            return found

        setattr(holder, name, wrapped)

    def publish(self, private: PrivateOptimizer) -> None:
        with open(self.folder / "published", "a") as file:
            file.write(json.dumps([private.steps_done, numbers_of(private._model).tolist()]) + "\n")

    def live(self, mutate: Callable[[], None] | None) -> None:
        if mutate is not None:
            mutate()
        for holder, name in (
            (surety.Ledger, "reserve"),
            (surety.Ledger, "settle"),
            (surety.Reservation, "spend"),
            (surety.Reservation, "settle"),
            (surety.GaussianNoise, "add_to"),
            (os, "fsync"),
            (os, "replace"),
            (torch.optim.SGD, "step"),
        ):
            self.around(holder, name)
        torch.manual_seed(os.getpid())
        ledger = self.folder / "run.db"
        opened = surety.Ledger(ledger) if ledger.exists() else surety.Ledger.create(ledger, adjacency="add-or-remove-one")
        path = self.folder / "run.pt"
        private = private_of(steps=STEPS, ledger=opened, checkpoint=path, resume=path.exists())
        self.publish(private)
        while private.steps_done < private.steps:
            private.step()
            self.publish(private)
        with open(self.folder / "moments", "w") as file:
            file.write(str(self.moments))


def live(folder: Path, killed_at: int = -1, mutate: Callable[[], None] | None = None) -> str:
    """"done", "killed", or the message of the error that ended the process."""
    child = os.fork()
    if child == 0:
        try:
            Life(folder, killed_at).live(mutate)
            os._exit(0)
        except BaseException as error:
            (folder / "error").write_text(f"{error}\n{traceback.format_exc()}")
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "killed"
    return "done" if os.WEXITSTATUS(status) == 0 else (folder / "error").read_text()


def require_one_release(folder: Path) -> None:
    """Whatever processes published after some number of steps is the same."""
    seen: dict[int, list[float]] = {}
    for line in (folder / "published").read_text().splitlines():
        steps, values = json.loads(line)
        assert seen.setdefault(steps, values) == values, f"two results of {steps} steps were published"
    assert len({tuple(values) for values in seen.values()}) == len(seen)


EVENT = "repeat(3, poisson(0.25, gaussian(1)))"


def moments_of(folder: Path, mutate: Callable[[], None] | None = None) -> int:
    folder.mkdir()
    assert live(folder, mutate=mutate) == "done"
    return int((folder / "moments").read_text())


def killed_and_resumed(tmp_path: Path, mutate: Callable[[], None] | None = None) -> int:
    """Kills a run at each of its moments, and lets it go on to its end. How many began anew, for there was no checkpoint yet."""
    anew = 0
    for killed_at in range(1, moments_of(tmp_path / "whole", mutate) + 1):
        folder = tmp_path / str(killed_at)
        folder.mkdir()
        assert live(folder, killed_at, mutate) == "killed"
        began = (folder / "run.pt").exists()
        assert began or not (folder / "published").exists()
        anew += not began
        assert live(folder, mutate=mutate) == "done"
        require_one_release(folder)
        last = json.loads((folder / "published").read_text().splitlines()[-1])
        assert last[0] == STEPS
        with surety.Ledger(folder / "run.db") as ledger:
            report = ledger.audit(1e-5)
        planned = [run for run in report["runs"] if run["planned"] == EVENT]
        if began:
            assert report["event"] == EVENT and len(planned) == 1, killed_at
        for run in report["runs"]:
            # A process that was killed before its first checkpoint has released nothing, and its run may be settled by hand.
            assert run["state"] == "settled" or not began
    return anew


def test_a_run_that_is_killed_at_any_moment_goes_on_and_is_charged_once(tmp_path: Path) -> None:
    assert 2 <= killed_and_resumed(tmp_path) <= 10


def test_a_run_that_is_killed_again_and_again(tmp_path: Path) -> None:
    """Each process is killed at its k-th moment. Between the ledger and the file a process that takes the run over leaves a run that is charged and cannot go on."""
    most = moments_of(tmp_path / "whole")
    outcomes = set()
    for killed_at in range(6, most + 1, 5):
        folder = tmp_path / str(killed_at)
        folder.mkdir()
        for _ in range(30):
            outcome = live(folder, killed_at)
            if outcome != "killed":
                break
        require_one_release(folder) if (folder / "published").exists() else None
        assert outcome == "killed" or outcome == "done" or "cannot be resumed" in outcome, outcome
        outcomes.add(outcome if outcome in ("killed", "done") else "refused")
        with surety.Ledger(folder / "run.db") as ledger:
            charged = ledger.audit(1e-5)["event"]
        if (folder / "run.pt").exists():
            assert EVENT in charged
    assert "done" in outcomes


def write_later() -> None:
    """A defect: the step leaves the optimizer before it is on disk."""
    theirs_write, theirs_apply = PrivateOptimizer._write, PrivateOptimizer._apply

    def write(self: Any, gradient: Any) -> None:
        if gradient is None:
            theirs_write(self, gradient)

    def apply(self: Any, gradient: Any) -> None:
        theirs_apply(self, gradient)
        if self._run >= 0 and self._session is not None and self.steps_done % 2 == 0:
            theirs_write(self, None)

    PrivateOptimizer._write, PrivateOptimizer._apply = write, apply  # type: ignore[method-assign]


def test_sees_a_step_that_leaves_before_it_is_on_disk(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="two results of"):
        killed_and_resumed(tmp_path, write_later)


def two_processes(folder: Path, take_over: bool) -> list[str]:
    """A run whose process has ended after a step, its checkpoint, a copy of it, and what two processes make of both."""
    folder.mkdir()
    assert live(folder, moments_of(folder.with_name(folder.name + "-whole")) // 2) == "killed"
    copy_of = folder.with_name(folder.name + "-copy")
    copy_of.mkdir()
    shutil.copy(folder / "run.pt", copy_of / "run.pt")
    os.symlink(folder / "run.db", copy_of / "run.db")

    def never() -> None:
        _checkpoint.take_over = lambda *arguments: False  # type: ignore[assignment]

    found = [live(one, mutate=None if take_over else never) for one in (folder, copy_of)]
    with open(folder / "published", "a") as file:
        file.write((copy_of / "published").read_text() if (copy_of / "published").exists() else "")
    return found


def test_a_copy_of_a_checkpoint_is_not_resumed_a_second_time(tmp_path: Path) -> None:
    found = two_processes(tmp_path / "run", take_over=True)
    assert found[0] == "done" and ("has no step left" in found[1] or "cannot be resumed" in found[1])
    require_one_release(tmp_path / "run")
    two_processes(tmp_path / "mutant", take_over=False)
    with pytest.raises(AssertionError, match="two results of"):
        require_one_release(tmp_path / "mutant")


def on_disk(tmp_path: Path, **more: Any) -> dict[str, Any]:
    path = tmp_path / "run.db"
    ledger = surety.Ledger(path) if path.exists() else surety.Ledger.create(path, adjacency="add-or-remove-one")
    return {"ledger": ledger, "checkpoint": tmp_path / "run.pt", **more}


def test_a_checkpoint_is_not_resumed_while_its_process_lives(tmp_path: Path) -> None:
    first = private_of(**on_disk(tmp_path))
    first.step()
    with pytest.raises(ValueError, match="cannot be resumed"):
        private_of(**on_disk(tmp_path, resume=True))
    first.step()
    first.close()
    second = private_of(**on_disk(tmp_path, resume=True))
    assert second.steps_done == 2 and second.run == first.run and (numbers_of(second._model) == numbers_of(first._model)).all()
    # Momentum, too: the state of the optimizer is that of the first one.
    states = [one._optimizer.state_dict()["state"][0]["momentum_buffer"] for one in (first, second)]
    assert torch.equal(*states)
    second.step()
    with pytest.raises(ValueError, match="something at"):
        private_of(**on_disk(tmp_path))
    # A run that is over can be read, and takes no step.
    third = private_of(**on_disk(tmp_path, resume=True))
    assert third.steps_done == 3 and (numbers_of(third._model) == numbers_of(second._model)).all()
    with pytest.raises(ValueError, match="the run is over"):
        third.step()
    with surety.Ledger(tmp_path / "run.db") as ledger:
        assert ledger.audit(1e-5)["event"] == EVENT


def test_a_checkpoint_is_resumed_with_its_own_plan_and_ledger(tmp_path: Path) -> None:
    first = private_of(**on_disk(tmp_path))
    first.step()
    first.close()
    for more, words in (
        ({"noise_multiplier": 2.0}, "event is"),
        ({"steps": 4}, "event is"),
        ({"max_grad_norm": 0.5}, "max_grad_norm is 0.5 and was 1.0"),
        ({"batch_size": 20, "public_records": 80}, "batch_size is 20"),
        ({"margin": 0.5}, "margin is 0.5"),
        ({"model": torch.nn.Linear(3, 1)}, "parameters is"),
    ):
        with pytest.raises(ValueError, match=words):
            private_of(**on_disk(tmp_path, resume=True, **more))
    (tmp_path / "other").mkdir()
    other = on_disk(tmp_path / "other")["ledger"]
    for _ in range(3):
        other.reserve(EVENT)
    with pytest.raises(ValueError, match="is not in the ledger"):
        private_of(**on_disk(tmp_path, resume=True, ledger=other))
    good = (tmp_path / "run.pt").read_bytes()
    for bad in (b"", good[:1000], b"no checkpoint", pickle.dumps({"version": 1})):
        (tmp_path / "run.pt").write_bytes(bad)
        with pytest.raises(surety.BadData):
            private_of(**on_disk(tmp_path, resume=True))
    (tmp_path / "run.pt").write_bytes(good)
    assert private_of(**on_disk(tmp_path, resume=True)).steps_done == 1


def test_a_run_that_cannot_begin_is_charged_nothing(tmp_path: Path) -> None:
    for more, error in (
        ({"checkpoint": tmp_path / "there" / "run.pt"}, surety.SystemFailure),  # no such folder
        ({"optimizer": "with a state that is no tensor"}, surety.InvalidArgument),
    ):
        if "optimizer" in more:
            model = model_of()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            optimizer.param_groups[0]["schedule"] = Path
            more = {"model": model, "optimizer": optimizer}
        with pytest.raises(error):
            private_of(**{**on_disk(tmp_path), **more})
        with surety.Ledger(tmp_path / "run.db") as ledger:
            report = ledger.audit(1e-5)
        assert report["event"] == "nothing" and all(run["state"] == "settled" for run in report["runs"]) and report["runs"]


def test_a_checkpoint_holds_nothing_secret(tmp_path: Path) -> None:
    private = private_of(records_of(37), **on_disk(tmp_path))
    private.step()
    state = _checkpoint.read(tmp_path / "run.pt")
    assert set(state) == _checkpoint._KEYS
    assert set(state["plan"]) == {"event", "adjacency", "batch_size", "max_grad_norm", "margin", "parameters"}
    assert 37 not in [value for value in (*state.values(), *state["plan"].values()) if isinstance(value, (int, float))]


# Several processes


def in_process(rank: int, folder: Path, work: Callable[[int, Path], Any]) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    (folder / f"{rank}.json").write_text(json.dumps(work(rank, folder)))
    torch.distributed.destroy_process_group()


def in_two_processes(folder: Path, work: Callable[[int, Path], Any]) -> list[Any]:
    """What both ranks return."""
    folder.mkdir(exist_ok=True)
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(240)
                in_process(rank, folder, work)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def distributed_of(rank: int, folder: Path, **more: Any) -> PrivateOptimizer:
    torch.manual_seed(rank)
    model = model_of()
    with torch.no_grad():
        model[0].weight += rank  # that of rank 0 holds
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    ledger = None
    if rank == 0:
        path = folder / "run.db"
        ledger = surety.Ledger(path) if path.exists() else surety.Ledger.create(path, adjacency="add-or-remove-one")
    settings = {"ledger": ledger, "steps": 4, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), **more}
    return private_of(model=wrapped, **settings)


def test_two_processes_have_the_integers_of_one(tmp_path: Path) -> None:
    def work(rank: int, folder: Path) -> Any:
        private = distributed_of(rank, folder)
        batches, sums, models = [], [], []
        theirs_batch, theirs_release = private._shared_batch, private._release

        def shared_batch() -> Any:
            batches.append(theirs_batch())
            models.append(numbers_of(private._model).tolist())
            return batches[-1]

        def release(total: Any) -> Any:
            sums.append(total.tolist())
            return theirs_release(total)

        private._shared_batch, private._release = shared_batch, release  # type: ignore[method-assign]
        while private.steps_done < private.steps:
            private.step()
        models.append(numbers_of(private._model).tolist())
        return {"batches": [batch.tolist() for batch in batches], "sums": sums, "models": models}

    first, second = in_two_processes(tmp_path, work)
    assert first["batches"] == second["batches"] and first["models"] == second["models"] and second["sums"] == []
    alone = private_of()
    for batch, total, numbers in zip(first["batches"], first["sums"], first["models"]):
        begin = 0
        with torch.no_grad():
            for p in alone._model.parameters():
                p.copy_(torch.tensor(numbers[begin : begin + p.numel()], dtype=torch.float64).reshape(p.shape))
                begin += p.numel()
        assert alone._sum(np.array(batch, np.int64)).tolist() == total
    assert any(total != [0] * len(total) for total in first["sums"])
    with surety.Ledger(tmp_path / "run.db") as ledger:
        assert ledger.audit(1e-5)["event"] == "repeat(4, poisson(0.25, gaussian(1)))"


def test_two_processes_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    def first(rank: int, folder: Path) -> Any:
        private = distributed_of(rank, folder, checkpoint=folder / "run.pt")
        private.step()
        private.step()
        found = numbers_of(private._model).tolist()
        private.close()
        return found

    def second(rank: int, folder: Path) -> Any:
        private = distributed_of(rank, folder, checkpoint=folder / "run.pt", resume=True)
        found = [private.steps_done, numbers_of(private._model).tolist()]
        while private.steps_done < private.steps:
            private.step()
        return [*found, numbers_of(private._model).tolist()]

    left = in_two_processes(tmp_path, first)
    (tmp_path / "meet").unlink(missing_ok=True)
    right = in_two_processes(tmp_path, second)
    assert left[0] == left[1] and right[0] == right[1] and right[0][:2] == [2, left[0]] and right[0][2] != left[0]
    with surety.Ledger(tmp_path / "run.db") as ledger:
        assert ledger.audit(1e-5)["event"] == "repeat(4, poisson(0.25, gaussian(1)))"


def test_two_processes_refuse_together(tmp_path: Path) -> None:
    def work(rank: int, folder: Path) -> Any:
        messages = []
        for more in ({"max_grad_norm": 1.0 + rank}, {"ledger": surety.Ledger.in_memory(adjacency="add-or-remove-one")}, {"noise_multiplier": 0.2}):
            if "noise_multiplier" in more:
                more = {**more, **({"ledger": surety.Ledger.in_memory(adjacency="add-or-remove-one", epsilon=1, delta=1e-5)} if rank == 0 else {})}
            try:
                distributed_of(rank, folder, **more)
                messages.append("accepted")
            except surety.SuretyError as error:
                messages.append(str(error))
        try:
            private_of()
        except ValueError as error:
            messages.append(str(error))
        return messages

    first, second = in_two_processes(tmp_path, work)
    assert "max_grad_norm is" in first[0] and "max_grad_norm is" in second[0]
    assert first[1] == second[1] and "given in that of rank 0 alone" in first[1]
    assert first[2] == second[2] and "budget" in first[2]
    assert first[3] == second[3] and "DistributedDataParallel" in first[3]


# A model that learns


@pytest.fixture
def digits() -> Iterator[tuple[Any, ...]]:
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(labels))
    features, targets = torch.tensor(pixels[order] / 16, dtype=torch.float32), torch.tensor(labels[order])
    yield features[:1400], targets[:1400], features[1400:], targets[1400:]


def test_learns_digits_at_epsilon_3(digits: Any) -> None:
    features, targets, held_out, truth = digits
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    ledger = surety.Ledger.in_memory(adjacency="add-or-remove-one")
    private = PrivateOptimizer(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5),
        (features, targets),
        loss=torch.nn.functional.cross_entropy,
        steps=100,
        batch_size=256,
        public_records=1400,
        max_grad_norm=1.0,
        epsilon=3,
        delta=1e-5,
        adjacency="add-or-remove-one",
        ledger=ledger,
        together=128,
        margin=1e-2,
    )
    while private.steps_done < private.steps:
        private.step()
    accuracy = float((model(held_out).argmax(1) == truth).double().mean())
    print(f"accuracy {accuracy:.3f} with noise {private.noise_multiplier:.3f}")
    assert accuracy > 0.8 and ledger.spent(1e-5) <= 3
