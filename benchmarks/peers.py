#!/usr/bin/env python3
"""peers.py COMMAND PYTHON [QUESTION...]: the page of research/scripts/peers, or the rows of the questions whose event holds one of QUESTION.

COMMAND is the surety to ask, PYTHON an interpreter that has dp_accounting, PLD_accounting and riskcal. Every program that is asked of them is printed by
the column `program` of docs/results/peers-hard.csv, and runs in a process of its own.
"""

import csv
import datetime
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
from result_page import mark  # noqa: E402

SECONDS, BYTES = 60, 4 << 30
RELATION = {"add-or-remove-one": "ADD_OR_REMOVE_ONE", "replace-one": "REPLACE_ONE"}
SHAPE = {"poisson_runs": "math.inf", "geometric_runs": "1.0", "logarithmic_runs": "0.0"}
DPSGD = "repeat(1000, poisson(0.01, gaussian(1)))"
# Beside those of the other page: what an attack on a run can do, which riskcal is for.
RISKS = [(event, "add-or-remove-one", asked)
         for event in (DPSGD, "gaussian(2)", "repeat(10, laplace(4))")
         for asked in ("advantage", "true positives at 0.01")]


class None_such(Exception):
    """The peer has no such event."""


# ---- events ----


def parsed(text):
    """('repeat', [('1000', []), ('gaussian', [('1', [])])]) of 'repeat(1000, gaussian(1))'."""
    tokens = re.findall(r"[^\s(),]+|[(),]", text)

    def one():
        name, arguments = tokens.pop(0), []
        if tokens and tokens[0] == "(":
            while tokens.pop(0) != ")":
                arguments.append(one())
                if tokens[0] == ")":
                    tokens.pop(0)
                    break
        return name, arguments

    return one()


def values(arguments):
    return [argument[0] for argument in arguments]


def runs(event, count=1):
    """[(count, part)] of repetitions and compositions."""
    name, arguments = event
    if name == "repeat":
        return runs(arguments[1], count * int(arguments[0][0]))
    if name == "compose":
        return [one for part in arguments for one in runs(part, count)]
    return [(count, event)]


def noise(event, adjacency, over_sensitivity=False):
    """The noise multiplier: over the norm of one record's part, or over what a replaced record moves."""
    name, arguments = event
    if name != "gaussian" and name != "record_sum" or (name == "gaussian" and adjacency == "replace-one" and not over_sensitivity):
        raise None_such
    return float(arguments[0][0])


# ---- dp_accounting ----


def tree(event, adjacency, renyi):
    """An expression of its events, for one of its two accountants."""
    name, arguments = event
    if name in ("gaussian", "record_sum"):
        return f"dp.GaussianDpEvent({noise(event, adjacency, renyi)})"
    if name == "laplace":
        return f"dp.LaplaceDpEvent({float(arguments[0][0])})"
    if name == "repeat":
        return f"dp.SelfComposedDpEvent({tree(arguments[1], adjacency, renyi)}, {arguments[0][0]})"
    if name == "compose":
        return "dp.ComposedDpEvent([" + ", ".join(tree(part, adjacency, renyi) for part in arguments) + "])"
    if name == "poisson":
        return f"dp.PoissonSampledDpEvent({float(arguments[0][0])}, {tree(arguments[1], adjacency, renyi)})"
    if name == "truncated_poisson" and not renyi:
        rate, largest, records = values(arguments[:3])
        return f"dp.dp_event.TruncatedSubsampledGaussianDpEvent({records}, {rate}, {largest}, {noise(arguments[3], adjacency)})"
    if not renyi:
        raise None_such
    if name == "without_replacement":
        return f"dp.SampledWithoutReplacementDpEvent({arguments[0][0]}, {arguments[1][0]}, {tree(arguments[2], adjacency, renyi)})"
    if name == "best_of" and arguments[0][0] in SHAPE:
        return f"dp.dp_event.RepeatAndSelectDpEvent({tree(arguments[2], adjacency, renyi)}, {float(arguments[1][0])}, {SHAPE[arguments[0][0]]})"
    if name == "zcdp" and len(arguments) == 1:
        return f"dp.dp_event.ZCDpEvent({float(arguments[0][0])})"
    if name in ("pure", "exponential", "k_norm"):
        return as_pure(event)
    raise None_such


