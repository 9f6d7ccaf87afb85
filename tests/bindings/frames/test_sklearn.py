"""The estimators of surety_dp.sklearn beside the real scikit-learn."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    scale,
)
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

import surety_dp as surety
from surety_dp.sklearn import PrivateClassifier, PrivateRegressor, PrivateSearch, RepeatedFitWarning, StandardizeWithin

#: Replayed noise: checks that fit twice want the same model. NOT PRIVATE.
REPLAYED: dict[str, Any] = {"epsilon": 1000, "delta": 1e-6, "adjacency": "replace-one", "bounds": (-10, 10), "options": {"replay_seed": 7}}
CELLS = "no cell stops a fit: its row counts as zeros"
#: Checks that fail, and why: seven in all.
EXPECTED: dict[str, dict[str, str]] = {
    "PrivateClassifier": {"check_estimators_nan_inf": CELLS},
    "PrivateRegressor": {"check_estimators_nan_inf": CELLS, "check_complex_data": CELLS, "check_supervised_y_no_nan": CELLS},
    "StandardizeWithin": {"check_complex_data": CELLS},
    "PrivateSearch": {
        "check_estimators_nan_inf": CELLS,
        "check_classifier_not_supporting_multiclass": "more than two classes are refused by NotSupported, which is no ValueError",
    },
}
assert sum(map(len, EXPECTED.values())) == 7
#: A path pickles, and a Ledger does not.
LEDGER = Path(tempfile.mkdtemp()) / "checks.db"


@pytest.fixture(autouse=True, scope="module")
def _no_ledger_is_left() -> Iterator[None]:
    yield
    shutil.rmtree(LEDGER.parent)


@parametrize_with_checks(
    [
        PrivateClassifier(**REPLAYED, ledger=str(LEDGER), classes="of-y"),
        PrivateRegressor(**REPLAYED, ledger=str(LEDGER), label_bounds=(-3, 3)),
        StandardizeWithin(bounds=(-10, 10)),
        PrivateSearch(PrivateClassifier(**REPLAYED, ledger=str(LEDGER), classes="of-y", algorithm="shaped-descent"), over={"steps": [5, 10]}, tune=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator).__name__],
    xfail_strict=True,
)
def test_it_is_an_estimator(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        check(estimator)


ROWS = 3000
X = np.stack([np.arange(ROWS) % 40 / 10 - 2, np.arange(ROWS) % 7 - 3.0, np.arange(ROWS) % 11 / 11], axis=1)
Y = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
PROMISE: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", "bounds": [(-2, 2), (-3, 3), (0, 1)]}


def classifier(**more: Any) -> PrivateClassifier:
    return PrivateClassifier(**{**PROMISE, "ledger": surety.Ledger.in_memory(), "classes": ["no", "yes"], **more})


def test_a_classifier_learns_and_is_charged_once() -> None:
    ledger = surety.Ledger.in_memory()
    fitted = classifier(ledger=ledger).fit(X, Y)
    (run,) = ledger.audit(1e-6)["runs"]
    # What was charged lists the releases that were planned, the count among them, in another order.
    charged, planned = (sorted(re.findall(r"\d[\d.]*", text)) for text in (run["charged"], str(fitted.model_.event)))
    assert charged == planned and fitted.model_.cost.upper <= 5 and fitted.model_.run == 1
    assert fitted.score(X, Y) > 0.9 and fitted.classes_.tolist() == ["no", "yes"]
    positive = fitted.predict_proba(X)[:, 1]
    assert ((positive > 0.5) == (fitted.predict(X) == "yes")).all() and (positive[Y == "yes"].mean() > 0.6)
    # The model is that of surety.train of the same columns.
    replayed = classifier(options={"replay_seed": 3, "steps": 7}, algorithm="gradient-descent").fit(X, Y)
    table = {f"x{k}": X[:, k] for k in range(3)} | {"y": Y.astype(object)}
    of_train = surety.train(
        table, label="y", equals="yes", bounds={f"x{k}": PROMISE["bounds"][k] for k in range(3)}, unit=None, epsilon=5, delta=1e-6, held_out=0,
        adjacency="replace-one", ledger=surety.Ledger.in_memory(), algorithm="gradient-descent", steps=7, replay_seed=3,
    )
    assert replayed.model_.text() == of_train.text()
    several = classifier(classes=[2, 0, 1]).fit(X, np.arange(ROWS) % 40 // 15)
    assert several.classes_.tolist() == [2, 0, 1] and several.predict_proba(X).shape == (ROWS, 3) and several.score(X, np.arange(ROWS) % 40 // 15) > 0.5


def test_a_regressor_clamps_its_targets() -> None:
    target = 2 * X[:, 0] - X[:, 1]
    fitted = PrivateRegressor(**PROMISE, ledger=surety.Ledger.in_memory(), label_bounds=(-7, 7)).fit(X, target)
    assert fitted.score(X, target) > 0.8
    beyond = PrivateRegressor(**{**PROMISE, "epsilon": 1e4}, ledger=surety.Ledger.in_memory(), label_bounds=(-0.5, 0.5)).fit(X, np.full(ROWS, 1e9))
    assert abs(beyond.predict(X[:5]) - 0.5).max() < 0.1


def test_a_row_with_an_unusable_cell_has_no_prediction() -> None:
    rows = X.astype(object)
    rows[3, 0], rows[7, 1] = None, "a secret"
    others = np.delete(np.arange(ROWS), [3, 7])
    for labels, classes, stands_for in [(Y, ["no", "yes"], "unknown"), (np.arange(ROWS) % 40 // 15, [2, 0, 1], -1), (np.arange(ROWS) % 40 // 15, [2, 0, 1], "unknown")]:
        fitted = classifier(classes=classes).fit(X, labels)
        for answer in (fitted.predict, fitted.predict_proba, fitted.decision_function):
            with pytest.raises(surety.BadData, match=r"^2 of 3000 rows of X .* \(rows 3, 7, counted from 0\); set missing_prediction to") as refused:
                answer(rows)
            assert "secret" not in str(refused.value)
        whole = fitted.predict(X)
        fitted.set_params(missing_prediction=stands_for)
        predicted = fitted.predict(rows)
        assert predicted[[3, 7]].tolist() == [stands_for] * 2 and predicted[others].tolist() == whole[others].tolist()
        assert np.isnan(fitted.predict_proba(rows)).all(axis=1).nonzero()[0].tolist() == [3, 7]
        assert np.array_equal(fitted.predict_proba(rows)[others], fitted.predict_proba(X)[others])
    values = PrivateRegressor(**PROMISE, ledger=surety.Ledger.in_memory(), label_bounds=(-7, 7)).fit(X, X[:, 0])
    assert np.isnan(values.predict(rows)).nonzero()[0].tolist() == [3, 7] and np.array_equal(values.predict(rows)[others], values.predict(X)[others])


@pytest.mark.parametrize("name", ["epsilon", "adjacency", "ledger", "classes"])
def test_nothing_that_is_a_promise_has_a_default(name: str) -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one")
    with pytest.raises(ValueError, match=f"^{name} is missing, must be given: ") as refused:
        classifier(**{"ledger": ledger, name: None}).fit(X, Y)
    assert "\n" not in str(refused.value) and ledger.audit(1e-6)["runs"] == []


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"bounds": [(0, 1)]}, ValueError, "bounds has 1 pairs, must have one for all columns or one for each of 3"),
    ({"bounds": (1, 0)}, ValueError, "bounds are 1 and 0, must ascend"),
    ({"bounds": "wide"}, TypeError, "bounds"),
    ({"classes": ["yes"]}, ValueError, "must have at least 2 classes"),
    ({"classes": ["yes", "yes"]}, ValueError, "classes has a label twice"),
    ({"classes": "all"}, ValueError, "classes is 'all', must be a list of labels or 'of-y'"),
    ({"most": 3}, ValueError, "most is 3, must be None where groups do not name"),
    ({"options": {"stepz": 3}}, TypeError, "unexpected keyword argument 'stepz'"),
    ({"adjacency": "add-or-remove-one"}, ValueError, "records is missing"),
]


@pytest.mark.parametrize(("change", "kind", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_what_is_refused_costs_nothing(change: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        classifier(**{"ledger": tmp_path / "run.db", **change}).fit(X, Y)
    assert not (tmp_path / "run.db").exists()


def test_cells_stop_nothing_and_no_message_shows_one() -> None:
    wild = X.astype(object)
    wild[::50, 1] = "a secret"
    wild[1::50, 2] = None
    labels = Y.astype(object)
    labels[2::50] = "another secret"
    fitted = classifier().fit(wild, labels)
    assert fitted.model_.report["damaged_records_not_private"] == 3 * ROWS // 50 and "secret" not in fitted.model_.text()
    for bad in (X[0], X[:0], X[:, :0], scipy.sparse.csr_matrix(X)[:0]):
        with pytest.raises((TypeError, ValueError)) as refused:
            classifier().fit(bad, Y[: len(bad)] if isinstance(bad, np.ndarray) else Y)
        assert "\n" not in str(refused.value)[:60] and "0.727" not in str(refused.value)
    for rows in (X * 1j, scipy.sparse.csr_matrix(X * 1j)):  # equal to no real number, but for zeros
        fitted = classifier(options={"no_count_records": True}).fit(rows, Y)
        assert fitted.model_.report["damaged_records_not_private"] > ROWS / 2
        ledger = surety.Ledger.in_memory()
        with pytest.raises(surety.SuretyError, match="of the 3000 records trained on are usable.* must be at least half"):
            classifier(ledger=ledger).fit(rows, Y)
        assert len(ledger.audit(1e-6)["runs"]) == 1, "the whole plan stays charged"
    for rows in (X + 0j, scipy.sparse.csr_matrix(X + 0j), X.tolist(), tuple(map(tuple, X)), X.astype(object), pandas.DataFrame(X), X.astype(str)):
        assert classifier().fit(rows, Y).model_.report["damaged_records_not_private"] == 0


def test_few_usable_rows_are_warned_of() -> None:
    labels = Y.astype(object)
    labels[::5] = "unknown"
    with pytest.warns(surety.FewUsableRecordsWarning, match="of 3000 records trained on are usable: check the label"):
        fitted = classifier().fit(X, labels)
    usable = fitted.model_.usable_records
    assert abs(usable["value"] - 0.8 * ROWS) < 100 and usable["value"] < usable["to"] < 0.9 * ROWS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "warning" not in classifier().fit(X, Y).model_.usable_records
        assert classifier(options={"no_count_records": True}).fit(X, labels).model_.usable_records is None


SPARSE_KINDS = ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "lil_matrix", "dok_array", "bsr_array", "dia_array"]
# In 256ths, which the 16 digits that scikit-learn writes hold.
SPARSE_X = np.where(np.arange(ROWS)[:, None] % 3 == np.arange(3), np.round(X * 256) / 256, 0)


@pytest.mark.parametrize("kind", SPARSE_KINDS)
def test_sparse_matrices_with_bounds_are_the_arrays(kind: str) -> None:
    """The model of the same rows as an array, to the byte."""
    matrix = getattr(scipy.sparse, kind)(SPARSE_X)
    options = {"replay_seed": 5, "steps": 4}
    call: dict[str, Any] = {"options": options, "algorithm": "gradient-descent"}
    of_array, of_matrix = classifier(**call).fit(SPARSE_X, Y), classifier(**call).fit(matrix, Y)
    assert of_matrix.model_.text() == of_array.model_.text() and of_matrix.model_.columns == ("x0", "x1", "x2")
    assert of_matrix.predict_proba(matrix).tolist() == of_array.predict_proba(SPARSE_X).tolist() == of_array.predict_proba(matrix).tolist()
    owners = np.arange(ROWS) // 6
    of_owners: dict[str, Any] = {"most": 6, **call}
    assert classifier(**of_owners).fit(matrix, Y, groups=owners).model_.text() == classifier(**of_owners).fit(SPARSE_X, Y, groups=owners).model_.text()


@pytest.mark.parametrize("kind", SPARSE_KINDS)
def test_sparse_matrices_without_bounds_are_libsvm_text(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    dump_svmlight_file(SPARSE_X, np.where(Y == "yes", 1, -1), str(path), zero_based=False)
    fit: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", "unit": None, "replay_seed": 5}
    of_file = surety.train(path, **fit, format="libsvm", features=3, held_out=0, ledger=surety.Ledger.in_memory())
    matrix = getattr(scipy.sparse, kind)(SPARSE_X)
    fitted = classifier(bounds=None, options={"replay_seed": 5}).fit(matrix, Y)
    assert fitted.model_.text() == of_file.text() and fitted.classes_.tolist() == ["no", "yes"]
    of_labels = surety.train((matrix, pandas.Series(Y == "yes")), **fit, held_out=0, ledger=surety.Ledger.in_memory())
    assert of_labels.text() == of_file.text() and of_labels.json() == of_file.json()
    with pytest.raises(TypeError, match=rf"^data is a sparse matrix \({kind}\), must be a table$"):
        surety.release(matrix, [surety.count()], unit=None, epsilon=1, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory())
    # Rows may be asked of in any form.
    said = of_file.predict_proba(path)
    assert fitted.predict_proba(matrix).tolist() == said.tolist()
    for rows in (matrix, SPARSE_X, SPARSE_X.astype(object)):  # sums of dense rows are rounded in another order
        assert np.allclose(fitted.predict_proba(rows), said, rtol=1e-12, atol=0)
        assert ((fitted.predict(rows) == "yes") == (said[:, 1] >= 0.5)).all()
    with pytest.raises(ValueError, match="X has 2 features"):
        fitted.predict(matrix.tocsr()[:, :2])
    target = np.linspace(-1, 1, ROWS)
    regressor = PrivateRegressor(**{**PROMISE, "bounds": None}, ledger=surety.Ledger.in_memory(), label_bounds=(-1, 1)).fit(matrix, target)
    assert regressor.predict(matrix).shape == (ROWS,) and np.isfinite(regressor.predict(SPARSE_X)).all()


def test_sparse_matrices_that_do_not_fit_cost_nothing(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_array(SPARSE_X)
    call: dict[str, Any] = {"bounds": None, "ledger": tmp_path / "run.db"}
    refused: list[tuple[PrivateClassifier, Any, dict[str, Any], str]] = [
        (classifier(**call, most=3), matrix, {"groups": np.arange(ROWS)}, "groups are given, must be None for a sparse matrix without bounds"),
        (classifier(**call, classes=["no", "yes", "maybe"]), matrix, {}, "classes has 3 classes, must have 2 for a sparse matrix without bounds"),
        (classifier(**call), matrix[:7], {}, "inconsistent numbers of samples"),
    ]
    for estimator, rows, more, message in refused:
        with pytest.raises(ValueError, match=message):
            estimator.fit(rows, Y, **more)
    assert not (tmp_path / "run.db").exists()
    wild = matrix.copy()
    wild.data[::40] = np.nan
    damaged = classifier(bounds=None).fit(wild, np.where(np.arange(ROWS) == 7, "another", Y)).model_.report["damaged_records_not_private"]
    assert damaged == np.isnan(wild.toarray()).any(axis=1).sum() + (not np.isnan(wild.toarray()[7]).any())
    # Wide rows, of which hardly anything is there, stay as they are.
    wide = scipy.sparse.random_array((ROWS, 1 << 17), density=4e-5, rng=1, format="csr")
    assert classifier(bounds=None).fit(wide, Y).n_features_in_ == 1 << 17


def test_owners_are_groups() -> None:
    """The promise is to owners, of whom so many rows are used as was said."""
    owners = np.arange(ROWS) // 6
    fitted = classifier(most=4, options={"records": 500}).fit(X, Y, groups=owners)
    assert fitted.model_.unit.startswith("one owner of at most 4 rows")
    with pytest.raises(ValueError, match="most is missing"):
        classifier(options={"records": 500}).fit(X, Y, groups=owners)
    with pytest.raises(ValueError, match="different numbers of rows"):
        classifier(most=4, options={"records": 500}).fit(X, Y, groups=owners[:7])
    steps = Pipeline([("map", StandardizeWithin(bounds=PROMISE["bounds"])), ("learn", classifier(most=4, bounds=(-1, 1), options={"records": 500}))])
    assert steps.fit(X, Y, learn__groups=owners).named_steps["learn"].model_.unit == fitted.model_.unit
    days = ["2024-01-01" if place % 2 else "2024-01-02" for place in range(len(owners))]
    of_days = classifier(most=4, options={"records": len(set(zip(owners, days, strict=True)))}).fit(X, Y, groups=(owners, days))
    assert of_days.model_.unit.startswith("one combination of owner,owner_ of at most 4 rows")


def test_a_second_fit_of_a_ledger_is_warned_of() -> None:
    ledger = surety.Ledger.in_memory()
    first = classifier(ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first.fit(X, Y)
    with pytest.warns(RepeatedFitWarning, match="PrivateSearch"):
        first.fit(X, Y)
    with pytest.warns(RepeatedFitWarning, match="fit 3"):
        clone(first).fit(X, Y)
    with pytest.warns(RepeatedFitWarning):
        cross_val_score(first, X, Y, cv=3)
    assert len(ledger.audit(1e-6)["runs"]) == 6
    small = surety.Ledger.in_memory(adjacency="replace-one", epsilon=6, delta=1e-5)
    once = classifier(ledger=small).fit(X, Y)
    with pytest.raises(surety.SuretyError, match="the budget") as refused:
        once.fit(X, Y)
    assert refused.value.code == surety.ErrorCode.BUDGET_EXCEEDED and not hasattr(once, "model_") and len(small.audit(1e-6)["runs"]) == 1


def test_a_search_is_charged_as_one() -> None:
    ledger = surety.Ledger.in_memory(adjacency="replace-one", epsilon=5.1, delta=1e-5)
    search = PrivateSearch(classifier(ledger=ledger, algorithm="gradient-descent"), over={"steps": [5, 20], "clip": [0.3, 1]}, tune=3).fit(X, Y)
    (run,) = ledger.audit(1e-6)["runs"]
    assert run["charged"] == str(search.estimator_.model_.event) and search.estimator_.model_.cost.upper <= 5
    assert search.score(X, Y) > 0.8 and search.predict_proba(X).shape == (ROWS, 2) and search.classes_.tolist() == ["no", "yes"]
    assert "tuned" in run["note"] and len(search.estimator_.model_.report["tuning"]["candidates"]) == 4
    with pytest.raises(ValueError, match="tune is missing"):
        PrivateSearch(classifier(), over={"steps": [5, 20]}).fit(X, Y)
    with pytest.raises(TypeError, match="must be a PrivateClassifier"):
        PrivateSearch(LogisticRegression(), tune=3).fit(X, Y)


def test_a_failed_fit_leaves_no_earlier_one() -> None:
    def budget() -> surety.Ledger:
        return surety.Ledger.in_memory(adjacency="replace-one", epsilon=5.1, delta=1e-5)

    search = PrivateSearch(classifier(ledger=budget(), algorithm="gradient-descent"), over={"steps": [5, 20]}, tune=3)
    cases: list[tuple[Any, Any, type[Exception]]] = [
        (classifier(ledger=budget()), Y, surety.SuretyError),
        (classifier(ledger=budget(), classes="of-y"), np.full(ROWS, 0.5), ValueError),
        (PrivateRegressor(**PROMISE, ledger=budget(), label_bounds=(-7, 7)), X[:, 0], surety.SuretyError),
        (search, Y, surety.SuretyError),
    ]
    for estimator, labels, kind in cases:
        estimator.fit(X, Y if estimator is not cases[2][0] else labels)
        check_is_fitted(estimator)
        with pytest.raises(kind):
            estimator.fit(X, labels)
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
        with pytest.raises(NotFittedError):
            estimator.predict(X)
        assert [name for name in vars(estimator) if name.endswith("_")] == []
    mapped = StandardizeWithin(bounds=[(0, 1)] * 3).fit(X)
    with pytest.raises(ValueError, match="bounds has 3 pairs"):
        mapped.fit(X[:, :2])
    assert not hasattr(mapped, "n_features_in_")


def test_frames_give_their_names() -> None:
    frame = pandas.DataFrame(X, columns=["age", "y", "share"])
    fitted = classifier().fit(frame, pandas.Series(Y))
    assert fitted.model_.columns == ("age", "y", "share")
    of_model = fitted.model_.predict({"age": X[:, 0], "y": X[:, 1], "share": X[:, 2]})
    assert ((of_model == fitted.model_.classes_[1]) == (fitted.predict(frame) == "yes")).all() and len(set(of_model)) == 2
    assert fitted.feature_names_in_.tolist() == ["age", "y", "share"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["share", "age", "y"]])
    assert surety.train(polars.from_pandas(frame), label="share", above=0.5, unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory()).run == 1


def test_a_pickle_has_no_ledger(tmp_path: Path) -> None:
    fitted = classifier().fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.ledger is None and again.predict(X).tolist() == fitted.predict(X).tolist() and again.model_.report is None
    with pytest.raises(ValueError, match="ledger is missing"):
        again.fit(X, Y)
    at_path = classifier(ledger=tmp_path / "run.db").fit(X, Y)
    assert pickle.loads(pickle.dumps(at_path)).ledger == tmp_path / "run.db"
    with surety.Ledger(tmp_path / "run.db") as opened:
        assert pickle.loads(pickle.dumps(classifier(ledger=opened))).ledger == str(tmp_path / "run.db")


def test_bounds_alone_map_columns() -> None:
    scaled = StandardizeWithin(bounds=[(0, 4), (-1e308, 1e308)]).fit_transform([[0, -1e308], [3, 0], [9, 1e308]])
    assert scaled.tolist() == [[-1, -1], [0.5, 0], [1, 1]]
    with pytest.raises(ValueError, match="bounds is missing"):
        StandardizeWithin().fit(X)
    assert np.isnan(StandardizeWithin(bounds=(0, 2)).fit_transform(np.array([[1, "a secret"]], object))).tolist() == [[False, True]]
    columns = ColumnTransformer([("map", StandardizeWithin(bounds=(-3, 3)), [0, 1])], remainder="passthrough")
    fitted = make_pipeline(columns, classifier(bounds=(-1, 1))).fit(X, Y)
    assert fitted.score(X, Y) > 0.8 and surety.check(fitted) == []
    assert StandardizeWithin(bounds=(0, 1)).fit(pandas.DataFrame({"a": [1.0]})).get_feature_names_out().tolist() == ["a"]


def test_columns_have_bounds_categories_or_neither() -> None:
    """As ``surety.train`` of the same table."""
    table = pandas.DataFrame({"age": np.linspace(10, 70, ROWS), "town": ["a", "b"] * (ROWS // 2), "hours": np.arange(ROWS) * 1.0})
    options = {"replay_seed": 5}
    fit: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "adjacency": "replace-one", "unit": None, "held_out": 0, "replay_seed": 5}
    expected = surety.train(
        table.assign(y=Y), label="y", equals="yes", bounds={"age": (0, 90)}, categories={"town": ["a", "b"]}, **fit, ledger=surety.Ledger.in_memory()
    )
    towns = {"town": ["a", "b"]}
    for bounds in ({"age": (0, 90)}, [(0, 90), None, None]):
        fitted = classifier(bounds=bounds, categories=towns, options=options).fit(table, Y)
        assert fitted.model_.text() == expected.text()
        assert fitted.predict(table).shape == (ROWS,)
    both = classifier(bounds=(0, 90), categories=towns, options=options).fit(table, Y)
    named = classifier(bounds={"age": (0, 90), "hours": (0, 90)}, categories=towns, options=options).fit(table, Y)
    assert both.model_.text() == named.model_.text()
    for wrong, said in (
        ({"bounds": {"ages": (0, 90)}}, "bounds names the column 'ages'"),
        ({"bounds": (0, 90), "categories": {"city": ["a"]}}, "categories names the column 'city'"),
        ({"bounds": {"town": (0, 1)}, "categories": towns}, "column 'town' has bounds and categories"),
        ({"bounds": {"age": (90, 0)}}, "must ascend"),
    ):
        with pytest.raises(ValueError, match=said):
            classifier(**wrong).fit(table, Y)


def test_columns_without_bounds_have_ranges_that_the_fit_releases() -> None:
    table = pandas.DataFrame({"year": 1990 + np.round(5 * X[:, 0]), "income": np.exp(9 + X[:, 1]), "age": 40 + X[:, 2]})
    options = {"replay_seed": 3, "no_count_records": True}
    fitted = [classifier(bounds=bounds, options=options, epsilon=50).fit(table, Y).model_ for bounds in (None, "private", {"age": "private"})]
    assert [[one["column"] for one in model.report["ranges"]["columns"]] for model in fitted] == [["year", "income", "age"]] * 3
    assert fitted[0].weights.tolist() == fitted[1].weights.tolist()
    year = fitted[0].report["ranges"]["columns"][0]
    assert 1960 < year["bounds"][0] < year["bounds"][1] < 2020
    asinh = classifier(options={**options, "ranges": "asinh"}, bounds={"age": (0, 99)}, epsilon=50).fit(table, Y).model_
    assert "ranges" not in asinh.report
    with pytest.raises(TypeError, match="bounds"):
        classifier(bounds={"age": "wide"}).fit(table, Y)


def test_two_sequences_of_bounds_are_refused_with_their_readings() -> None:
    """diffprivlib reads them as lower and upper bounds, a list of pairs has the bounds of each column."""
    two = X[:, :2]
    with pytest.raises(ValueError, match=r"bounds=\[\(0, 1\), \(5, 9\)\] where the first.*bounds=\[\(0, 5\), \(1, 9\)\] where each"):
        classifier(bounds=([0, 5], [1, 9])).fit(two, Y)
    with pytest.raises(ValueError, match=r"must be a list of pairs: bounds=\[\(0, 1\), \(0, 1\), \(0, 2\)\]"):
        StandardizeWithin(bounds=((0, 0, 0), (1, 1, 2))).fit(np.ones((4, 3)))
    assert classifier(bounds=[(-3, 3), (-3, 3)]).fit(two, Y).predict(two).shape == (ROWS,)


def test_steps_that_learn_are_named() -> None:
    columns = ColumnTransformer(
        [
            ("towns", OneHotEncoder(), [0]),
            ("listed", OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore"), [0]),
            ("rare", OneHotEncoder(categories=[["a", "b"]], min_frequency=3), [0]),
            ("off", "drop", [1]),
        ],
        remainder=StandardScaler(),
    )
    steps = Pipeline([("columns", columns), ("both", FeatureUnion([("norm", Normalizer()), ("best", SelectKBest())])), ("learn", LogisticRegression())])
    assert [finding.step for finding in surety.check(steps)] == ["columns/towns", "columns/rare", "columns/remainder", "both/best", "learn"]
    assert surety.check(classifier()) == surety.check(PrivateSearch(classifier())) == surety.check(StandardizeWithin((0, 1))) == []
    assert [finding.kind for finding in surety.check(make_pipeline(StandardScaler(), classifier()))] == ["StandardScaler"]
    (grid,) = surety.check(GridSearchCV(classifier(), {"algorithm": ["auto"]}))
    assert "PrivateSearch" in grid.reason
    assert [finding.kind for finding in surety.check(TransformedTargetRegressor(regressor=PrivateRegressor()))] == ["TransformedTargetRegressor"]


def scaled(rows: Any) -> Any:
    return (rows - rows.mean(0)) / rows.std(0)


class Learns(StandardizeWithin):  # type: ignore[misc]
    """Learns its bounds."""

    def fit(self, X: Any, y: Any = None) -> StandardizeWithin:
        self.bounds = list(zip(X.min(0), X.max(0)))
        return super().fit(X, y)


class Quiet(Normalizer):  # type: ignore[misc]
    """Of a known class, but one that says less than it does."""


#: A step in a pipeline before a private classifier, and what part of it is found.
FOUND: dict[str, tuple[Any, str]] = {
    "a function": (FunctionTransformer(scale), "step"),
    "a lambda": (FunctionTransformer(lambda rows: scaled(rows)), "step"),
    "no function": (FunctionTransformer(), "step"),
    "columns by a function": (ColumnTransformer([("kept", "passthrough", lambda frame: [name for name in frame if frame[name].mean() > 0])]), "step/kept"),
    "columns by type": (ColumnTransformer([("kept", "passthrough", make_column_selector(dtype_include=float))]), "step/kept"),
    "columns that are dropped by type": (ColumnTransformer([("off", "drop", make_column_selector(pattern="x"))], remainder="passthrough"), "step/off"),
    "a subclass that learns its bounds": (Learns((0, 1)), "step"),
    "a subclass of a known step": (Quiet(), "step"),
    "a subclass of a pipeline": (type("Mine", (Pipeline,), {})([("norm", Normalizer())]), "step"),
    "a subclass of a union": (type("Mine", (FeatureUnion,), {})([("norm", Normalizer())]), "step"),
    "a subclass that chooses columns": (type("Mine", (ColumnTransformer,), {"__init__": ColumnTransformer.__init__})([("norm", Normalizer(), [0])]), "step"),
    "deep inside": (FeatureUnion([("a", Pipeline([("b", "passthrough"), ("c", ColumnTransformer([("d", KBinsDiscretizer(), [0])]))]))]), "step/a/c/d"),
    "memory of another class": (Pipeline([("norm", Normalizer())], memory=type("Mine", (), {"cache": lambda self, function: function})()), "step/memory"),
    "a mean": (SimpleImputer(), "step"),
    "a function of the column": (SimpleImputer(strategy=lambda column: column[0]), "step"),
    "a constant by type": (SimpleImputer(strategy="constant", keep_empty_features=True), "step"),
    "a constant, empty columns dropped": (SimpleImputer(strategy="constant", fill_value=0), "step"),
    "a constant, missing cells shown": (SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True, add_indicator=True), "step"),
    "categories of the data": (OneHotEncoder(handle_unknown="ignore"), "step"),
    "listed categories, others fail": (OneHotEncoder(categories=[["a"]]), "step"),
    "listed categories, few": (OneHotEncoder(categories=[["a"]], handle_unknown="ignore", max_categories=2), "step"),
    "listed categories, one dropped": (OneHotEncoder(categories=[["a"]], handle_unknown="ignore", drop="if_binary"), "step"),
    "numbers of categories of the data": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), "step"),
    "numbers of listed categories, others fail": (OrdinalEncoder(categories=[["a"]]), "step"),
    "a tokenizer": (HashingVectorizer(tokenizer=str.split), "step"),
    "a random map with a scale of the data": (RBFSampler(gamma="scale"), "step"),
    "a private estimator in the middle": (SelectFromModel(PrivateClassifier()), "step"),
    "a target that is mapped": (TransformedTargetRegressor(regressor=PrivateRegressor(), func=np.log, inverse_func=np.exp), "step"),
}


@pytest.mark.parametrize("name", FOUND)
def test_each_step_that_may_learn_is_a_finding(name: str) -> None:
    step, where = FOUND[name]
    for chosen in (step, step.set_output(transform="pandas")) if hasattr(step, "set_output") and name != "a subclass that learns its bounds" else (step,):
        (found,) = surety.check(Pipeline([("step", chosen), ("learn", classifier())]))
        assert found.step == where and len(found.reason) > 20
    (alone,) = surety.check(step)
    assert alone.step == (where.removeprefix("step/") if "/" in where else type(step).__name__)


def test_row_by_row_steps_are_none() -> None:
    steps: list[Any] = [
        Binarizer(threshold=2),
        Normalizer("max"),
        PolynomialFeatures(3),
        FeatureHasher(10),
        HashingVectorizer(stop_words=["a"]),
        SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True),
        OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(categories=[["a", "b"]], handle_unknown="use_encoded_value", unknown_value=-1),
        StandardizeWithin((0, 1)),
        PrivateSearch(PrivateRegressor()),
        "passthrough",
    ]
    union = FeatureUnion([(str(place), step) for place, step in enumerate(steps) if hasattr(step, "transform")] + [("none", "drop")])
    columns = ColumnTransformer([(str(place), step, [0, "a", slice(2)][place % 3]) for place, step in enumerate(steps)], remainder="passthrough")
    pipeline = Pipeline([(str(place), step) for place, step in enumerate(steps)] + [("union", union), ("columns", columns)], memory="cache")
    assert surety.check(pipeline) == []


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform"])
def test_a_method_of_one_object_is_a_finding(method: str) -> None:
    step = Normalizer()
    setattr(step, method, lambda *rows: rows)
    (found,) = surety.check(make_pipeline(step, classifier()))
    assert found.step == "normalizer" and f"has a {method} of its own" in found.reason
    private = classifier()
    private.fit = lambda *rows: private
    assert [finding.step for finding in surety.check(make_pipeline(Normalizer(), private))] == ["privateclassifier"]


def test_a_subclass_of_an_estimator_may_learn_more() -> None:
    kinds = [type("Mine", (kind,), {"__init__": kind.__init__}) for kind in (PrivateClassifier, PrivateRegressor)]
    for step in [kind() for kind in kinds] + [PrivateSearch(kind()) for kind in kinds] + [type("Mine", (PrivateSearch,), {})(classifier())]:
        (found,) = surety.check(make_pipeline(Normalizer(), step))
        assert found.kind == type(step).__name__


def test_known_steps_change_each_row_by_itself() -> None:
    """What the list rests on: a row's result, and the number of columns, do not depend on the other rows."""
    words = ["a", "b", "c"]
    rows = np.random.default_rng(1).normal(size=(20, 3))
    holes = np.where(rows > 1, np.nan, rows)
    texts = np.random.default_rng(2).choice([*words, "none of them"], size=(20, 2)).astype(object)
    cases: list[tuple[Any, Any]] = [
        (Binarizer(threshold=0.2), rows),
        (Normalizer("l1"), rows),
        (PolynomialFeatures(3), rows),
        (SimpleImputer(strategy="constant", fill_value=-1.5, keep_empty_features=True), holes),
        (SimpleImputer(strategy="constant", fill_value=-1.5, keep_empty_features=True), np.where(np.arange(20)[:, None] < 19, np.nan, rows)),
        (OneHotEncoder(categories=[words] * 2, handle_unknown="ignore", sparse_output=False), texts),
        (OrdinalEncoder(categories=[words] * 2, handle_unknown="use_encoded_value", unknown_value=-1), texts),
        (FeatureHasher(8, input_type="string"), texts.tolist()),
        (HashingVectorizer(n_features=16), [" ".join(row) for row in texts]),
        (StandardizeWithin((-1, 1)), rows),
    ]
    for step, data in cases:
        assert surety.check(step) == []
        of_all = step.fit(data).transform(data)
        of_some = clone(step).fit(data[:7]).transform(data[:7])
        dense = [of.toarray() if scipy.sparse.issparse(of) else of for of in (of_all, of_some)]
        assert np.array_equal(dense[0][:7], dense[1], equal_nan=True), step


