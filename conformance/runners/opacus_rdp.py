from opacus_common import ENVIRONMENT, PACKAGE, program  # noqa: F401

CLAIMS = "upper bound"
NOTE = "RDPAccountant at its default orders; its conversion is documented as a theorem. Loaded without torch (runners/opacus_common.py), as are the other Opacus accountants."


def lines(vector):
    return program(vector, "rdp", "RDPAccountant", one_only=False)
