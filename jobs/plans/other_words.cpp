#include <surety/jobs/plans/other_words.h>

#include <algorithm>
#include <array>
#include <string>

#include <surety/accounting/events/words.h>

namespace surety::jobs {
namespace {

constexpr std::string_view of_event = "Surety takes it inside {}, as in repeat(1000, poisson(0.01, gaussian(1.1)))";
constexpr std::string_view of_promise = "Surety computes the noise from {} and the other options";

// Sources: the parameters of Opacus, TensorFlow Privacy, dp_accounting, JAX Privacy, OpenDP, PipelineDP, Tumult, diffprivlib, SmartNoise,
// scikit-learn and SQL.
constexpr auto words = std::to_array<OtherWord>({
    {"sigma", "noise-multiplier"},
    {"sigma", "event", of_event},
    {"sigma", "epsilon", of_promise},
    {"noise-scale", "noise-multiplier"},
    {"noise-scale", "event", of_event},
    {"noise-scale", "epsilon", of_promise},
    {"noise-multiplier", "event", of_event},
    {"noise-multiplier", "epsilon", of_promise},
    {"learning-rate", "step-size"},
    {"lr", "step-size"},
    {"eta", "step-size"},
    {"max-grad-norm", "clip"},
    {"l2-norm-clip", "clip"},
    {"clip-norm", "clip"},
    {"clipping-norm", "clip"},
    {"clipping-threshold", "clip"},
    {"sample-rate", "batch-size", "Surety takes the batch in records, {}"},
    {"sample-rate", "event", of_event},
    {"sampling-probability", "batch-size", "Surety takes the batch in records, {}"},
    {"sampling-probability", "event", of_event},
    {"lot-size", "batch-size"},
    {"expected-batch-size", "batch-size"},
    {"batch-size", "event",
     "Surety takes the rate, batch size over records, inside {}, as in repeat(1000, poisson(256/60000, gaussian(1.1)))"},
    {"num-epochs", "epochs"},
    {"iterations", "steps"},
    {"max-iter", "steps"},
    {"max-steps", "steps"},
    {"num-steps", "steps"},
    {"iterations", "event", of_event},
    {"num-steps", "event", of_event},
    {"steps", "event", of_event},
    {"epochs", "event", of_event},
    {"weight-decay", "regularization"},
    {"l2", "regularization"},
    {"penalty", "regularization"},
    {"num-examples", "records"},
    {"num-records", "records"},
    {"dataset-size", "records"},
    {"sample-size", "records"},
    {"num-samples", "records"},
    {"seed", "first-seed"},
    {"seed", "replay-seed", "private noise has no seed; {} replays noise and is NOT PRIVATE"},
    {"random-seed", "first-seed"},
    {"random-seed", "replay-seed", "private noise has no seed; {} replays noise and is NOT PRIVATE"},
    {"random-state", "first-seed"},
    {"random-state", "replay-seed", "private noise has no seed; {} replays noise and is NOT PRIVATE"},
    {"output", "model"},
    {"output", "json", "Surety prints results; send them to a file with > FILE, for programs together with {}"},
    {"out", "model"},
    {"out", "output"},
    {"out", "json", "Surety prints results; send them to a file with > FILE, for programs together with {}"},
    {"model-path", "model"},
    {"save", "model"},
    {"input", "data"},
    {"input", "ledger"},
    {"csv", "data"},
    {"file", "data"},
    {"dataset", "data"},
    {"target", "label"},
    {"label-column", "label"},
    {"y", "label"},
    {"group-by", "by"},
    {"groupby", "by"},
    {"public-partitions", "keys"},
    {"partitions", "keys"},
    {"max-contributions", "most"},
    {"max-rows", "most"},
    {"max-rows-per-user", "most"},
    {"max-partitions-contributed", "most-keys"},
    {"max-contributions-per-partition", "most-per-group"},
    {"privacy-unit", "unit"},
    {"privacy-id", "unit"},
    {"privacy-id-column", "unit"},
    {"user-id", "unit"},
    {"owner", "unit"},
    {"clamp", "bounds"},
    {"clipping-bounds", "bounds"},
    {"lower", "bounds", "Surety takes both in {}, as in 0,20"},
    {"upper", "bounds", "Surety takes both in {}, as in 0,20"},
    {"min-value", "bounds", "Surety takes both in {}, as in 0,20"},
    {"max-value", "bounds", "Surety takes both in {}, as in 0,20"},
    {"range", "bounds"},
    {"mechanism", "noise"},
    {"filter", "where"},
    {"condition", "where"},
    {"sql", "query", "Surety has no SQL; {} takes one statistic, such as 'mean(age)'"},
    {"alpha", "confidence", "Surety takes 1 - alpha as {}"},
    {"budget", "epsilon"},
    {"privacy-budget", "epsilon"},
    {"eps", "epsilon"},
    {"target-epsilon", "epsilon"},
    {"target-delta", "delta"},
    {"neighbors", "adjacency"},
    {"neighbours", "adjacency"},
    {"neighboring", "adjacency"},
    {"neighbouring", "adjacency"},
    {"neighboring-relation", "adjacency"},
    {"neighbouring-relation", "adjacency"},
    {"relation", "adjacency"},
    {"loss-function", "loss"},
    {"objective", "loss"},
    {"optimizer", "algorithm"},
    {"solver", "algorithm"},
    {"accountant", "explain", "every accountant is computed, and the best bound is printed; {} shows all"},
    {"accountant", "adjacency", "every accountant is computed, and the best bound holds; remove the option"},
    {"config", "plan"},
    {"verbose", "explain"},
});

constexpr auto commands = std::to_array<OtherWord>({
    {"fit", "train"},
    {"learn", "train"},
    {"query", "release"},
    {"statistics", "release"},
    {"stats", "release"},
    {"aggregate", "release"},
    {"transform", "convert"},
    {"encode", "convert"},
    {"score", "predict"},
    {"infer", "predict"},
    {"evaluate", "predict"},
    {"inspect", "show"},
    {"describe", "show"},
    {"compute-epsilon", "account"},
    {"cost", "account"},
    {"spent", "account"},
    {"compose", "account"},
    {"verify", "audit"},
    {"check", "audit"},
    {"compute-noise", "calibrate"},
    {"get-noise-multiplier", "calibrate"},
    {"solve", "calibrate"},
    {"plot", "curve"},
    {"budget", "ledger create"},
    {"init", "ledger create"},
    {"runs", "ledger list"},
    {"history", "ledger list"},
    {"remaining", "ledger show"},
    {"export", "report"},
});

FieldText called(std::string_view field) {
  FieldText text{"Surety calls it "};
  text += FieldName{field};
  return text;
}

std::string plain_spelling(std::string_view word) {
  std::string plain{word};
  for (auto& letter : plain) {
    if (letter == '_') letter = '-';
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return plain;
}

}  // namespace

std::span<const OtherWord> other_words() { return words; }

std::span<const OtherWord> other_commands() { return commands; }

FieldText meaning_of(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64;
  if (word.size() > longest) return {};
  const auto plain = plain_spelling(word);
  // Another spelling of a field itself is no word of another tool: batch_size is batch-size.
  if (plain != word && std::find(known.begin(), known.end(), plain) != known.end()) return called(plain);
  for (const auto& [other, field, says] : words) {
    if (other != plain || std::find(known.begin(), known.end(), field) == known.end()) continue;
    if (says.empty()) return called(field);
    const auto place = says.find("{}");
    FieldText text{std::string{says.substr(0, place)}};
    if (place == std::string_view::npos) return text;
    text += FieldName{field};
    text += std::string{says.substr(place + 2)};
    return text;
  }
  return {};
}

FieldText advice_on(std::string_view word, std::span<const std::string_view> known) {
  if (auto meaning = meaning_of(word, known); !meaning.empty()) {
    FieldText advice{"; "};
    advice += meaning;
    return advice;
  }
  return did_you_mean(word, known);
}

}  // namespace surety::jobs
