#include <surety/jobs/automatic/automatic.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include <surety/data/reading/text_reader.h>
#include <surety/data/units/unit_selection.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/private_ranges.h>
#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/automatic/public_form.h>
#include <surety/jobs/automatic/rules.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/choices.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/optimizers/doors/pure_noise.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::jobs {
namespace {

using namespace optimizers;

// Fitted on the tables of docs/results/rule.md, each judged by what the others chose. Steps change one at a time, so that the constant is the only
// threshold that a budget crosses.
constexpr double nothing_learned = 1;
constexpr double much_noise = 0.1;
constexpr double least_steps = 10;
constexpr double most_steps = 60;
constexpr const char* ridge = "0.3";

// Of two classes and many features, chosen on fit-wide, fit-even and fit-signs of docs/results/defaults.md: with less noise than this, descent in shaped coordinates
// and more steps is best or nearly so whether few features matter or all do; with more, the l1 geometry loses little where all do and gains much where few do.
constexpr std::size_t many_features = 100;
constexpr double most_noise_of_many = 0.3;
constexpr int steps_of_many = 30;

// At delta = 0, with the steps and shares of rules.h.
constexpr const char* pure_ridge = "0.1";

// Of nu with additive terms, fitted likewise: of logistic loss on docs/results/terms.md, of squared loss and of several classes, which have a curve of each
// column each, on docs/results/other-terms.md. Of owners with several rows one survey alone gained.
constexpr double most_noise_of_additive = 0.1;
constexpr double most_noise_of_additive_for_squares = 0.015;
constexpr double most_noise_of_additive_for_classes = 0.03;

// Without any noise so many curves of few records are learned by heart: beyond this, which is nu <= .1 at epsilon 8 under replace-one, nothing was fitted.
constexpr double least_records_of_an_additive_feature = 12;
constexpr double least_records_of_an_additive_feature_for_each_class = 3;

int steps_for(double nu) {
  return static_cast<int>(std::lround(std::clamp(least_steps * std::sqrt(much_noise / nu), least_steps, most_steps)));
}

// Several classes, fitted on tables of docs/results/classes.md: there are more scores to learn than of one model, so fewer than so many steps do not pay. Of many
// features noise lengthens all eigenvalues of the second moment, which shortens steps: more of them, and no more of a ridge than without a rule.
constexpr double least_steps_for_classes = 20;
constexpr double least_steps_for_classes_of_many = 30;
constexpr std::size_t many_features_for_classes = 30;
constexpr const char* ridge_for_classes = "0.1";
constexpr const char* ridge_for_classes_of_many = "0.03";

// Curves of few records: docs/results/other-terms.md.
constexpr double few_records_of_an_additive_feature = 70;
constexpr double most_noise_of_additive_for_classes_of_few_records = 0.2;

// Of the standard deviation of a count, over the number of records: with more noise a range would be that of a few records in the middle.
// Chosen on the made-up tables of docs/results/ranges.md.
constexpr double most_range_noise = 0.6;

struct Counted {
  double nu;
  std::size_t features;
  std::size_t linear_features;
  Count records;
};

bool has_curves_of_few_records(const Counted& counted) {
  return counted.features > counted.linear_features && counted.linear_features <= many_features_for_classes &&
         static_cast<double>(counted.records.value()) < few_records_of_an_additive_feature * static_cast<double>(counted.features);
}

std::pair<std::string, std::string> stein() { return {"shrink", fmt::format("{}", Shrink::stein)}; }

/// \param counted nothing where no number of records is known
Choice choice_for_classes(std::optional<Counted> counted, std::string why) {
  const bool has_curves = counted && counted->features > counted->linear_features;
  const bool has_many = counted && counted->features > many_features_for_classes && !has_curves_of_few_records(*counted);
  const double least = has_many ? least_steps_for_classes_of_many : least_steps_for_classes;
  const double steps = counted ? std::max<double>(steps_for(counted->nu), least) : least;
  Choice choice{
      .algorithm = std::string{ShapedDescentPlan::name}, .fields = {{"steps", std::to_string(std::lround(steps))}}, .why = std::move(why)};
  // Curves are shrunk towards lines as far as an estimate of the risk says, with the descent's own small ridge.
  choice.fields.push_back(
      has_curves ? stein() : std::pair<std::string, std::string>{"ridge", has_many ? ridge_for_classes_of_many : ridge_for_classes});
  choice.fields.emplace_back("classes-by", std::string{name(ClassesBy::softmax)});
  return choice;
}

/// In the label's unit: to the last bit, so that a plan for labels of twice the size is twice this one.
std::string exact_text(double value) { return fmt::format("{}", value); }

/// \param what is released in the place of a model
Choice constant(const std::string& facts, std::string_view what) {
  return {.algorithm = std::string{ConstantPlan::name},
          .fields = {},
          .why = fmt::format("{}: noise would drown the features, so {} released", facts, what)};
}
constexpr std::string_view share_alone = "the share of the class alone is";
constexpr std::string_view mean_alone = "the mean label alone is";

// Of squared loss. Noise of second moments multiplies the weights, so one release of them is for few features and next to no noise.
constexpr std::size_t few_features = 15;
constexpr double hardly_any_noise = 0.001;
// On the made-up tables of docs/results/squared-loss.md the released mean is better above this.
constexpr double most_noise_of_squares = 0.5;

std::vector<Choice> choices_for_squares(double nu, const PublicNumbers& numbers, const std::string& facts) {
  std::vector<Choice> found;
  if (nu > most_noise_of_squares) found.push_back(constant(facts, mean_alone));
  if (numbers.features <= few_features && nu <= hardly_any_noise) {
    found.push_back({.algorithm = std::string{SufficientStatisticsPlan::name}, .fields = {}, .why = facts});
  }
  found.push_back({.algorithm = std::string{ShapedDescentPlan::name}, .fields = {}, .why = facts});
  if (numbers.rows == RowLength::either) {
    for (auto& choice : found) {
      if (choice.algorithm != ConstantPlan::name) choice.fields.emplace_back("rows", "scaled");
    }
  }
  return found;
}

Choice shaped(double nu, const std::string& facts) {
  return {.algorithm = "shaped-descent", .fields = {{"steps", std::to_string(steps_for(nu))}, {"ridge", ridge}}, .why = facts};
}
/// Of two classes: the descent's own small ridge, and a shrinkage that follows from what it found.
Choice shrunk(double nu, const std::string& facts) {
  return {.algorithm = "shaped-descent", .fields = {{"steps", std::to_string(steps_for(nu))}, stein()}, .why = facts};
}

/// Of two classes: where one is rare, a descent from 0 with noise does not come as far as its share.
Choice from_the_share(Choice choice) {
  choice.fields.emplace_back("start", fmt::format("{}", Start::share));
  return choice;
}

/// An owner adds a mean of gradients (`mean_gradient_length`): the noise falls with it, and the share of a squared length that is clipped to with its square.
double owners_nu(double nu, Count rows) { return nu * mean_gradient_length(rows); }
std::pair<std::string, std::string> owners_clip_share(double nu, Count rows) {
  const double length = mean_gradient_length(rows);
  return {"clip-share", fmt::format("{:.3g}", shaped_clip_share(nu) * length * length)};
}

// Of owners' labels. With more noise than this the counts of residuals of a few hundred owners show little, and a fixed clip is better on the panels of
// docs/results/owners.md. It is a share of the label bound.
constexpr double most_noise_of_owners_residuals = 0.1;
constexpr double owners_clip = 0.5;

std::vector<Choice> choices_for_owners(double nu, const PublicNumbers& numbers, const std::string& facts) {
  std::vector<Choice> found;
  // By the number of owners alone: how alike their rows are is private.
  if (nu > (numbers.label_bound ? most_noise_of_squares : nothing_learned)) {
    found.push_back(constant(facts, numbers.label_bound ? mean_alone : share_alone));
  }
  if (numbers.label_bound && nu <= most_noise_of_owners_residuals) {
    const double length = mean_gradient_length(*numbers.unit_rows);
    found.push_back({.algorithm = std::string{ShapedDescentPlan::name},
                     .fields = {{"clip-share", fmt::format("{:.3g}", length * length)}},
                     .why = facts});
    return found;
  }
  const Choice of_steps = shaped(owners_nu(nu, *numbers.unit_rows), facts);
  found.push_back(numbers.label_bound ? of_steps : from_the_share(of_steps));
  found.back().fields.push_back(owners_clip_share(nu, *numbers.unit_rows));
  if (numbers.label_bound) found.back().fields.emplace_back("clip", exact_text(owners_clip * *numbers.label_bound));
  return found;
}

/// The public numbers and what is computed of them.
struct Noise {
  double mu;
  double unit;  ///< by how many times its length a record moves a sum

