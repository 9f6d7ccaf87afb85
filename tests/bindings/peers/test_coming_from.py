"""The blocks of docs/guides/coming-from.md run: those of the other library and ours, which do the same job and agree. `scripts/python peers` has OpenDP, diffprivlib and
dp_accounting, `scripts/python torch` has Opacus."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "coming-from.md"


def pairs(library: str) -> list[tuple[str, str]]:
    """The blocks of one library, each with ours that follows it."""
    blocks = re.findall(r"^```python (\w+)\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) % 2 == 0
    couples = list(zip(blocks[::2], blocks[1::2], strict=True))
    assert all(theirs[0] != "surety" and ours[0] == "surety" for theirs, ours in couples)
    return [(theirs[1], ours[1]) for theirs, ours in couples if theirs[0] == library]


def run(block: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(block, f"{GUIDE}: {block[:60]}", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def needs(*modules: str) -> Any:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"there is no {', '.join(missing)}")


@needs("opendp")
def test_noise_for_one_number(capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = pairs("opendp")[0]
    costs = []
    for block in (theirs, ours):
        # Laplace noise of scale 1 exceeds 40 with probability 4e-18.
        run(block, {})
        noisy, cost = capsys.readouterr().out.split(maxsplit=1)
        assert abs(float(noisy) - 123) < 40
        costs.append(cost.strip())
    assert costs == ["1.0", "[1, 1]"]


@needs("opendp")
def test_a_count_and_a_mean(capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = pairs("opendp")[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(theirs, {})
    lower, upper, mean = map(float, capsys.readouterr().out.split())
    assert lower < upper and abs((lower + upper) / 2 - 100) < 80 and np.isfinite(mean)
    released = run(ours, {})["released"]
    count, average = released.table
    assert (count.query, average.query) == ("count()", "mean(age)") and abs(count.value - 100) < 80
    assert released.cost.upper <= 1 and Path("ages.db").exists()


@needs("diffprivlib", "sklearn")
def test_a_classifier_and_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("agg")
    best = []
    for place in (0, 1):
        names: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # both warn of tiny epsilons
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                run(pairs("diffprivlib")[0][place], names)
            # As the guide says, diffprivlib reads bounds that are missing from the data.
            assert [one.category.__name__ for one in warned] == [["PrivacyLeakWarning"], []][place]
            run(pairs("diffprivlib")[1][place], names)
        assert len(names["accuracy"]) == len(names["epsilons"]) == 50
        best.append(float(np.mean(names["accuracy"][-10:])))
    assert min(best) > 0.8, f"at epsilon near 100 both should find the species: {best}"


@needs("diffprivlib", "sklearn")
def test_the_accuracies_of_the_guide() -> None:
    """Each is a mean of eight splits, of standard deviation at most 0.08."""
    from diffprivlib.models import GaussianNB
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split

    import surety_dp as surety
    from surety_dp.sklearn import PrivateClassifier

    (epsilons, theirs, ours) = re.findall(r"^\| (?:epsilon|`GaussianNB`|`PrivateClassifier`)[^|]* \|(.*)\|$", GUIDE.read_text(), re.MULTILINE)[:3]
    bounds = [(4.3, 7.9), (2.0, 4.4), (1.1, 6.9), (0.1, 2.5)]
    of_all: dict[str, Any] = {"delta": 1e-5, "adjacency": "replace-one", "classes": [0, 1, 2], "bounds": bounds}
    X, y = load_iris(return_X_y=True)
    splits = [train_test_split(X, y, test_size=0.2, random_state=seed) for seed in range(8)]
    for epsilon, their_mean, our_mean in zip(*(map(float, row.split("|")) for row in (epsilons, theirs, ours)), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.array([
                [
                    GaussianNB(epsilon=epsilon, bounds=tuple(zip(*bounds, strict=True))).fit(X, y).score(of_X, of_y),
                    PrivateClassifier(epsilon=epsilon, ledger=surety.Ledger.in_memory(), **of_all).fit(X, y).score(of_X, of_y),
                ]
                for X, of_X, y, of_y in splits
            ])
        assert abs(found.mean(axis=0) - [their_mean, our_mean]).max() < 0.3, (epsilon, found.mean(axis=0))


@needs("dp_accounting")
def test_forty_laplace_releases_and_a_gaussian_one() -> None:
    (theirs, ours) = pairs("dp_accounting")[0]
    their_names, our_names = run(theirs, {}), run(ours, {})
    for pld, event in (("laplaces", "laplaces"), ("both", "both")):
        enclosure = our_names["surety"].delta(our_names[event], epsilon=10)
        assert abs(their_names[pld].get_delta_for_epsilon(10) / enclosure.upper - 1) < 1e-3


@pytest.mark.parametrize("library", ["opendp", "dp_accounting"])
def test_comments_of_blocks_are_what_they_print(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"there is no {library}")
    for block in [block for couple in pairs(library) for block in couple]:
        wanted = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        if not wanted:
            continue
        run(block, {})
        for printed, line in zip(capsys.readouterr().out.splitlines(), wanted, strict=True):
            assert line == (printed if printed[0] == "[" else f"{float(printed):.6e}")


@needs("torch", "opacus")
def test_opacus() -> None:
    import torch

    ((theirs, ours),) = pairs("opacus")
    torch.manual_seed(1)
    reported = []
    for block in (theirs, ours):
        records = torch.utils.data.TensorDataset(torch.rand(4096, 3), torch.rand(4096, 1))
        names: dict[str, Any] = {"Net": lambda: torch.nn.Linear(3, 1), "dataset": records}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(block, names)
            for features, target in names["loader"]:
                names["optimizer"].zero_grad()
                torch.nn.functional.mse_loss(names["model"](features), target).backward()
                names["optimizer"].step()
            reported.append(names["engine"].get_epsilon(1e-5))
    # Four Poisson batches at rate 1/4. Opacus' own accountant is not below ours by more than its stated error.
    assert str(names["engine"].event) == "repeat(4, poisson(0.25, gaussian(1.1)))" and names["engine"].adjacency == "zero-out"
    assert reported[1] <= reported[0] * 1.01
