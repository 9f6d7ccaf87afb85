from opacus_common import ENVIRONMENT, PACKAGE, program  # noqa: F401

CLAIMS = "approximation"
NOTE = ("GaussianAccountant warns itself that it is experimental and can underestimate privacy expenditure: below the truth is no broken promise. Loaded without torch.")


def lines(vector):
    return program(vector, "gdp", "GaussianAccountant", one_only=True)
