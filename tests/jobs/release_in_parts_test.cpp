#include <surety/jobs/parts/release_in_parts.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/releases.h>
#include <surety/data/reading/condition.h>
#include <surety/data/units/owner_buckets.h>
#include <surety/jobs/parts/partial.h>
#include <surety/jobs/parts/sealed_bytes.h>
#include <surety/jobs/parts/ticket.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/arrow_batches.h>
#include <support/failing_bits.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::release_in_parts_test {
namespace {

using namespace statistics;
using data::Bounds;
using mechanisms::ReplayBits;

/// The text of each row of a table of "who,y,town", and the part that it is in.
using Lines = std::vector<std::string>;
using Split = std::vector<std::uint32_t>;

/// Calls see(split) for each way to put the rows into so many parts.
template <class See>
void for_all_splits(std::size_t rows, std::uint32_t parts, const See& see) {
  Split split(rows);
  for (;;) {
    see(split);
    std::size_t row = 0;
    while (row < rows && ++split[row] == parts) split[row++] = 0;
    if (row == rows) return;
  }
}

/// Calls see(result) for each order and each tree in which partials become one: the bytes, or an empty text where a merge was refused.
template <class See>
void for_all_merges(const std::vector<std::string>& partials, const See& see) {
  if (partials.size() == 1) return see(partials.front());
  for (std::size_t a = 0; a < partials.size(); ++a) {
    for (std::size_t b = a + 1; b < partials.size(); ++b) {
      std::string merged;
      try {
        merged = (a + b) % 2 == 0 ? jobs::merge_partials(partials[a], partials[b]) : jobs::merge_partials(partials[b], partials[a]);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        see(std::string{});
        continue;
      }
      std::vector<std::string> left;
      for (std::size_t k = 0; k < partials.size(); ++k) {
        if (k != a && k != b) left.push_back(partials[k]);
      }
      left.push_back(std::move(merged));
      for_all_merges(left, see);
    }
  }
}

constexpr auto all_adjacencies = {Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out};

class ReleaseInParts : public ::testing::Test {
 protected:
  static UnitOfPrivacy people(EmptyUnit empty = EmptyUnit::one) { return jobs::unit_of_column("who", Count{2}, {.empty = empty}); }

  /// Which queries there are: what they take to calibrate differs by a factor of a hundred.
  enum class Queries { one, sums, all };
  static jobs::ReleasePlan plan_of(Queries queries, const UnitOfPrivacy& unit = {}, Adjacency adjacency = Adjacency::replace_one,
                                   jobs::NoiseChoice noise = jobs::NoiseChoice::laplace) {
    const bool has_delta = queries != Queries::one;
    jobs::ReleasePlan plan{
        .target = {Epsilon{1}, Delta{has_delta ? 1e-6 : 0}, adjacency}, .queries = {}, .unit = unit, .noise = noise, .note = "a table"};
    const auto ask = [&](Statistic statistic) {
      statistic.adjacency = adjacency;
      statistic.unit = unit;
      plan.queries.push_back({.statistic = std::move(statistic)});
    };
    const auto towns = data::Categories{{"Rome", "Oslo"}};
    ask({.of = CountOf{}, .where = data::parse_condition("y>3", "where", {}), .adjacency = {}});
    if (queries == Queries::one) return plan;
    ask({.of = SumOf{"y", Bounds{0, 10}}, .adjacency = {}});
    ask({.of = MeanOf{"y", Bounds{0, 10}}, .adjacency = {}, .by = Groups{"town", towns}});
    ask({.of = VarianceOf{"y", Bounds{0, 10}}, .adjacency = {}});
    ask({.of = HistogramOf{"town", towns}, .adjacency = {}});
    if (queries == Queries::sums) return plan;
    ask({.of = QuantileOf{"y", Bounds{0, 10}, Fraction::median()}, .adjacency = {}});
    ask({.of = QuantileOf{"y", Bounds{0, 10}, Fraction{0.9}, 11}, .adjacency = {}, .by = Groups{"town", towns}});
    KeysOf keys{.column = "town", .most_keys = Count{1}, .chance = Delta{1e-6 / 20}};
    if (!unit.is_row()) keys.owner = {.column = "who", .empty_is_each = unit.rule().empty == EmptyUnit::each};
    ask({.of = keys, .adjacency = {}});
    ask({.of = GroupMeansOf{MeanOf{"y", Bounds{0, 10}}, keys}, .adjacency = {}});
    ask({.of = DistinctOf{"town", Count{1}, keys.owner}, .adjacency = {}});
    ask({.of = UnitsOf{keys.owner}, .adjacency = {}});
    ask({.of = UnitSumOf{"y", Bounds{1, 12}, keys.owner}, .adjacency = {}});
    return plan;
  }
  /// A ticket that cannot be finished, but takes no calibration, of queries of each kind that take no milliseconds either.
  static std::string quick_ticket(const UnitOfPrivacy& unit, std::uint32_t parts) {
    auto plan = plan_of(Queries::all, unit, Adjacency::add_or_remove_one);
    plan.queries.erase(plan.queries.begin() + 1, plan.queries.begin() + 4);
    jobs::Ticket ticket{
        .number = {5, 6, 7}, .parts = parts, .plan = std::move(plan), .family = NoiseFamily::laplace, .scale = 20, .key = {}};
    if (!unit.is_row()) ticket.key = data::UnitKey{1, 2, 3};
    return jobs::ticket_bytes(ticket);
  }

