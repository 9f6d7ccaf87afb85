// Losses, as an algorithm sees them: the concepts, and the references through which compiled algorithms call any loss.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace surety::optimizers {

/// A loss of scores and labels.
///   name                      of the loss in a model file
///   value(score, label)       the loss
///   derivative(score, label)  its derivative by the score; the gradient by the weights is derivative x row
///   gradient_bound(norm)      at least ||gradient||_2 for every label and every weight vector that the loss was told to expect,
///                             for rows of l2 norm at most `norm`; public
///   gradient_difference_bound(norm)
///                             at least ||gradient at u - gradient at v||_2 for one such row and label and any two weight vectors that
///                             the loss was told to expect; public. At most 2 gradient_bound, and half of that where the derivative has
///                             one sign for each label
///   smoothness(norm)          a Lipschitz constant of the gradient by the weights in l2, for such rows; infinity when there is none;
///                             public
///   encode_label(label)       the label as the loss wants it, from this one label alone; nothing when it is no label of this loss
///   label_constraint          what encode_label asks for, for messages: "must be ..."
template <class O>
concept Objective = requires(const O& objective, double number) {
  { O::name } -> std::convertible_to<std::string_view>;
  { O::label_constraint } -> std::convertible_to<std::string_view>;
  { objective.value(number, number) } -> std::same_as<double>;
  { objective.derivative(number, number) } -> std::same_as<double>;
  { objective.gradient_bound(number) } -> std::same_as<double>;
  { objective.gradient_difference_bound(number) } -> std::same_as<double>;
  { objective.smoothness(number) } -> std::same_as<double>;
  { objective.encode_label(number) } -> std::same_as<std::optional<double>>;
};

/// A loss that proofs about minima may rest on: a promise. For every label that `encode_label` returns there is a nondecreasing function of
/// the score, Lipschitz with the constant smoothness(1), from which `derivative` errs at scores of magnitude at most `score` by at most
///   monotone_derivative_error(score)   absolutely: rounding; public
///   has_label(label)                   whether `encode_label` returns this number for some label
///   derivative_has_one_sign            that function has no two values of opposite signs
template <class O>
concept ConvexObjective = Objective<O> && requires(const O& objective, double number) {
  { objective.monotone_derivative_error(number) } -> std::same_as<double>;
  { objective.has_label(number) } -> std::same_as<bool>;
  { O::derivative_has_one_sign } -> std::convertible_to<bool>;
};

/// Any `Objective`, which must outlive the reference. Algorithms take it by value and are compiled once: a loss is called once for the
/// records of a block, whatever it is.
class ObjectiveRef {
 public:
  template <class O>
  requires(!std::derived_from<O, ObjectiveRef>) &&
      Objective<O> ObjectiveRef(const O& objective) noexcept  // NOLINT(google-explicit-constructor): callers pass the loss itself
      : objective_{std::addressof(objective)},
  calls_{&calls_of<O>} {}

  [[nodiscard]] std::string_view name() const noexcept { return calls_->name; }
  [[nodiscard]] std::string_view label_constraint() const noexcept { return calls_->label_constraint; }
  [[nodiscard]] double value(double score, double label) const { return calls_->value(objective_, score, label); }
  [[nodiscard]] double derivative(double score, double label) const { return calls_->derivative(objective_, score, label); }
  /// Each score becomes the derivative at it. \pre as many labels as scores.
  void derivatives(std::span<double> scores, std::span<const double> labels) const { calls_->derivatives(objective_, scores, labels); }
  [[nodiscard]] double gradient_bound(double norm) const { return calls_->gradient_bound(objective_, norm); }
  [[nodiscard]] double gradient_difference_bound(double norm) const { return calls_->gradient_difference_bound(objective_, norm); }
  [[nodiscard]] double smoothness(double norm) const { return calls_->smoothness(objective_, norm); }
  [[nodiscard]] std::optional<double> encode_label(double label) const { return calls_->encode_label(objective_, label); }

 protected:
  [[nodiscard]] const void* objective() const noexcept { return objective_; }

 private:
  struct Calls {
    std::string_view name;
    std::string_view label_constraint;
    double (*value)(const void*, double, double);
    double (*derivative)(const void*, double, double);
    void (*derivatives)(const void*, std::span<double>, std::span<const double>);
    double (*gradient_bound)(const void*, double);
    double (*gradient_difference_bound)(const void*, double);
    double (*smoothness)(const void*, double);
    std::optional<double> (*encode_label)(const void*, double);
  };
  template <class O>
  static constexpr Calls calls_of{
      .name = O::name,
      .label_constraint = O::label_constraint,
      .value = [](const void* o, double score, double label) { return static_cast<const O*>(o)->value(score, label); },
      .derivative = [](const void* o, double score, double label) { return static_cast<const O*>(o)->derivative(score, label); },
      .derivatives =
          [](const void* o, std::span<double> scores, std::span<const double> labels) {
            const O& objective = *static_cast<const O*>(o);
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = objective.derivative(scores[i], labels[i]);
          },
      .gradient_bound = [](const void* o, double norm) { return static_cast<const O*>(o)->gradient_bound(norm); },
      .gradient_difference_bound = [](const void* o, double norm) { return static_cast<const O*>(o)->gradient_difference_bound(norm); },
      .smoothness = [](const void* o, double norm) { return static_cast<const O*>(o)->smoothness(norm); },
      .encode_label = [](const void* o, double label) { return static_cast<const O*>(o)->encode_label(label); }};

  const void* objective_;
  const Calls* calls_;
};

/// Any `ConvexObjective`: what rests on convexity takes this, and a loss without that promise does not compile there.
class ConvexObjectiveRef : public ObjectiveRef {
 public:
  template <class O>
  requires(!std::derived_from<O, ObjectiveRef>) &&
      ConvexObjective<O> ConvexObjectiveRef(
          const O& objective) noexcept  // NOLINT(google-explicit-constructor): callers pass the loss itself
      : ObjectiveRef{objective},
  error_{[](const void* o, double score) { return static_cast<const O*>(o)->monotone_derivative_error(score); }},
  has_label_{[](const void* o, double label) { return static_cast<const O*>(o)->has_label(label); }}, has_one_sign_{
                                                                                                          O::derivative_has_one_sign} {}

  [[nodiscard]] double monotone_derivative_error(double score) const { return error_(objective(), score); }
  [[nodiscard]] bool has_label(double label) const { return has_label_(objective(), label); }
  [[nodiscard]] bool derivative_has_one_sign() const noexcept { return has_one_sign_; }

 private:
  double (*error_)(const void*, double);
  bool (*has_label_)(const void*, double);
  bool has_one_sign_;
};

}  // namespace surety::optimizers
