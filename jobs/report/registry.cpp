#include <surety/jobs/report/registry.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json_values.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/report/report_values.h>

namespace surety::jobs {
namespace {

using namespace report_values;
using nlohmann::json;

enum class Kind { text, texts, date, choice, number, whole_number };

struct Field {
  std::string_view section;  ///< "" of the entry itself, else a section of "deployment"
  std::string_view name;     ///< "privacy_parameters/epsilon" lies one level deeper
  Kind kind;
  int tier;  ///< the registry's tier that wants the field; 0: none does
  bool is_required;
  bool is_of_ledger;  ///< comes from the ledger alone
  std::string_view question;
  std::string_view choices = {};  ///< separated by "|"
};

// The fields, types, tiers and choices of deployments-schema.yaml of opendp/deployments-registry-data at commit 3e9c812 (July 2026). The questions are ours.
constexpr std::array fields{
    Field{"", "url_slug", Kind::text, 0, true, false, "Which short name in lower case and hyphens shall the address of the entry have?"},
    Field{"", "status", Kind::choice, 0, true, false, "Which state has the review?",
          "Converted|Draft|Pending|Changes Required|Approved|Approved (Update Requested)|Approved (Pending)"},
    Field{"", "tier", Kind::whole_number, 0, true, true, ""},
    Field{"basic", "name", Kind::text, 1, true, false, "What is the name of the data product?"},
    Field{"basic", "data_curators", Kind::texts, 1, true, false, "Which organizations hold the data?"},
    Field{"basic", "intended_use", Kind::text, 1, true, false, "For what is the data product meant?"},
    Field{"basic", "data_product_type", Kind::choice, 1, true, false, "Of which type is the data product?",
          "Summary statistics|Machine learning model|Dataset|Synthetic data|Interactive API|SQL queries"},
    Field{"basic", "data_product_region", Kind::text, 1, true, false, "From which region are the people in the data?"},
    Field{"basic", "description", Kind::text, 1, true, false, "What does the data product contain?"},
    Field{"basic", "publication_date", Kind::date, 1, true, false, "When was it published (YYYY-MM-DD)?"},
    Field{"basic", "data_product_sector", Kind::choice, 1, false, false, "From which sector is it?",
          "Technology|Healthcare|Education|Government|Energy|Finance"},
    Field{"dp_variant", "variant_name", Kind::choice, 2, false, true, "", "Pure DP|Approximate DP|Zero-concentrated DP|Renyi DP|Custom"},
    Field{"dp_variant", "data_domain", Kind::text, 3, false, false, "Which tables, columns and values are possible?"},
    Field{"dp_variant", "unprotected_quantities", Kind::text, 3, false, false,
          "What was published or chosen from the data without protection?"},
    Field{"privacy_loss", "privacy_unit", Kind::text, 2, false, true, ""},
    Field{"privacy_loss", "privacy_unit_details", Kind::text, 3, false, false,
          "Does the unit cover all data of one person, in all releases and over time?"},
    Field{"privacy_loss", "privacy_parameters/epsilon", Kind::number, 2, false, true, ""},
    Field{"privacy_loss", "privacy_parameters/delta", Kind::number, 2, false, true, ""},
    Field{"privacy_loss", "privacy_parameters/rho", Kind::number, 0, false, true, ""},
    Field{"privacy_loss", "privacy_parameters_details", Kind::text, 3, false, false, ""},
    Field{"deployment_model", "model_name", Kind::choice, 2, false, false, "Who adds the noise: the curator, or each person's device?",
          "Local|Central|Shuffle|Federated|Varies"},
    Field{"deployment_model", "model_name_details", Kind::text, 0, false, false, "What is special about the model?"},
    Field{"deployment_model", "actors", Kind::text, 3, false, false, "Who sees what, and whom must people trust?"},
    Field{"deployment_model", "release_type", Kind::choice, 2, false, false, "Will there be more releases from these data?",
          "One release|Many releases"},
    Field{"deployment_model", "release_type_details", Kind::text, 0, false, false, ""},
    Field{"deployment_model", "data_source_type", Kind::choice, 2, false, false, "Do new data come in?", "Static|Dynamic"},
    Field{"deployment_model", "data_source_type_details", Kind::text, 3, false, false, "How do the data change over time?"},
    Field{"deployment_model", "access_type", Kind::choice, 2, false, false,
          "Do analysts choose queries, or is everything published at once?", "Interactive|Non-interactive"},
    Field{"deployment_model", "access_type_details", Kind::text, 3, false, false, "How do analysts share the budget?"},
    Field{"accounting", "post_processing", Kind::text, 3, false, false, "What was done with the noisy results before publication?"},
    Field{"accounting", "composition", Kind::text, 3, false, false, ""},
    Field{"implementation", "preprocessing_and_hyperparameter_tuning", Kind::text, 3, false, false,
          "How were bounds, categories and other options chosen, and was that charged?"},
    Field{"implementation", "mechanisms", Kind::text, 3, false, false,
          "Which program and version drew the noise, and what protects against floating-point errors, timing and access?"},
    Field{"implementation", "justification", Kind::text, 3, false, false, "Why were these mechanisms and parameters chosen?"},
    Field{"administrative", "sources", Kind::text, 1, false, false, "Where are the papers, pages or data of the deployment?"},
    Field{"administrative", "notes", Kind::text, 1, false, false, "What else must a reader know?"},
    Field{"administrative", "registry_authors", Kind::texts, 0, true, false, "Who wrote this entry?"},
};

std::string path_of(const Field& field) {
  std::string path{field.section.empty() ? "" : "/deployment/"};
  path += field.section;
  path += "/";
  path += field.name;
  return path;
}
std::string shown_path(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path.substr(1);
}
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (auto bar = text.find('|'); bar != std::string_view::npos; bar = text.find('|')) {
    parts.push_back(text.substr(0, bar));
    text.remove_prefix(bar + 1);
  }
  parts.push_back(text);
  return parts;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](std::size_t from, std::size_t length) {
    int value = 0;
    for (const char digit : text.substr(from, length)) {
      if (digit < '0' || digit > '9') return -1;
      value = 10 * value + (digit - '0');
    }
    return value;
  };
  const int month = number(5, 2);
  const int day = number(8, 2);
  return number(0, 4) >= 0 && month >= 0 && day >= 0 &&
         std::chrono::year_month_day{std::chrono::year{number(0, 4)}, std::chrono::month{static_cast<unsigned>(month)},
                                     std::chrono::day{static_cast<unsigned>(day)}}
             .ok();
}