  accounting::Ledger ledger(const jobs::ReleasePlan& plan, std::optional<accounting::Budget> budget = std::nullopt) const {
    return accounting::Ledger::create(folder_ / fmt::format("{}.db", ++files_), plan.target.adjacency, budget, plan.unit);
  }
  std::string begin(const jobs::ReleasePlan& plan, std::uint32_t parts, std::uint64_t seed = 7) const {
    ReplayBits bits{seed};
    return jobs::begin_release(plan, parts, ledger(plan), {.bits = bits, .not_private = true});
  }
  [[nodiscard]] std::filesystem::path file_of(const Lines& lines) const {
    std::string text = "who,y,town\n";
    for (const auto& line : lines) text += line + "\n";
    return folder_.write(fmt::format("{}.csv", ++files_), text);
  }
  [[nodiscard]] std::string partial(const std::string& ticket, std::uint32_t part, const Lines& lines) const {
    return jobs::partial_release(ticket, part, file_of(lines));
  }
  /// The partials of a split, each made once for what is in it.
  class Cache {
   public:
    Cache(const ReleaseInParts& test, std::string ticket, Lines lines)
        : test_{test}, ticket_{std::move(ticket)}, lines_{std::move(lines)} {}
    std::vector<std::string> operator()(const Split& split, std::uint32_t parts) {
      std::vector<std::string> result;
      for (std::uint32_t part = 0; part < parts; ++part) {
        std::vector<bool> is_in;
        for (const auto other : split) is_in.push_back(other == part);
        auto& made = made_[{part, is_in}];
        if (made.empty()) {
          Lines lines;
          for (std::size_t k = 0; k < lines_.size(); ++k) {
            if (is_in[k]) lines.push_back(lines_[k]);
          }
          made = test_.partial(ticket_, part, lines);
        }
        result.push_back(made);
      }
      return result;
    }

   private:
    const ReleaseInParts& test_;
    std::string ticket_;
    Lines lines_;
    std::map<std::pair<std::uint32_t, std::vector<bool>>, std::string> made_;
  };
  static std::string merged(std::vector<std::string> partials) {
    std::string all = partials.front();
    for (std::size_t k = 1; k < partials.size(); ++k) all = jobs::merge_partials(all, partials[k]);
    return all;
  }
  jobs::ReleasedStatistics finish(const std::string& ticket, const std::string& partial, accounting::Ledger& ledger,
                                  std::uint64_t seed = 7) const {
    ReplayBits bits{seed};
    return jobs::finish_release(ticket, partial, ledger, {.bits = bits, .not_private = true});
  }

  TemporaryFolder folder_;
  mutable int files_ = 0;
};

/// Names of a bucket: the same, or each another one.
std::vector<std::string> names_of_bucket(bool same, std::size_t count) {
  const data::OwnerBucketFinder bucket_of;
  std::vector<std::string> names{"p0"};
  for (int k = 1; names.size() < count; ++k) {
    const auto name = fmt::format("p{}", k);
    const auto is_equal = [&](const std::string& other) { return bucket_of(other) == bucket_of(name); };
    if (same ? is_equal(names.front()) : std::none_of(names.begin(), names.end(), is_equal)) names.push_back(name);
  }
  return names;
}

const Lines rows{"p0,7,Rome", ",,", "p2,-3,Bergen", "p3,5"};  // of which two are damaged or have a missing cell

TEST_F(ReleaseInParts, AddsUpToTheWholeWhateverTheSplitAndTheOrder) {
  for (std::uint32_t parts = 1; parts <= 4; ++parts) {
    Cache partials{*this, quick_ticket({}, parts), rows};
    const std::string whole = merged(partials(Split(rows.size(), 0), parts));
    const auto told = jobs::read_partial(whole);
    EXPECT_EQ(told.records, rows.size());
    EXPECT_EQ(told.numbers.size(), parts);
    for_all_splits(rows.size(), parts, [&](const Split& split) {
      for_all_merges(partials(split, parts), [&](const std::string& found) { ASSERT_EQ(found, whole); });
    });
  }
}

// Of rows of two owners of one bucket, of another, and one without a name: a split is allowed where each bucket is in one part.
TEST_F(ReleaseInParts, OfOwnersAddsUpToTheWholeWhereTheSplitIsAllowedAndIsRefusedElsewhere) {
  const data::OwnerBucketFinder bucket_of;
  const auto names = names_of_bucket(true, 2);
  const auto others = names_of_bucket(false, 2);
  for (const auto empty : {EmptyUnit::one, EmptyUnit::each}) {
    const std::vector<std::string> owners{names[0], others[1], names[0], names[1], names[0], ""};
    Lines lines;
    for (std::size_t k = 0; k < owners.size(); ++k)
      lines.push_back(fmt::format("{},{},{}", owners[k], k + 2, k % 2 == 0 ? "Rome" : "Oslo"));
    for (std::uint32_t parts = 2; parts <= 3; ++parts) {
      Cache partials{*this, quick_ticket(people(empty), parts), lines};
      const std::string whole = merged(partials(Split(lines.size(), 0), parts));
      EXPECT_EQ(jobs::read_partial(whole).records, 5U) << "of the owner of three rows two are kept";
      int allowed = 0;
      for_all_splits(lines.size(), parts, [&](const Split& split) {
        bool is_allowed = true;
        for (std::size_t a = 0; a < lines.size(); ++a) {
          for (std::size_t b = 0; b < a; ++b) {
            const bool has_bucket = !(owners[a].empty() && empty == EmptyUnit::each);
            is_allowed = is_allowed && (split[a] == split[b] || !has_bucket || bucket_of(owners[a]) != bucket_of(owners[b]));
          }
        }
        allowed += is_allowed ? 1 : 0;
        for_all_merges(partials(split, parts), [&](const std::string& found) { ASSERT_EQ(found, is_allowed ? whole : ""); });
      });
      EXPECT_EQ(allowed, std::pow(parts, 3));
    }
  }
}

TEST_F(ReleaseInParts, RowsThatAreEachAUnitMayBeAnywhere) {
  const Lines lines{",1,Rome", ",2,Rome", ",3,Rome"};
  for (const auto empty : {EmptyUnit::one, EmptyUnit::each}) {
    const auto ticket = quick_ticket(people(empty), 2);
    const auto a = partial(ticket, 0, {lines[0]});
    const auto b = partial(ticket, 1, {lines[1], lines[2]});
    if (empty == EmptyUnit::each) {
      EXPECT_EQ(jobs::read_partial(jobs::merge_partials(a, b)).records, 3U);
    } else {
      EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::merge_partials(a, b)); }, ErrorCode::invalid_argument, {"bucket"}));
    }
  }
}

