// What the two written forms of an event, the event language and JSON, have in common: both read and write an event by what its kind says of
// itself in event_kinds.h, so that a kind cannot be spelled in one form and not in the other.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/checked_cast.h>

namespace surety::spelling {

/// The fields of one event, asked for in their order.
class FieldReader {
 public:
  explicit FieldReader(Adjacency adjacency) : adjacency_{adjacency} {}
  virtual ~FieldReader() = default;
  FieldReader(const FieldReader&) = delete;
  FieldReader& operator=(const FieldReader&) = delete;

  [[nodiscard]] Adjacency adjacency() const { return adjacency_; }
  virtual double real(const char* field) = 0;
  virtual Count whole(const char* field) = 0;
  /// A number that need not be there, before an event.
  virtual std::optional<Count> whole_if_said(const char* field) = 0;
  /// A number that need not be there, before another number.
  virtual std::optional<double> real_if_said(const char* field) = 0;
  /// Pairs of numbers, up to the end or to an event.
  virtual std::vector<NumberPair> pairs(const char* field) = 0;
  virtual std::string word(const char* field) = 0;
  virtual Event event() = 0;
  virtual std::vector<Event> events() = 0;
  /// Whether a field is there by its name. Text has no names.
  [[nodiscard]] virtual bool has(const char* /*field*/) const { return false; }

 private:
  Adjacency adjacency_;
};

class FieldWriter {
 public:
  FieldWriter() = default;
  virtual ~FieldWriter() = default;
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  /// Whether optional numbers are written although they have their default.
  [[nodiscard]] virtual bool wants_all() const { return false; }
  virtual void real(const char* field, double value) = 0;
  virtual void whole(const char* field, Count value) = 0;
  virtual void pairs(const char* field, const std::vector<NumberPair>& values) = 0;
  virtual void word(const char* field, std::string_view value) = 0;
  virtual void event(const Event& value) = 0;
  virtual void events(const std::vector<Event>& values) = 0;
};

// ---- What each member of an event is written as ----

/// Of the two numbers of batches the one named so is how many records there are.
inline constexpr std::string_view all_records = "records";

inline Batches read_batches(FieldReader& in, const std::array<const char*, 2>& names) {
  const Count first = in.whole(names[0]);
  const Count second = in.whole(names[1]);
  return names[0] == all_records ? Batches{first, second} : Batches{second, first};
}

inline Runs read_runs(FieldReader& in, const std::array<const char*, 4>& names) {
  const auto& [law_is, mean_is, shape_is, cap_is] = names;
  const RunsLaw law = parse_runs_law(in.word(law_is));
  const double mean = in.real(mean_is);
  const bool has_shape = law == RunsLaw::negative_binomial;
  const bool has_cap = law == RunsLaw::capped_geometric;
  if (in.has(shape_is) && !has_shape) invalid(fmt::format("best_of: {} have no shape", name(law)));
  if (in.has(cap_is) && !has_cap) invalid(fmt::format("best_of: {} have no cap", name(law)));
  if (has_shape) return Runs::negative_binomial(mean, in.real(shape_is));
  return has_cap ? Runs::capped_geometric(mean, in.whole(cap_is)) : Runs{law, mean};
}

template <class Value>
inline constexpr bool is_pairs = false;
template <class Rule>
inline constexpr bool is_pairs<Pairs<Rule>> = true;

template <class Kind, class Value, std::size_t count>
Value read(FieldReader& in, const Argument<Kind, Value, count>& said) {
  if constexpr (std::is_same_v<Value, Event>) {
    return in.event();
  } else if constexpr (std::is_same_v<Value, std::vector<Event>>) {
    return in.events();
  } else if constexpr (std::is_same_v<Value, Batches>) {
    return read_batches(in, said.names);
  } else if constexpr (std::is_same_v<Value, Runs>) {
    return read_runs(in, said.names);
  } else if constexpr (std::is_same_v<Value, NormName>) {
    return parse_norm(in.word(said.names[0]));
  } else if constexpr (std::is_same_v<Value, Count>) {
    return said.is_optional ? in.whole_if_said(said.names[0]).value_or(Count{1}) : in.whole(said.names[0]);
  } else if constexpr (is_pairs<Value>) {
    return Value(in.pairs(said.names[0]));
  } else {
    return Value{said.is_optional ? in.real_if_said(said.names[0]).value_or(0) : in.real(said.names[0])};
  }
}

/// Writes the fields of an event, and returns the word of its kind.
struct Write {
  FieldWriter& out;

