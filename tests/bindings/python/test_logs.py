"""Logs of runs say in Python what they say by the command."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

import surety

LOG: dict[str, Any] = {"noise_multiplier": 1, "batch_size": 600, "records": 60000, "epochs": 10, "sampler": "shuffled", "adjacency": "zero-out"}
CLAIMED = LOG | {"epsilon": 1.83, "delta": 1e-5}


def command(*arguments: str, log: dict[str, Any]) -> Any:
    program = os.environ.get("SURETY_COMMAND")
    if program is None:
        pytest.skip("SURETY_COMMAND does not name a command to compare with")
    text = json.dumps({"version": 1} | log)
    told = json.loads(subprocess.run([program, *arguments, "--log", "-", "--json"], input=text, capture_output=True, text=True).stdout)
    del told["log"]
    return told


def test_audits_and_calibrations_are_the_commands() -> None:
    assert surety.audit_log(CLAIMED, readings=["poisson", "by_record"]) == command("audit", "--reading", "poisson", "--reading", "by_record", log=CLAIMED)
    told = surety.calibrate_log(json.dumps({"version": 1} | LOG), epsilon=2, delta=1e-6, readings=["poisson"])
    assert told == command("calibrate", "--epsilon", "2", "--delta", "1e-6", "--reading", "poisson", log=LOG)


@pytest.mark.parametrize(
    "log, more, word",
    [
        ("", {}, "not JSON"),
        (CLAIMED | {"noise": 1}, {}, "unknown field 'noise'"),
        (CLAIMED | {"steps": 7}, {}, "steps is 7"),
        (CLAIMED, {"adjacency": "replace-one"}, "as in the log"),
        (CLAIMED, {"readings": ["poison"]}, "did you mean 'poisson'"),
        (LOG, {}, "delta is missing"),
        (LOG | {"batch_size": float("nan")}, {"delta": 1e-5}, "not JSON"),
    ],
)
def test_refuses_what_is_no_log(log: Any, more: dict[str, Any], word: str) -> None:
    with pytest.raises(surety.SuretyError, match=word):
        surety.audit_log(log, **more)