// The answer of one process to the last bit, and its charge.
TEST_F(ReleaseInParts, ReleasesWhatOneProcessDoes) {
  Lines lines;
  for (int k = 0; k < 90; ++k) {
    lines.push_back(fmt::format("{},{},{}", k % 13 == 0 ? "" : fmt::format("p{}", k % 23), k % 7 == 0 ? "" : std::to_string(k % 11),
                                k % 3 == 0 ? "Rome" : "Bergen"));
  }
  const data::OwnerBucketFinder bucket_of;
  const auto table = file_of(lines);
  std::mt19937 random{5};
  std::vector<jobs::ReleasePlan> plans;
  for (const auto& unit : {UnitOfPrivacy{}, people(), people(EmptyUnit::each)}) {
    for (const auto adjacency : all_adjacencies) plans.push_back(plan_of(Queries::sums, unit, adjacency, jobs::NoiseChoice::gaussian));
  }
  plans.push_back(plan_of(Queries::all, people(), Adjacency::replace_one, jobs::NoiseChoice::gaussian));
  plans.push_back(plan_of(Queries::all, {}, Adjacency::add_or_remove_one));
  for (const auto& plan : plans) {
    const auto& unit = plan.unit;
    ReplayBits alone{7};
    auto own = ledger(plan);
    const auto expected = json_text(jobs::run(jobs::ReleaseJob{plan}, table, own, {.bits = alone, .not_private = true}));

    constexpr std::uint32_t parts = 3;
    auto ledger = this->ledger(plan);
    ReplayBits bits{7};
    const auto ticket = jobs::begin_release(plan, parts, ledger, {.bits = bits, .not_private = true});
    EXPECT_TRUE(ledger.runs().empty());
    std::vector<Lines> split(parts);
    for (const auto& line : lines) {
      const auto owner = line.substr(0, line.find(','));
      const bool is_anywhere = unit.is_row() || (owner.empty() && unit.rule().empty == EmptyUnit::each);
      split[is_anywhere ? random() % parts : bucket_of(owner) % parts].push_back(line);
    }
    std::vector<std::string> partials;
    for (std::uint32_t part = 0; part < parts; ++part) {
      partials.push_back(partial(ticket, part, split[part]));
      EXPECT_EQ(partial(ticket, part, split[part]), partials.back()) << "a task may be tried again";
    }
    std::shuffle(partials.begin(), partials.end(), random);
    const auto released = jobs::finish_release(ticket, merged(partials), ledger, {.bits = bits, .not_private = true});
    EXPECT_EQ(json_text(released), expected) << describe(unit) << " " << name(plan.target.adjacency);

    const auto runs = ledger.runs();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].charged(), own.runs()[0].charged());
    EXPECT_EQ(runs[0].plan.note, "a table [" + jobs::ledger_mark(jobs::read_ticket(ticket).number) + "]");
    EXPECT_TRUE(runs[0].settlement.has_value());
  }
}

