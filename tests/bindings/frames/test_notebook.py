"""The notebook of examples/notebooks: every cell of it runs, and shows what its text says."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebooks" / "quickstart.ipynb"


def outputs(cells: list[Any], kind: str) -> list[Any]:
    return [output["data"][kind] for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"] if kind in output.get("data", {})]


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code), "it is kept without what it printed on some machine"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    pictures = outputs(code, "image/png")
    for place, picture in enumerate(pictures):
        (tmp_path / f"{place}.png").write_bytes(base64.b64decode(picture))
        width, height = struct.unpack(">II", base64.b64decode(picture)[16:24])
        assert width > 300 and height > 200
    assert len(pictures) == 4
    shown = "".join(outputs(code, "text/html"))
    assert "mean(hours)" in shown and "<caption>Model of squared loss for lwage" in shown and "NOT PRIVATE" not in shown
    printed = [output.text for cell in code for output in cell.outputs if output.output_type == "stream"]
    assert len(printed) == 1 and printed[0].startswith("BUDGET_EXCEEDED\nthe budget epsilon = 2 ")
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
