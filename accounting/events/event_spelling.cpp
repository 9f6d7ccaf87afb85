// The two written forms of an event, the event language and JSON. Both read and write an event through one list of fields per
// kind, so that a kind is added in one place and cannot be spelled in one form and not in the other.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/floating_point.h>

namespace surety {
namespace {

constexpr int json_version = 1;

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

  virtual void real(const char* field, double value) = 0;
  virtual void whole(const char* field, Count value) = 0;
  virtual void word(const char* field, std::string_view value) = 0;
  virtual void event(const Event& value) = 0;
  virtual void events(const std::vector<Event>& values) = 0;
};

using Fields = std::array<const char*, 5>;

struct Kind {
  std::string_view word;
  Fields fields;  ///< of the JSON object; none when the kind holds a list of events
  Event (*read)(FieldReader& in, const Fields& fields);
  std::array<std::string_view, 2> optional = {};  ///< fields that need not be there
};

template <class Value>
Value read_value(FieldReader& in, const char* field) {
  if constexpr (std::is_same_v<Value, Count>) {
    return in.whole(field);
  } else if constexpr (std::is_same_v<Value, NormName>) {
    return parse_norm(in.word(field));
  } else {
    return Value{in.real(field)};
  }
}

/// A release whose members are `Values`, in the order of the fields.
template <class Release, class... Values>
Event read_release(FieldReader& in, const Fields& fields) {
  const auto* field = fields.begin();
  return release(Release{read_value<Values>(in, *field++)...}, in.adjacency());
}

/// What is done with batches: `make(batches, event)`.
template <Event (*make)(Batches, Event)>
Event read_batches(FieldReader& in, const Fields& /*fields*/) {
  const Count records = in.whole("records");
  const Batches batches{records, in.whole("batch_size")};
  return make(batches, in.event());
}

constexpr std::array kinds{
    Kind{"gaussian", {"noise_multiplier"}, read_release<Event::Gaussian, NoiseMultiplier>},
    Kind{"record_sum", {"noise_multiplier"}, read_release<Event::RecordSum, NoiseMultiplier>},
    Kind{"laplace", {"scale"}, read_release<Event::Laplace, NoiseScale>},
    Kind{"discrete_gaussian", {"sigma", "sensitivity"}, read_release<Event::DiscreteGaussian, NoiseScale, Count>},
    Kind{"discrete_laplace", {"scale", "sensitivity"}, read_release<Event::DiscreteLaplace, NoiseScale, Count>},
    Kind{"randomized_response", {"truth", "categories"}, read_release<Event::RandomizedResponse, Probability, Count>},
    Kind{"exponential", {"epsilon"}, read_release<Event::Exponential, Epsilon>},
    Kind{"pure", {"epsilon"}, read_release<Event::Pure, Epsilon>},
    Kind{"approx", {"epsilon", "delta"}, read_release<Event::Approximate, Epsilon, Delta>},
    Kind{"zcdp", {"rho"}, read_release<Event::Concentrated, Rho>},
    Kind{"generalized_gaussian",
         {"norm_exponent", "dimension", "noise_multiplier"},
         read_release<Event::GeneralizedGaussian, NormExponent, Count, NoiseMultiplier>},
    Kind{"k_norm", {"norm", "dimension", "scale"}, read_release<Event::KNorm, NormName, Count, NoiseScale>},
    Kind{"repeat",
         {"count", "event"},
         [](FieldReader& in, const Fields&) {
           const Count count = in.whole("count");
           return repeat(count, in.event());
         }},
    Kind{"compose", {}, [](FieldReader& in, const Fields&) { return compose(in.events()); }},
    Kind{"parallel", {}, [](FieldReader& in, const Fields&) { return parallel(in.events()); }},
    Kind{"poisson",
         {"sampling_rate", "event"},
         [](FieldReader& in, const Fields&) {
           const SamplingRate rate{in.real("sampling_rate")};
           return poisson(rate, in.event());
         }},
    Kind{"without_replacement", {"records", "batch_size", "event"}, read_batches<without_replacement>},
    Kind{"shuffled", {"records", "batch_size", "event"}, read_batches<shuffled>},
    Kind{"deterministic", {"records", "batch_size", "event"}, read_batches<deterministic>},
    Kind{"cyclic",
         {"groups", "rounds", "sampling_rate", "event"},
         [](FieldReader& in, const Fields&) {
           const Count groups = in.whole("groups");
           const Count rounds = in.whole("rounds");
           const SamplingRate rate{in.real("sampling_rate")};
           return cyclic(groups, rounds, rate, in.event());
         }},
    Kind{"allocated",
         {"rounds", "participations", "event"},
         [](FieldReader& in, const Fields&) {
           const Count rounds = in.whole("rounds");
           const Count participations = in.whole_if_said("participations").value_or(Count{1});
           return allocated(rounds, participations, in.event());
         },
         {"participations"}},
    Kind{"truncated_poisson",
         {"sampling_rate", "largest", "records", "event"},
         [](FieldReader& in, const Fields&) {
           const SamplingRate rate{in.real("sampling_rate")};
           const Count largest = in.whole("largest");
           const Batches batches{in.whole("records"), largest};
           return truncated_poisson(rate, batches, in.event());
         }},
    Kind{"users",
         {"records", "event"},
         [](FieldReader& in, const Fields&) {
           const Count records = in.whole("records");
           return users(records, in.event());
         }},
    Kind{"best_of",
         {"runs", "mean", "shape", "cap", "event"},
         [](FieldReader& in, const Fields&) {
           const RunsLaw law = parse_runs_law(in.word("runs"));
           const double mean = in.real("mean");
           const bool has_shape = law == RunsLaw::negative_binomial;
           const bool has_cap = law == RunsLaw::capped_geometric;
           if (in.has("shape") && !has_shape) invalid(fmt::format("best_of: {} have no shape", name(law)));
           if (in.has("cap") && !has_cap) invalid(fmt::format("best_of: {} have no cap", name(law)));
           const auto runs = has_shape ? Runs::negative_binomial(mean, in.real("shape"))
                             : has_cap ? Runs::capped_geometric(mean, in.whole("cap"))
                                       : Runs{law, mean};
           return best_of(runs, in.event());
         },
         {"shape", "cap"}},
};

constexpr auto kind_words = [] {
  std::array<std::string_view, kinds.size()> words{};
  for (std::size_t i = 0; i < kinds.size(); ++i) words[i] = kinds[i].word;
  return words;
}();

const Kind* find_kind(std::string_view word) {
  const auto* found = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.word == word; });
  return found == kinds.end() ? nullptr : found;
}

