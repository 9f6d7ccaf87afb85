"""The first program in the documentation of six other libraries, here in at most as many lines. The blocks are those of docs/guides/coming-from.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "coming-from.md"


class Job(NamedTuple):
    library: str
    what: str
    lines: int  # of the program of its documentation, without imports, comments and blank lines
    source: str
    needs: str | None  # what our program needs besides NumPy


JOBS = [
    Job("opacus", "an engine makes a network private", 11, "README.md, Getting started (4d0ebc84)", "torch"),
    Job("opendp", "Laplace noise for one number", 6, "docs/source/getting-started/code/quickstart-context.rst (bc6e18b8)", None),
    Job("opendp", "a count and a mean of one budget", 35, "docs/source/getting-started/code/typical-workflow-context.rst (bc6e18b8)", None),
    Job("diffprivlib", "a classifier of the iris data", 6, "README.md, Getting started (5d9c9d8)", "sklearn"),
    Job("diffprivlib", "accuracy against epsilon", 12, "README.md, Getting started (5d9c9d8)", "sklearn"),
    Job("dp_accounting", "Laplace and Gaussian releases composed", 26, "pld/privacy_loss_distribution_basic_example.py (b5b0286)", None),
]


def blocks() -> Iterator[tuple[str, str, str]]:
    """Library, its block, ours."""
    found = re.findall(r"^```python (\w+)\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    for (library, theirs), (_, ours) in zip(found[::2], found[1::2], strict=True):
        yield library, theirs, ours


def lines(block: str) -> int:
    return sum(bool(line.strip()) and not re.match(r"\s*#|import |from ", line) for line in block.splitlines())


def test_no_job_takes_more_lines_than_theirs() -> None:
    found = list(blocks())
    assert [library for library, _, _ in found] == [job.library for job in JOBS]
    counts = {f"{job.library}: {job.what}": (job.lines, lines(theirs), lines(ours)) for job, (_, theirs, ours) in zip(JOBS, found, strict=True)}
    # Their documentation, the same job as the guide writes it, and ours.
    assert list(counts.values()) == [(11, 11, 11), (6, 5, 4), (35, 21, 7), (6, 6, 6), (12, 12, 11), (26, 6, 4)], counts
    assert all(ours <= min(documented, theirs) for documented, theirs, ours in counts.values()), counts
    # No line is longer to be one less.
    assert max(len(line) for _, _, ours in found for line in ours.splitlines()) <= 100


@pytest.mark.parametrize("place", range(len(JOBS)), ids=[f"{job.library}, {job.what}" for job in JOBS])
def test_it_runs(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    job = JOBS[place]
    if job.needs:
        pytest.skip(f"tests/bindings/peers runs it: it needs {job.needs}")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(list(blocks())[place][2], f"{GUIDE}: {job.what}", "exec"), names)
    assert capsys.readouterr().out.strip()
