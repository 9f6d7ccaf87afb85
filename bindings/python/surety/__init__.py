"""Surety: what private releases cost, exact noise, and a ledger that never says less than was released.

Every answer is an interval that contains the truth, and is the one of the ``surety`` command to the last bit.

>>> import surety
>>> surety.epsilon("repeat(10000, poisson(0.01, gaussian(1)))", delta=1e-5, adjacency="add-or-remove-one")
<Enclosure [6.187712389, 6.187712391] by contour>
"""

from surety._accounting import Calibration, Curve, Enclosure, Risk, calibrate, curve, delta, epsilon, explain, risk, tradeoff
from surety._check import Finding, check
from surety._errors import BadData, BudgetExceeded, ErrorCode, InvalidArgument, NotSupported, SuretyError
from surety._events import Event
from surety._ledger import Ledger, Reservation
from surety._library import version as __version__
from surety._logs import audit_log, calibrate_log
from surety._model import Model
from surety._noise import (
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
from surety._release import Plan, plan, release
from surety._released import Number, Released
from surety._statistics import Statistic, count, count_distinct, count_units, distinct, histogram, keys, mean, median, quantile, sum, variance
from surety._train import FewUsableRecordsWarning, TrainingPlan, plan_training, train

__all__ = [
    "BadData",
    "BinomialNoise",
    "BudgetExceeded",
    "Calibration",
    "Curve",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Enclosure",
    "ErrorCode",
    "Event",
    "FewUsableRecordsWarning",
    "Finding",
    "GaussianNoise",
    "GeneralizedGaussianNoise",
    "InvalidArgument",
    "KNormNoise",
    "LaplaceNoise",
    "Ledger",
    "Model",
    "Noise",
    "NotSupported",
    "Number",
    "Plan",
    "Released",
    "Reservation",
    "Risk",
    "SecureBits",
    "SkellamNoise",
    "Statistic",
    "SuretyError",
    "TrainingPlan",
    "TruncatedGeometricNoise",
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
    "explain",
    "histogram",
    "keys",
    "mean",
    "median",
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

for _name in __all__:
    # What people see in tracebacks, in help and in pickles is the public name.
    if getattr(globals()[_name], "__module__", "").startswith("surety."):
        globals()[_name].__module__ = "surety"
del _name
