"""Which steps of a pipeline may learn from data by themselves, without a charge. Known steps are listed by the exact class; scikit-learn is not needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from surety_dp._foreign import is_exactly


class Finding(NamedTuple):
    """A step that may learn from data, and charges nothing for it."""

    step: str  #: where it stands: "scale", "columns/encode"; the name of its class, where it is no step of another
    kind: str  #: the name of its class
    reason: str


_OPEN = "may learn from the data that it is fitted to, without a charge: it is not one of the classes that surety.check knows to learn nothing"
_SEARCH = "fits its estimator many times, each with its own charge, and chooses by scores on private data: see surety_dp.sklearn.PrivateSearch"
_METHODS = ("fit", "fit_transform", "fit_predict", "partial_fit", "transform", "predict", "predict_proba", "get_params", "clone", "__sklearn_clone__")

Rule = Callable[[Any], "str | None"]  # of a step's parameters: why they let it learn; None where it learns nothing


def _always(step: Any) -> str | None:
    return None


def _encodes(unknown: str) -> Rule:
    """Of an encoder: listed categories, and a value for a cell that is not listed."""

    def rule(step: Any) -> str | None:
        if step.categories is None or isinstance(step.categories, str):
            return "learns its categories from the data, without a charge: set categories to lists of them"
        for name in ("min_frequency", "max_categories"):
            if getattr(step, name, None) is not None:
                return f"counts how often categories occur, without a charge: leave {name} out"
        if getattr(step, "drop", None) is not None:
            return "warns of a cell that is not listed, which shows that there is one: leave drop out"
        if step.handle_unknown != unknown:
            return f"fails at a cell that is not listed, and shows it: set handle_unknown='{unknown}'"
        return None

    return rule


def _imputes(step: Any) -> str | None:
    if step.strategy != "constant":
        return "computes what it fills in from the data, without a charge: set strategy='constant' and fill_value"
    if step.fill_value is None:
        return "chooses what it fills in by the type of the data: set fill_value"
    if step.add_indicator:
        return "learns which columns have missing cells, without a charge: leave add_indicator out"
    if not step.keep_empty_features:
        return "learns which columns are empty, without a charge: set keep_empty_features=True"
    return None


def _hashes(step: Any) -> str | None:
    for name in ("preprocessor", "tokenizer", "analyzer"):
        if callable(getattr(step, name, None)):
            return f"calls a function for its {name}, which may learn from the data"
    return None


#: Steps of scikit-learn that change each row by itself and learn nothing but the number and the names of the columns.
_ROW_BY_ROW: dict[tuple[str, str], Rule] = {
    ("sklearn.preprocessing", "Binarizer"): _always,
    ("sklearn.preprocessing", "Normalizer"): _always,
    ("sklearn.preprocessing", "PolynomialFeatures"): _always,
    ("sklearn.preprocessing", "OneHotEncoder"): _encodes("ignore"),
    ("sklearn.preprocessing", "OrdinalEncoder"): _encodes("use_encoded_value"),
    ("sklearn.impute", "SimpleImputer"): _imputes,
    ("sklearn.feature_extraction", "FeatureHasher"): _always,
    ("sklearn.feature_extraction.text", "HashingVectorizer"): _hashes,
    ("surety_dp.sklearn", "StandardizeWithin"): _always,
}
_PRIVATE = (("surety_dp.sklearn", "PrivateClassifier"), ("surety_dp.sklearn", "PrivateRegressor"))


def _is_one_of(step: Any, classes: Any) -> bool:
    return any(is_exactly(step, module, name) for module, name in classes)


def _is_private(step: Any) -> bool:
    if is_exactly(step, "surety_dp.sklearn", "PrivateSearch"):
        return _is_private(step.estimator)
    return _is_one_of(step, _PRIVATE) and not _own_methods(step)


def _own_methods(step: Any) -> list[str]:
    """Methods that were given to this one object."""
    return [name for name in _METHODS if name in getattr(step, "__dict__", {})]


def check(pipeline: Any) -> list[Finding]:
    """The steps of ``pipeline``, of scikit-learn, that may learn from the data without a charge.

    Every step counts that is not known to learn nothing: scalers, imputers, selectors, estimators that are not private, and also subclasses,
    ``FunctionTransformer``, functions and ``make_column_selector`` that choose columns, and every class of another package. Known are, by the exact class:

    * ``Pipeline``, ``FeatureUnion`` and ``ColumnTransformer``, into which it looks;
    * ``Binarizer``, ``Normalizer``, ``PolynomialFeatures``, ``FeatureHasher``, ``HashingVectorizer`` without functions, and ``StandardizeWithin``;
    * ``SimpleImputer`` with ``strategy="constant"``, a ``fill_value`` and ``keep_empty_features=True``;
    * ``OneHotEncoder`` with listed ``categories`` and ``handle_unknown="ignore"``; ``OrdinalEncoder`` with ``handle_unknown="use_encoded_value"``;
    * ``PrivateClassifier``, ``PrivateRegressor`` and ``PrivateSearch`` of them.

    An empty list means: each step changes each row by itself, or is charged for what it learns. It does not mean that nothing fails: a step of
    scikit-learn may stop at a missing cell, which shows that there is one. And nothing behind a finding is private, whatever it charges.

    >>> import surety_dp as surety
    >>> class MeanScaler:
    ...     def fit(self, X, y=None): ...
    >>> surety.check(MeanScaler())[0].reason.split(":")[0]
    'may learn from the data that it is fitted to, without a charge'
    """
    return _findings(pipeline, "")


def _findings(step: Any, path: str) -> list[Finding]:
    kind = type(step).__name__
    own = _own_methods(step)
    if own:
        return [Finding(path or kind, kind, f"has a {own[0]} of its own, not that of its class, which may learn from the data without a charge")]
    if is_exactly(step, "sklearn.pipeline", "Pipeline"):
        return _memory(step, path) + _each(step.steps, path)
    if is_exactly(step, "sklearn.pipeline", "FeatureUnion"):
        return _each(step.transformer_list, path)
    if is_exactly(step, "sklearn.compose", "ColumnTransformer"):
        entries = [(name, part) for name, part, _ in step.transformers] + [("remainder", step.remainder)]
        return _chosen(step, path) + _each(entries, path)
    if _is_private(step):
        return []
    for (module, name), rule in _ROW_BY_ROW.items():
        if is_exactly(step, module, name):
            reason = rule(step)
            return [] if reason is None else [Finding(path or kind, kind, reason)]
    inner = getattr(step, "estimator", None)
    return [Finding(path or kind, kind, _SEARCH if inner is not None and _is_private(inner) else _OPEN)]


def _each(entries: Any, path: str) -> list[Finding]:
    """Of steps by name. A text or None stands for a step that is left out, or that passes all on."""
    return [
        found
        for name, part in entries
        if part is not None and not (isinstance(part, str) and part in ("passthrough", "drop"))
        for found in _findings(part, f"{path}/{name}" if path else name)
    ]


def _chosen(step: Any, path: str) -> list[Finding]:
    """Of functions that choose columns: they see the data."""
    return [
        Finding(f"{path}/{name}" if path else name, type(columns).__name__, "a function chooses columns, and may choose by the data: list them")
        for name, _, columns in step.transformers
        if callable(columns)
    ]


def _memory(step: Any, path: str) -> list[Finding]:
    """Of what fits steps in the place of a pipeline."""
    memory = step.memory
    if memory is None or isinstance(memory, str | os.PathLike) or is_exactly(memory, "joblib", "Memory"):
        return []
    return [Finding(f"{path}/memory" if path else "memory", type(memory).__name__, "calls the steps in the place of the pipeline, and may keep what it sees")]
