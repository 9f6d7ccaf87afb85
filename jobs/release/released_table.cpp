#include <surety/jobs/release/released_table.h>

#include <optional>
#include <utility>

namespace surety::jobs {

data::ArrowTable table_of(const ReleasedStatistics& released) {
  data::ArrowTable table;
  auto& queries = table.texts("query");
  auto& groups = table.texts("group");
  auto& cells = table.texts("cell");
  auto& values = table.numbers("value");
  auto& lowers = table.numbers("lower");
  auto& uppers = table.numbers("upper");
  for (const auto& query : released.queries) {
    for (const auto& [group, cell, estimate, group_texts] : query.answers) {
      const auto& facts = query.facts;
      queries.emplace_back(facts.query);
      groups.push_back(facts.has_groups ? std::optional{group} : std::nullopt);
      cells.push_back(facts.has_cells ? std::optional{cell} : std::nullopt);
      values.emplace_back(estimate.value);
      lowers.push_back(facts.rank_error ? std::nullopt : std::optional{estimate.lower});
      uppers.push_back(facts.rank_error ? std::nullopt : std::optional{estimate.upper});
    }
  }
  return table;
}

}  // namespace surety::jobs
