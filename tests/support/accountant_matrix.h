// Which accountant has a theorem for which event under which adjacency, as a table: for docs/reference/accountants.md, and for the test
// that compares it with what the accountants do when they are asked.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/registry.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting::matrix {

inline constexpr std::array adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};

/// One kind of event: as the table writes it, and an example with ordinary numbers.
struct Row {
  const char* written;
  const char* example;

  /// Nothing where the event has no meaning under the adjacency.
  [[nodiscard]] std::optional<Event> event(Adjacency adjacency) const {
    try {
      return parse_event(example, adjacency);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
};

inline constexpr std::array rows{
    Row{"gaussian(z)", "gaussian(2)"},
    Row{"record_sum(z)", "record_sum(2)"},
    Row{"laplace(b)", "laplace(2)"},
    Row{"laplace_record_sum(b)", "laplace_record_sum(2)"},
    Row{"discrete_gaussian(s, d)", "discrete_gaussian(3, 1)"},
    Row{"discrete_laplace(b, 1)", "discrete_laplace(3, 1)"},
    Row{"discrete_laplace(b, d)", "discrete_laplace(3, 2)"},
    Row{"binomial(n, d)", "binomial(100, 2)"},
    Row{"skellam(m, d)", "skellam(25, 2)"},
    Row{"randomized_response(p, k)", "randomized_response(0.7, 4)"},
    Row{"exponential(e)", "exponential(0.5)"},
    Row{"pure(e)", "pure(0.5)"},
    Row{"approx(e, d)", "approx(0.5, 1e-6)"},
    Row{"zcdp(r)", "zcdp(0.1)"},
    Row{"zcdp(x, r)", "zcdp(0.1, 0.1)"},
    Row{"curve(e, d, ...)", "curve(0.5, 1e-3, 1, 1e-6)"},
    Row{"law(l, p, ...)", "law(-0.5, 0.3775406687981454, 0.5, 0.6224593312018546)"},
    Row{"law(l, p, ...), infinite", "law(-0.5, 0.25, 0.5, 0.625, inf, 0.125)"},
    Row{"renyi(a, e, ...)", "renyi(2, 0.1, 8, 0.5)"},
    Row{"mixture(w, s, ..., gaussian(z))", "mixture(0.75, 0, 0.25, 1, gaussian(2))"},
    Row{"mixture(w, s, ..., record_sum(z))", "mixture(0.75, 0, 0.25, 1, record_sum(2))"},
    Row{"generalized_gaussian(2, n, z)", "generalized_gaussian(2, 5, 2)"},
    Row{"generalized_gaussian(r, n, z)", "generalized_gaussian(3, 5, 2)"},
    Row{"k_norm(l1, n, b)", "k_norm(l1, 5, 2)"},
    Row{"k_norm(l2, n, b)", "k_norm(l2, 5, 2)"},
    Row{"repeat(n, gaussian(z))", "repeat(10, gaussian(6))"},
    Row{"repeat(n, laplace(b))", "repeat(10, laplace(12))"},
    Row{"compose(gaussian(z), laplace(b))", "compose(gaussian(4), laplace(4))"},
    Row{"compose(pure(e), approx(e, d))", "compose(pure(0.3), approx(0.2, 1e-6))"},
    Row{"parallel(gaussian(z), gaussian(z'))", "parallel(gaussian(2), gaussian(3))"},
    Row{"parallel(gaussian(z), laplace(b))", "parallel(gaussian(2), laplace(2))"},
    Row{"poisson(q, laplace_record_sum(b))", "poisson(0.01, laplace_record_sum(2))"},
    Row{"poisson(q, gaussian(z))", "repeat(300, poisson(0.1, gaussian(2)))"},
    Row{"poisson(q, gaussian(z)), z up to 0.2", "repeat(2, poisson(0.01, gaussian(0.1)))"},
    Row{"poisson(q, record_sum(z))", "repeat(300, poisson(0.1, record_sum(2)))"},
    Row{"poisson(q, laplace(b))", "poisson(0.1, laplace(2))"},
    Row{"poisson(q, randomized_response(p, k))", "poisson(0.1, randomized_response(0.7, 4))"},
    Row{"poisson(q, compose(gaussian(z), laplace(b)))", "poisson(0.1, compose(gaussian(4), laplace(4)))"},
    Row{"poisson(q, zcdp(r))", "poisson(0.1, zcdp(0.1))"},
    Row{"without_replacement(n, m, gaussian(z))", "without_replacement(100, 10, gaussian(2))"},
    Row{"without_replacement(n, m, gaussian(z)), z up to 0.2", "repeat(2, without_replacement(100, 1, gaussian(0.1)))"},
    Row{"without_replacement(n, m, laplace(b))", "without_replacement(100, 10, laplace(2))"},
    Row{"with_replacement(n, m, gaussian(z))", "with_replacement(100, 10, gaussian(2))"},
    Row{"with_replacement(n, m, laplace(b))", "with_replacement(100, 10, laplace(2))"},
    Row{"shuffled_reports(n, e)", "shuffled_reports(100, 1)"},
    Row{"repeat(t, shuffled_reports(n, e))", "repeat(10, shuffled_reports(100, 1))"},
    Row{"shuffled_responses(n, p, k)", "shuffled_responses(100, 0.7, 4)"},
    Row{"shuffled(n, m, gaussian(z))", "shuffled(100, 10, gaussian(2))"},
    Row{"shuffled(n, m, laplace(b))", "shuffled(100, 10, laplace(2))"},
    Row{"deterministic(n, m, gaussian(z))", "deterministic(100, 10, gaussian(2))"},
    Row{"deterministic(n, m, laplace(b))", "deterministic(100, 10, laplace(2))"},
    Row{"cyclic(b, T, q, gaussian(z))", "cyclic(10, 1000, 0.1, gaussian(2))"},
    Row{"cyclic(b, T, q, record_sum(z))", "cyclic(10, 1000, 0.1, record_sum(2))"},
    Row{"allocated(t, gaussian(z))", "allocated(100, gaussian(2))"},
    Row{"allocated(t, record_sum(z))", "allocated(100, record_sum(2))"},
    Row{"allocated(t, k, gaussian(z))", "allocated(8, 3, gaussian(2))"},
    Row{"truncated_poisson(q, m, n, gaussian(z))", "truncated_poisson(0.1, 20, 100, gaussian(2))"},
    Row{"truncated_poisson(q, m, n, record_sum(z))", "truncated_poisson(0.1, 20, 100, record_sum(2))"},
    Row{"users(k, gaussian(z))", "users(3, gaussian(2))"},
    Row{"users(k, laplace(b))", "users(4, laplace(2))"},
    Row{"users(k, pure(e))", "users(3, pure(0.1))"},
    Row{"users(k, approx(e, d))", "users(3, approx(0.1, 1e-6))"},
    Row{"users(k, zcdp(r))", "users(3, zcdp(0.01))"},
    Row{"users(k, poisson(q, gaussian(z)))", "users(3, poisson(0.1, gaussian(2)))"},
    Row{"users(k, poisson(q, record_sum(z)))", "users(3, poisson(0.1, record_sum(2)))"},
    Row{"users(k, cyclic(b, T, q, gaussian(z)))", "users(3, cyclic(10, 100, 0.1, gaussian(2)))"},
    Row{"users(k, allocated(t, gaussian(z)))", "users(2, allocated(8, gaussian(2)))"},
    Row{"last_iterate(T, c, gaussian(z))", "last_iterate(20, 0.9, gaussian(4))"},
    Row{"last_iterate_within(d, T, c, gaussian(z))", "last_iterate_within(2, 20, 0.9, gaussian(4))"},
    Row{"last_iterate_of_passes(E, l, c, gaussian(z))", "last_iterate_of_passes(5, 4, 0.9, gaussian(4))"},
    Row{"last_iterate_of_batches(n, B, ..., gaussian(z))", "last_iterate_of_batches(10, 4, 5, 8, gaussian(1))"},
    Row{"users(k, last_iterate(T, c, gaussian(z)))", "users(3, last_iterate(20, 0.9, gaussian(4)))"},
    Row{"best_of(runs, m, gaussian(z))", "best_of(geometric_runs, 10, gaussian(2))"},
    Row{"best_of(runs, m, laplace(b))", "best_of(poisson_runs, 10, laplace(2))"},
    Row{"compose(best_of(runs, m, gaussian(z)), gaussian(z'))", "compose(best_of(geometric_runs, 10, gaussian(3)), gaussian(2))"},
};

/// What the answer of each accountant rests on, and takes.
[[nodiscard]] inline std::string rows_markdown() {
  std::string table = "| accountant | rests on | an answer takes |\n| --- | --- | --- |\n";
  for (const auto& row : accountant_rows()) {
    std::string bases;
    for (const auto& basis : row.rests_on) {
      bases += (bases.empty() ? "" : ", ") + std::string{basis.name};
      if (!basis.kinds.empty()) bases += " (`" + std::string{basis.kinds} + "`)";
    }
    table += "| `" + std::string{row.name} + "` | " + bases + " | " + std::string{row.cost} + " |\n";
  }
  return table;
}

/// One line for each kind of event: who has a theorem for it, by the adjacencies under which they have one.
[[nodiscard]] inline std::string markdown() {
  std::string table = "| event | accountants |\n| --- | --- |\n";
  for (const auto& row : rows) {
    std::vector<std::pair<Adjacency, std::vector<std::string_view>>> supporting;
    for (const auto adjacency : adjacencies) {
      if (const auto event = row.event(adjacency)) supporting.emplace_back(adjacency, supporting_accountants(*event));
    }
    std::vector<std::pair<std::string, std::string>> groups;  // adjacencies, accountants
    for (const auto accountant : accountant_names()) {
      std::string under;
      std::size_t known = 0;
      for (const auto& [adjacency, names] : supporting) {
        if (std::find(names.begin(), names.end(), accountant) == names.end()) continue;
        ++known;
        under += (under.empty() ? "" : " and ") + std::string{name(adjacency)};
      }
      if (known == 0) continue;
      if (known == adjacencies.size()) under.clear();
      auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == under; });
      if (group == groups.end()) group = groups.insert(groups.end(), {under, ""});
      group->second += (group->second.empty() ? "" : ", ") + std::string{accountant};
    }
    std::string cell;
    for (const auto& [under, accountants] : groups) {
      cell += (cell.empty() ? "" : "; ") + accountants + (under.empty() ? "" : " (" + under + ")");
    }
    table += "| `" + std::string{row.written} + "` | " + cell + " |\n";
  }
  return table;
}

}  // namespace surety::accounting::matrix
