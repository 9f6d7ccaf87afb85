"""Logs of runs say in Python what they say by the command."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np
import pytest

import surety_dp as surety

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
        (LOG, {}, "lacks delta"),
        (LOG | {"batch_size": float("nan")}, {"delta": 1e-5}, "not JSON"),
    ],
)
def test_refuses_what_is_no_log(log: Any, more: dict[str, Any], word: str) -> None:
    with pytest.raises(surety.SuretyError, match=word):
        surety.audit_log(log, **more)


def test_a_history_is_the_composition_of_its_phases() -> None:
    history: Any = [(1.1, 0.0042, np.int64(480)), (0.9, 0.0042, 240)]
    told = surety.audit_log(history, adjacency="add-or-remove-one", delta=1e-5, readings=["poisson"])
    event = "compose(repeat(480, poisson(0.0042, gaussian(1.1))), repeat(240, poisson(0.0042, gaussian(0.9))))"
    assert told["readings"][0]["event"] == event and told["proved"] is None
    assert told["readings"][0]["epsilon"]["upper"] == surety.epsilon(event, delta=1e-5, adjacency="add-or-remove-one").upper
    assert surety.audit_log(repr([(1.1, 0.0042, 480), (0.9, 0.0042, 240)]), adjacency="add-or-remove-one", delta=1e-5, readings=["poisson"]) == told
    as_fields = surety.audit_log({"sampler": "poisson", "phases": [[1.1, 0.0042, 480], [0.9, 0.0042, 240]], "delta": 1e-5}, adjacency="add-or-remove-one")
    assert as_fields["proved"]["event"] == event
    wrong: Any
    for wrong, word in [([(1.1, 0.1)], "must be \\(noise multiplier"), ([(1.1, 0.1, 4.5)], "whole number of steps"), ([("1", 0.1, 4)], "number")]:
        with pytest.raises(TypeError, match=word):
            surety.audit_log(wrong, adjacency="add-or-remove-one", delta=1e-5)
    with pytest.raises(surety.SuretyError, match="the log lacks records and batch_size, or in their place sampling_rate; steps.*; adjacency"):
        surety.audit_log({}, delta=1e-5)
