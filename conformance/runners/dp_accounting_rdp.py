from common import NotAsked
from dp_accounting_events import program

PACKAGE = "dp-accounting"
ENVIRONMENT = "dp_accounting"
CLAIMS = "upper bound"
NOTE = ("RdpAccountant at its default orders. Conversion from Renyi divergence to epsilon is documented as a theorem, so as an upper bound. Its documentation has two readings of a "
        "noise multiplier where a record is replaced, and each is asked: GaussianDpEvent says over the norm C of one value, so that a replaced value moves the sum by 2 C "
        "(`record_sum`; PLDAccountant of the same package counts 2 C under REPLACE_ONE), rdp_privacy_accountant says over the l2-sensitivity of the function (`gaussian`).")


def lines(vector):
    for kind in ("discrete_laplace", "truncated_poisson", "users"):
        if kind in vector["surety"]:
            raise NotAsked("its RdpAccountant has no such event")
    return program(vector, "dp.rdp.RdpAccountant", over_sensitivity=True)
