// Choices: enumerations that fields of plans are of, each with the names by which plans, options and other languages write its values. Options, JSON and its
// schema read these lists. A list names its values, or holds them alone where their own module names them by name(value).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/data/features/features.h>

namespace surety::jobs {

enum class DataFormat : std::uint8_t { csv, libsvm, records };
/// What each row is divided by: its own norm, or what is the same for all.
enum class RowScale : std::uint8_t { unit, scaled };
enum class Loss : std::uint8_t { logistic, squared, smoothed_hinge, hinge };
/// How a search tries its candidates; `cheapest` is whichever of the others costs less.
enum class SearchBy : std::uint8_t { cheapest, random, split };
/// The score that is released of a model on the part that is held out.
enum class Score : std::uint8_t { brier, log_loss, error_rate, squared_error, none };
enum class Iterate : std::uint8_t { last, average, random };
/// Which weights of a run are published: all that it releases, or the last ones alone.
enum class Publish : std::uint8_t { all, last };
/// Where a descent begins: at the weights 0, or at the model that says the released share of the class.
enum class Start : std::uint8_t { zero, share };
enum class Shrink : std::uint8_t { none, stein };
enum class Geometry : std::uint8_t { l2, l1, simplex };
/// What is clipped: the sum of a unit's rows, or each row.
enum class ClipBy : std::uint8_t { unit, row };
/// Of the step in round t: the same, divided by sqrt(t), or by t.
enum class Schedule : std::uint8_t { constant, inverse_root, inverse };
enum class RidgeChoice : std::uint8_t { fixed, least_eigenvalue };
enum class ClassScores : std::uint8_t { one_against_the_rest, softmax };
enum class Sampling : std::uint8_t { poisson, allocated, truncated, fixed };
enum class PaperNoise : std::uint8_t { calibrated, paper };
enum class SelectionNoise : std::uint8_t { gumbel, laplace };
enum class LearnerNoiseKind : std::uint8_t { laplace, k_norm, gaussian };
enum class OnlineLearner : std::uint8_t { subgradient, dual_averaging, optimistic, strongly_convex, coin_betting };
enum class Topology : std::uint8_t { complete, ring, torus, hypercube, matchings, graph };

template <class Choice>
struct Named {
  Choice value;
  std::string_view name;
};
/// Clang makes none for an aggregate.
template <class Choice>
Named(Choice, std::string_view) -> Named<Choice>;

/// All values of a choice with their names, in the order of the help.
template <class Choice>
struct Choices;
template <>
struct Choices<DataFormat> {
  static constexpr std::array all{Named{DataFormat::csv, "csv"}, Named{DataFormat::libsvm, "libsvm"},
                                  Named{DataFormat::records, "records"}};
};
template <>
struct Choices<RowScale> {
  static constexpr std::array all{Named{RowScale::unit, "unit"}, Named{RowScale::scaled, "scaled"}};
};
template <>
struct Choices<Loss> {
  static constexpr std::array all{Named{Loss::logistic, "logistic"}, Named{Loss::squared, "squared"},
                                  Named{Loss::smoothed_hinge, "smoothed-hinge"}, Named{Loss::hinge, "hinge"}};
};
template <>
struct Choices<SearchBy> {
  static constexpr std::array all{Named{SearchBy::cheapest, "cheapest"}, Named{SearchBy::random, "random"},
                                  Named{SearchBy::split, "split"}};
};
template <>
struct Choices<Score> {
  static constexpr std::array all{Named{Score::brier, "brier"}, Named{Score::log_loss, "log-loss"}, Named{Score::error_rate, "error-rate"},
                                  Named{Score::squared_error, "squared-error"}, Named{Score::none, "none"}};
};
template <>
struct Choices<Iterate> {
  static constexpr std::array all{Named{Iterate::last, "last"}, Named{Iterate::average, "average"}, Named{Iterate::random, "random"}};
};
template <>
struct Choices<Publish> {
  static constexpr std::array all{Named{Publish::all, "all"}, Named{Publish::last, "last"}};
};
template <>
struct Choices<Start> {
  static constexpr std::array all{Named{Start::zero, "zero"}, Named{Start::share, "share"}};
};
template <>
struct Choices<Shrink> {
  static constexpr std::array all{Named{Shrink::none, "none"}, Named{Shrink::stein, "stein"}};
};
template <>
struct Choices<Geometry> {
  static constexpr std::array all{Named{Geometry::l2, "l2"}, Named{Geometry::l1, "l1"}, Named{Geometry::simplex, "simplex"}};
};
template <>
struct Choices<ClipBy> {
  static constexpr std::array all{Named{ClipBy::unit, "unit"}, Named{ClipBy::row, "row"}};
};
template <>
struct Choices<Sampling> {
  static constexpr std::array all{Named{Sampling::poisson, "poisson"}, Named{Sampling::allocated, "allocated"},
                                  Named{Sampling::truncated, "truncated"}, Named{Sampling::fixed, "fixed"}};
};
template <>
struct Choices<PaperNoise> {
  static constexpr std::array all{Named{PaperNoise::calibrated, "calibrated"}, Named{PaperNoise::paper, "paper"}};
};
template <>
struct Choices<SelectionNoise> {
  static constexpr std::array all{Named{SelectionNoise::gumbel, "gumbel"}, Named{SelectionNoise::laplace, "laplace"}};
};
template <>
struct Choices<LearnerNoiseKind> {
  static constexpr std::array all{Named{LearnerNoiseKind::laplace, "laplace"}, Named{LearnerNoiseKind::k_norm, "k-norm"},
                                  Named{LearnerNoiseKind::gaussian, "gaussian"}};
};
template <>
struct Choices<OnlineLearner> {
  static constexpr std::array all{Named{OnlineLearner::subgradient, "subgradient"}, Named{OnlineLearner::dual_averaging, "dual-averaging"},
                                  Named{OnlineLearner::optimistic, "optimistic"}, Named{OnlineLearner::strongly_convex, "strongly-convex"},
                                  Named{OnlineLearner::coin_betting, "coin-betting"}};
};
template <>
struct Choices<Topology> {
  static constexpr std::array all{Named{Topology::complete, "complete"},   Named{Topology::ring, "ring"},
                                  Named{Topology::torus, "torus"},         Named{Topology::hypercube, "hypercube"},
                                  Named{Topology::matchings, "matchings"}, Named{Topology::graph, "graph"}};
};
template <>
struct Choices<EmptyUnit> {
  static constexpr std::array all{EmptyUnit::one, EmptyUnit::each};
};
template <>
struct Choices<data::Terms> {
  static constexpr std::array all{data::Terms::linear, data::Terms::additive, data::Terms::automatic};
};
template <>
struct Choices<data::Ranges> {
  static constexpr std::array all{Named{data::Ranges::automatic, "auto"}, Named{data::Ranges::asinh, "asinh"},
                                  Named{data::Ranges::released, "private"}};
};
template <>
struct Choices<ClassScores> {
  static constexpr std::array all{Named{ClassScores::one_against_the_rest, "one-against-the-rest"}, Named{ClassScores::softmax, "softmax"}};
};
template <>
struct Choices<Schedule> {
  static constexpr std::array all{Named{Schedule::constant, "constant"}, Named{Schedule::inverse_root, "inverse-root"},
                                  Named{Schedule::inverse, "inverse"}};
};
template <>
struct Choices<RidgeChoice> {
  static constexpr std::array all{Named{RidgeChoice::fixed, "fixed"}, Named{RidgeChoice::least_eigenvalue, "least-eigenvalue"}};
};

template <class Choice>
concept IsChoice = requires {
  Choices<Choice>::all.size();
};

template <IsChoice Choice>
[[nodiscard]] std::vector<Choice> all_of() {
  std::vector<Choice> values;
  for (const auto& one : Choices<Choice>::all) {
    if constexpr (requires { one.value; }) {
      values.push_back(one.value);
    } else {
      values.push_back(one);
    }
  }
  return values;
}
template <IsChoice Choice>
[[nodiscard]] std::string_view name_of(Choice choice) {
  if constexpr (requires { Choices<Choice>::all.front().name; }) {
    for (const auto& one : Choices<Choice>::all) {
      if (one.value == choice) return one.name;
    }
    return {};
  } else {
    return name(choice);
  }
}
/// nullopt for a text that names none.
template <IsChoice Choice>
[[nodiscard]] std::optional<Choice> choice_of(std::string_view name) {
  for (const auto one : all_of<Choice>()) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}
template <IsChoice Choice>
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Choice>& choices = all_of<Choice>()) {
  std::vector<std::string> names;
  for (const auto choice : choices) names.emplace_back(name_of(choice));
  return names;
}

