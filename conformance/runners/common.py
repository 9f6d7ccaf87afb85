"""What runners share. A runner turns a vector into the lines of a program that sets `answer` (and `lower`, where the library gives both ends)."""


class NotAsked(Exception):
    """The library's documentation does not say that it answers this."""


#: Mechanisms that came after the others were asked: their runners do not say yet what a library answers.
NOT_ASKED_YET = ("laplace_record_sum", "binomial", "skellam", "shuffled_reports", "shuffled_responses", "zcdp", "k_norm",
                 "generalized_gaussian", "with_replacement", "deterministic")


def unknown(kind, otherwise):
    """For a mechanism that a runner does not know: `otherwise` says that the library has none."""
    return NotAsked("it has not been asked about %s yet" % kind if kind in NOT_ASKED_YET else otherwise)


def real(text):
    """As a float of Python's: a library may tell 4 from 4.0."""
    return repr(float(text))


REAL = ("noise_multiplier", "scale", "sigma", "truth", "epsilon", "epsilon0", "delta", "sampling_rate", "mean", "poisson_mean", "xi", "rho", "norm_exponent")


def spelled(value):
    """A vector whose real numbers are floats of Python's, for all runners alike."""
    if isinstance(value, list):
        return [spelled(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: real(one) if name in REAL and isinstance(one, str) else spelled(one) for name, one in value.items()}


def parts(event, allowed, count=1):
    """[(count, event)] of repetitions and compositions of `allowed` mechanisms."""
    kind = event["mechanism"]
    if kind == "repeat":
        return parts(event["of"], allowed, count * int(event["count"]))
    if kind == "compose":
        return [one for part in event["parts"] for one in parts(part, allowed, count)]
    if kind not in allowed:
        raise unknown(kind, "it has no %s" % kind)
    return [(count, event)]


def gaussian(event, adjacency, over_sensitivity=False):
    """The noise multiplier, standard deviation over the sensitivity of one record that comes or goes; of a Gaussian that says just that.

    With `over_sensitivity` also of one that says what a replaced record moves: where the documentation of an accountant knows that reading, too.
    """
    if event["mechanism"] == "gaussian" and adjacency == "replace-one" and not over_sensitivity:
        raise NotAsked("its noise multiplier is over a norm, not over a sensitivity of replacing")
    if event["mechanism"] not in ("gaussian", "record_sum"):
        raise NotAsked("it has no %s here" % event["mechanism"])
    return event["noise_multiplier"]


def sampled_gaussian(event, adjacency):
    """(rate, noise multiplier) of a Poisson-sampled Gaussian, or of an unsampled one at rate 1."""
    if event["mechanism"] == "poisson":
        return event["sampling_rate"], gaussian(event["of"], adjacency)
    return "1.0", gaussian(event, adjacency)


def at(vector):
    return vector["question"].get("delta") or vector["question"]["epsilon"]
