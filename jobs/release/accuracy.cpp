#include <surety/jobs/release/accuracy.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/release/prepared_release.h>

namespace surety::jobs {
namespace {

constexpr double least_epsilon = 1e-9;

/// The largest error of a number of these queries. \throws Error{unsupported}
double largest_error(const ReleasePlan& plan, double epsilon, const RunContext& context) {
  auto target = plan.target;
  target.epsilon = Epsilon{epsilon};
  std::optional<CalibratedQueries> noise;
  until_called_off(context, [&] { noise = choose_noise(plan.queries, target, plan.noise, plan.confidence); });
  double largest = 0;
  for (const auto& part : noise->parts) {
    const auto facts = part->facts();
    const auto& error = facts.half_length;
    if (!error) {
      refuse(ErrorCode::unsupported,
             "{} is not for {}: its error depends on the data (it is for counts, sums, histograms, modes and the rank of one quantile)",
             "accuracy"_field, one_line(facts.query));
    }
    largest = std::max(largest, *error);
  }
  return largest;
}

/// `value` to four digits, rounded up, and by `more` units of the last digit.
double rounded_to_four_digits(double value, int more) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return parse_double(fmt::format("{:.4g}", (std::ceil(value / unit * (1 - 1e-12)) + more) * unit), "epsilon");
}

}  // namespace

Accuracy parse_accuracy(std::string_view text) {
  const auto refuse = [&] {
    refuse_plan("{} is '{}', must be an error and its confidence, such as '+-50 at 95 %'", "accuracy"_field, one_line(text));
  };
  const auto number_of = [&](std::string_view part) -> double {
    const auto trimmed = data::trimmed(part);
    if (trimmed.empty() || trimmed.find_first_not_of("0123456789.eE+-") != std::string_view::npos) refuse();
    return parse_double(trimmed, "accuracy");
  };
  std::string_view rest = data::trimmed(text);
  for (const std::string_view sign : {"+-", "+/-", "\u00b1"}) {
    if (!rest.starts_with(sign)) continue;
    rest.remove_prefix(sign.size());
    break;
  }
  Accuracy accuracy{.error = 0, .confidence = 0.95};
  if (const auto at = rest.find("at"); at != std::string_view::npos) {
    auto share = data::trimmed(rest.substr(at + 2));
    if (!share.ends_with('%')) refuse();
    share.remove_suffix(1);
    accuracy.confidence = number_of(share) / 100;
    rest = rest.substr(0, at);
  }
  accuracy.error = number_of(rest);
  if (!(accuracy.error > 0 && std::isfinite(accuracy.error))) {
    refuse_plan("{} is '{}', must have an error greater than 0", "accuracy"_field, one_line(text));
  }
  if (!(accuracy.confidence > 0 && accuracy.confidence < 1)) {
    refuse_plan("{} is '{}', must have a confidence greater than 0 % and less than 100 %", "accuracy"_field, one_line(text));
  }
  return accuracy;
}

Epsilon epsilon_for(ReleasePlan plan, const Accuracy& accuracy, const RunContext& context) {
  plan.confidence = accuracy.confidence;
  plan.target.epsilon = Epsilon{1};
  plan = checked(std::move(plan));
  const auto meets = [&](double epsilon) {
    const double error = largest_error(plan, epsilon, context);
    return error <= accuracy.error;
  };
  const double at_one = largest_error(plan, 1, context);
  if (at_one == 0) {
    refuse(ErrorCode::unsupported, "{} is met by every {}: nothing that is released here misses by more", "accuracy"_field,
           "epsilon"_field);
  }
  // Errors fall about as epsilon grows.
  double high = std::isfinite(at_one) ? std::clamp(at_one / accuracy.error, least_epsilon, largest_epsilon_of_accuracy) : 1;
  double low = 0;
  while (!meets(high)) {
    low = high;
    if (high >= largest_epsilon_of_accuracy) {
      refuse(ErrorCode::unreachable, "{} needs an {} above {}: allow a larger error or a larger {}", "accuracy"_field, "epsilon"_field,
             largest_epsilon_of_accuracy, "delta"_field);
    }
    high = std::min(1.25 * high, largest_epsilon_of_accuracy);
  }
  while (low == 0 && high > least_epsilon) {
    const double tried = std::max(high / 1.25, least_epsilon);
    (meets(tried) ? high : low) = tried;
  }
  while (low > 0 && high > low * 1.0001) {
    const double middle = std::sqrt(low * high);
    (meets(middle) ? high : low) = middle;
  }
  // Where another family of noise takes over, errors may rise by a little.
  for (int more = 0; more < 100; ++more) {
    const double rounded = rounded_to_four_digits(high, more);
    if (meets(rounded)) return Epsilon{rounded};
  }
  return Epsilon{high};
}

}  // namespace surety::jobs
