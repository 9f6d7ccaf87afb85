"""What the published deployments of differential privacy promise, at two deltas, per stated unit and per person and year.

REGISTRY is a copy of https://github.com/opendp/deployments-registry-data (commit 3e9c812). Needs python3-yaml:
    /usr/bin/python3 benchmarks/deployments.py SURETY REGISTRY | scripts/result_page.py docs/results/deployments.md
"""

import json
import pathlib
import subprocess
import sys

import yaml

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
from result_page import mark  # noqa: E402

# The page has the rows with a known number of units in a year, and these columns.
SHOWN = r"^(audience|broadband|census (demographic|redistricting)|covid19|google|movement|recurve|telemetry|wikimedia (current|historical)).*\| [0-9]+ \| [^|]+ \| [^|]+$"
COLUMNS = ["deployment", "stated as", "epsilon at 1e-6", "attacker", "units in a year", "epsilon of a year at 1e-6"]
DELTAS = ("1e-6", "1e-10")
# By file: (releases that hold one person's data in a year, the basis), or (None, why there is no number).
ONE = (1, "one release")
DAILY = (365, "one unit a day")
MONTHLY = (12, "one unit a month")
NO_PARAMETERS = (None, "no parameters are published")
YEAR = {
    "apple_iconic_scenes_photo_selections_2023": (None, "neither unit nor reports a day are published"),
    "apple_popular_emojis": (None, "the limit of reports a day is not published"),
    "assistive_ai": (None, "the number of releases is not published"),
    "audience_engagement": MONTHLY,
    "autoplay_intent": (None, "the limit of reports a day is not published"),
    "birth_dataset": ONE,
    "broadband_coverage": ONE,
    "census_demographic_and_housing": ONE,
    "census_detailed_demographic_and_housing_a": ONE,
    "census_detailed_demographic_and_housing_b": ONE,
    "census_redistricting_data": ONE,
    "census_supplemental_demographic_and_housing": ONE,
    "county_business_patterns": ONE,
    "covid19_notifications": (None, "how often the budget is refreshed is not published"),
    "covid19_search_trends_symptoms": DAILY,
    "employment_outcomes": NO_PARAMETERS,
    "google_mobility": DAILY,
    "healthkit": (None, "the limit of reports a day is not published"),
    "korean_statistics_datahub": NO_PARAMETERS,
    "linkedin_hiring_reports": (None, "the number of hires of one person, and of reports that hold one hire, has no limit"),
    "lookup_hints": (None, "the limit of reports a day is not published"),
    "microsoft_ctdc_victim_perpertartor_synthetic_dataset_2023": ONE,
    "mobility_trends_hurricane": ONE,
    "movement_ranges_maps": DAILY,
    "on_device_browser_rec": NO_PARAMETERS,
    "private_third_party_audits": NO_PARAMETERS,
    "recurve_energy_dp": ONE,
    "safari_energy_drain": (None, "the limit of reports a day is not published"),
    "safety_classifier": NO_PARAMETERS,
    "sas_data_maker_vulnerable_persons": ONE,
    "shared_mobility_dataset": (None, "the number of trips of one person has no limit"),
    "spanish_language_next_word": (None, "the number of models trained in a year is not published"),
    "synth_data_public_use": NO_PARAMETERS,
    "telemetry_collection_windows": (1461, "one unit every six hours"),
    "uber": (None, "queries are not limited"),
    "user_url_privacy": ONE,
    "vaccine_search_insights": DAILY,
    "wikimedia_current_usage_data": DAILY,
    "wikimedia_editor_activity_statistics_2023": MONTHLY,
    "wikimedia_historical_usage_data": DAILY,
    "wikimedia_russian_editor_activity_statistics_2023": MONTHLY,
}

surety, registry = sys.argv[1], pathlib.Path(sys.argv[2])


