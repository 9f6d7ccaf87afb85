#include <surety/accounting/events/event_text.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>

#include <support/every_kind.h>

namespace surety::event_text_test {
namespace {

using reference::every_kind;
using reference::everywhere;

/// What `make` gives or says, with the text in which it says so left out.
template <class Make>
std::string outcome(Make make) {
  try {
    return describe(make());
  } catch (const Error& error) {
    const std::string said = error.what();
    return "refused: " + said.substr(0, said.find(" (in event '"));
  }
}

/// Each number of each kind is sought, also inside another event, and all numbers of it at once.
TEST(EventOfNumber, IsWhatItsTextIsWithThatNumber) {
  const std::regex number{R"(([(,] ?)(\d+(\.\d+)?))"};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::size_t moved = 0;
  const auto compare = [&](const std::string& text, Adjacency adjacency) {
    const EventOfNumber event{text, adjacency, "x"};
    for (const double value : {0.125, 0.5, 1.0, 2.0, 2.5, 7.0, 100.0, 0x1p53, 0x1p54, 0.0, -1.0, infinity, std::nan("")}) {
      const auto expected = outcome([&] { return parse_event(text, adjacency, {{"x", value}}); });
      EXPECT_EQ(outcome([&] { return event(value); }), expected) << text << " at " << value;
      if (!expected.starts_with("refused")) ++moved;
    }
  };
  for (const auto& kind : every_kind()) {
    for (const auto adjacency : kind.allowed) {
      const std::string text{kind.text};
      compare(std::regex_replace(text, number, "$1x"), adjacency);
      for (std::sregex_iterator at{text.begin(), text.end(), number}, end; at != end; ++at) {
        const auto sought = text.substr(0, static_cast<std::size_t>(at->position(2))) + "x" +
                            text.substr(static_cast<std::size_t>(at->position(2) + at->length(2)));
        compare(sought, adjacency);
        compare("compose(gaussian(9), repeat(3, compose(laplace(2), " + sought + ")), pure(x))", adjacency);
      }
    }
  }
  EXPECT_GT(moved, 1000U);
}

TEST(EventText, UnderAnotherAdjacencyIsItsTextThere) {
  for (const auto& kind : every_kind()) {
    for (const auto adjacency : kind.allowed) {
      for (const auto other : everywhere) {
        const auto text = fmt::format("compose(repeat(3, {}), gaussian(9))", kind.text);
        EXPECT_EQ(outcome([&] { return under(parse_event(text, adjacency), other); }), outcome([&] { return parse_event(text, other); }))
            << text;
      }
    }
  }
}

/// Of many places each is found in its turn, also at different depths.
TEST(EventOfNumber, IsPutAtEachOfManyPlaces) {
  std::string text = "repeat(x, compose(gaussian(x)";
  for (int i = 1; i < 2000; ++i)
    text += i % 3 == 0 ? fmt::format(", repeat({}, laplace(x))", i) : i % 3 == 1 ? ", gaussian(5)" : ", zcdp(x, 3)";
  text += "))";
  const EventOfNumber event{text, Adjacency::zero_out, "x"};
  EXPECT_EQ(event.uses().size(), 2U + 666U + 666U);
  for (const double value : {1.0, 7.0}) EXPECT_TRUE(event(value) == parse_event(text, Adjacency::zero_out, {{"x", value}}));
}

}  // namespace
}  // namespace surety::event_text_test