// A table of other programs: kept rows are those of one stream, and buckets those of the names in a file.
TEST_F(ReleaseInParts, OfStreamsReleasesWhatOneStreamDoes) {
  const data::OwnerBucketFinder bucket_of;
  const auto plan = plan_of(Queries::all, people(), Adjacency::replace_one, jobs::NoiseChoice::gaussian);
  constexpr std::uint32_t parts = 3;
  const auto table_of = [&](const auto& is_in) {
    std::vector<testing::ArrowTestColumn> columns{{.name = "who", .format = "l", .cells = {}},
                                                  {.name = "y", .format = "g", .cells = {}},
                                                  {.name = "town", .format = "u", .cells = {}}};
    for (std::int64_t k = 0; k < 90; ++k) {
      const bool is_named = k % 13 != 0;
      if (!is_in(is_named ? std::to_string(k % 23) : std::string{})) continue;
      auto& owner = columns[0].cells.emplace_back();
      if (is_named) owner.emplace<std::int64_t>(k % 23);
      columns[1].cells.emplace_back(std::in_place_type<double>, k % 11);
      columns[2].cells.emplace_back(std::in_place_type<std::string>, k % 3 == 0 ? "Rome" : "Bergen");
    }
    return testing::ArrowTestTable{.columns = std::move(columns)};
  };
  const auto read = [&](const std::string& ticket, std::uint32_t part, const auto& is_in) {
    auto stream = testing::arrow_stream(table_of(is_in), {.batches = {7, 1}});
    return jobs::partial_release(ticket, part, data::ArrowStream{&stream});
  };
  const auto everybody = [](const std::string&) { return true; };
  auto whole = testing::arrow_stream(table_of(everybody));
  ReplayBits alone{7};
  auto own = ledger(plan);
  const auto expected = json_text(jobs::run(jobs::ReleaseJob{plan}, data::ArrowStream{&whole}, own, {.bits = alone, .not_private = true}));
  auto ledger = this->ledger(plan);
  ReplayBits bits{7};
  const auto ticket = jobs::begin_release(plan, parts, ledger, {.bits = bits, .not_private = true});
  std::vector<std::string> partials;
  data::OwnerBuckets named;
  for (std::uint32_t part = 0; part < parts; ++part) {
    partials.push_back(read(ticket, part, [&](const std::string& owner) { return bucket_of(owner) % parts == part; }));
  }
  named.set(bucket_of(""));
  for (int k = 0; k < 23; ++k) named.set(bucket_of(std::to_string(k)));
  EXPECT_EQ(jobs::read_partial(merged(partials)).buckets, named);
  const auto again = read(ticket, 1, [](const std::string& owner) { return owner == "5"; });
  const auto other = read(ticket, 2, [](const std::string& owner) { return owner == "5"; });
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::merge_partials(again, other)); }, ErrorCode::invalid_argument, {"bucket"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::merge_partials(again, partial(ticket, 2, {"3,1,Rome"}))); },
                      ErrorCode::invalid_argument, {"one from Arrow"}));
  EXPECT_EQ(json_text(jobs::finish_release(ticket, merged(partials), ledger, {.bits = bits, .not_private = true})), expected);
}

TEST_F(ReleaseInParts, AsksTheLedgerAndDrawsAKeyWhereItIsNeeded) {
  const auto plan = plan_of(Queries::one);
  const auto small =
      ledger(plan, accounting::Budget{.target = {Epsilon{0.5}, Delta{0}, Adjacency::replace_one}, .filter = accounting::FilterKind::basic});
  ReplayBits bits{1};
  const auto refused = [&](std::uint32_t parts, const accounting::Ledger& ledger, const jobs::ReleasePlan& asked, ErrorCode code,
                           const char* words) {
    return refuses([&] { static_cast<void>(jobs::begin_release(asked, parts, ledger, {.bits = bits})); }, code, {words});
  };
  EXPECT_TRUE(refused(2, small, plan, ErrorCode::budget_exceeded, "budget"));
  EXPECT_TRUE(refused(2, ledger(plan), plan_of(Queries::one, people()), ErrorCode::invalid_argument, "unit of the plan"));
  for (const std::uint32_t parts : {0U, (1U << 20) + 1})
    EXPECT_TRUE(refused(parts, ledger(plan), plan, ErrorCode::invalid_argument, "parts are"));
  EXPECT_TRUE(small.runs().empty());

  const auto of_rows = jobs::read_ticket(begin(plan, 2));
  const auto of_people = jobs::read_ticket(begin(plan_of(Queries::one, people()), 2));
  EXPECT_FALSE(of_rows.key.has_value() || of_rows.not_private);
  EXPECT_TRUE(of_people.key.has_value() && of_people.not_private);
  // The key is that of the bits, as in one process; the number is another one each time.
  const auto again = jobs::read_ticket(begin(plan_of(Queries::one, people()), 2));
  EXPECT_EQ(again.key, of_people.key);
  EXPECT_NE(jobs::read_ticket(begin(plan_of(Queries::one, people()), 2, 8)).key, of_people.key);
  EXPECT_NE(again.number, of_people.number);
  // A key that somebody knows is said to be one, whoever draws the noise.
  auto ledger = this->ledger(plan_of(Queries::one, people()));
  const auto ticket = begin(plan_of(Queries::one, people()), 1);
  mechanisms::SystemBits system;
  EXPECT_TRUE(jobs::finish_release(ticket, partial(ticket, 0, rows), ledger, {.bits = system}).not_private);
}

