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
      const bool has_interval = facts.has_values && !facts.rank_error;
      values.push_back(facts.has_values ? std::optional{estimate.value} : std::nullopt);
      lowers.push_back(has_interval ? std::optional{estimate.lower} : std::nullopt);
      uppers.push_back(has_interval ? std::optional{estimate.upper} : std::nullopt);
    }
  }
  return table;
}

}  // namespace surety::jobs
