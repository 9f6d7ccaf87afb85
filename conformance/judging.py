"""What an answer is worth beside the exact interval of its vector, and why it is below: for page, check and scripts/conformance. Python's standard library alone."""

import json
import pathlib
import subprocess
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent

SLACK = Fraction(1, 10 ** 9)  # of a delta
ROUNDING = Fraction(1, 10 ** 12)  # of an epsilon: the last digits of a double
CLAIMS = ("upper bound", "interval")
STATES = ("unsound", "rounding", "convention")
# What a cause may at most state of itself to be called rounding: the exact delta over the delta that was asked, and their difference.
LARGEST_FACTOR, LARGEST_DIFFERENCE = Fraction(3, 2), Fraction(1, 10 ** 11)


def verdict(answer, vector):
    """below, above, 0.1, 1 or looser of what was answered.

    An epsilon below the exact one is held against nobody whose delta is within SLACK of the one that was asked; without `true_delta` an epsilon is below
    where it is less than the certified lower end by more than ROUNDING. A lower end of an accountant is above where it exceeds the exact upper end.
    """
    said, lower, upper = max(Fraction(answer["answer"]), 0), Fraction(vector["answer"]["lower"]), Fraction(vector["answer"]["upper"])
    if vector["question"]["ask"] == "delta":
        if said < lower * (1 - SLACK):
            return "below"
    elif said < lower * (1 - ROUNDING) and ("true_delta" not in answer or
                                            Fraction(answer["true_delta"]["lower"]) > Fraction(vector["question"]["delta"]) * (1 + SLACK)):
        return "below"
    if "lower" in answer and number(answer["lower"]) is not None and Fraction(answer["lower"]) > upper * (1 + ROUNDING):
        return "above"
    if said <= upper * (1 + Fraction(1, 1000)):
        return "0.1"
    return "1" if said <= upper * (1 + Fraction(1, 100)) else "looser"


def number(text):
    """A decimal text as a fraction; None for infinities and what is no number."""
    try:
        return Fraction(text)
    except (ValueError, OverflowError):
        return None


def true_delta(command, vector, epsilon):
    """The ends of the exact delta at an epsilon, from the command surety; None where it has no answer."""
    run = subprocess.run([command, "account", "--event", vector["surety"], "--adjacency", vector["adjacency"], "--epsilon", epsilon, "--width", "1e-9", "--json"],
                         capture_output=True, text=True)
    if run.returncode:
        return None
    said = json.loads(run.stdout, parse_float=str, parse_int=str)["delta"]
    return {"lower": said["lower"], "upper": said["upper"]}


def excess(answer, vector):
    """(exact delta, the delta that was asked or answered) of an answer below the truth, the former by its upper end."""
    if vector["question"]["ask"] == "delta":
        return Fraction(vector["answer"]["upper"]), max(Fraction(answer["answer"]), 0)
    return Fraction(answer["true_delta"]["upper"]), Fraction(vector["question"]["delta"])


def reading(event, other):
    """The event with mechanisms named otherwise: {"record_sum": "gaussian"} reads a noise multiplier as one over the sensitivity."""
    if isinstance(event, list):
        return [reading(one, other) for one in event]
    if not isinstance(event, dict):
        return event
    changed = {name: reading(value, other) for name, value in event.items()}
    return {**changed, "mechanism": other.get(event["mechanism"], event["mechanism"])}


def stored_causes(path=None):
    return json.loads((path or HERE / "causes.json").read_text())["causes"]