def as_pure(event):
    """What is epsilon-private, as the two answers that are worst of all such; beside batches, which that accountant has not under one relation with them, by zCDP."""
    name, arguments = event
    epsilon = 1 / float(arguments[2][0]) if name == "k_norm" else float(arguments[0][0])
    if name == "pure":
        return f"dp.dp_event.ZCDpEvent({epsilon} ** 2 / 2)"
    return f"dp.RandomizedResponseDpEvent(2 / (1 + math.exp({epsilon})), 2)"


def question(asked):
    """'get_epsilon' and 1e-6 of 'delta 1e-6'; an advantage is delta at epsilon 0."""
    if asked == "advantage":
        return "delta", "0.0"
    kind, value = asked.split()
    return ("epsilon", value) if kind == "delta" else ("delta", value)


def by_accountant(accountant, event, adjacency, asked, renyi):
    if asked.startswith("true positives"):
        raise None_such
    kind, value = question(asked)
    said = tree(event, adjacency, renyi)
    relation = "REPLACE_ONE" if "RandomizedResponse" in said else RELATION[adjacency]
    return "\n".join((
        "import math, dp_accounting as dp", "",
        f"accountant = {accountant}(neighboring_relation=dp.NeighboringRelation.{relation})",
        f"accountant.compose({said})",
        f"answer = accountant.get_{kind}({value})"))


def privacy_loss(event, adjacency, asked):
    """Its PLDAccountant, and where it has no event for a part that is epsilon-private, the functions below it."""
    pure = [name for _, (name, _) in runs(event) if name in ("pure", "k_norm")]
    if not pure:
        return by_accountant("dp.pld.PLDAccountant", event, adjacency, asked, False), ""
    program = ["import dp_accounting as dp", "from dp_accounting.pld import common, privacy_loss_distribution as pld", "", "run = pld.identity()"]
    for count, (name, arguments) in runs(event):
        if name in ("pure", "k_norm"):
            epsilon = 1 / float(arguments[2][0]) if name == "k_norm" else float(arguments[0][0])
            made = f"pld.from_privacy_parameters(common.DifferentialPrivacyParameters({epsilon}, 0))"
        elif name == "poisson" and adjacency == "add-or-remove-one":
            made = f"pld.from_gaussian_mechanism({noise(arguments[1], adjacency)}, sampling_prob={arguments[0][0]})"
        else:
            raise None_such
        program.append(f"run = run.compose({made}.self_compose({count}))")
    kind, value = question(asked)
    program.append(f"answer = run.get_{kind}_for_{'delta' if kind == 'epsilon' else 'epsilon'}({value})")
    return "\n".join(program), "k_norm as epsilon-private" if "k_norm" in pure else ""


def renyi(event, adjacency, asked):
    said = {"pure": "pure(e) as zCDP of e^2 / 2", "k_norm": "k_norm as a randomized response", "exponential": "exponential as a randomized response"}
    text = json.dumps(event)
    return by_accountant("dp.rdp.RdpAccountant", event, adjacency, asked, True), "; ".join(why for name, why in said.items() if f'"{name}"' in text)


# ---- PLD_accounting ----


def allocations(event, adjacency):
    """[(epochs, rounds, participations, noise multiplier)]"""
    found = []
    for count, (name, arguments) in runs(event):
        if name != "allocated" or adjacency != "add-or-remove-one":
            raise None_such
        found.append((count, arguments[0][0], arguments[1][0] if len(arguments) == 3 else "1", noise(arguments[-1], adjacency)))
    return found


def allocated_parameters(epochs, rounds, selected, sigma):
    return f"pa.PrivacyParams(sigma={sigma}, num_steps={rounds}, num_selected={selected}, num_epochs={epochs})"