/// By path: "/deployment/basic/name".
using Values = std::map<std::string, json>;

/// \throws Error{invalid_argument} unless the registry accepts the value.
void require_accepted(const Field& field, const json& value) {
  const auto name = shown_path(path_of(field));
  const auto require_text = [&](const json& one) {
    if (accounting::text_of(one, name).empty()) invalid(fmt::format("{} is empty, must be a text; or leave the field out", name));
  };
  switch (field.kind) {
    case Kind::text: return require_text(value);
    case Kind::texts:
      if (accounting::list_of(value, name).empty()) invalid(fmt::format("{} is an empty list, must have a text", name));
      for (const auto& one : value) require_text(one);
      return;
    case Kind::date:
      if (!is_date(accounting::text_of(value, name))) invalid(fmt::format("{} must be a date in the form YYYY-MM-DD", name));
      return;
    case Kind::choice: {
      const auto choices = split(field.choices);
      const auto text = accounting::text_of(value, name);
      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
        invalid(fmt::format("{} is '{}', must be one of: {}", name, one_line(text), fmt::join(choices, ", ")));
      }
      return;
    }
    case Kind::number:
    case Kind::whole_number: break;  // of the ledger
  }
}

/// Reads what somebody wrote, by the table of fields.
void add_facts(const json& facts, const std::string& path, Values& values) {
  if (!facts.is_object()) {
    invalid(fmt::format("{} must be an object (got {})", path.empty() ? "facts" : shown_path(path), accounting::kind_of(facts)));
  }
  for (const auto& [key, value] : facts.items()) {
    const auto inner = path + "/" + key;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& one) { return path_of(one) == inner; });
    if (field != fields.end()) {
      if (field->is_of_ledger)
        invalid(fmt::format("{} is in the facts, must be left out: its value comes from the ledger", shown_path(inner)));
      require_accepted(*field, value);
      values[inner] = value;
    } else if (std::any_of(fields.begin(), fields.end(), [&](const Field& one) { return path_of(one).starts_with(inner + "/"); })) {
      add_facts(value, inner, values);
    } else {
      invalid(fmt::format("the registry's schema has no field '{}'; remove it, or move it to the field that is meant",
                          one_line(shown_path(inner))));
    }
  }
}