def account(event, *options):
    words = [surety, "account", "--adjacency", "replace-one", "--event", event, *options, "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def upper(event, delta):
    value = account(event, "--delta", delta)["epsilon"]["upper"]
    return "none" if value == "infinity" else f"{value:.4g}"


def event_of(parameters):
    """The stated guarantee as an event: the strongest of the stated ones."""
    epsilon, delta, rho = (parameters.get(name) for name in ("epsilon", "delta", "rho"))
    if rho is not None:
        return f"zcdp({rho})"
    if epsilon is None or isinstance(delta, str):
        return None
    return f"approx({epsilon}, {delta})" if delta else f"pure({epsilon})"


def risk(event):
    return f'{100 * account(event, "--risk")["accuracy"]["upper"]:.4g} %'


entries = {file.stem: yaml.safe_load(file.read_text())["deployment"] for file in sorted((registry / "deployments").glob("*.yaml"))}
if set(entries) != set(YEAR):
    sys.exit(f"these entries are in one list alone: {sorted(set(entries) ^ set(YEAR))}")
rows, reasons, priced, yearly = [], [], 0, 0
for name, entry in entries.items():
    loss = entry.get("privacy_loss", {})
    event = event_of(loss.get("privacy_parameters") or {})
    count, basis = YEAR[name]
    if event is None:
        reasons.append((name, "the published delta is a formula" if name == "uber" else NO_PARAMETERS[1]))
        continue
    priced += 1
    unit = loss.get("privacy_unit", "not published").strip()
    one = [upper(event, delta) for delta in DELTAS]
    if count is None:
        reasons.append((name, "per year: " + basis))
        year = ["-"] * 3
    else:
        yearly += 1
        total = event if count == 1 else f"repeat({count}, {event})"
        year = [str(count), upper(total, DELTAS[0]), risk(total)]
    rows.append([name.replace("_", " "), unit, event, *one, risk(event), *year])

print(f"""# Published deployments

<!-- /usr/bin/python3 benchmarks/deployments.py SURETY REGISTRY | scripts/result_page.py docs/results/deployments.md -->

The {len(entries)} entries of the [registry of deployments](https://registry.opendp.org) (July 2026), as published. {priced} state a guarantee as a number, and for {yearly} of them
the number of units of one person in a year is known. *Attacker*: the probability of a right guess whether one unit is in the data, at a prior of 1/2.
Epsilon and attacker are upper bounds for any mechanism with the stated guarantee; the mechanism itself may lose less. Four digits, rounded to the nearest. `none`: the stated delta is larger, so no epsilon follows.
The table has some entries with a known number of units in a year.

{mark("deployments", SHOWN, COLUMNS)}
| deployment | unit | stated as | epsilon at 1e-6 | epsilon at 1e-10 | attacker | units in a year | epsilon of a year at 1e-6 | attacker of a year |
|---|---|---|---|---|---|---|---|---|""")
for row in rows:
    print("| " + " | ".join(row) + " |")
print("""
## No number

Entries without a number, or without one for a year, and why:

""" + mark("deployments-none") + """
| deployment | why |
|---|---|""")
for name, reason in reasons:
    print(f"| {name.replace('_', ' ')} | {reason} |")
census = {name: account(f"zcdp({rho})", "--delta", "1e-10")["epsilon"]["upper"] for name, rho in (("2.56", 2.56), ("4.96", 4.96), ("7.70", 7.70), ("0.07", 0.07))}
print(f"""
## Notes

* The Census states epsilon at 1e-10 for parts of two files: 17.14 for rho = 2.56, 26.34 for 4.96, 34.33 for 7.70 and 2.47 for .07.
  For these rounded rho the zCDP accountant has {census["2.56"]:.2f}, {census["4.96"]:.2f}, {census["7.70"]:.2f} and {census["0.07"]:.2f}. The two parts of the file of demographic and housing characteristics add up to 12.66; the entry states 15.29.
* The entry of the Russian editors states epsilon = .1 and, in its description of the mechanism, .9. Noise of scale 10 at sensitivity 1 has .1.
* `recurve energy dp` was published with epsilon .843; the entry has the corrected 4.72, and 6.8 if its sampling is not uniform.
* A year of a person sums the units in which this person can be. Entries that state that "loss does not accumulate" mean the unit, such as a user's day.""")
