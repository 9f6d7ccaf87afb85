"""A release, a training and an audit by the package, as `scripts/faults` makes calls of the machine fail under them. A failure of the machine ends it with code 5 and
one line, as the command; any other exception ends it with a traceback."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings

import surety_dp as surety

# One run in a thousand of a table of 48 records warns that few are usable: the noise decides that, and no failure of the machine.
warnings.simplefilter("ignore", surety.FewUsableRecordsWarning)

MACHINE = ctypes.CDLL(None)


def line(file: int, text: str) -> None:
    os.write(file, (text + "\n").encode())


def job() -> None:
    with surety.Ledger("run.db") as ledger:
        promise = {"unit": None, "delta": 1e-6, "adjacency": "replace-one", "ledger": ledger}
        released = surety.release("data.csv", [surety.sum("x", bounds=(-3, 3))], epsilon=0.25, **{**promise, "delta": 0})
        line(1, f"value {released.table[0].value}")
        model = surety.train("data.csv", label="label>0", algorithm="gradient-descent", steps=2, epsilon=0.25, **promise)
        line(1, f"value {model.weights[0]}")
        model.save("m.json")
        line(1, f"runs {len(ledger.audit(1e-5)['runs'])}")


MACHINE.faults_begin()
try:
    job()
except surety.SuretyError as error:
    MACHINE.faults_end()
    line(2, f"surety: error: {error.code.name} {error}")
    sys.exit(5 if error.code == surety.ErrorCode.ENVIRONMENT else 1)
except MemoryError:
    MACHINE.faults_end()
    line(2, "surety: error: MemoryError")
    sys.exit(5)
finally:
    MACHINE.faults_end()
