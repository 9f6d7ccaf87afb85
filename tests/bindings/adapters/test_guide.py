"""The blocks of docs/guides/adapters.md and training-loops.md run: Python here, one after the other; those that need PyTorch where it is installed; commands by
scripts/check-readme."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

GUIDES = Path(__file__).parents[3] / "docs" / "guides"


def blocks(name: str) -> list[tuple[str, str]]:
    """The kind of each block of a guide, and its lines."""
    return re.findall(r"^ *```([^\n]*)\n(.*?)^ *```$", (GUIDES / name).read_text(), re.DOTALL | re.MULTILINE)


def run(kinds: tuple[str, ...], guide: str = "adapters.md") -> int:
    names: dict[str, Any] = {}
    ran = 0
    for kind, block in blocks(guide):
        if kind in kinds:
            exec(compile(block, f"{GUIDES / guide}: {block[:40]}", "exec"), names)
            ran += 1
    return ran


def test_the_python_blocks_run() -> None:
    assert run(("python",)) >= 4


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no PyTorch")
def test_the_blocks_with_torch_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(("python", "python torch")) >= 5
        assert run(("python torch",), "training-loops.md") == 1


@pytest.mark.parametrize("name", ["adapters.md", "training-loops.md"])
def test_no_block_runs_nowhere(name: str) -> None:
    found = blocks(name)
    assert found and all(kind in ("python", "python torch") or (kind == "sh" and block.startswith("$ surety ")) for kind, block in found)
    # No code hides in a block of another form.
    assert not re.search(r"^ *~~~|^    \S.*[=(]", re.sub(r"^ *```.*?^ *```$", "", (GUIDES / name).read_text(), flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
