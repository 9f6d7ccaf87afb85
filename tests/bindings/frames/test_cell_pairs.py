"""One cell never changes how other rows are read: pairs of tables of pandas, polars, pyarrow, DuckDB and SciPy, and of what estimators are given (tests/bindings/cells)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cell_pairs import ALL, SEED, compare_pairs, own_doors, pairs_and_share, with_mistake
from frame_doors import ESTIMATOR_MISTAKES, FRAME_MISTAKES, doors_of_frames, estimator_question, estimator_question_with

PAIRS, SHARE = pairs_and_share()


def test_pairs_that_differ_in_one_record_count_the_same(tmp_path: Path) -> None:
    doors = own_doors(tmp_path) + doors_of_frames(tmp_path)
    found = compare_pairs(PAIRS, SEED, doors, estimator_question, share=SHARE)
    report = f"seed {SEED}, share {SHARE}\n" + "\n".join(found.lines())
    print(report)
    assert found.pairs == PAIRS and not found.differences and not found.unlisted(), report
    assert found.refused_alike < PAIRS / 2, report
    assert PAIRS < ALL or {door.package for door in doors} <= {name.split(":")[0] for name in found.asked}, report


@pytest.mark.parametrize("mistake", FRAME_MISTAKES.values(), ids=list(FRAME_MISTAKES))
def test_a_conversion_that_looks_at_other_cells_is_found(mistake: Callable[[Any], Any], tmp_path: Path) -> None:
    doors = [door for door in doors_of_frames(tmp_path) if door.package == "pandas" and not door.reads_text]
    found = compare_pairs(2000, SEED, with_mistake(doors, mistake), until=lambda found: bool(found.differences))
    assert found.differences


@pytest.mark.parametrize("mistake", ESTIMATOR_MISTAKES.values(), ids=list(ESTIMATOR_MISTAKES))
def test_an_estimator_that_looks_at_other_cells_is_found(mistake: tuple[Callable[[Any], Any], str, str]) -> None:
    found = compare_pairs(2000, SEED, [], estimator_question_with(*mistake), until=lambda found: bool(found.differences))
    assert found.differences