  template <class Kind>
  std::string_view operator()(const Kind& e) const {
    std::apply([&](const auto&... said) { (..., put(said, e.*said.member)); }, Kind::arguments());
    return Kind::word;
  }

 private:
  template <class Argument, class Rule>
  void put(const Argument& said, const Quantity<Rule>& value) const {
    if (!said.is_optional || out.wants_all() || value.value() != 0) out.real(said.names[0], value.value());
  }
  template <class Argument, class Rule>
  void put(const Argument& said, const Pairs<Rule>& values) const {
    out.pairs(said.names[0], values.all());
  }
  template <class Argument>
  void put(const Argument& said, Count value) const {
    if (!said.is_optional || out.wants_all() || value != Count{1}) out.whole(said.names[0], value);
  }
  template <class Argument>
  void put(const Argument& said, NormName value) const {
    out.word(said.names[0], name(value));
  }
  template <class Argument>
  void put(const Argument& said, const Batches& value) const {
    for (const auto* field : said.names) out.whole(field, field == all_records ? value.records() : value.size());
  }
  template <class Argument>
  void put(const Argument& said, const Runs& value) const {
    out.word(said.names[0], name(value.law()));
    out.real(said.names[1], value.mean());
    if (value.law() == RunsLaw::negative_binomial) out.real(said.names[2], value.shape());
    if (const auto& cap = value.cap()) out.whole(said.names[3], *cap);
  }
  template <class Argument>
  void put(const Argument& /*said*/, const Event& value) const {
    out.event(value);
  }
  template <class Argument>
  void put(const Argument& /*said*/, const std::vector<Event>& values) const {
    out.events(values);
  }
};

// ---- The words, in the order of Event::Node ----

/// Of the JSON object; unused ones have no name, and none has where the kind holds a list of events.
struct Field {
  std::string_view name;
  bool is_optional = false;
};

struct Spelling {
  std::string_view word;
  std::array<Field, 5> fields;
  Event (*read)(FieldReader& in);
};

template <class Kind>
constexpr Spelling spelling_of() {
  Spelling spelling{
      Kind::word, {}, [](FieldReader& in) {
        return std::apply([&](const auto&... said) { return Event{Kind{read(in, said)...}, in.adjacency()}; }, Kind::arguments());
      }};
  auto* field = spelling.fields.begin();
  const auto add = [&]<class Value, std::size_t count>(const Argument<Kind, Value, count>& said) {
    // Of runs each law has its own beside the mean.
    for (std::size_t i = 0; i < count; ++i) *field++ = {said.names[i], said.is_optional || (std::is_same_v<Value, Runs> && i >= 2)};
  };
  std::apply([&](const auto&... said) { (..., add(said)); }, Kind::arguments());
  return spelling;
}

template <class... Kinds>
constexpr std::array<Spelling, sizeof...(Kinds)> spellings_of(const std::variant<Kinds...>* /*node*/) {
  return {spelling_of<Kinds>()...};
}

inline constexpr auto spellings = spellings_of(static_cast<const Event::Node*>(nullptr));

inline constexpr auto words = [] {
  std::array<std::string_view, spellings.size()> all{};
  std::transform(spellings.begin(), spellings.end(), all.begin(), [](const Spelling& spelling) { return spelling.word; });
  return all;
}();

inline const Spelling* find_spelling(std::string_view word) {
  const auto* found = std::find_if(spellings.begin(), spellings.end(), [&](const Spelling& spelling) { return spelling.word == word; });
  return found == spellings.end() ? nullptr : found;
}

/// The name of a field for people: "sampling rate".
[[nodiscard]] inline std::string spaced(std::string_view field) {
  std::string said{field};
  std::replace(said.begin(), said.end(), '_', ' ');
  return said;
}

[[noreturn]] inline void refuse_whole(std::string_view field, std::string_view value) {
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be an integer from 1 to 2^53", spaced(field), one_line(value))};
}

/// From a number of floating point. \throws Error{invalid_argument} where it is no integer from 1 to 2^53.
inline Count whole_from(double value, std::string_view field) {
  if (!(value >= 1 && value <= 0x1p53 && value == std::floor(value))) refuse_whole(field, fmt::format("{}", value));
  return Count{checked_cast<std::uint64_t>(value)};
}

inline Count whole_from(std::uint64_t value, std::string_view field) {
  if (value < 1 || value > (std::uint64_t{1} << 53)) refuse_whole(field, fmt::format("{}", value));
  return Count{value};
}

}  // namespace surety::spelling