def allocation(event, adjacency, asked):
    """Bounds of one kind of epochs by the function that refines them; of several, or of delta, by distributions at the default grid."""
    if event[0] == "poisson":
        kind, value = question(asked)
        return "\n".join((
            "import PLD_accounting as pa", "from dp_accounting.pld import privacy_loss_distribution as pld", "",
            f"run = pa.subsample_pld(pld=pld.from_gaussian_mechanism({noise(event[1][1], adjacency)}), sampling_probability={event[1][0][0]})",
            f"answer = run.get_{kind}_for_{'delta' if kind == 'epsilon' else 'epsilon'}({value})")), ""
    parts = allocations(event, adjacency)
    if len(parts) == 1 and asked.startswith("delta "):
        epochs, rounds, selected, sigma = parts[0]
        return "\n".join((
            "import PLD_accounting as pa", "",
            f"answer, lower = pa.gaussian_allocation_epsilon_range(delta={asked.split()[1]}, sigma={sigma}, num_steps={rounds}, num_selected={selected}, num_epochs={epochs})")), ""
    if asked.startswith("true positives"):
        raise None_such
    kind, value = question(asked)
    program = ["import PLD_accounting as pa", "", "grid = pa.AllocationSchemeConfig()"]
    ask = f"get_{kind}_for_{'delta' if kind == 'epsilon' else 'epsilon'}({value})"
    for name, bound in (("answer", "DOMINATES"), ("lower", "IS_DOMINATED")):
        for number, part in enumerate(parts):
            made = f"pa.gaussian_allocation_pld(params={allocated_parameters(*part)}, config=grid, bound_type=pa.BoundType.{bound})"
            program.append(f"run = {made if number == 0 else f'run.compose({made})'}")
        program.append(f"{name} = run.{ask}")
    return "\n".join(program), ""


# ---- riskcal ----


def attack(event, adjacency, asked):
    """Its accountant of Poisson-sampled Gaussians; of other distributions of dp_accounting's and PLD_accounting's, its functions."""
    if adjacency != "add-or-remove-one":
        raise None_such
    program = ["from riskcal import analysis"]
    names = {name for _, (name, _) in runs(event)}
    if names <= {"poisson", "gaussian"}:
        program = ["from riskcal.accountants import CTDAccountant", "", "accountant = CTDAccountant()"]
        history = [(noise(part[1][-1] if part[0] == "poisson" else part, adjacency), float(part[1][0][0]) if part[0] == "poisson" else 1.0, count) for count, part in runs(event)]
        program.append(f"accountant.history = {history}  # (noise multiplier, sample rate, steps), as its state_dict holds them")
        if asked.startswith("delta "):
            program.append(f"answer = accountant.get_epsilon(delta={asked.split()[1]})")
        elif asked.startswith("epsilon "):
            program.append(f"answer = accountant.get_pld().get_delta_for_epsilon({asked.split()[1]})")
        else:
            program.append("answer = accountant.get_advantage()" if asked == "advantage" else f"answer = 1 - accountant.get_beta(alpha={asked.split()[-1]})")
        return "\n".join(program), ""
    if asked.startswith(("delta ", "epsilon ")):
        raise None_such
    if names == {"allocated"}:
        part, = allocations(event, adjacency)
        program += ["import PLD_accounting as pa", "", f"run = pa.gaussian_allocation_pld(params={allocated_parameters(*part)}, config=pa.AllocationSchemeConfig())"]
    elif names <= {"poisson", "gaussian", "laplace"}:
        program += ["from dp_accounting.pld import privacy_loss_distribution as pld", "", "run = pld.identity()"]
        for count, (name, arguments) in runs(event):
            made = {"poisson": lambda a: f"pld.from_gaussian_mechanism({noise(a[1], adjacency)}, sampling_prob={a[0][0]})", "gaussian": lambda a: f"pld.from_gaussian_mechanism({a[0][0]})",
                    "laplace": lambda a: f"pld.from_laplace_mechanism({a[0][0]})"}[name](arguments)
            program.append(f"run = run.compose({made}.self_compose({count}))")
    else:
        raise None_such
    program.append("answer = analysis.get_advantage_from_pld(run)" if asked == "advantage" else f"answer = 1 - analysis.get_beta_from_pld(run, alpha={asked.split()[-1]})")
    return "\n".join(program), "its functions, on the distribution of the other package"


PEERS = {"dp_accounting, privacy loss": privacy_loss, "dp_accounting, Renyi": renyi, "PLD_accounting": allocation, "riskcal": attack}


# ---- asking ----


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def kept(question, ask):
    """What `ask` answers, from build/peers/answers.jsonl where it was asked before with the same list of packages."""
    path = ROOT / "build/peers/answers.jsonl"
    made = hashlib.sha256((json.dumps(question) + (ROOT / "benchmarks/peers-requirements.txt").read_text()).encode()).hexdigest()
    for line in path.read_text().splitlines() if path.exists() else ():
        if json.loads(line)["question"] == made:
            return json.loads(line)["answer"]
    answer = ask()
    with path.open("a") as file:
        file.write(json.dumps({"question": made, "answer": answer}) + "\n")
    return answer