def cause_faults(causes, results, vectors):
    """Findings about the table of causes: {name of an accountant: its results}, {id: vector}. Every answer below the truth has one cause, of which the numbers hold."""
    found, owner = [], {}
    for cause in causes:
        for name, ids in cause["vectors"].items():
            for one in ids:
                if (name, one) in owner:
                    found.append("%s: %s of %s is of %s, too" % (cause["name"], one, name, owner[name, one]))
                owner[name, one] = cause["name"]
    answers = {name: {answer["id"]: answer for answer in result["answers"]} for name, result in results.items()}
    wrong = {(name, one) for name, result in results.items() if result["claims"] in CLAIMS for one, answer in answers[name].items()
             if answer["state"] == "answered" and verdict(answer, vectors[one]) in ("below", "above")}
    found += ["%s: %s is not what holds, and of no cause in conformance/causes.json" % pair for pair in sorted(wrong - set(owner))]
    found += ["%s: %s of %s is no wrong answer" % (owner[name, one], one, name) for name, one in sorted(set(owner) - wrong)]
    if found:
        return found
    for cause in causes:
        mine = [(answers[name][one], vectors[one]) for name, ids in cause["vectors"].items() for one in ids]
        again = [(vectors[one["vector"]], Fraction(one["answer"])) for one in cause["asked_again"]]
        found += ["%s: %s" % (cause["name"], fault) for fault in FAULTS[cause["state"]](cause, mine, again)]
        # Who answers through another accountant has its cause only where it has its answers.
        for name in cause["vectors"]:
            through = results[name].get("through")
            if through in cause["vectors"]:
                found += ["%s: %s is answered otherwise by %s, through which %s is said to answer" % (cause["name"], one, through, name)
                          for one in cause["vectors"][name] if answers[name][one]["answer"] != answers[through].get(one, {}).get("answer")]
    return found


def unsound(cause, mine, again):
    found = []
    if all(exact <= LARGEST_FACTOR * asked for exact, asked in (excess(*one) for one in mine)):
        found.append("no exact delta exceeds what was asked by a factor of %g: is it rounding?" % LARGEST_FACTOR)
    if not again:
        found.append("nothing was asked again without the cause")
    for vector, said in again:
        if not Fraction(vector["answer"]["lower"]) * (1 - ROUNDING) <= said <= Fraction(vector["answer"]["upper"]) * (1 + Fraction(1, 100)):
            found.append("%s is answered by %.9g without the cause, which is not the exact number either" % (vector["id"], said))
    return found


def rounding(cause, mine, again):
    factor, difference, found = Fraction(cause["factor"]), Fraction(cause["difference"]), []
    if factor > LARGEST_FACTOR or difference > LARGEST_DIFFERENCE:
        found.append("states a factor of %g and a difference of %g, must be at most %g and %g" % (factor, difference, LARGEST_FACTOR, LARGEST_DIFFERENCE))
    for answer, vector in mine:
        exact, asked = excess(answer, vector)
        if exact > factor * asked:
            found.append("%s: the exact delta is %.6g times what was asked, must be at most %g times" % (vector["id"], exact / asked if asked else float("inf"), factor))
        if exact - asked > difference:
            found.append("%s: the exact delta exceeds what was asked by %.3g, must be at most %g" % (vector["id"], exact - asked, difference))
    if again:  # on other grids the same code errs to either side
        lower = [vector["id"] for vector, said in again if said < Fraction(vector["answer"]["lower"])]
        upper = [vector["id"] for vector, said in again if said > Fraction(vector["answer"]["upper"])]
        if not lower or not upper:
            found.append("what was asked again is on one side of the truth alone")
    return found


def convention(cause, mine, again):
    found = []
    for answer, vector in mine:
        exact = cause["exact"].get(vector["id"])
        if reading(vector["event"], cause["reading"]) == vector["event"]:
            found.append("%s is the same under the reading" % vector["id"])
        elif exact is None:
            found.append("%s has no exact interval under the reading" % vector["id"])
        elif verdict({"answer": answer["answer"]}, {"question": vector["question"], "answer": exact}) == "below":
            found.append("%s: %s is below %s, so that it is wrong under the reading, too" % (vector["id"], answer["answer"], exact["lower"]))
    found += ["%s is answered by %.9g in the other reading, which is below its exact number" % (vector["id"], said)
              for vector, said in again if said < Fraction(vector["answer"]["lower"]) * (1 - ROUNDING)]
    found += ["%s is not of this cause" % one for one in sorted(set(cause["exact"]) - {vector["id"] for _, vector in mine})]
    return found


FAULTS = {"unsound": unsound, "rounding": rounding, "convention": convention}
