// Exceptions behind an answer: accountants refuse events as values.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/kept_with_event.h>

#include <support/exception_count.h>

namespace surety::accounting::asking_test {
namespace {

template <class Call>
long thrown_by(const Call& call) {
  const long before = exception_count::thrown;
  static_cast<void>(call());
  return exception_count::thrown - before;
}

TEST(ExceptionCount, CountsWhatIsThrown) {
  EXPECT_EQ(thrown_by([] { return supports(Best{}, parse_event("gaussian(1)", Adjacency::replace_one)); }), 0);
  EXPECT_EQ(thrown_by([] {
              try {
                invalid("nothing");
              } catch (const Error& error) {
                return error.code();
              }
            }),
            1);
}

TEST(Answer, OfASupportedEventThrowsNothing) {
  const struct {
    const char* text;
    Adjacency adjacency;
  } events[] = {
      {"repeat(100, gaussian(40))", Adjacency::replace_one},
      {"repeat(1000, poisson(0.01, gaussian(1)))", Adjacency::zero_out},
      {"allocated(100, gaussian(2))", Adjacency::add_or_remove_one},
      {"compose(laplace(2), gaussian(3))", Adjacency::replace_one},
      {"repeat(10, shuffled(1000, 10, record_sum(2)))", Adjacency::zero_out},
      {"repeat(10, exponential(0.1))", Adjacency::replace_one},
      {"compose(approx(0.1, 1e-6), repeat(5, discrete_gaussian(4, 1)))", Adjacency::add_or_remove_one},
      {"best_of(geometric_runs, 10, gaussian(3))", Adjacency::replace_one},
  };
  for (const auto& [text, adjacency] : events) {
    const auto event = parse_event(text, adjacency);
    EXPECT_EQ(thrown_by([&] { return best_epsilon(event, Delta{1e-6}); }), 0) << text;
    EXPECT_EQ(thrown_by([&] { return quick_delta(event, Epsilon{0.3}); }), 0) << text;
  }
}

// The event has three parts, each with a text of its own, and its normal form has another node for the batch. Once there were 35 texts and 20 normal forms.
TEST(Answer, ComputesTextsAndNormalFormsOnce) {
  const auto computed_by = [](const auto& call) {
    const std::pair before{KeptWithEvent::computed_texts.load(), KeptWithEvent::computed_normal_forms.load()};
    static_cast<void>(call());
    return std::pair{KeptWithEvent::computed_texts - before.first, KeptWithEvent::computed_normal_forms - before.second};
  };
  const auto event = parse_event("repeat(1000, poisson(0.01, gaussian(1)))", Adjacency::zero_out);
  const auto [texts, normal_forms] = computed_by([&] { return best_epsilon(event, Delta{1e-6}); });
  EXPECT_LE(texts, 4U);
  EXPECT_LE(normal_forms, 3U);
  // The event is the same, so everything is stored.
  const auto again = computed_by([&] { return best_epsilon(event, Delta{1e-6}); });
  EXPECT_EQ(again.first, 0U);
  EXPECT_EQ(again.second, 0U);
}

// Once 10 a release: whether each was tiny was found out by exceptions, for each accountant anew.
TEST(Answer, OfACompositionOfManyThrowsNothing) {
  std::vector<Event> parts;
  for (int i = 0; i < 300; ++i) parts.push_back(gaussian(NoiseMultiplier{50 + i / 100.0}, Adjacency::zero_out));
  const auto event = compose(std::move(parts));
  EXPECT_EQ(thrown_by([&] { return best_epsilon(event, Delta{1e-6}); }), 0);
}

TEST(Answer, KeepsTheRefusalsOfAllOthers) {
  const auto best = best_epsilon(parse_event("repeat(100, gaussian(40))", Adjacency::replace_one), Delta{1e-6});
  for (const auto& opinion : best.opinions) EXPECT_EQ(opinion.value.has_value(), opinion.refusal.empty()) << opinion.accountant;
}

}  // namespace
}  // namespace surety::accounting::asking_test