TEST_F(ReleaseInParts, RefusesAPartThatIsThereTwiceOrNotAtAllAndCostsNothingThen) {
  const auto plan = plan_of(Queries::sums, people(), Adjacency::replace_one, jobs::NoiseChoice::gaussian);
  auto ledger = this->ledger(plan);
  const auto ticket = begin(plan, 3);
  const std::vector<std::string> parts{partial(ticket, 0, {"p0,1,Rome"}), partial(ticket, 1, {}), partial(ticket, 2, {"p1,1,Oslo"})};
  const auto refused = [&](const auto& action, const std::vector<std::string_view>& words) {
    return refuses([&] { static_cast<void>(action()); }, ErrorCode::invalid_argument, words);
  };
  for (std::uint32_t part = 0; part < 3; ++part) {
    EXPECT_TRUE(refused([&] { return jobs::merge_partials(parts[part], parts[part]); }, {fmt::format("part {} is in both", part)}));
    EXPECT_TRUE(refused([&] { return jobs::merge_partials(merged(parts), parts[part]); }, {fmt::format("part {} is in both", part)}));
    std::vector<std::string> others = parts;
    others.erase(others.begin() + part);
    EXPECT_TRUE(
        refused([&] { return finish(ticket, merged(others), ledger); }, {fmt::format("part {} is missing: the partial has 2 of 3", part)}));
  }
  EXPECT_TRUE(refused([&] { return partial(ticket, 3, {}); }, {"part is 3, must be below 3"}));
  const auto other = begin(plan, 3);
  EXPECT_TRUE(refused([&] { return jobs::merge_partials(parts[0], partial(other, 1, {})); }, {"of two tickets"}));
  EXPECT_TRUE(refused([&] { return finish(other, merged(parts), ledger); }, {"of another ticket"}));
  // Neither who shares a bucket nor which is said.
  const auto shared = partial(ticket, 1, {"p0,2,Rome"});
  const auto found = reference::refusal_of([&] { return jobs::merge_partials(parts[0], shared); });
  EXPECT_TRUE(found.says(ErrorCode::invalid_argument, "one bucket of owners are in both partials, must be in one part")) << found;
  EXPECT_EQ(found.message.find("p0"), std::string::npos);
  EXPECT_EQ(found.message.find_first_of("0123456789"), std::string::npos) << found.message;
  // From CSV and from Arrow.
  auto elsewhere = jobs::read_partial(parts[1]);
  elsewhere.source = jobs::PartSource::arrow;
  EXPECT_TRUE(refused([&] { return jobs::merge_partials(parts[0], jobs::partial_bytes(elsewhere)); }, {"one from Arrow"}));
  // With the number of the ticket, and of another plan.
  auto forged = jobs::read_partial(merged(parts));
  forged.totals.pop_back();
  EXPECT_TRUE(refused([&] { return finish(ticket, jobs::partial_bytes(forged), ledger); }, {"queries"}));
  forged = jobs::read_partial(merged(parts));
  forged.totals[0] = RankTotal{{{1, 1}}};
  EXPECT_TRUE(refused([&] { return finish(ticket, jobs::partial_bytes(forged), ledger); }, {"another kind"}));
  forged = jobs::read_partial(merged(parts));
  forged.totals[0] = StepTotal{{3}};
  EXPECT_TRUE(refused([&] { return finish(ticket, jobs::partial_bytes(forged), ledger); }, {"none of a statistic's"})) << "of two records";
  forged = jobs::read_partial(merged(parts));
  forged.source = jobs::PartSource::any;
  forged.buckets.reset();
  EXPECT_TRUE(refused([&] { return finish(ticket, jobs::partial_bytes(forged), ledger); }, {"of another plan"}));
  // With a ticket of other noise.
  auto louder = jobs::read_ticket(ticket);
  louder.scale *= 1 + 1e-15;
  EXPECT_TRUE(refused([&] { return finish(jobs::ticket_bytes(louder), merged(parts), ledger); }, {"the ticket's noise"}));
  EXPECT_TRUE(ledger.runs().empty());
  EXPECT_NO_THROW(static_cast<void>(finish(ticket, merged(parts), ledger)));
}

// A list of partials: what a task that was retried made again counts once, and any other rows under its number are refused.
TEST_F(ReleaseInParts, MergesAListInWhichEqualBytesCountOnce) {
  constexpr std::uint32_t parts = 5;
  for (const auto& unit : {UnitOfPrivacy{}, people()}) {
    const auto ticket = quick_ticket(unit, parts);
    const auto names = names_of_bucket(false, parts);
    std::vector<std::string> partials;
    for (std::uint32_t part = 0; part < parts; ++part) {
      partials.push_back(partial(ticket, part, Lines(part, fmt::format("{},{},Rome", names[part], part + 1))));
    }
    const auto all = merged(partials);
    std::vector<std::string_view> list{partials.begin(), partials.end()};
    std::mt19937 random{9};
    for (std::size_t count = 1; count <= 12; ++count) {
      std::shuffle(list.begin(), list.end(), random);
      EXPECT_EQ(jobs::merge_partials(list), all) << list.size();
      list.push_back(partials[count % parts]);
    }
    for (std::size_t count = 1; count < parts; ++count) {
      EXPECT_EQ(
          jobs::merge_partials(std::vector<std::string_view>{partials.begin(), partials.begin() + static_cast<std::ptrdiff_t>(count)}),
          merged({partials.begin(), partials.begin() + static_cast<std::ptrdiff_t>(count)}));
    }
    const auto refused = [&](std::vector<std::string_view> hostile, ErrorCode code, const char* words) {
      hostile.insert(hostile.end(), partials.begin(), partials.end());
      std::shuffle(hostile.begin(), hostile.end(), random);
      return refuses([&] { static_cast<void>(jobs::merge_partials(hostile)); }, code, {words});
    };
    const auto fewer = partial(ticket, 4, {fmt::format("{},5,Rome", names[4])});
    EXPECT_TRUE(refused({fewer}, ErrorCode::invalid_argument, "part 4 is in both partials"));
    EXPECT_TRUE(refused({all}, ErrorCode::invalid_argument, "is in both partials"));
    EXPECT_TRUE(refused({std::string_view{all}.substr(0, all.size() - 1)}, ErrorCode::bad_data, "cut short"));
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::merge_partials({})); }, ErrorCode::invalid_argument, {"there are no partials"}));
  }
}