/// Writes the fields of an event, and returns the word of its kind.
struct Write {
  FieldWriter& out;

  std::string_view operator()(const Event::Gaussian& e) const { return kind("gaussian", "noise_multiplier", e.multiplier); }
  std::string_view operator()(const Event::RecordSum& e) const { return kind("record_sum", "noise_multiplier", e.multiplier); }
  std::string_view operator()(const Event::Laplace& e) const { return kind("laplace", "scale", e.scale); }
  std::string_view operator()(const Event::DiscreteGaussian& e) const {
    return kind("discrete_gaussian", "sigma", e.sigma, "sensitivity", e.sensitivity);
  }
  std::string_view operator()(const Event::DiscreteLaplace& e) const {
    return kind("discrete_laplace", "scale", e.scale, "sensitivity", e.sensitivity);
  }
  std::string_view operator()(const Event::RandomizedResponse& e) const {
    return kind("randomized_response", "truth", e.truth, "categories", e.categories);
  }
  std::string_view operator()(const Event::Exponential& e) const { return kind("exponential", "epsilon", e.epsilon); }
  std::string_view operator()(const Event::Pure& e) const { return kind("pure", "epsilon", e.epsilon); }
  std::string_view operator()(const Event::Approximate& e) const { return kind("approx", "epsilon", e.epsilon, "delta", e.delta); }
  std::string_view operator()(const Event::Concentrated& e) const { return kind("zcdp", "rho", e.rho); }
  std::string_view operator()(const Event::GeneralizedGaussian& e) const {
    return kind("generalized_gaussian", "norm_exponent", e.r, "dimension", e.dimension, "noise_multiplier", e.multiplier);
  }
  std::string_view operator()(const Event::KNorm& e) const {
    return kind("k_norm", "norm", e.norm, "dimension", e.dimension, "scale", e.scale);
  }
  std::string_view operator()(const Event::Repeated& e) const { return kind("repeat", "count", e.count, "event", e.event); }
  std::string_view operator()(const Event::Composed& e) const { return list("compose", e.events); }
  std::string_view operator()(const Event::Parallel& e) const { return list("parallel", e.events); }
  std::string_view operator()(const Event::PoissonSampled& e) const { return kind("poisson", "sampling_rate", e.rate, "event", e.event); }
  std::string_view operator()(const Event::SampledWithoutReplacement& e) const { return batches("without_replacement", e); }
  std::string_view operator()(const Event::Shuffled& e) const { return batches("shuffled", e); }
  std::string_view operator()(const Event::Deterministic& e) const { return batches("deterministic", e); }
  std::string_view operator()(const Event::Cyclic& e) const {
    return kind("cyclic", "groups", e.groups, "rounds", e.rounds, "sampling_rate", e.rate, "event", e.event);
  }
  std::string_view operator()(const Event::Allocated& e) const {
    if (e.participations == Count{1}) return kind("allocated", "rounds", e.rounds, "event", e.event);
    return kind("allocated", "rounds", e.rounds, "participations", e.participations, "event", e.event);
  }
  std::string_view operator()(const Event::TruncatedPoisson& e) const {
    return kind("truncated_poisson", "sampling_rate", e.rate, "largest", e.batches.size(), "records", e.batches.records(), "event",
                e.event);
  }
  std::string_view operator()(const Event::Users& e) const { return kind("users", "records", e.records, "event", e.event); }
  std::string_view operator()(const Event::BestOf& e) const {
    out.word("runs", name(e.runs.law()));
    out.real("mean", e.runs.mean());
    if (e.runs.law() == RunsLaw::negative_binomial) out.real("shape", e.runs.shape());
    if (const auto& cap = e.runs.cap()) out.whole("cap", *cap);
    out.event(e.event);
    return "best_of";
  }