  [[nodiscard]] double nu(const PublicNumbers& numbers) const {
    return static_cast<double>(numbers.features) * unit / (static_cast<double>(numbers.records.value()) * mu);
  }
};

double unit_of(Adjacency adjacency) { return adjacency == Adjacency::replace_one ? 2 : 1; }

std::string facts_of(const PublicNumbers& numbers, double nu, bool are_additive) {
  return fmt::format("{} {}, {} features{}, nu = {:.3g}", numbers.records.value(), numbers.unit_rows ? "units" : "records",
                     numbers.features, are_additive ? " with additive terms" : "", nu);
}

std::vector<Choice> choices_for_classes(double nu, const PublicNumbers& numbers, const std::string& facts) {
  const double for_steps = numbers.unit_rows ? owners_nu(nu, *numbers.unit_rows) : nu;
  const Counted counted{
      .nu = for_steps, .features = numbers.features, .linear_features = numbers.linear_features, .records = numbers.records};
  Choice choice = choice_for_classes(counted, facts);
  if (numbers.unit_rows) choice.fields.push_back(owners_clip_share(nu, *numbers.unit_rows));
  if (for_steps <= nothing_learned) return {choice};
  Choice shares = constant(facts, "shares of the classes alone are");
  shares.fields.emplace_back("classes-by", std::string{name(ClassesBy::softmax)});
  return {shares, choice};
}

/// Of learners that take a matrix of all pairs of features.
std::vector<Choice> shapeable_choices(double nu, const PublicNumbers& numbers, const std::string& facts) {
  if (numbers.classes > 0) return choices_for_classes(nu, numbers, facts);
  if (numbers.unit_rows) return choices_for_owners(nu, numbers, facts);
  if (numbers.loss == Loss::squared) return choices_for_squares(nu, numbers, facts);
  std::vector<Choice> found;
  if (nu > nothing_learned) found.push_back(constant(facts, share_alone));
  found.push_back(from_the_share(shrunk(nu, facts)));
  if (numbers.features >= many_features && nu <= most_noise_of_many) {
    found.back() = from_the_share({.algorithm = std::string{ShapedDescentPlan::name},
                                   .fields = {{"steps", std::to_string(std::max(steps_for(nu), steps_of_many))}},
                                   .why = facts});
  }
  return found;
}

/// nu of a descent with pure noise of as much, whose steps and shares are those of the rule.
double pure_nu(const PublicNumbers& numbers) {
  const auto features = static_cast<double>(numbers.features);
  const double gradient_numbers = features * static_cast<double>(std::max<std::size_t>(1, numbers.classes));
  const double gradient_share = 1 - pure_matrix_share;
  const double scale = pure_steps / (numbers.target.epsilon.value() * gradient_share);
  const double multiplier =
      PureRelease{.scale = NoiseScale{scale}, .numbers = static_cast<std::size_t>(gradient_numbers)}.multiplier().value();
  return Noise{.mu = std::sqrt(pure_steps / gradient_share) / multiplier, .unit = unit_of(numbers.target.adjacency)}.nu(numbers);
}

/// Of delta = 0.
std::vector<Choice> pure_choices(const PublicNumbers& numbers) {
  const double nu = pure_nu(numbers);
  const std::string facts = "delta = 0; " + facts_of(numbers, nu, false);
  const bool has_classes = numbers.classes > 0;
  Choice shaped{.algorithm = std::string{ShapedDescentPlan::name},
                .fields = {{"steps", std::to_string(pure_steps)}, {"matrix-share", fmt::format("{}", pure_matrix_share)}},
                .why = facts};
  if (!numbers.unit_rows && !has_classes && numbers.loss == Loss::logistic) {
    shaped.fields.push_back(stein());
  } else {
    shaped.fields.emplace_back("ridge", pure_ridge);
  }
  if (has_classes) shaped.fields.emplace_back("classes-by", std::string{name(ClassesBy::softmax)});
  if (!has_classes && numbers.loss == Loss::logistic) shaped = from_the_share(std::move(shaped));
  if (numbers.unit_rows && !numbers.label_bound) shaped.fields.push_back(owners_clip_share(nu, *numbers.unit_rows));
  Choice nothing = constant(facts, has_classes ? "shares of the classes alone are" : numbers.label_bound ? mean_alone : share_alone);
  if (has_classes) nothing.fields.emplace_back("classes-by", std::string{name(ClassesBy::softmax)});
  if (numbers.label_bound && numbers.rows == RowLength::either) shaped.fields.emplace_back("rows", "scaled");
  // The constant answers for a class or a mean label.
  if (numbers.loss != Loss::logistic && numbers.loss != Loss::squared && !has_classes) return {shaped};
  if (numbers.features > most_shaped_features) return {nothing};
  if (nu > (numbers.label_bound ? most_noise_of_squares : nothing_learned)) return {nothing, shaped};
  return {shaped, nothing};
}

FieldValues rules_of(const AlgorithmPlan& own, const PublicNumbers& numbers, double mu) {
  TrainPlan plan{.target = numbers.target, .source = TrainingSource{}};
  plan.algorithm = own;
  return rule_fields(plan, {.records = static_cast<double>(numbers.records.value()),
                            .features = static_cast<double>(numbers.features),
                            .mu = mu,
                            .adjacency = numbers.target.adjacency});
}

/// In the l1 geometry, whose noise grows with the logarithm of the number of features.
Choice in_l1(const PublicNumbers& numbers, double mu, const std::string& facts) {
  MirrorDescentPlan own;
  own.geometry = Geometry::l1;
  auto fields = rules_of(own, numbers, mu);
  fields.emplace(fields.begin(), "geometry", "l1");
  return {.algorithm = std::string{MirrorDescentPlan::name}, .fields = std::move(fields), .why = "many features and much noise; " + facts};
}

double most_noise_for_curves(const PublicNumbers& additive, double nu) {
  if (additive.classes == 0) return additive.loss == Loss::squared ? most_noise_of_additive_for_squares : most_noise_of_additive;
  const Counted counted{nu, additive.features, additive.linear_features, additive.records};
  return has_curves_of_few_records(counted) ? most_noise_of_additive_for_classes_of_few_records : most_noise_of_additive_for_classes;
}

/// With additive terms, where the rule may take them, the noise is small enough for them and there are enough records.
std::vector<Choice> additive_choices(const PublicNumbers& numbers, const Noise& noise) {
  if (numbers.unit_rows || !numbers.additive_features || *numbers.additive_features > most_shaped_features) return {};
  PublicNumbers additive = numbers;
  additive.features = *numbers.additive_features;
  const double nu = noise.nu(additive);
  if (nu > most_noise_for_curves(additive, nu)) return {};
  const double of_classes = least_records_of_an_additive_feature_for_each_class * static_cast<double>(numbers.classes);
  const double least_records = static_cast<double>(additive.features) * std::max(least_records_of_an_additive_feature, of_classes);
  if (static_cast<double>(numbers.records.value()) < least_records) return {};
  auto found = shapeable_choices(nu, additive, facts_of(additive, nu, true));
  for (auto& choice : found) choice.fields.emplace_back("terms", std::string{name(data::Terms::additive)});
  return found;
}

}  // namespace