// With a seed in the ticket, a release in parts equals a release in one process.
TEST_F(ReleaseInParts, ReplaysItsSeed) {
  const auto table = file_of(rows);
  for (const auto& unit : {UnitOfPrivacy{}, people()}) {
    const auto plan = plan_of(Queries::one, unit);
    auto own = ledger(plan);
    ReplayBits alone{31};
    const auto expected = json_text(jobs::run(jobs::ReleaseJob{plan}, table, own, {.bits = alone, .not_private = true}));
    auto ledger = this->ledger(plan);
    int asked = 0;
    const auto begun = [&](const std::optional<std::uint64_t>& seed) {
      return jobs::begin_release(jobs::ReleaseJob{plan}, 1, seed, [&](const accounting::Plan& charge) {
        EXPECT_EQ(charge.not_private, seed.has_value());
        ++asked;
      });
    };
    const auto charge = [&](const accounting::Plan& asked_for, std::string_view mark) { return ledger.reserve_once(asked_for, mark); };
    const auto ticket = begun(31);
    const auto all = partial(ticket, 0, rows);
    EXPECT_EQ(json_text(jobs::finish_release(ticket, all, charge)), expected);
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::finish_release(ticket, all, charge)); }, ErrorCode::invalid_argument, {"mark"}));
    // Without one no two are alike, and none is a replay.
    const auto secret = begun(std::nullopt);
    EXPECT_FALSE(jobs::finish_release(secret, partial(secret, 0, rows), charge).not_private);
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(ledger.runs().size(), 2U);
    EXPECT_TRUE(ledger.runs()[0].plan.not_private && !ledger.runs()[1].plan.not_private);
    // A seed is public: its noise is marked as not private, and `finish` refuses a key that the seed does not draw.
    auto changed = jobs::read_ticket(ticket);
    changed.not_private = false;
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_ticket(jobs::ticket_bytes(changed))); }, ErrorCode::bad_data, {"ticket"}));
    if (unit.is_row()) continue;
    changed = jobs::read_ticket(ticket);
    changed.replay_seed = 32;
    changed.number[0] ^= 1;
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::finish_release(jobs::ticket_bytes(changed), all, charge)); }, ErrorCode::bad_data,
                        {"its key is not that of its seed"}));
    EXPECT_EQ(ledger.runs().size(), 2U);
  }
}

TEST_F(ReleaseInParts, KnowsThatATableIsEmptyWhereThatIsPublic) {
  const auto of_public = plan_of(Queries::one);
  const auto ticket = begin(of_public, 2);
  auto ledger = this->ledger(of_public);
  const auto empty = jobs::merge_partials(partial(ticket, 0, {}), partial(ticket, 1, {}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(finish(ticket, empty, ledger)); }, ErrorCode::bad_data, {"no records"}));
  EXPECT_TRUE(ledger.runs().empty());
  const auto of_private = plan_of(Queries::one, {}, Adjacency::add_or_remove_one);
  const auto other = begin(of_private, 1);
  auto another = this->ledger(of_private);
  EXPECT_NO_THROW(static_cast<void>(finish(other, partial(other, 0, {}), another)));
}

TEST_F(ReleaseInParts, IsFinishedOnce) {
  const auto plan = plan_of(Queries::one);
  auto ledger = this->ledger(plan);
  const auto ticket = begin(plan, 1);
  const auto all = partial(ticket, 0, rows);
  EXPECT_EQ(finish(ticket, all, ledger).run.value, 1U);
  EXPECT_TRUE(refuses([&] { static_cast<void>(finish(ticket, all, ledger)); }, ErrorCode::invalid_argument, {"[ticket ", "it is settled"}));
  EXPECT_EQ(ledger.runs().size(), 1U);
  // One that was charged and did not come to its end may have released.
  const auto second = begin(plan, 1);
  const auto same = partial(second, 0, rows);
  for (int calls = 0; calls < 2; ++calls) {
    testing::FailingBits bits{0};
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::finish_release(second, same, ledger, {.bits = bits})); },
                        calls == 0 ? ErrorCode::environment : ErrorCode::invalid_argument, {calls == 0 ? "no bits" : "may have released"}));
    ASSERT_EQ(ledger.runs().size(), 2U);
    EXPECT_FALSE(ledger.runs()[1].settlement.has_value());
  }
  // Another release takes another ticket.
  const auto third = begin(plan, 1);
  EXPECT_EQ(finish(third, partial(third, 0, rows), ledger).run.value, 3U);
  EXPECT_EQ(ledger.runs().size(), 3U);
}