 private:
  /// A field and its value, and the same of the rest.
  template <class Value, class... Rest>
  std::string_view kind(std::string_view word, const char* field, const Value& value, const Rest&... rest) const {
    put(field, value);
    if constexpr (sizeof...(rest) > 0) {
      return kind(word, rest...);
    } else {
      return word;
    }
  }
  template <class Batch>
  std::string_view batches(std::string_view word, const Batch& e) const {
    return kind(word, "records", e.batches.records(), "batch_size", e.batches.size(), "event", e.event);
  }
  std::string_view list(std::string_view word, const std::vector<Event>& events) const {
    out.events(events);
    return word;
  }

  template <class Unit>
  void put(const char* field, const Quantity<Unit>& value) const {
    out.real(field, value.value());
  }
  void put(const char* field, Count value) const { out.whole(field, value); }
  void put(const char* field, NormName value) const { out.word(field, name(value)); }
  void put(const char* /*field*/, const Event& value) const { out.event(value); }
};

[[noreturn]] void refuse_whole(std::string_view field, std::string_view value) {
  std::string said{field};
  std::replace(said.begin(), said.end(), '_', ' ');
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be an integer from 1 to 2^53", said, one_line(value))};
}

Count whole_from(std::uint64_t value, std::string_view field) {
  if (value < 1 || value > (std::uint64_t{1} << 53)) refuse_whole(field, fmt::format("{}", value));
  return Count{value};
}

// The event language:  event = word "(" argument { "," argument } ")"    argument = event | number | name
class TextReader : public FieldReader {
 public:
  TextReader(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values)
      : FieldReader{adjacency}, text_{text}, values_{values} {}

  Event parse() {
    Event event = parse_event();
    skip_space();
    if (position_ != text_.size()) refuse_here("the end of the event is expected");
    return event;
  }

  /// Where names were used for numbers, so far.
  [[nodiscard]] const std::vector<NameUse>& uses() const { return uses_; }

  double real(const char* field) override {
    next_argument();
    return parse_number(field, false);
  }

