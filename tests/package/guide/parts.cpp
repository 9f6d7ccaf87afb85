// What docs/guides/parts.md shows: the steps of its block (../steps.awk), with what they take for granted.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include <parts_1.h>

using namespace surety;

int main() {
  const std::string columns = "owner,visits\n";
  for (int part = 0; part < 4; ++part) {
    std::ofstream file{"part-" + std::to_string(part) + ".csv"};
    file << columns;
    for (int row = 0; row < 50 + part; ++row) file << part << "-" << row << ",3\n";
  }
  const jobs::ReleasePlan plan{
      .target = {Epsilon{1}, Delta{0}, Adjacency::replace_one},
      .queries = {{.statistic = {.of = statistics::SumOf{"visits", data::Bounds{0, 20}}, .adjacency = Adjacency::replace_one}}}};
  auto ledger = accounting::Ledger::open_or_create("parts.db", Adjacency::replace_one);
  mechanisms::SystemBits bits;

#include <parts_2.h>

#include <parts_3.h>

  const std::string another = jobs::partial_release(ticket, 3, "part-3.csv");

#include <parts_4.h>

  std::string all = both;
  for (const std::uint32_t part : {0U, 1U}) {
    all = jobs::merge_partials(all, jobs::partial_release(ticket, part, "part-" + std::to_string(part) + ".csv"));
  }

#include <parts_5.h>

  const double value = released.queries.front().answers.front().estimate.value;
  std::printf("sum of visits: %.6g\n", value);
  // Within 30 deviations of the noise of 206 rows of 3.
  return value > 0 && value < 1500 ? 0 : 1;
}
