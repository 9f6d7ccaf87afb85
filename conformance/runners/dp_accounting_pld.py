from common import NotAsked
from dp_accounting_events import program

PACKAGE = "dp-accounting"
ENVIRONMENT = "dp_accounting"
CLAIMS = "upper bound"
NOTE = ("PLDAccountant at its default interval of 1e-4; `privacy_loss_distribution` documents its default, the pessimistic estimate, as an upper estimate of "
        "the divergence.")


def lines(vector):
    if "without_replacement" in vector["surety"] or "best_of" in vector["surety"]:
        raise NotAsked("its PLDAccountant has no such event")
    return program(vector, "dp.pld.PLDAccountant")