  Count whole(const char* field) override {
    next_argument();
    skip_space();
    const auto start = position_;
    const double value = parse_number(field, true);
    // Beyond 2^53 a double may round to a count that is allowed, so digits are read as an integer.
    std::uint64_t exact = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + position_, exact);
    if (error == std::errc{} && end == text_.data() + position_) return whole_from(exact, field);
    const bool is_name = std::isalpha(static_cast<unsigned char>(text_[start])) != 0;
    if (!is_name) refuse_whole(field, text_.substr(start, position_ - start));
    if (!(value >= 1 && value <= 0x1p53 && value == std::floor(value))) refuse_whole(field, fmt::format("{}", value));
    return Count{checked_cast<std::uint64_t>(value)};
  }

  std::optional<Count> whole_if_said(const char* field) override {
    const auto start = position_;
    const bool first = first_;
    next_argument();
    skip_space();
    const bool is_word = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) != 0;
    // An event is a word with arguments; any other word stands for a number.
    const bool is_event = is_word && (find_kind(parse_word()) != nullptr || peek_is('('));
    position_ = start;
    first_ = first;
    if (is_event) return std::nullopt;
    return whole(field);
  }

  std::string word(const char* /*field*/) override {
    next_argument();
    return std::string{parse_word()};
  }

  Event event() override {
    next_argument();
    return parse_event();
  }

  std::vector<Event> events() override {
    std::vector<Event> events{event()};
    while (peek_is(',')) events.push_back(event());
    return events;
  }

 private:
  Event parse_event() {
    if (++depth_ > Event::max_depth) refuse_here(fmt::format("an event may be nested at most {} deep", Event::max_depth));
    skip_space();
    const auto start = position_;
    const auto word = parse_word();
    const auto* const kind = find_kind(word);
    if (kind == nullptr) {
      position_ = start;
      refuse_here(fmt::format("an event is expected ({})", fmt::join(kind_words, ", ")), did_you_mean(word, kind_words));
    }
    expect('(');
    const bool outer_first = std::exchange(first_, true);
    Event event = kind->read(*this, kind->fields);
    first_ = outer_first;
    expect(')');
    --depth_;
    return event;
  }

  void next_argument() {
    if (!std::exchange(first_, false)) expect(',');
  }

  std::string_view parse_word() {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) ++position_;
    return text_.substr(start, position_ - start);
  }

  double parse_number(const char* field, bool whole) {
    skip_space();
    const auto start = position_;
    const bool is_name = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]));
    if (is_name) {
      const auto word = parse_word();
      if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
      const auto found = values_.find(std::string{word});
      if (found != values_.end()) {
        uses_.push_back({std::string{word}, field, whole});
        return found->second;
      }
      position_ = start;
      refuse_here(fmt::format("the name '{}' has no value here, a number is expected", word));
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) refuse_here("a number is expected");
    if (error == std::errc::result_out_of_range) refuse_here("a number within the range of double is expected");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  bool peek_is(char wanted) {
    skip_space();
    return position_ < text_.size() && text_[position_] == wanted;
  }
  void expect(char wanted) {
    if (!peek_is(wanted)) refuse_here(fmt::format("'{}' is expected", wanted));
    ++position_;
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }
  [[noreturn]] void refuse_here(const std::string& reason, const std::string& meant = {}) const {
    invalid(fmt::format("{} at position {}{}", reason, position_ + 1, meant));
  }

  std::string_view text_;
  const std::map<std::string, double>& values_;
  std::vector<NameUse> uses_;
  std::size_t position_ = 0;
  int depth_ = 0;
  bool first_ = true;  ///< the next argument is the first of its call
};

class TextWriter : public FieldWriter {
 public:
  [[nodiscard]] static std::string write(const Event& event) {
    TextWriter writer;
    const auto word = std::visit(Write{writer}, event.node());
    return fmt::format("{}({})", word, writer.arguments_);
  }

  void real(const char* /*field*/, double value) override { add(fmt::format("{}", value)); }
  void whole(const char* /*field*/, Count value) override { add(fmt::format("{}", value.value())); }
  void word(const char* /*field*/, std::string_view value) override { add(value); }
  void event(const Event& value) override { add(write(value)); }
  void events(const std::vector<Event>& values) override {
    for (const auto& value : values) event(value);
  }

 private:
  void add(std::string_view argument) {
    if (!arguments_.empty()) arguments_ += ", ";
    arguments_ += argument;
  }

  std::string arguments_;
};

