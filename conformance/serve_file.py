"""serve_file.py FILE: answers lines of JSON by FILE's function answer(vector). Started by scripts/conformance score --python FILE.

The function returns a number, or the pair (lower, upper); None, NotImplementedError and ValueError say that it does not answer.
"""

import json
import os
import pathlib
import runpy
import sys


def said(function, vector):
    try:
        found = function(vector)
    except (NotImplementedError, ValueError) as error:
        return {"refused": str(error) or type(error).__name__}
    except Exception as error:  # whatever it does, the next vector is asked
        return {"failed": "%s: %s" % (type(error).__name__, error)}
    if found is None:
        return {"refused": "answers None"}
    try:
        ends = [repr(float(end)) for end in found] if isinstance(found, (tuple, list)) else [repr(float(found))]
        return {"answer": ends[0]} if len(ends) == 1 else dict(zip(("lower", "answer"), ends, strict=True))
    except (TypeError, ValueError):
        return {"failed": "returns %.60r, must be a number or (lower, upper)" % (found,)}


def main():
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the file prints is no answer
    path = pathlib.Path(sys.argv[1]).resolve()
    sys.path[0] = str(path.parent)  # not this file's folder: a module beside FILE may have a name of ours
    sys.argv = [str(path)]
    function = runpy.run_path(str(path), run_name="accountant")["answer"]
    for line in sys.stdin:
        print(json.dumps(said(function, json.loads(line))), file=reply, flush=True)


main()
