from opacus_common import ENVIRONMENT, PACKAGE, program  # noqa: F401

CLAIMS = "upper bound"
NOTE = "RDPAccountant at its default orders; its conversion is documented as a theorem, so as an upper bound. Loaded without torch (runners/opacus_common.py)."


def lines(vector):
    return program(vector, "rdp", "RDPAccountant", one_only=False)
