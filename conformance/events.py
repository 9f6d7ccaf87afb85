"""The neutral description of an event, and its translation into Surety's words. README.md says what each mechanism means."""

# Each mechanism: its fields in order, as Surety's words take them. "of" is one event, "parts" are several, the rest numbers or words.
MECHANISMS = {
    "gaussian": ("noise_multiplier",),
    "record_sum": ("noise_multiplier",),
    "laplace": ("scale",),
    "laplace_record_sum": ("scale",),
    "discrete_gaussian": ("sigma", "sensitivity"),
    "discrete_laplace": ("scale", "sensitivity"),
    "binomial": ("flips", "sensitivity"),
    "skellam": ("poisson_mean", "sensitivity"),
    "randomized_response": ("truth", "categories"),
    "exponential": ("epsilon",),
    "pure": ("epsilon",),
    "approx": ("epsilon", "delta"),
    "zcdp": ("xi", "rho"),
    "k_norm": ("norm", "dimension", "scale"),
    "generalized_gaussian": ("norm_exponent", "dimension", "noise_multiplier"),
    "repeat": ("count", "of"),
    "compose": ("parts",),
    "parallel": ("parts",),
    "poisson": ("sampling_rate", "of"),
    "without_replacement": ("records", "batch_size", "of"),
    "with_replacement": ("records", "batch_size", "of"),
    "deterministic": ("records", "batch_size", "of"),
    "shuffled": ("records", "batch_size", "of"),
    "truncated_poisson": ("sampling_rate", "largest", "records", "of"),
    "cyclic": ("groups", "rounds", "sampling_rate", "of"),
    "allocated": ("rounds", "of"),
    "users": ("records", "of"),
    "best_of": ("runs", "mean", "of"),
    "shuffled_reports": ("reports", "epsilon0"),
    "shuffled_responses": ("reports", "truth", "categories"),
}


def fault(event):
    """Why this is no event, or None."""
    if not isinstance(event, dict) or event.get("mechanism") not in MECHANISMS:
        return "no mechanism in %r" % (event,)
    fields = MECHANISMS[event["mechanism"]]
    if set(event) != {"mechanism", *fields}:
        return "%s has the fields %s, must be %s" % (event["mechanism"], sorted(event), sorted(fields))
    for field in fields:
        inner = [event["of"]] if field == "of" else event["parts"] if field == "parts" else []
        if not inner and not isinstance(event[field], str):
            return "%s of %s is %r, must be a text" % (field, event["mechanism"], event[field])
        for part in inner:
            if fault(part):
                return fault(part)
    return None


def words(event):
    """The event in Surety's words: repeat(10, gaussian(2))."""
    said = []
    for field in MECHANISMS[event["mechanism"]]:
        if field == "of":
            said.append(words(event["of"]))
        elif field == "parts":
            said += [words(part) for part in event["parts"]]
        else:
            said.append(event[field])
    return "%s(%s)" % (event["mechanism"], ", ".join(said))
