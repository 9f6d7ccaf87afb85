"""Calls that a program in Python makes of the machine fail, or are where it is killed (scripts/faults): a release, a training and an audit by tests/faults/job.py. A failure
is a SuretyError of the code ENVIRONMENT, or a MemoryError; nothing is released that is not charged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[3]


def test_what_the_machine_refuses_is_of_its_kind_and_nothing_is_uncharged() -> None:
    if not os.environ.get("SURETY_COMMAND"):
        pytest.skip("SURETY_COMMAND does not name a command that reads the ledgers")
    words = [str(TREE / "scripts" / "faults"), "--command", os.environ["SURETY_COMMAND"], "--jobs", "python", "--python", sys.executable, "--sample", "2"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, "SURETY_TENTH": os.environ.get("SURETY_TENTH", "0")})
    assert done.returncode == 0 and " 0 broken rules" in done.stdout, done.stdout + done.stderr
