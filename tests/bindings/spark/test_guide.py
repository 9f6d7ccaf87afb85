"""The lines of docs/guides/parts.md for PySpark, on the real engine (`scripts/python spark`): owners of a bucket are in one part, and no part is negative."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "parts.md"


def test_the_lines_of_the_guide_split_by_owner() -> None:
    blocks = re.findall(r"^```python spark\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        for owners, kind in (([*range(-500, 500), None], "bigint"), ([*map(str, range(1000)), "", None, "café", "d"], "string")):
            names: dict[str, Any] = {"visits": spark.createDataFrame([(owner,) for owner in owners], f"owner {kind}")}
            exec(compile(blocks[0], str(GUIDE), "exec"), names)
            rows = [(row.owner, row.part) for row in names["visits"].collect()]
            assert len(rows) == len(owners) and {part for _, part in rows} == {0, 1, 2, 3}
            of_buckets: dict[str, set[int]] = {}
            for owner, part in rows:
                name = "" if owner is None else str(owner)
                of_buckets.setdefault(hashlib.md5(name.encode()).hexdigest()[:3], set()).add(part)
            assert all(len(parts) == 1 for parts in of_buckets.values())
    finally:
        spark.stop()