std::vector<Choice> choices(const PublicNumbers& numbers) {
  if (numbers.target.delta.value() == 0) {
    if (numbers.loss == Loss::hinge && numbers.classes == 0) {
      refuse(ErrorCode::unreachable,
             "{} auto trains hinge loss with Gaussian noise alone, which keeps no promise at delta = 0; give {} smoothed-hinge",
             "algorithm"_field, "loss"_field);
    }
    return pure_choices(numbers);
  }
  const Noise noise{.mu = mu_of(numbers.target), .unit = unit_of(numbers.target.adjacency)};
  const double nu = noise.nu(numbers);
  const std::string facts = facts_of(numbers, nu, false);

  const bool is_hinge = numbers.loss == Loss::hinge || numbers.loss == Loss::smoothed_hinge;
  if (is_hinge && numbers.classes == 0) {
    return {{.algorithm = "gradient-descent", .fields = {}, .why = fmt::format("no rule was fitted for {} loss", numbers.loss)}};
  }
  std::vector<Choice> found = additive_choices(numbers, noise);
  const bool is_shapeable = numbers.features <= most_shaped_features;
  const bool takes_l1 = numbers.loss == Loss::logistic && !numbers.unit_rows && numbers.classes == 0 && numbers.features >= many_features &&
                        nu > most_noise_of_many;
  if (takes_l1 && (nu <= nothing_learned || !is_shapeable)) found.push_back(in_l1(numbers, noise.mu, facts));
  if (is_shapeable || numbers.classes > 0) {
    auto linear = shapeable_choices(nu, numbers, facts);
    std::move(linear.begin(), linear.end(), std::back_inserter(found));
  }
  if (numbers.classes > 0) return found;
  Choice accelerated{.algorithm = "accelerated-gradient-descent", .fields = {}, .why = facts};
  if (!is_shapeable) {
    accelerated.why = "takes no matrix of all pairs of features; " + facts;
  }
  if (!is_shapeable && numbers.loss == Loss::logistic && !numbers.unit_rows) {
    accelerated.fields = rules_of(AcceleratedGradientDescentPlan{}, numbers, noise.mu);
  } else if (nu > 0.5) {
    accelerated.fields = {{"steps", "10"}, {"iterate", "average"}};
  } else {
    accelerated.fields = {{"steps", nu > 0.05 ? "30" : "60"}};
  }
  if (numbers.label_bound) accelerated.fields.emplace_back("clip", exact_text(*numbers.label_bound));
  found.push_back(std::move(accelerated));
  found.push_back({.algorithm = "gradient-descent", .fields = {}, .why = facts});
  return found;
}