/// Whether the budget's (epsilon, delta) hold for everything that is in the ledger, and whatever is added.
bool is_limited(const json& report) {
  return !at(at(report, "promise"), "budget").is_null() && text_at(report, "verdict") == "kept" &&
         text_at(at(report, "promise"), "delta_from") == "budget";
}

std::string details_of(const json& report) {
  const auto& spent = at(report, "spent");
  const auto& promise = at(report, "promise");
  const auto& risk = at(report, "risk");
  auto text = fmt::format("All recorded releases together cost epsilon {} at delta = {}, if none was chosen by earlier results.",
                          upper_words(enclosure_at(spent, "epsilon")), plain(number_at(promise, "delta")));
  if (is_limited(report)) {
    text += fmt::format(" The stated parameters are those of a budget, which limits all releases, however they are chosen: {}.",
                        target_words(at(promise, "budget")));
  }
  text += fmt::format(
      " With the recorded releases, an attacker who guesses whether the data of one unit are there is right with probability at most {}, "
      "at a prior of {}.",
      percent_at_most(enclosure_at(risk, "accuracy").upper), plain(number_at(risk, "prior")));
  return text;
}

std::string composition_of(const json& report) {
  const auto& spent = at(report, "spent");
  const auto& independent = at(spent, "independent");
  auto text = fmt::format("The releases were composed by the accountant {} of Surety", text_at(spent, "accountant"));
  if (!independent.is_null()) {
    text += fmt::format("; the accountant {} confirms epsilon {}", text_at(independent, "accountant"),
                        upper_words(enclosure_at(independent, "epsilon")));
  }
  return text + ".";
}

Values values_of(const json& report, std::size_t runs) {
  const auto& promise = at(report, "promise");
  const auto& spent = at(report, "spent");
  const bool limited = is_limited(report);
  const auto& budget = at(promise, "budget");
  const double delta = number_at(limited ? budget : promise, "delta");
  const bool by_rho = limited && text_at(budget, "filter") == "zcdp";
  Values values;
  values["/status"] = "Draft";
  values["/deployment/dp_variant/variant_name"] = by_rho ? "Zero-concentrated DP" : delta == 0 ? "Pure DP" : "Approximate DP";
  values["/deployment/privacy_loss/privacy_unit"] = text_at(at(promise, "unit"), "words");
  values["/deployment/privacy_loss/privacy_unit_details"] = adjacency_words(text_at(promise, "adjacency"));
  const std::string parameters = "/deployment/privacy_loss/privacy_parameters/";
  values[parameters + "epsilon"] = limited ? plain(number_at(budget, "epsilon")) : rounded_up(enclosure_at(spent, "epsilon").upper, 6);
  if (delta > 0) values[parameters + "delta"] = plain(delta);
  if (by_rho) values[parameters + "rho"] = rounded_up(enclosure_at(at(spent, "budget"), "limit").upper, 6);
  values["/deployment/privacy_loss/privacy_parameters_details"] = details_of(report);
  if (runs > 1) values["/deployment/deployment_model/release_type"] = "Many releases";
  const auto& list = list_at(report, "runs");
  values["/deployment/deployment_model/release_type_details"] =
      runs == 1 ? fmt::format("One release is recorded, of {}.", text_at(list.front(), "created"))
                : fmt::format("{} releases are recorded, from {} to {}.", runs, text_at(list.front(), "created"),
                              text_at(list.back(), "created"));
  values["/deployment/accounting/composition"] = composition_of(report);
  values["/deployment/implementation/mechanisms"] = fmt::format("The ledger was charged for: {}. This entry was made by {}.",
                                                                text_at(spent, "event"), text_at(at(report, "about"), "program"));
  return values;
}

