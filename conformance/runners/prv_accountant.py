from common import NotAsked, at, parts, sampled_gaussian

PACKAGE = "prv-accountant"
ENVIRONMENT = "prv_accountant"
CLAIMS = "interval"
NOTE = "PRVAccountant with the advised errors: 0.01 in epsilon and a thousandth of delta. Its upper bound is verified, which it documents as a bound."


def lines(vector):
    if vector["adjacency"] == "replace-one":
        raise NotAsked("its documentation does not say what a record that is replaced moves")
    made, counts = [], []
    for count, one in parts(vector["event"], ("gaussian", "record_sum", "poisson", "laplace", "pure", "approx")):
        kind = one["mechanism"]
        if kind == "laplace":
            made.append("LaplaceMechanism(mu=1 / %s)" % one["scale"])
        elif kind == "pure":
            made.append("PureDPMechanism(%s)" % one["epsilon"])
        elif kind == "approx":
            made.append("ApproximateDPMechanism(%s, %s)" % (one["epsilon"], one["delta"]))
        elif kind == "poisson":
            rate, z = sampled_gaussian(one, vector["adjacency"])
            made.append("PoissonSubsampledGaussianMechanism(noise_multiplier=%s, sampling_probability=%s)" % (z, rate))
        else:
            made.append("GaussianMechanism(noise_multiplier=%s)" % sampled_gaussian(one, vector["adjacency"])[1])
        counts.append(count)
    names = ", ".join(sorted({one.split("(")[0] for one in made}))
    ask = vector["question"]["ask"]
    if ask == "epsilon" and float(at(vector)) == 0:
        raise NotAsked("its error in delta has to be above 0")
    error = "%s / 1000" % at(vector) if ask == "epsilon" else "1e-10"
    return "\n".join((
        "from prv_accountant import PRVAccountant",
        "from prv_accountant.privacy_random_variables import %s" % names,
        "accountant = PRVAccountant([%s], max_self_compositions=%s, eps_error=0.01, delta_error=%s)" % (", ".join(made), counts, error),
        "lower, estimate, answer = accountant.compute_%s(%s, %s)" % (ask, at(vector), counts)))