/// Where a choice is kept, without its type. It refers to it.
class ChoiceField {
 public:
  template <IsChoice Choice>
  explicit ChoiceField(Choice* value) : ChoiceField{value, value, false} {}
  template <IsChoice Choice>
  explicit ChoiceField(std::optional<Choice>* value) : ChoiceField{value, static_cast<Choice*>(nullptr), true} {}

  /// nullopt where an optional one was not given.
  [[nodiscard]] std::optional<std::string_view> name() const { return name_(value_); }
  /// Whether `name` is a value's name, which is then set.
  [[nodiscard]] bool set(std::string_view name) const { return set_(value_, name); }
  /// Whether it may hold nothing.
  [[nodiscard]] bool is_optional() const noexcept { return is_optional_; }

 private:
  template <class Kept, class Choice>
  ChoiceField(Kept* value, const Choice* /*type*/, bool is_optional)
      : value_{value},
        name_{[](const void* kept) -> std::optional<std::string_view> {
          const std::optional<Choice> choice = *static_cast<const Kept*>(kept);
          return choice ? std::optional{name_of(*choice)} : std::nullopt;
        }},
        set_{[](void* kept, std::string_view name) {
          const auto choice = choice_of<Choice>(name);
          if (choice) *static_cast<Kept*>(kept) = *choice;
          return choice.has_value();
        }},
        is_optional_{is_optional} {}

  void* value_;
  std::optional<std::string_view> (*name_)(const void* kept);
  bool (*set_)(void* kept, std::string_view name);
  bool is_optional_;
};

}  // namespace surety::jobs
