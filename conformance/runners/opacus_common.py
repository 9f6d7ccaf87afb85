from common import NotAsked, parts, sampled_gaussian

PACKAGE = "opacus"
ENVIRONMENT = "opacus"
# The package's own __init__ imports torch. Its accountants need NumPy and SciPy alone, but for the name of an optimizer in an annotation:
# the packages above them are entered by path, and that name is an empty class. No file is changed.
LOAD = """import sys, sysconfig, types
for name in ("opacus", "opacus.accountants", "opacus.optimizers"):
    sys.modules[name] = types.ModuleType(name)
root = sysconfig.get_path("purelib") + "/opacus"
sys.modules["opacus"].__path__, sys.modules["opacus.accountants"].__path__ = [root], [root + "/accountants"]
sys.modules["opacus.optimizers"].DPOptimizer = type("DPOptimizer", (), {})
"""


def history(vector, one_only=False):
    if vector["question"]["ask"] != "epsilon":
        raise NotAsked("it answers for epsilon alone")
    if vector["adjacency"] != "add-or-remove-one":
        raise NotAsked("its documentation is about records that come or go")
    steps = [(z, q, n) for n, (q, z) in ((n, sampled_gaussian(one, vector["adjacency"])) for n, one in parts(vector["event"], ("gaussian", "record_sum", "poisson")))]
    if one_only and len(steps) > 1:
        raise NotAsked("its noise and rate stay constant")
    return "[%s]" % ", ".join("(%s, %s, %d)" % step for step in steps)


def program(vector, module, accountant, one_only=False):
    steps = history(vector, one_only)
    return LOAD + "\n".join((
        "from opacus.accountants.%s import %s" % (module, accountant),
        "accountant = %s()" % accountant,
        "accountant.history = %s  # (noise multiplier, sample rate, steps), as its state_dict holds them" % steps,
        "answer = accountant.get_epsilon(%s)" % vector["question"]["delta"]))
