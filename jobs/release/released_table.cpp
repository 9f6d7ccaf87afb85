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
  auto& used = table.numbers("used");
  auto& used_lowers = table.numbers("used_lower");
  auto& used_uppers = table.numbers("used_upper");
  auto& totals = table.numbers("total");
  auto& rank_errors = table.numbers("rank_error");
  auto& rank_error_shares = table.numbers("rank_error_share");
  for (const auto& query : released.queries) {
    for (const auto& answer : query.answers) {
      const auto& facts = query.facts;
      const auto& estimate = answer.estimate;
      queries.emplace_back(facts.query);
      groups.push_back(facts.has_groups ? std::optional{answer.group} : std::nullopt);
      cells.push_back(facts.has_cells ? std::optional{answer.cell} : std::nullopt);
      const bool has_interval = facts.has_values && facts.has_interval;
      values.push_back(facts.has_values ? std::optional{estimate.value} : std::nullopt);
      lowers.push_back(has_interval ? std::optional{estimate.lower} : std::nullopt);
      uppers.push_back(has_interval ? std::optional{estimate.upper} : std::nullopt);
      used.push_back(answer.used ? std::optional{answer.used->used.value} : std::nullopt);
      used_lowers.push_back(answer.used ? std::optional{answer.used->used.lower} : std::nullopt);
      used_uppers.push_back(answer.used ? std::optional{answer.used->used.upper} : std::nullopt);
      totals.push_back(answer.used && answer.used->total ? std::optional{answer.used->total->value} : std::nullopt);
      rank_errors.push_back(answer.rank_error);
      rank_error_shares.push_back(answer.rank_error ? std::optional{0.0} : std::nullopt);
    }
  }
  return table;
}

}  // namespace surety::jobs
