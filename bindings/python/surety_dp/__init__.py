"""Surety: what private releases cost, exact noise, and a ledger that never says less than was released.

Every answer is an interval that contains the truth, and is the one of the ``surety`` command to the last bit.

>>> import surety_dp as surety
>>> surety.epsilon("repeat(10000, poisson(0.01, gaussian(1)))", delta=1e-5, adjacency="add-or-remove-one")
<Enclosure [6.187712389, 6.187712391] by contour>
"""

from surety_dp._accounting import Calibration, Curve, Enclosure, Risk, calibrate, curve, delta, epsilon, explain, risk, tradeoff
from surety_dp._check import Finding, check
from surety_dp._errors import (
    BadData,
    BudgetExceeded,
    DamagedLedger,
    ErrorCode,
    InternalError,
    InvalidArgument,
    MemoryLimit,
    NotSupported,
    Stopped,
    SuretyError,
    SystemFailure,
    Unreachable,
)
from surety_dp._events import Event
from surety_dp._ledger import Ledger, Remaining, Reservation
from surety_dp._library import version as __version__
from surety_dp._logs import audit_log, calibrate_log
from surety_dp._model import Model
from surety_dp._noise import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    GeneralizedGaussianNoise,
    KNormNoise,
    LaplaceNoise,
    Noise,
    SecureBits,
    SkellamNoise,
    TruncatedGeometricNoise,
)
from surety_dp._release import Plan, epsilon_for, plan, release
from surety_dp._released import Number, Released
from surety_dp._signatures import check_keywords
from surety_dp._statistics import Expression, Statistic, count, count_distinct, count_units, distinct, histogram, keys, mean, median, mode, quantile, sum, variance
from surety_dp._train import FewUsableRecordsWarning, TrainingPlan, plan_training, train
from surety_dp._types import Adjacency

__all__ = [
    "Adjacency",
    "BadData",
    "BinomialNoise",
    "BudgetExceeded",
    "Calibration",
    "Curve",
    "DamagedLedger",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Enclosure",
    "ErrorCode",
    "Event",
    "Expression",
    "FewUsableRecordsWarning",
    "Finding",
    "GaussianNoise",
    "GeneralizedGaussianNoise",
    "InternalError",
    "InvalidArgument",
    "KNormNoise",
    "LaplaceNoise",
    "Ledger",
    "MemoryLimit",
    "Model",
    "Noise",
    "NotSupported",
    "Number",
    "Plan",
    "Released",
    "Remaining",
    "Reservation",
    "Risk",
    "SecureBits",
    "SkellamNoise",
    "Statistic",
    "Stopped",
    "SuretyError",
    "SystemFailure",
    "TrainingPlan",
    "TruncatedGeometricNoise",
    "Unreachable",
    "__version__",
    "audit_log",
    "calibrate",
    "calibrate_log",
    "check",
    "count",
    "count_distinct",
    "count_units",
    "curve",
    "delta",
    "distinct",
    "epsilon",
    "epsilon_for",
    "explain",
    "histogram",
    "keys",
    "mean",
    "median",
    "mode",
    "plan",
    "plan_training",
    "quantile",
    "release",
    "risk",
    "sum",
    "tradeoff",
    "train",
    "variance",
]

check_keywords(globals(), __all__)
for _name in __all__:
    # What people see in tracebacks, in help and in pickles is the public name.
    if getattr(globals()[_name], "__module__", "").startswith("surety_dp."):
        globals()[_name].__module__ = "surety_dp"
del _name, check_keywords

from surety_dp import parts as parts  # noqa: E402  (after the classes have their public names)