TrainingSource form_of(const TrainingSource& source) {
  auto form = source;
  if (source.rows) form.rows = std::make_shared<GivenRows>(source.rows->form());
  return form;
}

std::uint64_t count_of(const TrainingSource& source, RecordStream& records) {
  if (source.rows) return source.rows->count(source.policy().form);
  if (const auto* file = std::get_if<std::shared_ptr<const data::RecordFile>>(&source.inputs)) return (*file)->size();
  const AnyLabel any;
  std::uint64_t count = 0;
  while (records.next(any)) ++count;
  return count;
}

namespace {

RowLength rows_of(const data::FeatureMap& features, bool is_csv, bool said) {
  if (!features.unit_norm) return RowLength::scaled;
  const auto* const columns = std::get_if<data::NamedColumns>(&features.inputs);
  // A listed text has length 1, and one that is not listed length 0.
  const auto is_short = [](const data::Column& column) {
    return has_bounds(column.map) || std::holds_alternative<data::Categories>(column.map);
  };
  return is_csv && !said && std::all_of(columns->begin(), columns->end(), is_short) ? RowLength::either : RowLength::unit;
}

std::size_t linear_features_of(data::FeatureMap features) {
  if (auto* const columns = std::get_if<data::NamedColumns>(&features.inputs)) {
    for (auto& column : *columns) column.knots = 0;
  }
  return features.features();
}

/// Where nobody said which terms columns with bounds become, and there are some.
std::optional<std::size_t> additive_features_of(const TrainingSource& source, const data::FeatureMap& features) {
  const auto* const csv = std::get_if<data::CsvOptions>(&source.inputs);
  if (csv == nullptr || csv->terms != data::Terms::automatic) return std::nullopt;
  const auto additive = with_additive_terms(features);
  return additive.is_additive() ? std::optional{additive.features()} : std::nullopt;
}

std::optional<double> label_bound_of(const TrainPlan& plan) {
  const auto labels = label_range(plan.problem);
  return labels ? std::optional{labels->bound.value()} : std::nullopt;
}

/// Columns without bounds as ranges, where the plan leaves that open and the counts that choose them have little noise.
std::optional<data::FeatureMap> with_private_ranges(const TrainPlan& plan, const data::FeatureMap& features, double records) {
  const auto* const csv = std::get_if<data::CsvOptions>(&plan.source.inputs);
  if (csv == nullptr || csv->ranges != data::Ranges::automatic || plan.has_unit() || plan.target.delta.value() == 0) return std::nullopt;
  data::FeatureMap ranged = features;
  std::size_t count = 0;
  for (auto& column : std::get<data::NamedColumns>(ranged.inputs)) {
    if (!std::holds_alternative<data::SignedLogarithm>(column.map)) continue;
    column.map = data::PrivateRange{};
    ++count;
  }
  if (count == 0 || share_of_range_noise(plan.target, count, records) > most_range_noise) return std::nullopt;
  return ranged;
}

bool uses_ranges(std::string_view name) {
  const auto all = all_algorithms();
  const auto is_it = [&](const auto& one) { return one->name() == name; };
  return name != ConstantPlan::name && (*std::find_if(all.begin(), all.end(), is_it))->takes_private_ranges();
}

Choice first_known(const PublicNumbers& numbers, const std::vector<std::string>& known) {
  const auto in_order = choices(numbers);
  const auto is_known = [&](const Choice& one) { return std::find(known.begin(), known.end(), one.algorithm) != known.end(); };
  const auto found = std::find_if(in_order.begin(), in_order.end(), is_known);
  if (found == in_order.end()) {
    refuse_plan("{} is missing: auto chose {}, which does not know all of the options; {} do", "algorithm"_field,
                in_order.front().algorithm, fmt::format("{}", fmt::join(known, ", ")));
  }
  Choice choice = *found;
  if (found != in_order.begin()) choice.why += fmt::format("; {} does not know all of the options", in_order.front().algorithm);
  return choice;
}

}  // namespace

