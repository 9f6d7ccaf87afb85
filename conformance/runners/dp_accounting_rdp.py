from common import NotAsked
from dp_accounting_events import program

PACKAGE = "dp-accounting"
ENVIRONMENT = "dp_accounting"
CLAIMS = "upper bound"
NOTE = ("RdpAccountant at its default orders. Conversion from Renyi divergence to epsilon is documented as a theorem, so as an upper bound; GaussianDpEvent says that "
        "the noise multiplier is over the norm of one value.")


def lines(vector):
    for kind in ("discrete_laplace", "truncated_poisson", "users"):
        if kind in vector["surety"]:
            raise NotAsked("its RdpAccountant has no such event")
    return program(vector, "dp.rdp.RdpAccountant")
