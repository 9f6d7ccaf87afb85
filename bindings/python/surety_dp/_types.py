"""The words that arguments take, for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

#: Called with a phase, "calibrating", "reading" or "releasing", and how many of how many are done: 0 of 0 as the phase begins.
ReportsProgress: TypeAlias = Callable[[str, int, int], object]
Progress: TypeAlias = bool | ReportsProgress

#: Which data sets are neighbours.
Adjacency: TypeAlias = Literal["add-or-remove-one", "replace-one", "zero-out"]

Algorithm: TypeAlias = Literal[
    "auto",
    "shaped-descent",
    "gradient-descent",
    "accelerated-gradient-descent",
    "mirror-descent",
    "dp-sgd",
    "svrg",
    "svrg++",
    "output-perturbation",
    "objective-perturbation",
    "online-frank-wolfe",
    "polyhedral-frank-wolfe",
    "online-to-batch",
    "private-ftrl",
    "one-pass-sgd",
    "noisy-sgd",
    "snowball-sgd",
    "noisy-frank-wolfe",
    "gossip",
    "sufficient-statistics",
    "constant",
]
ClassesBy: TypeAlias = Literal["one-against-the-rest", "softmax"]
ClipBy: TypeAlias = Literal["unit", "row"]
EmptyUnit: TypeAlias = Literal["one", "each"]
Factorization: TypeAlias = Literal["tree", "streaming-tree", "toeplitz", "buffered"]
FileFormat: TypeAlias = Literal["csv", "libsvm", "records"]
Filter: TypeAlias = Literal["renyi", "gaussian", "zcdp", "basic"]
Geometry: TypeAlias = Literal["l2", "l1", "simplex"]
Iterate: TypeAlias = Literal["last", "average", "random"]
Learner: TypeAlias = Literal["subgradient", "dual-averaging", "optimistic", "strongly-convex", "coin-betting"]
Loss: TypeAlias = Literal["logistic", "squared", "smoothed-hinge", "hinge"]
Norm: TypeAlias = Literal["l1", "l2", "linf"]
Publish: TypeAlias = Literal["all", "last"]
ReleaseNoise: TypeAlias = Literal["best", "laplace", "gaussian"]
Ranges: TypeAlias = Literal["auto", "asinh", "private"]
RidgeRule: TypeAlias = Literal["fixed", "least-eigenvalue"]
Rows: TypeAlias = Literal["unit", "scaled"]
Sampling: TypeAlias = Literal["poisson", "allocated", "truncated", "fixed"]
Schedule: TypeAlias = Literal["constant", "inverse-root", "inverse"]
Score: TypeAlias = Literal["brier", "log-loss", "error-rate", "squared-error", "none"]
Shrink: TypeAlias = Literal["none", "stein"]
Start: TypeAlias = Literal["zero", "share"]
Terms: TypeAlias = Literal["linear", "additive", "auto"]
Topology: TypeAlias = Literal["complete", "ring", "torus", "hypercube", "matchings", "graph"]
TrainingNoise: TypeAlias = Literal["calibrated", "paper", "gumbel", "laplace", "k-norm", "gaussian"]
TuneBy: TypeAlias = Literal["cheapest", "random", "split"]
