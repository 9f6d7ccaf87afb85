from common import NotAsked, parts

PACKAGE = "autodp"
ENVIRONMENT = "autodp"
CLAIMS = "upper bound"
NOTE = ("mechanism_zoo and transformer_zoo as in its tutorials, converted from Renyi divergence; documented as provable guarantees, ExactGaussianMechanism as "
        "tight.")


def lines(vector):
    if vector["question"]["ask"] != "epsilon":
        raise NotAsked("it answers for epsilon alone, but for single Gaussians")
    if vector["adjacency"] == "zero-out":
        raise NotAsked("it knows records that come or go, or are replaced")
    made, counts = [], []
    for count, one in parts(vector["event"], ("gaussian", "laplace", "randomized_response", "pure", "poisson")):
        kind = one["mechanism"]
        if kind == "gaussian":
            made.append("ExactGaussianMechanism(sigma=%s)" % one["noise_multiplier"])
        elif kind == "laplace":
            made.append("LaplaceMechanism(b=%s)" % one["scale"])
        elif kind == "pure":
            made.append("PureDP_Mechanism(eps=%s)" % one["epsilon"])
        elif kind == "randomized_response" and one["categories"] == "2":
            made.append("RandresponseMechanism(p=%s)" % one["truth"])
        elif kind == "poisson" and one["of"]["mechanism"] == "gaussian" and vector["adjacency"] == "add-or-remove-one":
            made.append("AmplificationBySampling(PoissonSampling=True)(GaussianMechanism(sigma=%s), %s, improved_bound_flag=True)" % (
                one["of"]["noise_multiplier"], one["sampling_rate"]))
        else:
            raise NotAsked("it has no such mechanism")
        counts.append(count)
    whole = made[0] if len(made) == 1 and counts == [1] else "Composition()([%s], %s)" % (", ".join(made), counts)
    return "\n".join((
        "from autodp.mechanism_zoo import *",
        "from autodp.transformer_zoo import AmplificationBySampling, Composition",
        "answer = %s.get_approxDP(%s)" % (whole, vector["question"]["delta"])))
