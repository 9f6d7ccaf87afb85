from common import NotAsked
from dp_accounting_events import program

PACKAGE = "dp-accounting"
ENVIRONMENT = "dp_accounting"
CLAIMS = "upper bound"
NOTE = ("RdpAccountant at its default orders; the conversion to epsilon is documented as a theorem. Both documented "
        "[readings](#cause-two-readings-of-noise-multiplier) of the noise multiplier are tested (`record_sum`, `gaussian`).")


def lines(vector):
    for kind in ("discrete_laplace", "truncated_poisson", "users"):
        if kind in vector["surety"]:
            raise NotAsked("its RdpAccountant has no such event")
    return program(vector, "dp.rdp.RdpAccountant", over_sensitivity=True)
