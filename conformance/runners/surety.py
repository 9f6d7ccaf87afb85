from common import at

PACKAGE = "surety"
ENVIRONMENT = ""
CLAIMS = "interval"
NOTE = "The command at its default width, from this tree. It certified most vectors: this row shows only speed and width."


def lines(vector):
    given = "delta" if vector["question"]["ask"] == "epsilon" else "epsilon"
    return "\n".join((
        "import json, subprocess",
        "said = json.loads(subprocess.run([COMMAND, 'account', '--event', %r, '--adjacency', %r, '--%s', %r, '--json'], capture_output=True, text=True, check=True).stdout)" % (
            vector["surety"], vector["adjacency"], given, at(vector)),
        "lower, answer = said[%r]['lower'], said[%r]['upper']" % (vector["question"]["ask"], vector["question"]["ask"])))
