// surety release --svg: bars with their intervals, of which nothing is cut off.
#include <support/surety_process.h>
#include <support/svg_texts.h>

namespace surety_test::picture_test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

class Picture : public CommandTest {
 protected:
  Picture() { write(data_, "x,where\n1,a\n2,b\n3,a\n"); }

  [[nodiscard]] Words release(const Words& query, const std::string& picture) const {
    return Words{"release", data_,   "--epsilon",     "1", "--adjacency", "add-or-remove-one", "--ledger", path("ledger.db"),
                 "--svg",   picture, "--replay-seed", "7"} +
           query;
  }
  /// The picture of a release.
  [[nodiscard]] std::string drawn(const Words& query) const {
    EXPECT_NE(surety(release(query, path("picture.svg"))).out.find("ledger"), std::string::npos) << "the table is printed beside it";
    return contents(path("picture.svg"));
  }

  std::string data_ = path("data.csv");
};

TEST_F(Picture, ShowsEveryNumberWithItsIntervalAndCutsNothingOff) {
  const std::string hostile = std::string(300, 'W') + ",\"<&\"\">\",\xe4\xba\xba\xe4\xbd\x8d,-";
  const auto svg = drawn({"--query", "histogram(where)", "--categories", hostile});
  expect_readable(svg);
  EXPECT_EQ(count(svg, "#9ecae1"), 4u);
  const auto texts = svg_texts(svg);
  for (const char* name : {"<&\">", "\xe4\xba\xba\xe4\xbd\x8d", "-", "histogram(where)", "records"}) {
    EXPECT_EQ(std::count_if(texts.begin(), texts.end(), [&](const SvgText& text) { return text.text == name; }), 1) << name;
  }
  EXPECT_NE(svg.find("NOT PRIVATE"), std::string::npos);
}

TEST_F(Picture, OfManyBarsSaysHowManyAreMissing) {
  const auto svg = drawn({"--query", "histogram(x)", "--bounds", "0,1", "--bins", "700"});
  expect_readable(svg);
  EXPECT_EQ(count(svg, "#9ecae1"), 500u);
  EXPECT_NE(svg.find("Not shown: 200 more."), std::string::npos);
}

TEST_F(Picture, OfHugeAndTinyNumbersIsReadable) {
  for (const char* bounds : {"-1e200,1e200", "0,1e-200", "1e9,1000000001"}) {
    SCOPED_TRACE(bounds);
    expect_readable(drawn({"--query", "sum(x)", "--bounds", bounds}));
  }
}

// A rank error is no interval of the value.
TEST_F(Picture, DrawsNoIntervalWhereThereIsNone) {
  const std::string line = "stroke=\"black\" stroke-width=\"1.5\"";
  EXPECT_EQ(count(drawn({"--query", "sum(x)", "--bounds", "0,4"}), line), 3u) << "a line and its ends";
  const auto svg = drawn({"--query", "median(x)", "--bounds", "0,4"});
  expect_readable(svg);
  EXPECT_EQ(count(svg, line), 0u);
  EXPECT_NE(svg.find("median(x), rank error: "), std::string::npos);
}

TEST_F(Picture, OfTextsAloneIsRefusedBeforeTheCharge) {
  const Words mode{"--query", "mode(where)", "--categories", "a,b"};
  expect_refused_untouched(release(mode, path("picture.svg")), 2, {"--svg", "texts alone"});
  EXPECT_FALSE(std::filesystem::exists(path("ledger.db")));
  const auto svg = drawn(mode + Words{"--query", "count()"});
  EXPECT_EQ(svg.find("mode"), std::string::npos);
}

TEST_F(Picture, IsNoOtherFile) {
  const Words query{"--query", "count()"};
  expect_refused_untouched(release(query, data_), 2, {"--svg"});
  expect_refused_untouched(release(query, path("ledger.db")), 2, {"--svg"});
  expect_refused_untouched(release(query, path("none/a.svg")), 5, {"none"});
  expect_refused_untouched(release(query, ""), 2, {});
}

}  // namespace
}  // namespace surety_test::picture_test
