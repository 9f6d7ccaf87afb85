"""The lines of docs/guides/python.md that are no doctest run: those of estimators, on made-up rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
GUIDE = GUIDES / "python.md"


def test_the_lines_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block for block in re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE) if ">>> " not in block]
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    rows = np.arange(3000)
    X = np.stack([18 + rows % 73, rows % 11 / 2], axis=1)
    names: dict[str, Any] = {"X": X, "y": np.where(X[:, 0] > 50, "yes", "no"), "patients": rows // 6}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    assert names["classifier"].model_.unit.startswith("one owner of at most 8 rows") and (tmp_path / "run.db").exists()
    assert names["check"](names["classifier"]) == []
