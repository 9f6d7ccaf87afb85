#include <surety/accounting/events/runs.h>

#include <fmt/format.h>

#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>

namespace surety {
namespace {

constexpr accounting::Words<RunsLaw, 5> runs_laws{
    .what = "law of the number of runs",
    .values = {RunsLaw::poisson, RunsLaw::geometric, RunsLaw::logarithmic, RunsLaw::negative_binomial, RunsLaw::capped_geometric},
    .words = {"poisson_runs", "geometric_runs", "logarithmic_runs", "negative_binomial_runs", "capped_geometric_runs"}};

constexpr double least_shape = -0.5;
constexpr double most_shape = 1000;

}  // namespace

std::string_view name(RunsLaw law) { return runs_laws.name(law); }

RunsLaw parse_runs_law(std::string_view text) { return runs_laws.parse(text); }

Runs::Runs(RunsLaw law, double mean, double second) : law_{law}, mean_{mean}, second_{second} {
  const double least = law == RunsLaw::poisson ? 0 : 1;
  if (!(mean > least && mean <= most)) {
    invalid(fmt::format("mean is {}, must be greater than {} and at most {:.0f} for {}", mean, least, most, name(law)));
  }
  if (law == RunsLaw::negative_binomial && !(second >= least_shape && second <= most_shape)) {
    invalid(fmt::format("shape is {}, must be at least {} and at most {}", second, least_shape, most_shape));
  }
  if (law != RunsLaw::capped_geometric) return;
  if (!(second <= most)) invalid(fmt::format("cap is {:.0f}, must be at most {:.0f}", second, most));
  if (!(mean < second)) invalid(fmt::format("mean is {}, must be less than the cap of {:.0f} runs", mean, second));
}

Runs::Runs(RunsLaw law, double mean) : Runs{law, mean, 0.0} {
  if (law == RunsLaw::negative_binomial) invalid("a negative binomial number of runs has a shape");
  if (law == RunsLaw::capped_geometric) invalid("a capped geometric number of runs has a cap");
}

Runs Runs::negative_binomial(double mean, double shape) { return {RunsLaw::negative_binomial, mean, shape}; }

// Counts are at most 2^53, and so exact.
Runs Runs::capped_geometric(double mean, Count cap) { return {RunsLaw::capped_geometric, mean, static_cast<double>(cap.value())}; }

std::optional<Count> Runs::cap() const {
  if (law_ != RunsLaw::capped_geometric) return std::nullopt;
  return Count{static_cast<std::uint64_t>(second_)};
}

}  // namespace surety
