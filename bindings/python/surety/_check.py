"""Which steps of a pipeline learn from data by themselves, without a charge. Needs no scikit-learn: what it asks of steps they answer."""

from __future__ import annotations

from typing import Any, NamedTuple


class Finding(NamedTuple):
    """A step that learns from data, and charges nothing for it."""

    step: str  #: where it stands: "scale", "columns/encode"; the name of its class, where it is no step of another
    kind: str  #: the name of its class
    reason: str


_OPEN = "learns from the data that it is fitted to, without a charge"


def _is_private(step: Any) -> bool:
    return bool(getattr(step, "_is_private", False))


def _learns_nothing(step: Any) -> bool:
    """Steps say it by their tag; an encoder has nothing to learn where its categories are listed."""
    tags = getattr(step, "__sklearn_tags__", None)
    if callable(tags) and getattr(tags(), "requires_fit", True) is False:
        return True
    parameters = step.get_params(deep=False) if hasattr(step, "get_params") else {}
    if type(step).__name__ not in ("OneHotEncoder", "OrdinalEncoder"):
        return False
    grouped = any(parameters.get(name) is not None for name in ("min_frequency", "max_categories"))
    drops_by_data = parameters.get("drop") not in (None, "first")
    return not isinstance(parameters.get("categories"), str) and not grouped and not drops_by_data


def _parts(step: Any) -> list[tuple[str, Any]]:
    """The steps inside of one that is made of steps."""
    found: list[tuple[str, Any]] = []
    for attribute in ("steps", "transformer_list", "transformers"):
        for entry in getattr(step, attribute, None) or []:
            found.append((entry[0], entry[1]))
    remainder = getattr(step, "remainder", None)
    if remainder is not None and not isinstance(remainder, str):
        found.append(("remainder", remainder))
    return found


def check(pipeline: Any) -> list[Finding]:
    """The steps of ``pipeline``, of scikit-learn, that learn from the data without a charge: scalers, imputers, encoders, selectors, and estimators that are
    not private. What comes behind such a step is not private, whatever it charges: the whole pipeline is where this is empty.

    Steps that learn nothing (``surety.sklearn.StandardizeWithin``, ``Normalizer``, an encoder whose categories are listed) and the private estimators of
    ``surety.sklearn`` are no findings. What it cannot look into is one.

    >>> import surety
    >>> class MeanScaler:
    ...     def fit(self, X, y=None): ...
    >>> surety.check(MeanScaler())[0].reason
    'learns from the data that it is fitted to, without a charge'
    """
    return _findings(pipeline, "")


def _findings(step: Any, path: str) -> list[Finding]:
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return []
    parts = _parts(step)
    if parts:
        return [found for name, part in parts for found in _findings(part, f"{path}/{name}" if path else name)]
    kind = type(step).__name__
    if _is_private(step) or _learns_nothing(step):
        return []
    inner = getattr(step, "estimator", None)
    if inner is not None and _is_private(inner):
        reason = "fits its estimator many times, each with its own charge, and chooses by scores on private data: see surety.sklearn.PrivateSearch"
        return [Finding(path or kind, kind, reason)]
    return [Finding(path or kind, kind, _OPEN)]
