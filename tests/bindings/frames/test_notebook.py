"""The notebooks of examples/notebooks: every cell runs, stored outputs are of the kinds that it has, and results are as good as the text says."""

from __future__ import annotations

import base64
import re
import struct
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "notebooks"
NAMES = ["ledger_report", "private_ranges", "release_statistics", "train", "training_log", "which_noise"]


def texts(notebook: Any) -> str:
    """What its cells show as text."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            shown.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(shown)


def kinds(notebook: Any) -> list[list[str]]:
    return [[kind for output in cell.outputs for kind in sorted(output.get("data", {output.output_type: ""}))] for cell in notebook.cells if cell.cell_type == "code"]


def row(text: str, name: str) -> list[float]:
    """The numbers of the row of a table."""
    found = re.search(rf"^{re.escape(name)} +([-+0-9. ]+)$", text, re.MULTILINE)
    assert found, f"no row {name!r} in {text}"
    return [float(number) for number in found[1].split()]


def good_release(text: str) -> None:
    errors = [float(error) for error in re.findall(r"([-+][\d.]+)%", text)]
    # 20 % are more than twenty scales of the noise of each.
    assert len(errors) == 3 and max(map(abs, errors)) < 20


def good_model(text: str) -> None:
    for score, constant, private, better in zip(("loss", "area"), row(text, "constant"), row(text, "private, epsilon = 1"), (-1, 1), strict=True):
        assert better * (private - constant) > (0.02 if score == "loss" else 0.1), (score, constant, private)


def good_ranges(text: str) -> None:
    wide, released, public = (row(text, name)[1] for name in ("bounds from -1000 to 1000", "released ranges", "public bounds"))
    assert min(released, public) > 0.63 and wide < 0.66


def good_log(text: str) -> None:
    assert "not proved" in text and "1.0282072143813192" in text
    assert re.search(r"^poisson +1\.135390 +1\.135390 +holds", text, re.MULTILINE) and re.search(r"^deterministic +20\.562263 +20\.562263 +too low", text, re.MULTILINE)


def good_noise(text: str) -> None:
    assert row(text, "10") == [13.36, 14.13, 14.14] and row(text, "5") == [9.45, 7.07, 7.07]


def good_ledger(text: str) -> None:
    assert "the budget epsilon = 2 at delta = 1e-05 allows" in text and "instead of 50 %" in text
    assert re.search(r"^every promise is kept +True$", text, re.MULTILINE) and re.search(r"^epsilon of all runs +\[1\.4998\d+, 1\.4998\d+\]$", text, re.MULTILINE)


GOOD = dict(zip(NAMES, (good_ledger, good_ranges, good_release, good_model, good_log, good_noise), strict=True))


def test_the_gallery_has_them_all() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES
    assert sorted(re.findall(r"\]\((\w+)\.ipynb\)", (FOLDER / "README.md").read_text())) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str) -> None:
    path = FOLDER / f"{name}.ipynb"
    stored, run = (nbformat.read(path, as_version=4) for _ in range(2))
    nbformat.validate(stored)
    assert path.stat().st_size < 150_000 and not re.search("/tmp/|/home/|/root/|/work/", path.read_text())
    nbclient.NotebookClient(run, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
    for notebook in (stored, run):
        assert not any(output.output_type in ("error", "stderr") or output.get("name") == "stderr" for cell in notebook.cells for output in cell.get("outputs", []))
        GOOD[name](texts(notebook))
    assert kinds(stored) == kinds(run) and sum(map(len, kinds(stored))) >= 4
    pictures = [output["data"]["image/png"] for cell in run.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    assert pictures
    for picture in pictures:
        width, height = struct.unpack(">II", base64.b64decode(picture)[16:24])
        assert width > 300 and height > 150