class JsonReader : public FieldReader {
 public:
  [[nodiscard]] static Event read(const nlohmann::json& json, Adjacency adjacency, int depth) {
    if (depth > Event::max_depth) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event is nested more than {} deep", Event::max_depth)};
    }
    if (!json.is_object() || json.size() != 1) {
      throw Error{ErrorCode::invalid_argument, "event: an object with one field, the kind of event, is expected"};
    }
    const auto& word = json.begin().key();
    const auto& fields = json.begin().value();
    const auto* const kind = find_kind(word);
    if (kind == nullptr) invalid(fmt::format("event: unknown kind '{}'{}", one_line(word), did_you_mean(word, kind_words)));
    if (kind->fields[0] == nullptr) {
      if (!fields.is_array()) throw Error{ErrorCode::invalid_argument, fmt::format("{}: an array of events is expected", word)};
    } else {
      std::vector<std::string_view> names;
      for (const auto* field : kind->fields) {
        if (field == nullptr) continue;
        const bool is_optional = std::find(kind->optional.begin(), kind->optional.end(), field) != kind->optional.end();
        if (!is_optional || fields.contains(field)) names.emplace_back(field);
      }
      accounting::require_fields(fields, names, word);
    }
    JsonReader reader{fields, adjacency, depth};
    return kind->read(reader, kind->fields);
  }

  double real(const char* field) override {
    if (!has(field)) invalid(fmt::format("event: field '{}' is missing", field));
    const auto& value = fields_[field];
    if (!value.is_number()) {
      std::string said{field};
      std::replace(said.begin(), said.end(), '_', ' ');
      throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a number", said, value.type_name())};
    }
    return value.get<double>();
  }

  Count whole(const char* field) override {
    if (!has(field)) invalid(fmt::format("event: field '{}' is missing", field));
    const auto& value = fields_[field];
    if (!value.is_number_unsigned()) refuse_whole(field, value.dump());
    return whole_from(value.get<std::uint64_t>(), field);
  }

  std::optional<Count> whole_if_said(const char* field) override {
    if (!fields_.contains(field)) return std::nullopt;
    return whole(field);
  }

  std::string word(const char* field) override {
    const auto& value = fields_[field];
    if (!value.is_string()) throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a text", field, value.type_name())};
    return value.get<std::string>();
  }

  Event event() override { return read(fields_["event"], adjacency(), depth_ + 1); }
  [[nodiscard]] bool has(const char* field) const override { return fields_.contains(field); }

  std::vector<Event> events() override {
    std::vector<Event> events;
    for (const auto& part : fields_) events.push_back(read(part, adjacency(), depth_ + 1));
    return events;
  }

 private:
  JsonReader(const nlohmann::json& fields, Adjacency adjacency, int depth) : FieldReader{adjacency}, fields_{fields}, depth_{depth} {}

  const nlohmann::json& fields_;
  int depth_;
};

class JsonWriter : public FieldWriter {
 public:
  [[nodiscard]] static nlohmann::json write(const Event& event) {
    JsonWriter writer;
    const std::string word{std::visit(Write{writer}, event.node())};
    return {{word, std::move(writer.fields_)}};
  }

  void real(const char* field, double value) override { fields_[field] = value; }
  void whole(const char* field, Count value) override { fields_[field] = value.value(); }
  void word(const char* field, std::string_view value) override { fields_[field] = value; }
  void event(const Event& value) override { fields_["event"] = write(value); }
  void events(const std::vector<Event>& values) override {
    fields_ = nlohmann::json::array();
    for (const auto& value : values) fields_.push_back(write(value));
  }

 private:
  nlohmann::json fields_ = nlohmann::json::object();
};

}  // namespace

std::string describe(const Event& event) { return TextWriter::write(event); }

Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values) {
  const accounting::StandardFloatingPoint environment;
  try {
    return TextReader{text, adjacency, values}.parse();
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{} (in event '{}')", error.what(), one_line(text))};
  }
}

std::vector<NameUse> uses_of_name(std::string_view text, Adjacency adjacency, const std::string& name) {
  // The fields are what is asked for; a value that fits some of them may be refused by others, or by the event around them.
  std::vector<NameUse> uses;
  for (const double trial : {0.5, 1.0, 2.0, 1000.0, 0x1p53}) {
    const std::map<std::string, double> values{{name, trial}};
    TextReader reader{text, adjacency, values};
    try {
      static_cast<void>(reader.parse());
      return reader.uses();
    } catch (const Error&) {
      if (reader.uses().size() > uses.size()) uses = reader.uses();
    }
  }
  return uses;
}

nlohmann::json to_json(const Event& event) {
  return {{"version", json_version}, {"adjacency", name(event.adjacency())}, {"event", JsonWriter::write(event)}};
}

std::string to_json_text(const Event& event) { return to_json(event).dump(); }

Event event_from_json(std::string_view text) {
  const accounting::StandardFloatingPoint environment;
  // Each level of an event is at most three levels of JSON.
  const auto json = accounting::parse_strict_json(text, 3 * Event::max_depth + 3, "event");
  accounting::require_fields(json, {"version", "adjacency", "event"}, "event");
  if (!json["version"].is_number_integer() || json["version"] != json_version) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("event: version is {}, must be {}", one_line(json["version"].dump()), json_version)};
  }
  if (!json["adjacency"].is_string()) throw Error{ErrorCode::invalid_argument, "event: adjacency must be a string"};
  return JsonReader::read(json["event"], parse_adjacency(json["adjacency"].get<std::string>()), 1);
}

}  // namespace surety
