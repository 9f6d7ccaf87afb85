"""Processor seconds of clipping, sum and noise of one step at 11 million parameters: surety_dp.torch and Opacus' DPOptimizer, on the same gradients of records.

Run by hand, in the environment of `scripts/python torch`: build/python/torch/bin/python benchmarks/torch_step.py >docs/results/torch.md makes that page."""

import datetime
import os
import statistics
import time
from importlib import metadata

import numpy as np
import opacus
import torch

import surety_dp as surety
from surety_dp.adapters.opacus import use_exact_noise
from surety_dp.torch import PrivateOptimizer

BATCHES = (8, 16, 32, 64)
REPETITIONS = 5
LIMIT = 2.5  # times Opacus, at most


def shapes():
    """Those of ResNet-18 with group normalization, for ten classes."""
    found, inputs = [(64, 3, 7, 7), (64,), (64,)], 64
    for width in (64, 128, 256, 512):
        for block in range(2):
            found += [(width, inputs, 3, 3), (width,), (width,), (width, width, 3, 3), (width,), (width,)]
            if block == 0 and inputs != width:
                found += [(width, inputs, 1, 1), (width,), (width,)]
            inputs = width
    return [*found, (10, 512), (10,)]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.values = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape)) for shape in shapes()])


def processor_seconds(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def opacus_step(samples, exact):
    model = Model()
    parameters = list(model.parameters())
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(parameters, lr=0.0), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=len(samples[0])
    )
    if exact:
        use_exact_noise(optimizer, margin=0)

    def work():
        for parameter, sample in zip(parameters, samples, strict=True):
            parameter.grad_sample, parameter.summed_grad, parameter.grad = sample.detach(), None, None
        optimizer.clip_and_accumulate()
        optimizer.add_noise()
        optimizer.scale_grad()

    return work


def surety_step(samples):
    model = Model()
    count = len(samples[0])
    names = [name for name, _ in model.named_parameters()]
    private = PrivateOptimizer(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        torch.zeros(count, 1),
        gradients=lambda *_: dict(zip(names, samples, strict=True)),
        steps=10**6,
        batch_size=count,
        public_records=count,
        max_grad_norm=1.0,
        noise_multiplier=1.0,
        adjacency="add-or-remove-one",
        ledger=surety.Ledger.in_memory(adjacency="add-or-remove-one"),
        together=count,
        margin=0,
    )
    everything = np.arange(count)
    return lambda: private._release(private._sum(everything))


def measured(count):
    generator = torch.Generator().manual_seed(count)
    samples = [torch.randn((count, *shape), generator=generator) * 1e-3 for shape in shapes()]
    works = {"Surety": surety_step(samples), "Opacus": opacus_step(samples, False), "Opacus with use_exact_noise": opacus_step(samples, True)}
    times = {name: [] for name in works}
    for repetition in range(REPETITIONS + 1):
        for name, work in works.items():
            if name == "Opacus with use_exact_noise" and (repetition > 1 or count > BATCHES[0]):
                continue
            seconds = processor_seconds(work)
            if repetition or name == "Opacus with use_exact_noise":
                times[name].append(seconds)
    return {name: statistics.median(found) if found else None for name, found in times.items()}


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    numbers = sum(int(np.prod(shape)) for shape in shapes())
    print("# A step of private training in PyTorch\n")
    print(
        f"Made by `benchmarks/torch_step.py` on {datetime.date.today()}: {processor()}, {os.cpu_count()} processors, PyTorch {torch.__version__},"
        f" Opacus {metadata.version('opacus')}, NumPy {np.__version__}.\n"
    )
    print(
        f"Clipping, sum and noise of one step with {numbers:,} parameters in {len(shapes())} tensors of float32 (ResNet-18), in processor seconds of all threads. Gradients are given."
        f" Median of {REPETITIONS} repetitions.\n"
    )
    print("| records in the batch | Surety | Opacus | ratio | Opacus with `use_exact_noise` (one repetition) |\n|---|---|---|---|---|")
    worst = 0.0
    for count in BATCHES:
        found = measured(count)
        ratio = found["Surety"] / found["Opacus"]
        worst = max(worst, ratio)
        exact = found["Opacus with use_exact_noise"]
        print(f"| {count} | {found['Surety']:.2f} | {found['Opacus']:.2f} | {ratio:.2f} | {'' if exact is None else f'{exact:.1f}'} |", flush=True)
    print(f"\nThe largest ratio is {worst:.2f}; the limit is {LIMIT}{'' if worst <= LIMIT else ', which is not kept'}.")
    print(f"Opacus adds noise of `torch.normal` to sums in float32; Surety adds exact noise to integer sums ([proof](../proofs/mechanisms.md#gradient-sum)).")


if __name__ == "__main__":
    main()
