from common import NotAsked, gaussian, parts

PACKAGE = "jax_privacy"
ENVIRONMENT = "jax_privacy"
CLAIMS = "upper bound"
THROUGH = "dp_accounting_pld"
NOTE = ("DpsgdTrainingAccountant with PldAccountantConfig at its defaults, on ten million samples or as many as the batch needs; it calls dp_accounting and "
        "documents a DP guarantee.")


def lines(vector):
    if vector["question"]["ask"] != "epsilon":
        raise NotAsked("it answers for epsilon alone")
    given = parts(vector["event"], ("poisson", "cyclic", "without_replacement", "truncated_poisson"))
    if len(given) > 1:
        raise NotAsked("its schedules are asked of dp_accounting, which it calls")
    count, one = given[0]
    kind, more = one["mechanism"], ""
    if vector["adjacency"] == "replace-one" and kind != "without_replacement":
        raise NotAsked("its Poisson batches are for records that come, go or are zeroed")
    z = gaussian(one["of"], vector["adjacency"])
    if kind == "without_replacement":
        samples, batch, more = one["records"], one["batch_size"], ", sampling_method=analysis.SamplingMethod.FIXED_BATCH_SIZE"
    elif kind == "truncated_poisson":
        samples, batch = one["records"], "%d" % round(float(one["sampling_rate"]) * int(one["records"]))
        more = ", truncated_batch_size=%s" % one["largest"]
    else:
        groups = int(one.get("groups", "1"))
        samples = "%d" % (10 ** 7 * groups)
        batch = "%d" % round(float(one["sampling_rate"]) * 10 ** 7)
        if kind == "cyclic":
            more, count = ", cycle_length=%d" % groups, count * int(one["rounds"])
    return "\n".join((
        "from jax_privacy.accounting import accountants, analysis",
        "accountant = analysis.DpsgdTrainingAccountant(accountants.PldAccountantConfig())",
        "run = analysis.DpParams(noise_multipliers=%s, num_samples=%s, delta=%s, batch_size=%s%s)" % (z, samples, vector["question"]["delta"], batch, more),
        "answer = accountant.compute_epsilon(%d, run)" % count))
