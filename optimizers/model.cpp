#include <surety/optimizers/model.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/error.h>
#include <surety/accounting/json.h>
#include <surety/optimizers/loss.h>
#include <surety/optimizers/text_reader.h>

namespace surety::optimizers {

namespace {

constexpr int model_version = 1;
constexpr std::array known_losses{LogisticLoss::name, SquaredLoss::name, SmoothedHingeLoss::name, HingeLoss::name};

[[noreturn]] void refuse_model(const std::string& reason) { throw Error{ErrorCode::invalid_argument, fmt::format("model: {}", reason)}; }

std::string text_field(const nlohmann::json& json, const char* field) {
  if (!json[field].is_string()) refuse_model(fmt::format("{} is not a text", field));
  return json[field].get<std::string>();
}

double number_field(const nlohmann::json& json, const char* field) {
  if (!json[field].is_number()) refuse_model(fmt::format("{} is not a number", field));
  return json[field].get<double>();
}

Guarantee guarantee_from_json(const nlohmann::json& json) {
  accounting::require_fields(json, {"private", "epsilon", "delta", "adjacency", "event"}, "guarantee");
  if (!json["private"].is_boolean()) refuse_model("private is not true or false");
  const Adjacency adjacency = parse_adjacency(text_field(json, "adjacency"));
  return {
      .target = {.epsilon = Epsilon{number_field(json, "epsilon")}, .delta = Delta{number_field(json, "delta")}, .adjacency = adjacency},
      .event = parse_event(text_field(json, "event"), adjacency),
      .not_private = !json["private"].get<bool>()};
}

Model model_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("surety_model")) refuse_model("not a model of surety");
  if (json["surety_model"] != model_version) {
    refuse_model(fmt::format("version is {}, must be {}", in_quotes(json["surety_model"].dump()), model_version));
  }
  accounting::require_fields(json, {"surety_model", "loss", "label", "features", "weights", "guarantee"}, "model");
  if (!json["weights"].is_array()) refuse_model("weights are not a list");
  std::vector<double> weights;
  for (const auto& weight : json["weights"]) {
    if (!weight.is_number()) refuse_model("a weight is not a number");
    weights.push_back(weight.get<double>());
  }
  Model model{.loss = text_field(json, "loss"),
              .label = json["label"].is_null() ? std::nullopt : std::optional{parse_label_rule(text_field(json, "label"))},
              .features = feature_map_from_json(json["features"]),
              .weights = std::move(weights),
              .guarantee = guarantee_from_json(json["guarantee"])};
  model.validate();
  return model;
}

std::string read_all(const std::filesystem::path& path, std::size_t most_bytes) {
  TextReader reader{path};
  std::string text;
  for (auto bytes = reader.available(); !bytes.empty(); bytes = reader.available()) {
    if (bytes.size() > most_bytes - text.size()) {
      reader.refuse(fmt::format("has more than {} bytes, must have fewer for a model unless --no-limits is given", most_bytes));
    }
    text += bytes;
    reader.skip(bytes.size());
  }
  return text;
}

/// More bytes than a model with these features can take: names may be escaped sixfold, a number has at most 24 characters and a
/// separator, and the rest (loss, label, guarantee, event) is generously rounded up.
std::size_t largest_text(const FeatureMap& features) {
  constexpr std::size_t per_weight = 25;
  constexpr std::size_t rest = std::size_t{1} << 16;
  return to_json(features).dump(-1, ' ', true).size() + per_weight * features.features() + rest;
}

}  // namespace

void Model::validate() const {
  if (std::find(known_losses.begin(), known_losses.end(), loss) == known_losses.end()) {
    refuse_model(fmt::format("loss is {}, must be {}", in_quotes(loss), fmt::join(known_losses, ", ")));
  }
  features.validate();
  if (weights.size() != features.features()) refuse_model(fmt::format("{} weights for {} features", weights.size(), features.features()));
  if (!std::all_of(weights.begin(), weights.end(), [](double weight) { return std::isfinite(weight); })) {
    refuse_model("a weight is not finite");
  }
  if (guarantee.target.adjacency != guarantee.event.adjacency()) {
    refuse_model(fmt::format("the guarantee is {} but the event {}", name(guarantee.target.adjacency), name(guarantee.event.adjacency())));
  }
}

std::string write_model(const Model& model) {
  model.validate();
  const auto& guarantee = model.guarantee;
  nlohmann::ordered_json json;
  json["surety_model"] = model_version;
  json["loss"] = model.loss;
  json["label"] = nullptr;
  if (model.label) json["label"] = describe(*model.label);
  json["features"] = to_json(model.features);
  json["weights"] = model.weights;
  json["guarantee"] = {{"private", !guarantee.not_private},
                       {"epsilon", guarantee.target.epsilon.value()},
                       {"delta", guarantee.target.delta.value()},
                       {"adjacency", name(guarantee.target.adjacency)},
                       {"event", describe(guarantee.event)}};
  try {
    return json.dump() + '\n';
  } catch (const nlohmann::json::exception&) {
    refuse_model("a column or category is not UTF-8 text");
  }
}

Model parse_model(std::string_view text, std::string_view name) {
  constexpr int deepest = 8;
  try {
    return model_from_json(accounting::parse_strict_json(text, deepest, "model"));
  } catch (const Error& error) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: {}", name, error.what())};
  }
}

Model read_model(const std::filesystem::path& path, std::size_t most_bytes) {
  return parse_model(read_all(path, most_bytes), path.string());
}

std::vector<double> scores(const Model& model, const Dataset& data) {
  if (data.features() != model.weights.size()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the data have {} features, the model {}", data.features(), model.weights.size())};
  }
  std::vector<double> result;
  result.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) result.push_back(data.row(i).dot(model.weights));
  return result;
}

std::vector<double> predict(const Model& model, const Dataset& data) {
  std::vector<double> result = scores(model, data);
  if (model.loss == LogisticLoss::name) {
    for (double& value : result) value = 1 / (1 + std::exp(-value));
  }
  return result;
}

ModelFile::ModelFile(std::filesystem::path path, const FeatureMap& features)
    : path_{std::move(path)}, partial_{fmt::format("{}.partial-{}", path_.string(), getpid())}, descriptor_{-1} {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{}: is not a regular file, cannot become a model", path_.string())};
  }
  constexpr mode_t readable_by_all = 0666;  // less the user's umask
  descriptor_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, readable_by_all);
  if (descriptor_ < 0) refuse("create", errno);
  if (const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(largest_text(features))); error != 0) {
    close(descriptor_);
    unlink(partial_.c_str());
    refuse("take space for", error);
  }
}

ModelFile::~ModelFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(partial_.c_str());
}

void ModelFile::commit(const Model& model) {
  if (descriptor_ < 0) throw Error{ErrorCode::invalid_argument, fmt::format("{}: the model is written already", path_.string())};
  const std::string text = write_model(model);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(descriptor_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse("write", errno);
    done += static_cast<std::size_t>(count);
  }
  if (ftruncate(descriptor_, static_cast<off_t>(text.size())) != 0 || fsync(descriptor_) != 0) refuse("write", errno);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) refuse("replace", errno);
  close(descriptor_);
  descriptor_ = -1;
  // The new name is durable once its folder is; the model is complete either way.
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path{"."};
  if (const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

void ModelFile::refuse(std::string_view action, int error_number) const {
  throw Error{ErrorCode::environment,
              fmt::format("{}: cannot {} the model file ({})", path_.string(), action, std::strerror(error_number))};
}

}  // namespace surety::optimizers
