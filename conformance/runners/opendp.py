from common import NotAsked, parts

PACKAGE = "opendp"
ENVIRONMENT = "opendp"
CLAIMS = "upper bound"
NOTE = ("Privacy maps of measurements on one number, composed by make_composition; Gaussian noise by zero-concentrated privacy and make_zCDP_to_approxDP. A "
        "privacy map is documented as an upper bound.")

SPACE = "dp.atom_domain(T=%s, nan=False), dp.absolute_distance(T=%s)"


def lines(vector):
    if vector["question"]["ask"] != "epsilon":
        raise NotAsked("its maps answer for epsilon")
    if vector["adjacency"] == "zero-out":
        raise NotAsked("it has no such adjacency")
    given = parts(vector["event"], ("gaussian", "laplace", "discrete_laplace", "discrete_gaussian", "randomized_response"))
    kinds = {one["mechanism"] for _, one in given}
    normal = kinds <= {"gaussian", "discrete_gaussian"}
    if not normal and (kinds & {"gaussian", "discrete_gaussian"} or len(kinds) > 1):
        raise NotAsked("it has no composition of these")
    made, distance = [], "1.0"
    for count, one in given:
        kind = one["mechanism"]
        if kind == "gaussian":
            made.append((count, "dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), %s)" % one["noise_multiplier"]))
        elif kind == "laplace":
            made.append((count, "dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), %s)" % one["scale"]))
        elif kind in ("discrete_gaussian", "discrete_laplace"):
            name = "gaussian" if kind == "discrete_gaussian" else "laplace"
            made.append((count, "dp.m.make_%s(dp.atom_domain(T=int), dp.absolute_distance(T=int), %s)" % (name, one.get("sigma") or one["scale"])))
            distance = one["sensitivity"]
        else:
            made.append((count, "dp.m.make_randomized_response(%s, %s)" % (list(range(int(one["categories"]))), one["truth"])))
            distance = "1"
    if kinds == {"randomized_response"} and vector["adjacency"] != "replace-one":
        raise NotAsked("it answers for a record that changes")
    program = ["import opendp.prelude as dp", "dp.enable_features('contrib')"]
    whole = " + ".join("[%s] * %d" % (make, count) for count, make in made)
    program.append("whole = dp.c.make_composition(%s)" % whole if sum(count for count, _ in made) > 1 else "whole = %s" % made[0][1])
    if normal:
        program.append("answer = dp.c.make_zCDP_to_approxDP(whole).map(%s).epsilon(%s)" % (distance, vector["question"]["delta"]))
    elif float(vector["question"]["delta"]):
        raise NotAsked("pure privacy has no delta")
    else:
        program.append("answer = whole.map(%s)" % distance)
    return "\n".join(program)