/// "Trips in Oslo, 2026" is "trips-in-oslo-2026".
std::string slug_of(std::string_view name) {
  std::string slug;
  for (const char letter : name) {
    const char lower = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    const bool is_kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (is_kept) {
      slug += lower;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

/// The largest tier whose fields, and those of the tiers below, all have values.
int tier_of(const Values& values) {
  int tier = 3;
  for (const auto& field : fields) {
    // An entry of pure differential privacy has no delta.
    if (field.tier > 0 && field.name != "privacy_parameters/delta" && !values.contains(path_of(field)))
      tier = std::min(tier, field.tier - 1);
  }
  return std::max(tier, 1);
}

/// A text as YAML 1.1 and 1.2 read it: in double quotes, with JSON's escapes. A number is written with a point before an exponent, for without one YAML 1.1 reads a text.
std::string yaml(const Field& field, const json& value) {
  const auto quoted_text = [](const json& text) { return json_for_terminals(text.dump(-1, ' ', false, json::error_handler_t::replace)); };
  if (field.kind == Kind::number) {
    auto number = accounting::text_of(value, field.name);
    const auto exponent = number.find('e');
    if (exponent != std::string::npos && number.find('.') == std::string::npos) number.insert(exponent, ".0");
    return number;
  }
  if (field.kind != Kind::texts) return quoted_text(value);
  std::vector<std::string> items;
  for (const auto& one : value) items.push_back(quoted_text(one));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

class Writer {
 public:
  Writer(const Values& values, const json& facts) : values_{values}, facts_{facts} {}

  void add(const Field& field) {
    const bool is_inner = !field.section.empty();
    if (field.section != section_) {
      if (section_.empty()) entry_.yaml += "deployment:\n";
      section_ = field.section;
      group_ = {};
      entry_.yaml += fmt::format("  {}{}:\n", has_value_in(fmt::format("/deployment/{}/", section_)) ? "" : "# ", section_);
    }
    std::string indent(is_inner ? 4 : 0, ' ');
    auto name = field.name;
    if (const auto slash = name.find('/'); slash != std::string_view::npos) {
      if (name.substr(0, slash) != group_) {
        group_ = name.substr(0, slash);
        entry_.yaml += fmt::format("{}{}:\n", indent, group_);
      }
      name = name.substr(slash + 1);
      indent += "  ";
    }
    const auto found = values_.find(path_of(field));
    if (found != values_.end()) {
      // What a ledger has of a text is a beginning.
      const bool is_of_facts = !facts_.is_null() && facts_.contains(json::json_pointer{path_of(field)});
      const bool is_open = !is_of_facts && !field.is_of_ledger && !field.question.empty() && field.kind == Kind::text;
      entry_.yaml += fmt::format("{}{}: {}\n", indent, name, yaml(field, found->second));
      if (is_open) entry_.yaml += fmt::format("{}# to add: {}\n", indent, field.question);
      return;
    }
    if (field.is_of_ledger) return;
    ++entry_.questions;
    if (field.is_required) ++entry_.required;
    entry_.yaml += fmt::format("{}# {}:  # {}{}{}\n", indent, name, field.is_required ? "required. " : "", field.question,
                               field.choices.empty() ? "" : fmt::format(" One of: {}", fmt::join(split(field.choices), ", ")));
  }
  [[nodiscard]] RegistryEntry finish() && { return std::move(entry_); }

 private:
  [[nodiscard]] bool has_value_in(const std::string& prefix) const {
    const auto next = values_.lower_bound(prefix);
    return next != values_.end() && next->first.starts_with(prefix);
  }
  const Values& values_;
  const json& facts_;
  RegistryEntry entry_;
  std::string_view section_;
  std::string_view group_;
};

}  // namespace

RegistryEntry registry_entry_of(const json& report, const json& facts) {
  const auto verdict = text_at(report, "verdict");
  if (verdict == "nothing released") invalid("the ledger has no release, must have one before an entry of the registry is made");
  if (verdict == "not private") {
    invalid(
        "the ledger has runs whose noise was replayed from a known seed, must have none: they are not private, so the registry has no entry for them");
  }
  if (!(enclosure_at(at(report, "spent"), "epsilon").upper < std::numeric_limits<double>::infinity())) {
    invalid("the total epsilon of the ledger has no finite bound at this delta, must have one; choose a larger delta");
  }
  auto values = values_of(report, list_at(report, "runs").size());
  if (!facts.is_null()) add_facts(facts, "", values);
  if (const auto name = values.find("/deployment/basic/name"); name != values.end() && !values.contains("/url_slug")) {
    if (auto slug = slug_of(accounting::text_of(name->second, "name")); !slug.empty()) values["/url_slug"] = std::move(slug);
  }
  values["/tier"] = tier_of(values);
  Writer writer{values, facts};
  for (const auto& field : fields) writer.add(field);
  auto entry = std::move(writer).finish();
  entry.yaml.insert(
      0, fmt::format(
             "{} (https://registry.opendp.org).\n# {} of its fields have no value here, of which {} {} required. Each is a comment with a "
             "question: answer it in the place of the comment.\n",
             registry_entry_file.beginning, entry.questions, entry.required, entry.required == 1 ? "is" : "are"));
  return entry;
}

}  // namespace surety::jobs
