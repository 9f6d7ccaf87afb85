#include <surety/accounting/laws/shuffled/shuffled_curve.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/laws/shuffled/all_binary_data.h>
#include <surety/accounting/laws/shuffled/binomial.h>
#include <surety/accounting/laws/shuffled/sum_of_values.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/root.h>

namespace surety::accounting::laws {
namespace {

double rounded_down(LongLower x) { return std::max(0.0, shortened(max(x, LongLower{0})).value()); }
double rounded_up(LongUpper x) { return shortened(max(x, LongUpper{0})).value(); }

}  // namespace

LocalRandomizer LocalRandomizer::of_epsilon(Epsilon epsilon0) {
  const LongBall loss = exactly(epsilon0.value());
  const LongBall odds = exp(-loss);
  return {loss, LongBall{1} / (LongBall{1} + odds), odds / (LongBall{1} + odds)};
}

LocalRandomizer LocalRandomizer::of_response(Probability truth, Count categories) {
  const LongBall own = exactly(truth.value());
  const LongBall other = (LongBall{1} - own) / exactly(categories.value() - 1);
  const bool is_truthful = own.value() >= other.value();
  const LongBall& more = is_truthful ? own : other;
  const LongBall& less = is_truthful ? other : own;
  return {log(more / less), more, less, categories.value(), is_truthful};
}

LocalRandomizer LocalRandomizer::of(const Event& event) {
  if (const auto* e = std::get_if<Event::ShuffledReports>(&event.node())) return of_epsilon(e->epsilon0);
  const auto& e = std::get<Event::ShuffledResponses>(event.node());
  return of_response(e.truth, e.categories);
}

struct ShuffledCurve::Sums {
  std::unique_ptr<SumOfValues> upper;
  std::unique_ptr<AllBinaryData> all_data;
  std::vector<std::unique_ptr<SumOfValues>> lower;
  std::unique_ptr<SumOfValues> mirrored;  ///< lower, too, and its own reverse
};

// Proved: docs/proofs/shuffled-reports.md#known
ShuffledCurve::ShuffledCurve(Count reports, const LocalRandomizer& randomizer) : randomizer_{randomizer}, reports_{reports.value()} {
  if (!(randomizer.loss.value() <= most_loss)) return;
  auto sums = std::make_unique<Sums>();
  const LongBall one = 1;
  const LongBall odds = exp(randomizer.loss);
  const LongBall back = one / odds;
  const auto& [loss, more, less, categories, is_truthful] = randomizer;
  const bool has_others = categories > 2;
  const std::uint64_t n = std::min(reports_, most_reports);

  std::optional<Neutral> third;
  if (has_others) third = Neutral{exactly(categories - 2) * less, is_truthful ? one : odds};
  sums->upper = std::make_unique<SumOfValues>(n, Outcome{less, odds, one}, Outcome{less, one, odds}, LongBall{0}, true, third);
  // More reports cost no more: those of so many bound some more of them, which the sum does not yet bound better.
  if (categories == 2 && reports_ <= 2 * most_with_all_data) {
    sums->all_data = std::make_unique<AllBinaryData>(std::min(n, most_with_all_data) - 1, more, less);
  }
  if (n == reports_ && !(categories == 2 && n <= most_with_all_data)) {
    const auto add = [&](const Outcome& likely, const Outcome& unlikely) {
      sums->lower.push_back(std::make_unique<SumOfValues>(n, likely, unlikely, one, has_others));
    };
    // All others have the one input, or the other.
    add({more, one, back}, {less, one, odds});
    add({less, odds, one}, {more, back, one});
    // All others have a third input. Outcomes that are as likely at both inputs are one, of their mean ratio.
    const auto of_third = [&](const Outcome& likely, const Outcome& unlikely) {
      const LongBall shown = likely.probability * likely.first + unlikely.probability * unlikely.first;
      const LongBall ratio = (one - shown) / (one - likely.probability - unlikely.probability);
      sums->mirrored = std::make_unique<SumOfValues>(n, likely, unlikely, ratio, true);
    };
    if (!randomizer.is_known()) {
      // Ternary randomized response of the same loss is such a randomizer, too.
      const LongBall ternary = one / (odds + LongBall{2});
      of_third({ternary, odds, one}, {ternary, one, odds});
    } else if (has_others) {
      is_truthful ? of_third({less, odds, one}, {less, one, odds}) : of_third({more, one, back}, {more, back, one});
    }
  }
  sums_ = std::move(sums);
}

ShuffledCurve::~ShuffledCurve() = default;
ShuffledCurve::ShuffledCurve(ShuffledCurve&&) noexcept = default;
ShuffledCurve& ShuffledCurve::operator=(ShuffledCurve&&) noexcept = default;

double ShuffledCurve::upper(double epsilon) const {
  const auto& [loss, more, less, categories, is_truthful] = randomizer_;
  if (epsilon >= largest_loss().upper) return 0;
  // One report alone.
  LongUpper found = (more * -expm1(exactly(epsilon) - loss)).upper();
  if (sums_ != nullptr) {
    const LongBall e = exp(exactly(epsilon));
    if (sums_->all_data) found = min(found, sums_->all_data->at(e).upper);
    if (!sums_->all_data || reports_ > most_with_all_data) found = min(found, sums_->upper->upper(e));
  }
  return std::min(1.0, rounded_up(found));
}

double ShuffledCurve::lower(double epsilon) const {
  const auto& [loss, more, less, categories, is_truthful] = randomizer_;
  if (epsilon >= largest_loss().upper) return 0;
  // Whether any report is the likely outcome, which a record by itself may show.
  LongLower found = max((more - exp(exactly(epsilon) - loss) * more * exactly(reports_)).lower(), LongLower{0});
  if (sums_ != nullptr) {
    const LongBall e = exp(exactly(epsilon));
    if (sums_->all_data && reports_ <= most_with_all_data) found = max(found, sums_->all_data->at(e).lower);
    for (const auto& sum : sums_->lower) found = max(found, sum->lower(e));
    if (sums_->mirrored) found = max(found, sums_->mirrored->lower(e));
  }
  return std::min(1.0, rounded_down(found));
}
// Proved so far.

Enclosure ShuffledCurve::delta(double epsilon) const { return {lower(epsilon), upper(epsilon)}; }

Enclosure LocalRandomizer::largest_loss() const {
  if (loss.radius() == 0) return {static_cast<double>(loss.value()), static_cast<double>(loss.value())};
  return {rounded_down(loss.lower()), rounded_up(loss.upper())};
}

Enclosure ShuffledCurve::epsilon(double target) const {
  const Enclosure largest = largest_loss();
  if (target == 0 || largest.upper == 0) return largest;
  constexpr int bits = 40;
  constexpr std::uintmax_t evaluations = 100;
  // From -1 to 1, and positive before the root. A bound that is the target is beyond the root, as the definition of epsilon has it.
  const auto side = [&](double bound) {
    return bound > target ? (bound - target) / (bound + target) : std::min((bound - target) / (bound + target), -1e-300);
  };
  const auto bracket = [&](const auto& bound, double last) {
    return narrow_root([&](double x) { return side(bound(x)); }, 0, last, bits, evaluations);
  };
  if (upper(0) <= target) return {0, 0};
  // Nearly normal losses say where to look: far beyond the root a curve is below every number.
  const auto spread = static_cast<double>(std::sqrt(2 * randomizer_.less.value() / static_cast<long double>(reports_)) *
                                          std::expm1(randomizer_.loss.value()));
  const double guess = 1.5 * spread * (1 + std::sqrt(-2 * std::log(target)));
  double last = guess > 0 && guess < largest.upper ? guess : largest.upper;
  while (last < largest.upper && !(upper(last) <= target)) last = std::min(2 * last, largest.upper);
  const double high = bracket([&](double x) { return upper(x); }, last).high;
  if (!(lower(0) > target)) return {0, high};
  return {std::min(bracket([&](double x) { return lower(x); }, high).low, high), high};
}

std::optional<Enclosure> ShuffledCurve::attained(double epsilon) const {
  if (sums_ == nullptr || !sums_->mirrored) return std::nullopt;
  if (epsilon >= largest_loss().upper) return Enclosure{0, 0};
  const LongBall e = exp(exactly(epsilon));
  return Enclosure{rounded_down(sums_->mirrored->lower(e)), std::min(1.0, rounded_up(sums_->mirrored->upper(e)))};
}

bool is_shuffle(const Event& event) {
  return std::holds_alternative<Event::ShuffledReports>(event.node()) || std::holds_alternative<Event::ShuffledResponses>(event.node());
}

Count reports_of(const Event& event) {
  if (const auto* e = std::get_if<Event::ShuffledReports>(&event.node())) return e->reports;
  return std::get<Event::ShuffledResponses>(event.node()).reports;
}

std::shared_ptr<const ShuffledCurve> shuffled_curve(const Event& event) {
  static auto& kept = *new LastFew<Event, std::shared_ptr<const ShuffledCurve>, 4>;  // some tens of MiB each
  return kept.of(event, [&] { return std::make_shared<const ShuffledCurve>(reports_of(event), LocalRandomizer::of(event)); });
}

}  // namespace surety::accounting::laws
