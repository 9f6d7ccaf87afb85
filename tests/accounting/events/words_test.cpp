#include <surety/accounting/events/words.h>

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <surety/accounting/events/units.h>

#include <support/refusal.h>

namespace surety {
namespace {

constexpr std::array<std::string_view, 4> known{"gaussian", "discrete_gaussian", "laplace", "poisson"};

TEST(Words, MeansTheNearestKnownWord) {
  EXPECT_EQ(did_you_mean("gausian", known), "; did you mean 'gaussian'?");
  EXPECT_EQ(did_you_mean("lapalce", known), "; did you mean 'laplace'?");  // neighbours swapped count once
  EXPECT_EQ(did_you_mean("poi", known), "; did you mean 'poisson'?");      // a beginning stands for its word
  EXPECT_EQ(did_you_mean("discrete_gausian", known), "; did you mean 'discrete_gaussian'?");
}

TEST(Words, MeansNothingWhereNothingIsNear) {
  for (const std::string_view far : {"", "p", "frobnicate", "poisson", "gradient"}) EXPECT_EQ(did_you_mean(far, known), "") << far;
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'g'), known), "");
}

enum class Colour { red, green, blue };
constexpr accounting::Words<Colour, 2> colours{.what = "colour", .values = {Colour::red, Colour::green}, .words = {"red", "green"}};

TEST(Words, AreReadAsTheyAreWritten) {
  for (const auto colour : colours.values) EXPECT_EQ(colours.parse(colours.name(colour)), colour);
  EXPECT_EQ(colours.name(Colour::green), "green");
  EXPECT_THROW(static_cast<void>(colours.name(Colour::blue)), Error);
}

TEST(Words, RefusesOthersInOneLine) {
  const auto message = [](std::string_view word) { return reference::refusal_of([&] { return colours.parse(word); }).message; };
  EXPECT_EQ(message("gren"), "colour is 'gren', must be red or green; did you mean 'green'?");
  EXPECT_EQ(message("yellow\n"), "colour is 'yellow ', must be red or green");
  EXPECT_EQ(message(""), "colour is '', must be red or green");
  EXPECT_TRUE(reference::refusal_of([] { return colours.parse("yellow"); }).says(ErrorCode::invalid_argument, "yellow"));
}

TEST(Words, NameAdjacenciesAndNormsInBothDirections) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    EXPECT_EQ(parse_adjacency(name(adjacency)), adjacency);
  }
  for (const auto norm : {NormName::l1, NormName::l2, NormName::linf}) EXPECT_EQ(parse_norm(name(norm)), norm);
}

}  // namespace
}  // namespace surety