Choice choose(const TrainPlan& plan, const AutomaticPlan& own, const std::vector<std::string>& known) {
  const auto& [held_out, records, says_rows, searches] = own;
  const bool has_classes = !plan.problem.classes.empty();
  const bool has_one_file = plan.source.path != data::TextReader::standard_input && plan.source.paths_of_ranks.empty();
  const bool may_count = plan.target.adjacency != Adjacency::add_or_remove_one && !plan.has_unit();
  constexpr const char* why = "knows what was asked for";
  const bool knows_classes = std::find(known.begin(), known.end(), ShapedDescentPlan::name) != known.end();
  if (has_classes && knows_classes && !(has_one_file && (records || may_count))) return choice_for_classes(std::nullopt, why);
  if (known.size() == 1 && !(has_classes && knows_classes)) return {.algorithm = known.front(), .fields = {}, .why = why};
  if (plan.source.path == data::TextReader::standard_input) {
    refuse_plan("the data file is -, must be a file for {} auto, which reads its header first", "algorithm"_field);
  }
  const bool has_file_of_rank = !plan.source.paths_of_ranks.empty();
  const Adjacency adjacency = plan.target.adjacency;
  const bool is_public = adjacency != Adjacency::add_or_remove_one && !plan.has_unit();
  if (!records && !is_public) {
    refuse_plan("{} is missing: {} auto needs the public number of {} in the file, or a guess of it", "records"_field, "algorithm"_field,
                plan.has_unit() ? "units" : "records");
  }
  if (has_file_of_rank && !records)
    refuse_plan("{} is missing: {} auto needs the number of records in the files of all ranks", "records"_field, "algorithm"_field);
  if (!(held_out >= 0 && held_out < 1)) refuse_plan("{} is {}, must be at least 0 and less than 1", "held-out"_field, held_out);
  // The header is read now, and all of it by the training: of a pipe there would be nothing left.
  if (!plan.source.rows) static_cast<void>(data::FileReadTwice{plan.source.path});
  auto opened = open_stream(form_of(plan.source));
  const std::uint64_t all = is_public && !has_file_of_rank ? count_of(plan.source, opened.records) : *records;
  if (is_public && !has_file_of_rank) require_records(plan, static_cast<std::size_t>(all));
  if (records && is_public && !has_file_of_rank) require_said_records(plan, static_cast<std::size_t>(all), *records);
  const auto trained = static_cast<std::uint64_t>(std::llround((1 - held_out) * static_cast<double>(all)));
  const auto& features = opened.features;
  const bool is_csv = std::holds_alternative<data::CsvOptions>(plan.source.inputs);
  const auto choice_of = [&](const data::FeatureMap& map) {
    return first_known({.records = Count{std::max<std::uint64_t>(trained, 1)},
                        .features = map.features(),
                        .linear_features = linear_features_of(map),
                        .target = plan.target,
                        .loss = plan.problem.loss,
                        .label_bound = label_bound_of(plan),
                        .unit_rows = plan.has_unit() ? std::optional{plan.unit.most()} : std::nullopt,
                        .classes = has_classes ? parse_values(plan.problem.classes, "classes").size() : 0,
                        .rows = rows_of(map, is_csv, own.says_rows),
                        .additive_features = additive_features_of(plan.source, map)},
                       known);
  };
  Choice choice = choice_of(features);
  const auto ranged = searches ? std::nullopt : with_private_ranges(plan, features, static_cast<double>(trained));
  if (ranged && choice.algorithm != ConstantPlan::name) {
    if (Choice other = choice_of(*ranged); uses_ranges(other.algorithm)) {
      choice = std::move(other);
      choice.fields.emplace_back("ranges", fmt::format("{}", data::Ranges::released));
    }
  }
  if (!features.intercept) std::erase_if(choice.fields, [](const auto& field) { return field.first == "start"; });
  const bool needs_no_count = choice.algorithm == GossipPlan::name || choice.algorithm == SufficientStatisticsPlan::name;
  const auto is_count = [](const auto& field) { return field.first == "public-count"; };
  const bool has_count = std::any_of(choice.fields.begin(), choice.fields.end(), is_count);
  if (adjacency == Adjacency::add_or_remove_one && !needs_no_count && !has_count) {
    choice.fields.emplace_back("public-count", std::to_string(std::max<std::uint64_t>(trained, 1)));
  }
  return choice;
}

ChosenPlan chosen_plan(TrainPlan plan, const AutomaticPlan& own) {
  const auto all = all_algorithms();
  std::vector<std::string> known;
  for (const auto& algorithm : all) {
    if (!plan.source.weight || algorithm->takes_weights()) known.push_back(algorithm->name());
  }
  const auto choice = choose(plan, own, known);
  const auto& algorithm = **std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == choice.algorithm; });
  plan.algorithm = algorithm.standard();
  FieldTable fields;
  algorithm.add_fields(fields, plan.algorithm, plan);
  fields.find("held-out")->set(fmt::format("{}", own.held_out));
  for (const auto& [name, value] : choice.fields) {
    if (name == "rows") {
      std::get<data::CsvOptions>(plan.source.inputs).rows_have_common_scale = true;
    } else if (name == "ranges") {
      std::get<data::CsvOptions>(plan.source.inputs).ranges = data::Ranges::released;
    } else if (name == "terms") {
      std::get<data::CsvOptions>(plan.source.inputs).terms = data::parse_terms(value);
    } else {
      fields.find(name)->set(value);
    }
  }
  return {.plan = std::move(plan), .why = choice.why};
}

}  // namespace surety::jobs
