from opacus_common import ENVIRONMENT, PACKAGE, program  # noqa: F401

CLAIMS = "upper bound"
NOTE = "PRVAccountant at its default error of 0.01; a comment of get_epsilon calls the upper bound a guarantee. Its code follows prv_accountant."


def lines(vector):
    return program(vector, "prv", "PRVAccountant", one_only=False)
