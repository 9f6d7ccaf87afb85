#include <surety/accounting/answers/explanation.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

namespace surety::accounting::explanation_test {
namespace {

BestAnswer answer(const std::string& text, Adjacency adjacency) { return best_epsilon(parse_event(text, adjacency), Delta{1e-6}); }
std::string why_none(const std::string& text, Adjacency adjacency, const BestAnswer& best) {
  return why_no_second_opinion(parse_event(text, adjacency), best);
}

TEST(SecondOpinion, IsMissingForAReasonThatIsTold) {
  const char* const text = "repeat(10, poisson(0.01, record_sum(1)))";
  const auto alone = answer(text, Adjacency::replace_one);
  ASSERT_EQ(second_opinion(alone), nullptr);
  EXPECT_EQ(why_none(text, Adjacency::replace_one, alone), "none: no other accountant has a theorem for it");
  // Renyi answers, from the probabilities of the batch that the answer rests on as well.
  const char* const shared = "truncated_poisson(0.01, 700, 60000, gaussian(1))";
  const auto resting = answer(shared, Adjacency::zero_out);
  ASSERT_EQ(second_opinion(resting), nullptr);
  EXPECT_EQ(why_none(shared, Adjacency::zero_out, resting), "none: what else answers rests on a computation of this answer's");
  // What has a theorem may have no answer: a grid without memory for it.
  auto short_of = alone;
  for (auto& opinion : short_of.opinions) {
    if (opinion.value) opinion = {opinion.accountant, std::nullopt, "no memory"};
  }
  EXPECT_EQ(why_none(text, Adjacency::replace_one, short_of), "none: privacy-loss has a theorem for it and no answer: no memory");
  EXPECT_NE(second_opinion(answer("gaussian(2)", Adjacency::zero_out)), nullptr);
}

// Many different releases: the grid is left out beside a narrow answer, and asked by who wants to know more. The answer stays what it was.
TEST(SecondOpinion, ThatWasLeftOutIsAskedForAnExplanation) {
  std::string text = "compose(";
  for (int i = 0; i < 66; ++i) text += fmt::format("{}poisson(0.01, gaussian({}))", i == 0 ? "" : ", ", 1 + 0.01 * i);
  const Event event = parse_event(text + ")", Adjacency::add_or_remove_one);
  const auto best = best_epsilon(event, Delta{1e-6});
  const auto& left = best.opinions.at(place_of<Pld>);
  ASSERT_FALSE(left.value) << "the grid is asked, and nothing is left out";
  if (second_opinion(best) == nullptr) {
    EXPECT_EQ(why_no_second_opinion(event, best), "none: privacy-loss would take long, and is asked by --explain");
  }
  const auto more = with_all_asked(event, Delta{1e-6}, {}, best);
  ASSERT_TRUE(more.opinions.at(place_of<Pld>).value);
  EXPECT_TRUE(overlap(*more.opinions.at(place_of<Pld>).value, best.value));
  EXPECT_EQ(more.value, best.value);
  EXPECT_EQ(more.accountant, best.accountant);
}

}  // namespace
}  // namespace surety::accounting::explanation_test
