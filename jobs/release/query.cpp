#include <surety/jobs/release/query.h>

#include <algorithm>

namespace surety::jobs {

FieldText help_of(const QueryOption& option) {
  FieldText help;
  auto rest = option.help;
  for (const auto field : option.named) {
    const auto place = rest.find("{}");
    if (place == std::string_view::npos) break;
    help += std::string{rest.substr(0, place)};
    help += field;
    rest.remove_prefix(place + 2);
  }
  return help += std::string{rest};
}

Constraint constraint_of(const QueryOption& option) { return option.count ? Constraint{*option.count} : Constraint{}; }

std::string member_name(std::string field) {
  std::replace(field.begin(), field.end(), '-', '_');
  return field;
}

bool has_most_keys(Function function) noexcept {
  return function == Function::keys || function == Function::distinct || function == Function::count_distinct;
}

bool is_quantile(Function function) noexcept { return function == Function::median || function == Function::quantile; }

namespace {

/// Whether it releases a number of the rows of listed groups, of which a unit may have several in each.
bool has_group_cap(const Query& query) {
  const auto function = query.asked.function;
  return !query.by.empty() && !query.keys.are_discovered && !query.clip_unit_sum && !has_most_keys(function) &&
         function != Function::count_units;
}

FieldText unused_beside(FieldName option, FieldName other) { return field_text("{} beside {}", option, other); }

}  // namespace

FieldText unused_option(const Query& query, FieldName option) {
  const auto function = query.asked.function;
  const bool is_histogram = function == Function::histogram;
  const bool is_mode = function == Function::mode;
  const auto unless = [&](bool is_used) { return is_used ? FieldText{} : FieldText{option}; };
  if (is_histogram && query.edges && (option == "bounds"_field || option == "bins"_field || option == "categories"_field)) {
    return unused_beside(option, "edges"_field);
  }
  if (option == "bounds"_field) {
    if (function == Function::sum && query.clip_unit_sum) return unused_beside(option, "clip-unit-sum"_field);
    if (is_histogram && query.categories) return unused_beside(option, "categories"_field);
    return unless(function == Function::sum || function == Function::mean || function == Function::variance || is_quantile(function) ||
                  is_histogram);
  }
  if (option == "clip-unit-sum"_field) return unless(function == Function::sum);
  if (option == "bins"_field && is_histogram && query.categories) return unused_beside(option, "categories"_field);
  if (option == "bins"_field || option == "edges"_field) return unless(is_histogram);
  if (option == "categories"_field) return unless(is_histogram || is_mode);
  if (option == "top"_field) return unless(is_mode);
  if (option == "candidates"_field || option == "interval"_field) return unless(is_quantile(function));
  if (option == "most-keys"_field) return unless(has_most_keys(function) || query.keys.are_discovered);
  if (option == "most-per-group"_field && !has_group_cap(query)) {
    return query.keys.are_discovered ? field_text("{} beside discovered {}", option, "keys"_field) : option;
  }
  return {};
}

}  // namespace surety::jobs