TEST_F(ReleaseInParts, OfSeveralThatFinishAtOnceOneChargesAndReleases) {
  const auto plan = plan_of(Queries::one);
  const auto path = folder_ / "shared.db";
  static_cast<void>(accounting::Ledger::create(path, plan.target.adjacency));
  const auto ticket = begin(plan, 1);
  const auto all = partial(ticket, 0, rows);
  std::atomic<int> released = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      auto ledger = accounting::Ledger::open(path);
      try {
        static_cast<void>(finish(ticket, all, ledger));
        ++released;
      } catch (const Error& error) {
        refused += error.code() == ErrorCode::invalid_argument ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(refused, 3);
  const auto ledger = accounting::Ledger::open(path);
  ASSERT_EQ(ledger.runs().size(), 1U);
  EXPECT_EQ(ledger.event(), accounting::Releases::of(jobs::ReleaseJob{plan}.cost().event).event());
}

// With the right checksum, as nobody who adds up records writes it.
TEST_F(ReleaseInParts, RefusesPartialsThatNoRecordsMake) {
  const jobs::Partial good{.ticket = {1},
                           .parts = 4,
                           .source = jobs::PartSource::csv,
                           .numbers = {0, 3},
                           .buckets = data::OwnerBuckets{"101"},
                           .records = 3,
                           .totals = {StepTotal{{-5, 9}}, RankTotal{{{2, 1}, {7, 2}}}, KeyTotal{{{"a", 1}, {"b", 2}}}}};
  EXPECT_EQ(jobs::read_partial(jobs::partial_bytes(good)), good);
  const auto refused = [&](const auto& change) {
    auto partial = good;
    change(partial);
    return refuses([&] { static_cast<void>(jobs::read_partial(jobs::partial_bytes(partial))); }, ErrorCode::bad_data,
                   {"partial: holds what cannot be"});
  };
  using jobs::Partial;
  EXPECT_TRUE(refused([](Partial& partial) { partial.parts = 0; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.parts = 3; })) << "part 3 is none of them";
  EXPECT_TRUE(refused([](Partial& partial) { partial.parts = (1U << 20) + 1; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.numbers = {}; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.numbers = {3, 0}; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.numbers = {3, 3}; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.source = static_cast<jobs::PartSource>(3); }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.buckets = data::OwnerBuckets{"1111"}; })) << "of three records";
  EXPECT_TRUE(refused([](Partial& partial) { partial.totals = {}; }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.totals.assign(4097, KeyTotal{}); }));
  EXPECT_TRUE(refused([](Partial& partial) { partial.totals = {StepTotal{}}; }));
  const auto with = [&](const QueryTotal& total) { return refused([&](Partial& partial) { partial.totals = {total}; }); };
  EXPECT_FALSE(with(StepTotal{{ExactInteger{3} << 42, -(ExactInteger{3} << 42)}}));
  EXPECT_TRUE(with(StepTotal{{(ExactInteger{3} << 42) + 1}}));
  EXPECT_TRUE(with(StepTotal{{-(ExactInteger{3} << 42) - 1}}));
  EXPECT_TRUE(with(StepTotal{{std::numeric_limits<ExactInteger>::min()}}));
  EXPECT_TRUE(with(RankTotal{{{2, 0}}}));
  EXPECT_TRUE(with(RankTotal{{{2, 4}}}));
  EXPECT_TRUE(with(RankTotal{{{2, 2}, {3, 2}}}));
  EXPECT_TRUE(with(RankTotal{{{2, ~std::uint64_t{0}}, {3, 2}}})) << "which add up to 1 by overflow";
  EXPECT_TRUE(with(RankTotal{{{2, 1}, {2, 1}}}));
  EXPECT_TRUE(with(RankTotal{{{3, 1}, {2, 1}}}));
  EXPECT_FALSE(with(RankTotal{{{(3U << 22) - 1, 1}}}));
  EXPECT_TRUE(with(RankTotal{{{3U << 22, 1}}}));
  auto earlier = jobs::partial_bytes(good);
  earlier[8] = 1;
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(jobs::read_partial(earlier)); }, ErrorCode::bad_data, {"is of version 1, must be of version 2"}));
  EXPECT_TRUE(with(KeyTotal{{{"a", 4}}}));
  EXPECT_TRUE(with(KeyTotal{{{"a", 0}}}));
  EXPECT_TRUE(with(KeyTotal{{{"", 1}, {"bb", 1}}}));
  EXPECT_TRUE(with(KeyTotal{{{std::string(257, 'a'), 1}}}));
  EXPECT_TRUE(with(KeyTotal{{{"b", 1}, {"a", 1}}}));
  EXPECT_TRUE(with(KeyTotal{{{"a", 1}, {"a", 1}}}));
  // More than any table has: a sum that would begin anew.
  auto a = good;
  a.numbers = {0};
  a.buckets = {};
  a.records = ~std::uint64_t{0};
  auto b = a;
  b.numbers = {1};
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(jobs::merged(a, b)); }, ErrorCode::invalid_argument, {"more records together than any table"}));
}