def ask_peer(python, program):
    """{'answer', 'lower', 'seconds'} or {'error'}. Seconds are of the processor, after the imports."""
    imports, _, lines = program.partition("\n\n")
    whole = "\n".join((
        "import json, time, warnings", "warnings.simplefilter('ignore')", imports, "begin = time.process_time()", "try:",
        *("  " + line for line in lines.split("\n")),
        "  said = {'answer': float(answer)}", "  if 'lower' in dir(): said['lower'] = float(lower)",
        "except MemoryError: said = {'error': 'needs more than 4 GiB'}",
        "except Exception as error: said = {'error': ' '.join(f'{type(error).__name__}: {error}'.split())[:160]}",
        "print(json.dumps(said | {'seconds': time.process_time() - begin}))"))
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, "-c", whole], capture_output=True, text=True, env=alone, preexec_fn=limits, cwd=ROOT / "build")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"stopped after {SECONDS} s", "seconds": SECONDS}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().split("\n") or ["ended without an answer"])[-1][:160], "seconds": float("nan")}
    return json.loads(done.stdout.strip().split("\n")[-1])


def ask_surety(command, event, adjacency, asked):
    """The two ends, or its refusal; processor seconds of the process."""
    words = [command, "account", "--event", event, "--adjacency", adjacency, "--json"]
    words += ["--risk"] if asked.startswith(("advantage", "true")) else [f"--{asked.split()[0]}", asked.split()[1]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(words, capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if done.returncode != 0:
        return done.stderr.strip().split("\n")[0], seconds
    found = json.loads(done.stdout)
    if asked.startswith("true"):
        value, = [rate["true_positive_rate"] for rate in found["true_positive_rates"] if rate["false_positive_rate"] == float(asked.split()[-1])]
    else:
        value = found["advantage"] if asked == "advantage" else found["delta"] if asked.startswith("epsilon ") else found["epsilon"]
        value = found["value"] if isinstance(value, (int, float)) else value
    return (value["lower"], value["upper"]), seconds


def place(said, ends):
    """Where an upper bound lies, and whether a lower end contradicts ours."""
    lower, upper = ends
    answer = said["answer"]
    above = f"above by {100 * (answer / upper - 1):.2g} %" if answer < 10 * upper else f"above, {answer / upper:.2g} times"
    words = "below" if answer < lower else "inside" if answer <= upper else above
    return words + (", its lower end above ours" if said.get("lower", 0) > upper else "")


def rows_of_page():
    with open(ROOT / "docs/results/one-percent.csv") as rows:
        found = [(row["event"].removesuffix(" *").strip("`"), row["adjacency"], row["asked"]) for row in csv.DictReader(rows)]
    if not found:
        sys.exit("peers: docs/results/one-percent.csv has no rows")
    return found


def short(event):
    return event if len(event) < 200 else f"compose({len(parsed(event)[1])} different allocated epochs)"


def ask_all(command, python, wanted, order=1):
    """A row for each question and peer: event, adjacency, asked, surety, its seconds, peer, its answer, its seconds, where, remark, program."""
    for event, adjacency, asked in (rows_of_page() + RISKS)[::order]:
        if wanted and not any(part in event for part in wanted):
            continue
        ends, seconds = ask_surety(command, event, adjacency, asked)
        ours = ends if isinstance(ends, str) else f"[{ends[0]:.7g}, {ends[1]:.7g}]"
        asking = 0
        for peer, translate in PEERS.items():
            try:
                program, remark = translate(parsed(event), adjacency, asked)
            except None_such:
                continue
            asking += 1
            said = kept([program, SECONDS], lambda program=program: ask_peer(python, program))
            if "error" in said:
                answer, where = f"error: {said['error']}".replace("|", "/"), ""
                if said["error"].startswith("stopped"):
                    answer = said["error"]
            else:
                answer = f"[{said['lower']:.7g}, {said['answer']:.7g}]" if "lower" in said else f"{said['answer']:.7g}"
                where = "" if isinstance(ends, str) else place(said, ends)
            print(f"{short(event)} {asked} {peer}: {answer} {where}", file=sys.stderr, flush=True)
            yield event, adjacency, asked, ours, f"{seconds:.2f}", peer, answer, f"{said['seconds']:.2f}", where, remark, program
        if asking == 0:
            yield event, adjacency, asked, ours, f"{seconds:.2f}", "", "", "", "", "", ""


def versions(python):
    names = ("dp-accounting", "PLD_accounting", "riskcal")
    done = subprocess.run([python, "-c", f"from importlib.metadata import version; print(*(version(name) for name in {names}))"], capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split()))


# Questions that the page shows; the file has all.
SHOWN = re.compile(r"best_of\(geometric_runs, 10, repeat|allocated\(1000, 10, gaussian\(1\)\) delta 1e-6|allocated\(1000, 100|repeat\(1000, (without|truncated)"
                   r"|repeat\(1000000, poisson|poisson\(0.001, gaussian\(2\)\) epsilon|repeat\(1000, poisson.* (advantage|true)|^gaussian.* true")

LEFT_OUT = re.compile(r"(poisson\(0.9|poisson\(1e-9|poisson\(0.001).*riskcal|poisson\(0.001.*Renyi|advantage dp_accounting, privacy")


def table(rows):
    print("| event | asked | surety | s | peer | its answer | its s | where |\n|---|---|---|---|---|---|---|---|")
    for event, _, asked, *rest, _, _ in rows:
        if SHOWN.search(f"{short(event)} {asked}") and not LEFT_OUT.search(f"{short(event)} {asked} {rest[2]}"):
            print("| " + " | ".join((f"`{short(event)}`", asked, *rest)) + " |")
    print()


def page(command, python):
    rows = list(ask_all(command, python, ()))
    answered, alone = [row for row in rows if row[5]], [row for row in rows if not row[5]]
    known = versions(python)
    below = sum(row[8].startswith("below") for row in answered)
    print("# Hard questions: Surety and other accountants\n\nMade by\n\n    research/scripts/peers\n")
    print(f"on {datetime.date.today()} with dp_accounting {known['dp-accounting']}, PLD_accounting {known['PLD_accounting']} and riskcal {known['riskcal']}: the questions of "
          "[one-percent.md](one-percent.md), and the success of an attack on a run.\nEasier questions: [conformance.md](conformance.md).\n")
    print(f"""Each question runs in its own process with {SECONDS} s of processor time and 4 GiB; seconds are processor seconds, without a peer's imports.

* **where**: the peer's upper bound against Surety's interval. *Inside*: both may be right. *Above*: looser by as much. *Below*: no bound for the event as Surety defines it.
* **dp_accounting**: PLDAccountant (interval 1e-4, pessimistic) and RdpAccountant (default orders). Under replace-one the former counts twice the norm of a
  record (`record_sum`), the latter the movement (`gaussian`).
* **PLD_accounting**: `gaussian_allocation_epsilon_range`, refined until its bounds are within a tenth; several kinds of epochs, and delta, at its default grid. k of t rounds are k epochs of t / k rounds.
* **riskcal**: its accountant of Poisson-sampled Gaussians, which calls dp_accounting, and its functions on the distributions of the other two.

{below} of {len(answered)} answers (errors included) are below. Every answer and program: [peers-hard.csv](peers-hard.csv).
""")
    for title, chosen in (("## Epsilon and delta", [row for row in answered if (row[:3]) not in RISKS]), ("## Success of an attack", [row for row in answered if row[:3] in RISKS])):
        print(title + "\n")
        table(chosen)
    print("## Events that no peer supports\n")
    print(mark("peers-hard-alone"))
    print("| event | adjacency | asked | surety | s |\n|---|---|---|---|---|")
    for event, adjacency, asked, ours, seconds, *_ in alone:
        print(f"| `{short(event)}` | {adjacency} | {asked} | {ours} | {seconds} |")
    print()
    print(mark("peers-hard"))
    print("| event | adjacency | asked | surety | s | peer | its answer | its s | where | remark | program |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for row in answered:
        print("| " + " | ".join((*row[:-1], row[-1].replace("\n\n", "\n").replace("\n", "; "))) + " |")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    command, python, wanted = str(Path(sys.argv[1]).resolve()), str(Path(sys.argv[2]).absolute()), sys.argv[3:]
    if not wanted:
        page(command, python)
        return
    for row in ask_all(command, python, wanted):
        print("\t".join((short(row[0]), *row[1:10])), flush=True)
        print("    " + row[10].replace("\n", "\n    "))


if __name__ == "__main__":
    main()
