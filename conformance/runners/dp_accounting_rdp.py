from common import NotAsked
from dp_accounting_events import program

PACKAGE = "dp-accounting"
ENVIRONMENT = "dp_accounting"
CLAIMS = "upper bound"
NOTE = ("RdpAccountant at its default orders. Conversion from Renyi divergence to epsilon is documented as a theorem, so as an upper bound. GaussianDpEvent says that the noise "
        "multiplier is over the norm C of one value, so that a value that is replaced moves the sum by 2 C: PLDAccountant of the same package counts 2 C under REPLACE_ONE, "
        "RdpAccountant counts C. Whoever reads the noise multiplier as one over the sensitivity gets right answers from the latter.")


def lines(vector):
    for kind in ("discrete_laplace", "truncated_poisson", "users"):
        if kind in vector["surety"]:
            raise NotAsked("its RdpAccountant has no such event")
    return program(vector, "dp.rdp.RdpAccountant")
