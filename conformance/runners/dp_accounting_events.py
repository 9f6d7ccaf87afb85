"""Vectors as trees of dp_accounting's DpEvent."""

from common import NotAsked, at, gaussian, unknown

RELATION = {"add-or-remove-one": "ADD_OR_REMOVE_ONE", "replace-one": "REPLACE_ONE", "zero-out": "REPLACE_SPECIAL"}


def tree(event, adjacency, over_sensitivity=False):
    kind = event["mechanism"]
    if kind in ("gaussian", "record_sum"):
        return "dp.GaussianDpEvent(%s)" % gaussian(event, adjacency, over_sensitivity)
    if kind == "laplace":
        return "dp.LaplaceDpEvent(%s)" % event["scale"]
    if kind == "discrete_laplace":
        return "dp.dp_event.DiscreteLaplaceDpEvent(1 / %s, %s)" % (event["scale"], event["sensitivity"])
    if kind == "randomized_response":
        if adjacency != "replace-one":
            raise NotAsked("its special record answers otherwise than a zeroed one")
        # It answers at random among all with the noise parameter, and so truthfully with 1 - p + p / k.
        k = event["categories"]
        return "dp.RandomizedResponseDpEvent((1 - %s) * %s / (%s - 1), %s)" % (event["truth"], k, k, k)
    if kind == "repeat":
        return "dp.SelfComposedDpEvent(%s, %s)" % (tree(event["of"], adjacency, over_sensitivity), event["count"])
    if kind == "compose":
        return "dp.ComposedDpEvent([%s])" % ", ".join(tree(part, adjacency, over_sensitivity) for part in event["parts"])
    if kind == "poisson":
        return "dp.PoissonSampledDpEvent(%s, %s)" % (event["sampling_rate"], tree(event["of"], adjacency, over_sensitivity))
    if kind == "without_replacement":
        return "dp.SampledWithoutReplacementDpEvent(%s, %s, %s)" % (event["records"], event["batch_size"], tree(event["of"], adjacency, over_sensitivity))
    if kind == "truncated_poisson":
        return "dp.dp_event.TruncatedSubsampledGaussianDpEvent(%s, %s, %s, %s)" % (
            event["records"], event["sampling_rate"], event["largest"], gaussian(event["of"], adjacency))
    if kind == "users" and event["of"]["mechanism"] == "poisson" and adjacency != "replace-one":
        k = int(event["records"])
        weights = "[math.comb(%d, i) * %s**i * (1 - %s)**(%d - i) for i in range(%d)]" % (k, event["of"]["sampling_rate"], event["of"]["sampling_rate"], k, k + 1)
        return "dp.dp_event.MixtureOfGaussiansDpEvent(%s, list(range(%d)), %s)" % (gaussian(event["of"]["of"], adjacency), k + 1, weights)
    if kind == "best_of":
        shape = {"poisson_runs": "math.inf", "geometric_runs": "1.0", "logarithmic_runs": "0.0"}[event["runs"]]
        return "dp.dp_event.RepeatAndSelectDpEvent(%s, %s, %s)" % (tree(event["of"], adjacency, over_sensitivity), event["mean"], shape)
    raise unknown(kind, "it has no event for %s" % kind)


def program(vector, accountant, over_sensitivity=False):
    """Refused by `supports` is refused by the library; it says so itself."""
    question = vector["question"]
    asked = "get_%s(%s)" % (question["ask"], at(vector))
    return "\n".join((
        "import math, dp_accounting as dp",
        "accountant = %s(neighboring_relation=dp.NeighboringRelation.%s)" % (accountant, RELATION[vector["adjacency"]]),
        "accountant.compose(%s)" % tree(vector["event"], vector["adjacency"], over_sensitivity),
        "answer = accountant.%s" % asked))
