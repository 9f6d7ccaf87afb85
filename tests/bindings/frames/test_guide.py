"""The lines of docs/guides/python.md that are no doctest run: those of estimators, on made-up rows. And the SQL of docs/guides/parts.md, by DuckDB."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import duckdb
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


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR"])
def test_the_sql_of_parts_splits_by_owner(kind: str) -> None:
    blocks = re.findall(r"^```sql\n(.*?)^```", (GUIDES / "parts.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE visits AS SELECT CAST(range - 500 AS {kind}) AS owner FROM range(1000) UNION ALL SELECT NULL")
        rows = database.execute(blocks[0]).fetchall()
    assert len(rows) == 1001 and {part for _, part in rows} == {0, 1, 2, 3}
    of_buckets: dict[str, set[int]] = {}
    for owner, part in rows:
        name = "" if owner is None else str(owner)
        of_buckets.setdefault(hashlib.md5(name.encode()).hexdigest()[:3], set()).add(part)
    assert all(len(parts) == 1 for parts in of_buckets.values())