/// One of the accidents that befall bytes.
std::string changed(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t size) { return std::uniform_int_distribution<std::size_t>{0, size - 1}(random); };
  const auto place = below(bytes.size());
  constexpr std::string_view extremes{"\0\xff\x01\x7f\x80", 5};
  switch (below(6)) {
    case 0: bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8))); break;
    case 1: bytes[place] = extremes[below(extremes.size())]; break;
    case 2: bytes.resize(place); break;
    case 3: bytes.erase(place, 1 + below(20)); break;
    case 4: bytes.insert(place, 1 + below(20), extremes[below(extremes.size())]); break;
    default: {  // a number of eight bytes that is far off
      for (std::size_t k = 0; k < 8 && place + k < bytes.size(); ++k) bytes[place + k] = extremes[below(2)];
    }
  }
  return bytes;
}

/// The same with a checksum that says so.
std::string with_checksum(const std::string& bytes, std::string_view magic) {
  constexpr std::size_t head = 12;
  constexpr std::size_t tail = 32;
  jobs::SealedWriter out{{.magic = magic, .version = 2, .name = ""}};
  if (bytes.size() > head + tail) out.put(std::string_view{bytes}.substr(head, bytes.size() - head - tail));
  return std::move(out).sealed();
}

TEST_F(ReleaseInParts, RefusesPartialsThatWereChanged) {
  for (const auto& unit : {UnitOfPrivacy{}, people()}) {
    const auto ticket = quick_ticket(unit, 3);
    const auto told = jobs::read_ticket(ticket);
    const auto a = jobs::merge_partials(partial(ticket, 0, {"p0,7,Rome", "p0,2,Oslo"}), partial(ticket, 2, {}));
    const auto b = partial(ticket, 1, {"p2,3,Bergen"});
    ASSERT_EQ(jobs::partial_bytes(jobs::read_partial(a)), a);
    std::mt19937 random{3};
    int accepted = 0;
    int added = 0;
    for (int k = 0; k < 10'000; ++k) {
      auto bytes = changed(a, random);
      const bool is_sealed = k % 2 == 0;
      if (is_sealed) bytes = with_checksum(bytes, "SURETYPT");
      jobs::Partial found;
      try {
        found = jobs::read_partial(bytes);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::bad_data) << error.what();
        continue;
      }
      ASSERT_TRUE(is_sealed || bytes == a) << "a checksum that is right by itself";
      ASSERT_EQ(jobs::partial_bytes(found), bytes) << "two texts of one partial";
      ++accepted;
      if (accepted > 60) continue;
      // What is read without complaint merges, and adds up to something that may be released, or is refused.
      try {
        found = jobs::merged(found, jobs::read_partial(b));
        const auto queries = parts_of(told.plan.queries, told.family, told.scale, told.plan.confidence);
        if (found.totals.size() != queries.size()) continue;
        for (std::size_t query = 0; query < queries.size(); ++query) queries[query]->add_total(found.totals[query], found.records);
        ++added;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(added, 10);
    EXPECT_LT(added, 60) << "counts that the plan's queries cannot have";
  }
}

TEST_F(ReleaseInParts, RefusesTicketsThatWereChanged) {
  const auto ticket = quick_ticket(people(), 3);
  std::mt19937 random{4};
  for (int k = 0; k < 4'000; ++k) {
    const auto bytes = changed(ticket, random);
    if (bytes == ticket) continue;
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_ticket(bytes)); }, ErrorCode::bad_data, {"ticket: "})) << k;
    try {
      static_cast<void>(jobs::read_ticket(with_checksum(bytes, "SURETYTK")));
    } catch (const Error&) {  // of a plan in another text, whatever its reader says
    }
  }
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_ticket(partial(ticket, 0, {}))); }, ErrorCode::bad_data, {"ticket: is none"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_partial(ticket)); }, ErrorCode::bad_data, {"partial: is none"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_partial({})); }, ErrorCode::bad_data, {"partial: is none"}));
  auto later = ticket;
  later[8] = 1;
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(jobs::read_ticket(later)); }, ErrorCode::bad_data, {"is of version 1, must be of version 2"}));
  later = ticket;
  later[13] = '9';
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::read_ticket(with_checksum(later, "SURETYTK"))); }, ErrorCode::bad_data,
                      {"was made by Surety 9"}));
}

// Whoever else has an account on that machine reads neither, whatever the umask says.
TEST(PrivateFiles, AreReadByTheirOwnerAloneAndReplaceNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "ticket";
  const auto umask_before = umask(0);
  jobs::write_private_file(path, std::string_view{"a\0b", 3});
  umask(umask_before);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::ifstream file{path, std::ios::binary};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{file}, {}}), (std::string{"a\0b", 3}));
  const auto found = reference::refusal_of([&] {
    jobs::write_private_file(path, "another");
    return 0;
  });
  EXPECT_TRUE(found.says(ErrorCode::invalid_argument, "is there already")) << found;
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

}  // namespace
}  // namespace surety::release_in_parts_test
