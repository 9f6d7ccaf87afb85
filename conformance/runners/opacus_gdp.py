from opacus_common import ENVIRONMENT, PACKAGE, program  # noqa: F401

CLAIMS = "approximation"
NOTE = "GaussianAccountant warns that it is experimental and can underestimate privacy expenditure, so no promise is broken."


def lines(vector):
    return program(vector, "gdp", "GaussianAccountant", one_only=True)