def test_auto_counts_a_reader_that_is_read_once() -> None:
    table = pyarrow.table({"x": X[:, 0], "y": (Y == "yes").astype(int)})
    call: dict[str, Any] = {"label": "y", "above": 0, "bounds": {"x": (-2, 2)}, "unit": None, "epsilon": 1e5, "delta": 1e-6}
    reader = table.to_reader()
    assert surety.train(reader, **call, adjacency="replace-one", ledger=surety.Ledger.in_memory()).run == 1
    with pytest.raises(surety.SuretyError, match="has no records"):
        surety.train(reader, **call, adjacency="replace-one", ledger=surety.Ledger.in_memory())
    call.update(adjacency="add-or-remove-one", records=ROWS, replay_seed=7)
    models = [surety.train(source, **call, ledger=surety.Ledger.in_memory()) for source in (table, table.to_reader())]
    assert models[0].text() == models[1].text() and models[0].predict(table).tolist() == models[1].predict(table.to_reader()).tolist()


def test_no_cell_changes_how_other_records_are_read() -> None:
    """Of a column of truth values with one that is missing, of labels with one text, of rows with one text, all records but that one count as before."""

    def damaged(rows: Any, labels: Any, **more: Any) -> int:
        fitted = classifier(**{"bounds": (0, 1), "options": {"replay_seed": 3}, **more}).fit(rows, labels)
        return int(fitted.model_.report["damaged_records_not_private"])

    flags = [row % 3 == 0 for row in range(ROWS)]
    frame = pandas.DataFrame({"flag": flags, "x": np.arange(ROWS) / ROWS})
    assert damaged(frame, Y) == 0 and damaged(frame.assign(flag=pandas.Series([None, *flags[1:]], dtype=object)), Y) == 1
    rows = [[flag, place / ROWS] for place, flag in enumerate(flags)]
    assert damaged(rows, Y) == 0 and damaged([["a", 0.5], *rows[1:]], Y) == 1
    assert damaged([[True], *rows[1:]], Y) == 1 and damaged([[True, 1, 2], *rows[1:]], Y) == 1 and damaged([7, *rows[1:]], Y) == 1
    for ones in ([1.0 * flag for flag in flags], flags, [int(flag) for flag in flags], [str(int(flag)) for flag in flags]):
        assert damaged(rows, ones, classes=[0, 1]) == 0 and damaged(rows, ["a", *ones[1:]], classes=[0, 1]) == 1
        assert damaged(rows, ones, classes=[0.0, 1.0]) == damaged(rows, [[one] for one in ones], classes=["0", "1"]) == 0
    assert damaged(rows, flags, classes=[False, True]) == 0
    regressor = PrivateRegressor(**{**PROMISE, "bounds": (0, 1)}, ledger=surety.Ledger.in_memory(), label_bounds=(0, 1))
    assert regressor.fit(rows, ["a", *(0.5 for _ in range(ROWS - 1))]).model_.report["damaged_records_not_private"] == 1
    owners = [row // 6 for row in range(ROWS)]
    of_owners: dict[str, Any] = {"most": 6, "bounds": (0, 1), "options": {"records": 500, "replay_seed": 3}}
    texts = {classifier(**of_owners).fit(rows, Y, groups=groups).model_.text() for groups in (owners, [*map(float, owners)], [*map(str, owners)], np.array(owners))}
    assert len(texts) == 1


def test_one_record_does_not_refuse_a_fit() -> None:
    for groups in ([None, *range(ROWS - 1)], ["a", *range(ROWS - 1)], [1j, *range(ROWS - 1)], pandas.Series([True, *range(ROWS - 1)], dtype=object), np.arange(ROWS) == 7):
        assert classifier(most=1, options={"records": ROWS}).fit(X, Y, groups=groups).model_.run == 1
    with pytest.raises(ValueError, match="column 'a' of X appears 2 times|unique column names"):
        classifier().fit(pandas.DataFrame(X, columns=["a", "b", "a"]), Y)


def test_infinity_is_no_number_in_any_array() -> None:
    bounded = StandardizeWithin(bounds=(0, 2))
    assert np.isnan(bounded.fit_transform(np.array([[1, np.inf]]))).tolist() == np.isnan(bounded.fit_transform([[1, np.inf], ["a", 1]]))[:1].tolist() == [[False, True]]


def test_features_are_those_that_were_named_whatever_their_names() -> None:
    names = ["pad", " pad", "y", "owner", "age, 0.5", '"age"', "a>1", "a=b", "a:b", "a) where b", "0.5", "-1", "--x", "not a", "missing(a)", "a\nb", "é"]
    table = pandas.DataFrame({name: (np.arange(ROWS) * (place + 1) % 7) - 3.0 for place, name in enumerate(names)})
    bounds = [(-3 - place, 3 + place) for place in range(len(names))]
    made = classifier(bounds=bounds, most=2, options={"rows": "scaled", "records": ROWS // 2}).fit(table, Y, groups=np.arange(ROWS) // 2)
    model = made.model_
    assert model.columns == tuple(names)
    columns = json.loads(model.text())["features"]["columns"]
    assert [(column["name"], column["map"]["bounds"]) for column in columns] == [(name, list(pair)) for name, pair in zip(names, bounds, strict=True)]
    # Columns are found by name, wherever they stand.
    assert np.array_equal(model.decision_function(table), model.decision_function(table[names[::-1]]))
    assert np.array_equal(made.decision_function(table), model.decision_function(table))


WEIGHTED: dict[str, Any] = {**REPLAYED, "ledger": str(LEDGER), "weight_bound": 10}


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_sample_weights_pandas_series,
        estimator_checks.check_sample_weights_not_an_array,
        estimator_checks.check_sample_weights_list,
        estimator_checks.check_sample_weights_shape,
        estimator_checks.check_sample_weights_not_overwritten,
    ],
)
@pytest.mark.parametrize("estimator", [PrivateClassifier(**WEIGHTED, classes="of-y"), PrivateRegressor(**WEIGHTED, label_bounds=(-3, 3))])
def test_weights_are_those_of_an_estimator(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        check(type(estimator).__name__, estimator)


def test_weights_change_a_fit_and_not_its_charge() -> None:
    rare = (Y == "yes") & (np.arange(ROWS) % 2 == 0)
    weights = np.where(Y == "yes", 4.0, 0.5)
    plain = classifier(bounds=None, algorithm="constant").fit(np.zeros((ROWS, 1)), Y)
    weighted = classifier(bounds=None, algorithm="constant", weight_bound=4).fit(np.zeros((ROWS, 1)), Y, sample_weight=weights)
    share = weights[Y == "yes"].sum() / weights.sum()
    assert abs(weighted.predict_proba([[0.0]])[0, 1] - share) < 0.02 < abs(plain.predict_proba([[0.0]])[0, 1] - share)
    assert sorted(re.findall(r"[\d.]+", str(weighted.model_.event))) == sorted(re.findall(r"[\d.]+", str(plain.model_.event)))
    assert json.loads(weighted.model_.text())["record_weights"] == {"column": "weight", "bound": 4.0}
    # Weights that cannot be used make damaged records: no cell stops a fit.
    weights[rare] = np.where(np.arange(rare.sum()) % 3 == 0, np.nan, np.where(np.arange(rare.sum()) % 3 == 1, 5, -1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", surety.FewUsableRecordsWarning)
        assert classifier(weight_bound=4).fit(X, Y, sample_weight=weights).predict(X[:2]).shape == (2,)
    regressor = PrivateRegressor(**PROMISE, ledger=surety.Ledger.in_memory(), label_bounds=(0, 1), weight_bound=4, algorithm="constant")
    numbers = (Y == "yes") * 1.0
    usable = np.where(Y == "yes", 4.0, 0.5)
    assert abs(regressor.fit(X, numbers, sample_weight=usable).predict(X[:1])[0] - share) < 0.02


def test_weights_need_a_bound_and_bounds_of_a_sparse_matrix() -> None:
    assert not has_fit_parameter(classifier(), "sample_weight") and has_fit_parameter(classifier(weight_bound=2), "sample_weight")
    with pytest.raises(surety.InvalidArgument, match="weight_bound is missing"):
        classifier().fit(X, Y, sample_weight=np.ones(ROWS))
    with pytest.raises(surety.InvalidArgument, match="sample_weight is given, must be None for a sparse matrix"):
        classifier(weight_bound=2, bounds=None).fit(scipy.sparse.csr_matrix(X), Y, sample_weight=np.ones(ROWS))
    with pytest.raises(ValueError, match="sample_weight has 2 weights, must have one for each of 3000 rows"):
        classifier(weight_bound=2).fit(X, Y, sample_weight=[1, 2])
    with pytest.raises(surety.SuretyError, match="cannot combine weight with unit"):
        classifier(weight_bound=2, most=1, algorithm="shaped-descent").fit(X, Y, groups=np.arange(ROWS), sample_weight=np.ones(ROWS))
    with pytest.raises(surety.SuretyError, match="weight is for .*, not for svrg"):
        classifier(weight_bound=2, algorithm="svrg").fit(X, Y, sample_weight=np.ones(ROWS))
