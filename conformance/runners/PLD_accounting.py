from common import NotAsked, gaussian

PACKAGE = "PLD_accounting"
ENVIRONMENT = "PLD_accounting"
CLAIMS = "interval"
NOTE = ("Random allocation under add-or-remove-one: epsilon by gaussian_allocation_epsilon_range at its default accuracy, documented as bounds on both sides; "
        "delta by the default grid.")


def lines(vector):
    event, epochs = vector["event"], 1
    if event["mechanism"] == "repeat":
        event, epochs = event["of"], int(event["count"])
    if event["mechanism"] != "allocated" or vector["adjacency"] != "add-or-remove-one":
        raise NotAsked("it is asked about random allocation under records that come or go")
    sigma = gaussian(event["of"], vector["adjacency"])
    if vector["question"]["ask"] == "epsilon":
        return "\n".join((
            "import PLD_accounting as pa",
            "answer, lower = pa.gaussian_allocation_epsilon_range(delta=%s, sigma=%s, num_steps=%s, num_epochs=%d)" % (vector["question"]["delta"], sigma, event["rounds"], epochs)))
    return "\n".join((
        "import PLD_accounting as pa",
        "run = pa.PrivacyParams(sigma=%s, num_steps=%s, num_epochs=%d, epsilon=%s)" % (sigma, event["rounds"], epochs, vector["question"]["epsilon"]),
        "answer = pa.gaussian_allocation_delta_configurable(params=run, config=pa.AllocationSchemeConfig())"))
