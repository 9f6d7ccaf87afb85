"""Runs programs that come as lines of JSON on standard input, one at a time, and answers each by a line of JSON. Started by scripts/conformance."""

import json
import math
import resource
import sys
import time

LIMIT = int(sys.argv[1])
sys.path.pop(0)  # the runners beside this file have the names of packages
# Errors that a library raises on purpose: it says that it does not answer.
REFUSALS = {"ValueError", "NotImplementedError", "UnsupportedEventError", "OpenDPException", "BudgetError", "RuntimeError", "AssertionError", "CalledProcessError", "TypeError"}


def run(lines, command):
    scope = {"COMMAND": command}
    begin = time.perf_counter()
    try:
        exec(compile(lines, "vector", "exec"), scope)
        answer = float(scope["answer"])
        if math.isnan(answer):
            said = {"state": "failed", "reason": "answers nan"}
        elif math.isinf(answer):
            said = {"state": "refused", "reason": "answers inf"}
        else:
            said = {"state": "answered", "answer": repr(answer)}
            if "lower" in scope:
                said["lower"] = repr(float(scope["lower"]))
    except MemoryError:
        said = {"state": "failed", "reason": "needs more than the memory allowed"}
    except BaseException as error:  # whatever a library does, the next vector is asked
        text = " ".join(("%s: %s" % (type(error).__name__, error)).split())[:160]
        said = {"state": "refused" if type(error).__name__ in REFUSALS else "failed", "reason": text}
    said["seconds"] = float("%.3g" % (time.perf_counter() - begin))
    return said


def main():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    reply, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        if "warm" in asked:
            try:
                exec(compile(asked["warm"], "imports", "exec"), {})
            except BaseException as error:
                print(error, file=sys.stderr)
            said = {}
        else:
            said = run(asked["lines"], asked["command"])
        print(json.dumps(said), file=reply, flush=True)


main()
