"""What is asked: (family, event, adjacency, question, at, tags). Adding a line adds a vector; the ids of the others stay."""

ADD, REPLACE, ZERO = "add-or-remove-one", "replace-one", "zero-out"


def of(mechanism, *values):
    from events import MECHANISMS
    said = dict(zip(MECHANISMS[mechanism], values))
    return {"mechanism": mechanism, **{name: value if isinstance(value, (dict, list)) else str(value) for name, value in said.items()}}


def repeat(count, inner):
    return of("repeat", count, inner)


def compose(*parts):
    return of("compose", list(parts))


def plan():
    out = []

    def ask(family, event, adjacency, epsilons=(), deltas=(), tags=()):
        """Epsilon at each of `deltas`, delta at each of `epsilons`, all as text."""
        for at in deltas:
            more = list(tags)
            if 0 < float(at) < 1e-9:
                more.append("tiny-delta")
            out.append((family, event, adjacency, "epsilon", at, more))
        for at in epsilons:
            more = list(tags)
            if float(at) >= 50:
                more.append("huge-epsilon")
            out.append((family, event, adjacency, "delta", at, more))

    g = lambda z: of("gaussian", z)
    s = lambda z: of("record_sum", z)
    lap = lambda b: of("laplace", b)
    usual = ("1e-5", "1e-6")

    # Gaussian, alone and composed.
    for z in ("0.5", "1", "3.5", "40"):
        ask("gaussian", g(z), ADD, deltas=("0.01", "1e-5", "1e-9", "1e-12", "1e-30", "1e-100"))
    ask("gaussian", g("0.05"), ADD, deltas=("1e-5",), epsilons=("100", "250"), tags=("little-noise",))
    for z, epsilons in (("0.5", ("0", "1", "10")), ("1", ("0.1", "1", "5", "20")), ("3.5", ("0.1", "1", "3")), ("40", ("0.01", "0.1"))):
        ask("gaussian", g(z), ADD, epsilons=epsilons)
    for n, z in ((10, "4"), (100, "12"), (1000, "7"), (1000000, "300")):
        ask("gaussian", repeat(n, g(z)), ADD, deltas=("1e-5", "1e-12"), epsilons=("1",), tags=("count-dropped",))
    ask("gaussian", compose(g("2"), repeat(7, g("5"))), ADD, deltas=usual, epsilons=("0.5",))
    ask("gaussian", compose(repeat(3, g("9")), g("11"), repeat(40, g("20"))), ADD, deltas=usual, epsilons=("0.5",))
    for z in ("1", "4"):
        ask("gaussian", g(z), REPLACE, deltas=("1e-5",))
        ask("gaussian", g(z), ZERO, deltas=("1e-5",))
        for adjacency, tags in ((ADD, ()), (ZERO, ()), (REPLACE, ("replace-one-sensitivity",))):
            ask("gaussian", s(z), adjacency, deltas=("1e-5", "1e-8"), tags=tags)
    ask("gaussian", repeat(50, s("10")), REPLACE, deltas=("1e-5",), epsilons=("1",), tags=("replace-one-sensitivity",))

    # Laplace.
    for b in ("0.1", "1", "10"):
        ask("laplace", lap(b), ADD, deltas=("0", "0.01", "1e-5"))
    for b, epsilons in (("0.01", ("50", "99")), ("1", ("0", "0.5", "0.999")), ("10", ("0.05",))):
        ask("laplace", lap(b), ADD, epsilons=epsilons)
    for n, b in ((2, "1"), (3, "2.5"), (10, "3"), (30, "3"), (50, "10")):
        ask("laplace", repeat(n, lap(b)), ADD, deltas=("1e-3", "1e-6", "1e-10"), epsilons=("1",), tags=("count-dropped",))
    for n, b in ((200, "20"), (1000, "10")):
        ask("laplace", repeat(n, lap(b)), ADD, deltas=("1e-6",), epsilons=("5",), tags=("count-dropped",))
    for b in ("1", "3"):
        ask("laplace", lap(b), REPLACE, deltas=("1e-5",))

    # Randomized response, whose count has been dropped by others.
    for p, k in (("0.6", 2), ("0.9", 2), ("0.5", 10), ("0.75", 3)):
        e = of("randomized_response", p, k)
        ask("randomized-response", e, REPLACE, deltas=("0", "1e-3"), epsilons=("0", "0.1"))
        ask("randomized-response", repeat(10, e), REPLACE, deltas=usual, epsilons=("1",), tags=("count-dropped",))
        ask("randomized-response", repeat(100, e), REPLACE, deltas=("1e-6", "1e-20"), tags=("count-dropped",))
    ask("randomized-response", repeat(1000, of("randomized_response", "0.51", 2)), REPLACE, deltas=usual, epsilons=("1",), tags=("count-dropped",))
    ask("randomized-response", repeat(20, of("randomized_response", "0.7", 4)), ZERO, deltas=usual)

    # What is only known to be pure, or (epsilon, delta).
    for n, e in ((1, "1"), (2, "0.5"), (10, "0.3"), (10, "2"), (30, "0.1"), (100, "0.05"), (1000, "0.01")):
        one = of("pure", e)
        ask("pure", repeat(n, one) if n > 1 else one, ADD, deltas=("1e-3", "1e-6"), epsilons=("0.4",), tags=("count-dropped",) if n > 1 else ())
    ask("pure", repeat(50, of("pure", "1")), ADD, deltas=("1e-12", "1e-30"), tags=("count-dropped",))
    ask("pure", compose(of("pure", "1"), of("pure", "0.3"), of("pure", "0.25")), ADD, deltas=usual, epsilons=("1",))
    for n, e, d in ((1, "1", "1e-6"), (5, "0.5", "1e-7"), (40, "0.1", "1e-8")):
        one = of("approx", e, d)
        ask("pure", repeat(n, one) if n > 1 else one, ADD, deltas=("1e-3", "1e-5"), epsilons=("0.4",), tags=("count-dropped",) if n > 1 else ())

    # Choices of bounded range: the exponential mechanism.
    for e in ("0.1", "1", "4"):
        ask("exponential", of("exponential", e), ADD, deltas=("0", "1e-3", "1e-6"), epsilons=("0", "0.05"))
    for n, e in ((2, "1"), (5, "0.5"), (10, "1"), (10, "0.2")):
        ask("exponential", repeat(n, of("exponential", e)), ADD, deltas=("1e-3", "1e-6"), tags=("count-dropped",))

    # On the integers.
    for b, far in (("1", 1), ("3", 1), ("3", 2), ("2.5", 5)):
        e = of("discrete_laplace", b, far)
        ask("discrete-laplace", e, ADD, deltas=("1e-3", "1e-6"), epsilons=("0.1",))
        ask("discrete-laplace", repeat(20, e), ADD, deltas=usual, epsilons=("2",), tags=("count-dropped",))
    for sigma, far in (("1", 1), ("3", 1), ("3", 2), ("0.5", 1), ("10", 3)):
        e = of("discrete_gaussian", sigma, far)
        ask("discrete-gaussian", e, REPLACE, deltas=("1e-3", "1e-6"), epsilons=("0.2",))
    for n, sigma, far in ((4, "2", 1), (10, "3", 2), (20, "3", 2)):
        ask("discrete-gaussian", repeat(n, of("discrete_gaussian", sigma, far)), REPLACE, deltas=usual, epsilons=("1",), tags=("count-dropped",))
    ask("discrete-gaussian", repeat(5, of("discrete_gaussian", "2", 1)), REPLACE, deltas=("1e-20",), tags=("count-dropped",))

    # Different kinds, and disjoint parts.
    ask("mixed", compose(g("1"), lap("2")), ADD, deltas=usual, epsilons=("2",))
    ask("mixed", compose(repeat(9, g("6")), lap("4")), ADD, deltas=usual, epsilons=("0.7",))
    ask("mixed", compose(g("1"), of("pure", "2")), ADD, deltas=usual, epsilons=("2",))
    ask("mixed", compose(g("3"), repeat(4, of("pure", "0.5"))), ADD, deltas=usual, epsilons=("1",))
    ask("mixed", compose(g("3"), of("approx", "0.5", "1e-7")), ADD, deltas=usual, epsilons=("1",))
    ask("mixed", compose(g("2"), repeat(5, lap("3"))), ADD, deltas=usual, epsilons=("1",))
    ask("mixed", compose(repeat(100, of("poisson", "0.1", g("2"))), g("3")), ADD, deltas=usual, epsilons=("1",))
    ask("mixed", of("parallel", [g("2"), lap("0.7"), g("5")]), ADD, deltas=("1e-3", "1e-6"), epsilons=("0.8",))

    # One Poisson batch.
    for q, z in (("0.5", "1"), ("0.1", "0.5"), ("0.01", "1"), ("0.001", "2"), ("1e-6", "0.7")):
        tags = ["directions-swapped"] + (["small-rate"] if float(q) <= 1e-3 else [])
        ask("poisson-once", of("poisson", q, g(z)), ADD, deltas=("1e-4", "1e-8", "1e-12"), epsilons=("0.2", "1"), tags=tags)
    for q, z in (("0.3", "2"), ("0.01", "1"), ("0.001", "0.8")):
        ask("poisson-once", of("poisson", q, s(z)), REPLACE, deltas=("1e-4", "1e-8"), epsilons=("0.2",), tags=("replace-one-sensitivity",))
        ask("poisson-once", of("poisson", q, s(z)), ZERO, deltas=("1e-4",), epsilons=("0.2",), tags=("directions-swapped",))
    for q, b in (("0.3", "1"), ("0.01", "1"), ("0.001", "0.2")):
        ask("poisson-once", of("poisson", q, lap(b)), ADD, deltas=("1e-4", "1e-6"), epsilons=("0.005",), tags=("directions-swapped",))
    ask("poisson-once", of("poisson", "0.05", repeat(3, g("4"))), ADD, deltas=("1e-4",), epsilons=("0.2",), tags=("directions-swapped",))

    # A training run on Poisson batches.
    runs = ((10, "0.5", "2"), (40, "0.2", "1"), (100, "0.1", "1"), (300, "0.05", "0.8"), (1000, "0.01", "1"), (1000, "0.1", "5"), (2000, "0.02", "1.2"),
            (10000, "0.01", "1"), (10000, "0.001", "0.6"), (20000, "0.004", "0.9"), (50000, "0.002", "1.1"), (100000, "0.001", "1.50583356"),
            (200000, "0.01", "4"), (1000000, "0.0005", "1"))
    for n, q, z in runs:
        tags = ["directions-swapped"] + (["small-rate"] if float(q) <= 1e-3 else [])
        ask("poisson-run", repeat(n, of("poisson", q, g(z))), ADD, deltas=("1e-3", "1e-5", "1e-6", "1e-8", "1e-10"), epsilons=("1", "4"), tags=tags)
    job = repeat(10000, of("poisson", "0.01", g("1")))
    ask("poisson-run", job, ADD, deltas=("1e-12", "1e-15", "1e-20", "1e-30", "1e-100"), epsilons=("0", "10", "20", "30"), tags=("directions-swapped",))
    ask("poisson-run", repeat(1000, of("poisson", "0.01", g("1"))), ZERO, deltas=("1e-5",), tags=("directions-swapped",))
    for n, q, z in ((100, "0.1", "2"), (1000, "0.01", "1"), (1000, "0.05", "4")):
        ask("poisson-run", repeat(n, of("poisson", q, s(z))), REPLACE, deltas=("1e-5", "1e-8"), epsilons=("1",), tags=("replace-one-sensitivity",))
    for n, q, z in ((2, "0.1", "1"), (3, "0.3", "0.8"), (5, "0.05", "1")):
        ask("poisson-run", repeat(n, of("poisson", q, g(z))), ADD, deltas=("1e-5",), epsilons=("0.5",), tags=("directions-swapped",))
    ask("poisson-run", compose(repeat(500, of("poisson", "0.02", g("1"))), repeat(700, of("poisson", "0.03", g("1.4")))), ADD, deltas=usual, epsilons=("2",),
        tags=("directions-swapped", "schedule"))
    ask("poisson-run", compose(*[repeat(100, of("poisson", "0.0%d" % (i + 1), g("1.%d" % i))) for i in range(1, 9)]), ADD, deltas=usual, tags=("directions-swapped", "schedule"))

    # Other batches.
    for n, m, z in ((60000, 600, "1"), (1000, 100, "2"), (50000, 50, "0.7")):
        ask("fixed-size", of("without_replacement", n, m, g(z)), REPLACE, deltas=("1e-4", "1e-8"), epsilons=("0.2",), tags=("fixed-size",))
        ask("fixed-size", of("without_replacement", n, m, s(z)), REPLACE, deltas=("1e-4",), epsilons=("0.2",), tags=("fixed-size", "replace-one-sensitivity"))
    ask("fixed-size", of("without_replacement", 1000, 10, lap("1")), REPLACE, deltas=("1e-4",), epsilons=("0.005",), tags=("fixed-size",))
    ask("shuffled", of("shuffled", 60000, 600, g("1")), REPLACE, deltas=("1e-5", "1e-6"), tags=("shuffled-taken-for-poisson",))
    ask("shuffled", of("shuffled", 1000, 100, g("2")), REPLACE, deltas=("1e-5",), epsilons=("0.5",), tags=("shuffled-taken-for-poisson",))
    ask("shuffled", of("shuffled", 1000, 100, s("2")), REPLACE, deltas=("1e-5",), tags=("shuffled-taken-for-poisson", "replace-one-sensitivity"))
    ask("shuffled", of("shuffled", 1000, 100, g("2")), ZERO, deltas=("1e-5",), epsilons=("0.5",), tags=("shuffled-taken-for-poisson",))
    for b, rounds, q, z in ((4, 400, "0.1", "1"), (10, 1005, "0.05", "0.9")):
        ask("cyclic", of("cyclic", b, rounds, q, g(z)), ADD, deltas=usual, epsilons=("2",), tags=("cyclic",))
    for t, z in ((2, "1"), (10, "1"), (20, "0.7"), (100, "1"), (100, "0.5"), (1000, "0.8")):
        ask("allocated", of("allocated", t, g(z)), ADD, deltas=("1e-5",), epsilons=("0.3",), tags=("allocated",))
    ask("allocated", repeat(10, of("allocated", 100, g("1"))), ADD, deltas=usual, tags=("allocated",))
    ask("allocated", repeat(100, of("allocated", 100, g("1"))), ADD, deltas=("1e-6",), tags=("allocated",))
    ask("allocated", of("allocated", 100, s("1")), REPLACE, deltas=("1e-5",), epsilons=("0.3",), tags=("allocated", "replace-one-sensitivity"))
    ask("truncated", repeat(10000, of("truncated_poisson", "0.01", 700, 60000, g("1"))), ZERO, deltas=("1e-5",), tags=("truncated",))
    ask("truncated", repeat(1000, of("truncated_poisson", "0.01", 700, 60000, g("1"))), ADD, deltas=("1e-5",), tags=("truncated",))
    ask("truncated", repeat(100, of("truncated_poisson", "0.02", 50, 2000, g("1"))), ZERO, deltas=("1e-5",), epsilons=("1",), tags=("truncated",))
    ask("truncated", of("truncated_poisson", "0.02", 50, 2000, g("1")), ZERO, deltas=("1e-5",), epsilons=("1",), tags=("truncated",))

    # Sums of records of bounded l1 norm, also in Poisson batches.
    for b in ("0.5", "3"):
        for adjacency, tags in ((ADD, ()), (ZERO, ()), (REPLACE, ("replace-one-sensitivity",))):
            ask("laplace-record-sum", of("laplace_record_sum", b), adjacency, deltas=("1e-5",), epsilons=("0.3",), tags=tags)
    ask("laplace-record-sum", repeat(10, of("laplace_record_sum", "5")), REPLACE, deltas=usual, epsilons=("1",), tags=("replace-one-sensitivity", "count-dropped"))
    ask("laplace-record-sum", of("poisson", "0.3", of("laplace_record_sum", "1")), REPLACE, deltas=("1e-4",), epsilons=("0.005",), tags=("replace-one-sensitivity",))

    # Coin flips, and differences of Poisson variables.
    for flips, far in ((64, 3), (100, 1), (1000, 10)):
        e = of("binomial", flips, far)
        ask("binomial", e, REPLACE, deltas=("1e-3", "1e-6"), epsilons=("0", "0.2"))
    for mean, far in (("0.5", 1), ("2", 1), ("50", 3)):
        e = of("skellam", mean, far)
        ask("skellam", e, ADD, deltas=("1e-3", "1e-6"), epsilons=("0", "0.2"))
        if far == 1:
            ask("skellam", repeat(5, e), ADD, deltas=("1e-3",), tags=("count-dropped",))

    # Reports in a secret order.
    for n, e0 in ((100, "0.5"), (1000, "1"), (100000, "2")):
        ask("reports", of("shuffled_reports", n, e0), REPLACE, deltas=usual, epsilons=("0.05",))
    for n, p, k in ((100, "0.75", 2), (1000, "0.5", 4), (50000, "0.3", 10)):
        ask("reports", of("shuffled_responses", n, p, k), REPLACE, deltas=("0", *usual), epsilons=("0.05",))
    ask("reports", repeat(10, of("shuffled_responses", 1000, "0.5", 4)), REPLACE, deltas=("0", "1e-6"), tags=("count-dropped",))
    ask("reports", repeat(10, of("shuffled_reports", 1000, "1")), REPLACE, deltas=("1e-6",), tags=("count-dropped",))

    # What is known by its Renyi divergences, at most xi + rho a at every order a.
    for xi, rho in (("0", "0.1"), ("0", "2.63"), ("0.5", "0.1"), ("3", "0.01")):
        ask("zcdp", of("zcdp", xi, rho), ZERO, deltas=usual, epsilons=("1",))
    ask("zcdp", repeat(5, of("zcdp", "0", "0.1")), ADD, deltas=usual, epsilons=("1",), tags=("count-dropped",))

    # Vectors with noise of other shapes.
    for norm, d, b in (("l2", 3, "2"), ("linf", 10, "1"), ("l1", 4, "0.5")):
        e = of("k_norm", norm, d, b)
        ask("vector-noise", e, ADD, deltas=("0", "1e-6"), epsilons=("0.2",))
        ask("vector-noise", repeat(3, e), ADD, deltas=("0", "1e-6"), tags=("count-dropped",))
    for r, d, z in (("3", 5, "2"), ("4", 100, "3")):
        ask("vector-noise", of("generalized_gaussian", r, d, z), ADD, deltas=usual, epsilons=("0.2",))

    # Slots that may hold one record several times, and batches in a fixed order.
    for n, m in ((1000, 10), (50, 50), (60000, 600)):
        ask("with-replacement", of("with_replacement", n, m, g("1")), REPLACE, deltas=usual, epsilons=("0.2",), tags=("fixed-size",))
    ask("with-replacement", of("with_replacement", 1000, 10, lap("1")), REPLACE, deltas=("1e-5",), tags=("fixed-size",))
    ask("deterministic", of("deterministic", 1000, 100, g("2")), REPLACE, deltas=("1e-5",), epsilons=("0.5",))
    ask("deterministic", repeat(3, of("deterministic", 1000, 100, g("2"))), ZERO, deltas=("1e-5",), tags=("count-dropped",))

    # Users of several records.
    ask("users", of("users", 4, g("8")), ADD, deltas=usual, epsilons=("0.5",), tags=("users",))
    ask("users", of("users", 3, s("8")), REPLACE, deltas=usual, tags=("users", "replace-one-sensitivity"))
    for k, q, z in ((2, "0.1", "2"), (3, "0.01", "1"), (10, "0.02", "6")):
        ask("users", of("users", k, of("poisson", q, g(z))), ADD, deltas=("1e-4", "1e-7"), epsilons=("0.3",), tags=("users", "directions-swapped"))
    ask("users", of("users", 3, of("poisson", "0.05", s("4"))), REPLACE, deltas=("1e-4",), epsilons=("0.3",), tags=("users", "replace-one-sensitivity"))
    ask("users", repeat(1000, of("users", 3, of("poisson", "0.01", g("2")))), ADD, deltas=("1e-6",), epsilons=("1",), tags=("users", "directions-swapped"))
    ask("users", repeat(100, of("users", 2, of("poisson", "0.05", g("1.5")))), ADD, deltas=("1e-6",), epsilons=("1",), tags=("users", "directions-swapped"))

    # The best of a secret number of runs.
    for runs_ in ("poisson_runs", "geometric_runs", "logarithmic_runs"):
        ask("best-of", of("best_of", runs_, 10, g("1")), ADD, deltas=("1e-6",), epsilons=("4",), tags=("best-of",))
        ask("best-of", of("best_of", runs_, 5, lap("2")), ADD, deltas=("1e-6",), tags=("best-of",))
        ask("best-of", of("best_of", runs_, 3, g("4")), ADD, deltas=("1e-5",), tags=("best-of",))
    return out
