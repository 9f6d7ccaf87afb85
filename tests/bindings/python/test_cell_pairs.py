"""One cell never changes how other rows are read: pairs of tables of NumPy, lists and CSV that differ in one record (tests/bindings/cells)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cell_pairs import ALL, OWN_MISTAKES, RELEASE_USES, SEED, TRAIN_USES, compare_pairs, own_doors, pairs_and_share, with_mistake

PAIRS, SHARE = pairs_and_share()


def test_pairs_that_differ_in_one_record_count_the_same(tmp_path: Path) -> None:
    found = compare_pairs(PAIRS, SEED, own_doors(tmp_path), share=SHARE)
    report = f"seed {SEED}, share {SHARE}\n" + "\n".join(found.lines())
    print(report)
    assert found.pairs == PAIRS and not found.differences and not found.unlisted(), report
    # Most are answered, and of enough pairs some are at every door, and about every use.
    assert found.refused_alike < PAIRS / 2, report
    if PAIRS >= ALL:
        assert len(found.asked) == len(own_doors(tmp_path)), report
        assert {use.removesuffix(", counted") for use in found.uses} >= {*RELEASE_USES, *TRAIN_USES}, report


@pytest.mark.parametrize("mistake", OWN_MISTAKES.values(), ids=list(OWN_MISTAKES))
def test_a_conversion_that_looks_at_other_cells_is_found(mistake: Callable[[Any], Any], tmp_path: Path) -> None:
    found = compare_pairs(2000, SEED, with_mistake(own_doors(tmp_path), mistake), until=lambda found: bool(found.differences))
    assert found.differences
