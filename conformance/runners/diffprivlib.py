from common import NotAsked, parts

PACKAGE = "diffprivlib"
ENVIRONMENT = "diffprivlib"
CLAIMS = "upper bound"
NOTE = "BudgetAccountant.total with all of delta as slack: the composition theorem of Kairouz, Oh and Viswanath for events that are pure or (epsilon, delta)."


def lines(vector):
    if vector["question"]["ask"] != "epsilon":
        raise NotAsked("it answers for epsilon alone")
    spends, rest = [], float(vector["question"]["delta"])
    for count, one in parts(vector["event"], ("laplace", "pure", "approx", "exponential")):
        pure = "1 / %s" % one["scale"] if one["mechanism"] == "laplace" else one["epsilon"]
        delta = one.get("delta", "0")
        if float(delta):
            rest = 1 - (1 - rest) / (1 - float(delta)) ** count
        spends.append("[(%s, %s)] * %d" % (pure, delta, count))
    if rest < 0:
        raise NotAsked("delta is less than what is spent for sure")
    return "\n".join((
        "from diffprivlib import BudgetAccountant",
        "answer, delta = BudgetAccountant(slack=%r).total(spent_budget=%s)" % (rest, " + ".join(spends)),
        "assert delta <= %s * (1 + 1e-9)" % vector["question"]["delta"]))
