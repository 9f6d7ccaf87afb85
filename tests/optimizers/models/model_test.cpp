#include <surety/optimizers/models/model.h>
#include <surety/optimizers/models/shapes.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/data/csv/csv.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::model_test {

using namespace data;

namespace {

Model example() {
  return {.loss = "logistic",
          .label = parse_label_rule("mdvis>0"),
          .features = {.inputs = NamedColumns{{"age \"x\"\n", BoundsToUnitInterval{0, 120}}, {"town", Categories{{"a", "b"}}}},
                       .intercept = true},
          .weights = {0.1, -1e-300, 1.0 / 3, 4},
          .guarantee = {.target = {.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = Adjacency::replace_one},
                        .event = repeat(Count{100}, gaussian(NoiseMultiplier{37.3063}, Adjacency::replace_one))}};
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files{folder / ""};
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(Model, SurvivesItsFile) {
  const Model model = example();
  const Model again = parse_model(write_model(model), "model.json");
  EXPECT_EQ(again.loss, model.loss);
  EXPECT_EQ(again.label, model.label);
  EXPECT_EQ(again.features, model.features);
  EXPECT_EQ(again.weights, model.weights);
  EXPECT_EQ(again.guarantee.target.epsilon, model.guarantee.target.epsilon);
  EXPECT_EQ(again.guarantee.target.delta, model.guarantee.target.delta);
  EXPECT_EQ(again.guarantee.event, model.guarantee.event);
  EXPECT_FALSE(again.guarantee.not_private);
  EXPECT_EQ(write_model(again), write_model(model));
}

TEST(Model, SaysWhenItIsNotPrivate) {
  Model model = example();
  model.guarantee.not_private = true;
  model.label = std::nullopt;
  EXPECT_NE(write_model(model).find(R"("private":false)"), std::string::npos);
  const Model again = parse_model(write_model(model), "model.json");
  EXPECT_TRUE(again.guarantee.not_private);
  EXPECT_EQ(again.label, std::nullopt);
}

TEST(Model, SaysWhomItProtects) {
  Model model = example();
  EXPECT_EQ(write_model(model).find("unit\""), std::string::npos) << "a row, as in files of 0.1.0";
  model.guarantee.unit = UnitOfPrivacy{"patient", Count{5}};
  auto text = write_model(model);
  EXPECT_NE(text.find(R"("name":"patient")"), std::string::npos) << text;
  EXPECT_EQ(parse_model(text, "model").guarantee.unit, model.guarantee.unit);
  EXPECT_NE(text.find(R"("surety_model":6)"), std::string::npos) << text;
  // What an older version would read as a promise to other owners, or to rows.
  for (const char* older : {":5", ":2", ":1"}) {
    auto changed = text;
    changed.replace(text.find(":6"), 2, older);
    EXPECT_THROW(static_cast<void>(parse_model(changed, "model")), Error) << older;
  }
  // As it was written when units did not say their rule.
  model.guarantee.unit = UnitOfPrivacy::without_rule("patient", Count{5});
  text = write_model(model);
  EXPECT_NE(text.find(R"("surety_model":2)"), std::string::npos) << text;
  EXPECT_FALSE(parse_model(text, "model").guarantee.unit.says_rule());
  EXPECT_EQ(write_model(parse_model(text, "model")), text);
}

// As the command wrote it before bounds went to [-1, 1]; where the promise is to a unit, as version 2.
TEST(Model, OfBeforeKeepsTheMeaningOfItsBounds) {
  const std::string text =
      R"-({"surety_model":1,"loss":"logistic","label":"y>0","features":{"columns":[{"map":{"bounds":[0.0,120.0]},"name":"age"}],)-"
      R"-("intercept":true,"unit_norm":false},"weights":[2.0,-1.0],"guarantee":{"adjacency":"replace-one","delta":1e-05,"epsilon":1.0,)-"
      R"-("event":"repeat(100, gaussian(37.3063))","private":true}})-"
      "\n";
  const Model model = parse_model(text, "m.json");
  EXPECT_EQ(nlohmann::json::parse(write_model(model)), nlohmann::json::parse(text));
  const TemporaryFolder folder;
  const Dataset data = read_csv(folder.write("new.csv", "age\n30\n200\n"), model.features, std::nullopt);
  EXPECT_EQ(scores(model, data), (std::vector<double>{-0.5, 1}));
  Model of_a_unit = model;
  for (const auto& [unit, version] : {std::pair{UnitOfPrivacy::without_rule("patient", Count{5}), R"("surety_model":2)"},
                                      {UnitOfPrivacy{"patient", Count{5}}, R"("surety_model":6)"}}) {
    of_a_unit.guarantee.unit = unit;
    EXPECT_NE(write_model(of_a_unit).find(version), std::string::npos);
    EXPECT_EQ(parse_model(write_model(of_a_unit), "m.json").features, model.features);
  }
}

// A reader that knows version 2 at most refuses bounds that it would take for those to [0, 1].
TEST(Model, SaysThatBoundsGoToTheSymmetricInterval) {
  Model model = example();
  std::get<NamedColumns>(model.features.inputs)[0].map = Bounds{0, 120};
  const std::string text = write_model(model);
  const std::string version = R"("surety_model":3)";
  ASSERT_NE(text.find(version), std::string::npos) << text;
  EXPECT_EQ(parse_model(text, "m.json").features, model.features);
  for (const std::string other : {"1", "2", "4", "\"3\"", "null"}) {
    std::string changed = text;
    changed.replace(changed.find(version), version.size(), R"("surety_model":)" + other);
    EXPECT_THROW(static_cast<void>(parse_model(changed, "m.json")), Error) << other;
  }
  std::string without = text;
  const std::string to = R"(,"to":[-1,1])";
  ASSERT_NE(without.find(to), std::string::npos) << text;
  without.erase(without.find(to), to.size());
  EXPECT_THROW(static_cast<void>(parse_model(without, "m.json")), Error) << "version 3 says that bounds go to [-1, 1]";
}

RC_GTEST_PROP(Model, WeightsSurviveBitForBit, (std::vector<double> weights)) {
  weights.push_back(std::numeric_limits<double>::denorm_min());
  Model model = example();
  model.features = {.inputs = SparseFeatures{static_cast<std::uint32_t>(weights.size())}, .intercept = false};
  model.weights = weights;
  RC_ASSERT(parse_model(write_model(model), "").weights == weights);
}

TEST(Model, RefusesWhatIsNoModel) {
  const auto refused = [](const std::string& text) {
    return refuses([&] { static_cast<void>(parse_model(text, "m.json")); }, ErrorCode::bad_data, {"m.json"});
  };
  const std::string good = write_model(example());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("[]"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(good.substr(0, good.size() / 2)));
  EXPECT_TRUE(refused(with(R"("surety_model":1)", R"("surety_model":2)")));
  EXPECT_TRUE(refused(with(R"("surety_model":1)", R"("surety_model":1,"x":1)")));
  EXPECT_TRUE(refused(with(R"("surety_model":1)", R"("surety_model":1,"surety_model":1)")));
  EXPECT_TRUE(refused(with(R"("loss":"logistic")", R"("loss":"poisson")")));
  EXPECT_TRUE(refused(with(R"("loss":"logistic")", R"("loss":7)")));
  EXPECT_TRUE(refused(with(R"("label":"mdvis>0")", R"("label":"mdvis>")")));
  EXPECT_TRUE(refused(with(R"("weights":[)", R"("weights":[7,)")));
  EXPECT_TRUE(refused(with(R"("weights":[0.1)", R"("weights":["0.1")")));
  EXPECT_TRUE(refused(with(R"("weights":[0.1)", R"("weights":[1e999)")));
  EXPECT_TRUE(refused(with(R"("epsilon":1.0)", R"("epsilon":-1.0)")));
  EXPECT_TRUE(refused(with(R"("private":true)", R"("private":1)")));
  EXPECT_TRUE(refused(with(R"(gaussian(37)", R"(levy(37)")));
  EXPECT_TRUE(refused(with("replace-one", "replace-two")));
  EXPECT_TRUE(refuses([] { static_cast<void>(read_model("/nonexistent/m.json")); }, ErrorCode::bad_data, {"m.json"}));
}

TEST(Model, RefusesWhatDoesNotFit) {
  const auto refused = [](auto change) {
    Model model = example();
    change(model);
    return refuses([&] { static_cast<void>(write_model(model)); }, ErrorCode::invalid_argument, {"model"});
  };
  EXPECT_TRUE(refused([](Model& model) { model.weights.pop_back(); }));
  EXPECT_TRUE(refused([](Model& model) { model.weights[0] = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](Model& model) { model.loss = "other"; }));
  EXPECT_TRUE(refused([](Model& model) { model.guarantee.target.adjacency = Adjacency::zero_out; }));
  EXPECT_TRUE(refused([](Model& model) { std::get<NamedColumns>(model.features.inputs)[0].name = "\xff"; }));
}

TEST(Predict, GivesProbabilitiesOrValues) {
  Model model = example();
  model.features = {.inputs = SparseFeatures{2}, .intercept = false};
  model.weights = {1, -2};
  const Dataset data = Dataset::dense(2, {1, 0, 1, 1}, {});
  EXPECT_EQ(scores(model, data), (std::vector<double>{1, -1}));
  EXPECT_DOUBLE_EQ(predict(model, data)[0], 1 / (1 + std::exp(-1)));
  for (const char* loss : {"squared", "hinge", "smoothed-hinge"}) {
    model.loss = loss;
    EXPECT_EQ(predict(parse_model(write_model(model), "m.json"), data), (std::vector<double>{1, -1})) << loss;
  }
  EXPECT_TRUE(refuses([&] { static_cast<void>(predict(model, Dataset::dense(1, {1}, {}))); }, ErrorCode::invalid_argument, {"1 features"}));
}

/// As far as anybody looks, an older model.
const std::string an_older_model = R"({"surety_model":1,"loss":"squared"})";

TEST(ModelFile, ReplacesInOneStepOrNotAtAll) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.json", an_older_model);
  {
    const ModelFile unfinished{path, example().features};
    EXPECT_EQ(content(path), an_older_model);
  }
  EXPECT_EQ(content(path), an_older_model);
  EXPECT_EQ(files_in(folder), 1U);
  {
    ModelFile file{path, example().features};
    EXPECT_EQ(content(path), an_older_model);
    file.commit(example());
    EXPECT_EQ(content(path), write_model(example()));
    EXPECT_TRUE(refuses([&] { file.commit(example()); }, ErrorCode::invalid_argument, {"already"}));
  }
  EXPECT_EQ(content(path), write_model(example()));
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(ModelFile, KeepsTheOldModelWhenTheNewOneIsNotValid) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.json", an_older_model);
  Model bad = example();
  bad.weights.clear();
  EXPECT_TRUE(refuses([&] { ModelFile{path, bad.features}.commit(bad); }, ErrorCode::invalid_argument, {"weights"}));
  EXPECT_EQ(content(path), an_older_model);
}

TEST(ModelFile, ReplacesNoOtherFileAndNeverADatabase) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.json", "precious");
  EXPECT_TRUE(refuses([&] { ModelFile(path, example().features); }, ErrorCode::invalid_argument, {"does not hold a model"}));
  EXPECT_EQ(content(path), "precious");
  ModelFile{path, example().features, std::nullopt, Overwrite::any_kind}.commit(example());
  EXPECT_EQ(content(path), write_model(example()));
  const std::string database = std::string{"SQLite format 3\0", 16} + "what was released";
  ModelFile late{path, example().features, std::nullopt, Overwrite::any_kind};
  static_cast<void>(folder.write("model.json", database));
  EXPECT_TRUE(refuses([&] { late.commit(example()); }, ErrorCode::invalid_argument, {"SQLite database"}));
  EXPECT_TRUE(refuses([&] { ModelFile(path, example().features, std::nullopt, Overwrite::any_kind); }, ErrorCode::invalid_argument,
                      {"SQLite database"}));
  EXPECT_EQ(content(path), database);
}

TEST(ModelFile, RefusesBeforeTheTrainingWhereItCannotWrite) {
  const TemporaryFolder folder;
  const FeatureMap large{.inputs = SparseFeatures{1'000'000}};
  EXPECT_TRUE(refuses([&] { ModelFile(folder / "no" / "model.json", large); }, ErrorCode::environment, {"cannot write", "No such file"}));
  EXPECT_TRUE(refuses([&] { ModelFile(folder / "", large); }, ErrorCode::invalid_argument, {"regular file"}));
  EXPECT_TRUE(refuses([&] { ModelFile("", large); }, ErrorCode::invalid_argument, {"must name a file"}));
  EXPECT_TRUE(refuses([&] { ModelFile("/dev/null", large); }, ErrorCode::invalid_argument, {"/dev/null", "regular file"}));
}

// A limit on the file size stands for the full disk: a file that does not fit is refused when it is opened, and leaves nothing.
TEST(ModelFile, TakesItsSpaceFirst) {
  const TemporaryFolder folder;
  const FeatureMap large{.inputs = SparseFeatures{1'000'000}};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_FSIZE, &limited);
  EXPECT_TRUE(refuses([&] { ModelFile(folder / "model.json", large); }, ErrorCode::environment, {"take space"}));
  setrlimit(RLIMIT_FSIZE, &before);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  EXPECT_EQ(files_in(folder), 0U);
}

// The space taken is never too little, whatever the names: they may need six bytes in JSON for one of theirs.
TEST(ModelFile, TakesEnoughSpace) {
  const TemporaryFolder folder;
  Model model = example();
  NamedColumns columns;
  for (int i = 0; i < 300; ++i) columns.push_back({std::string(200, '\x01') + std::to_string(i), Unchanged{}});
  model.features = {.inputs = columns, .intercept = false};
  model.weights.assign(300, -std::nextafter(1e-300, 0));
  ModelFile file{folder / "model.json", model.features};
  file.commit(model);
  EXPECT_LT(std::filesystem::file_size(folder / "model.json"), file.space());

  model.label = LabelRule{.column = std::string(100'000, '\x01'), .test = std::nullopt};
  ModelFile labelled{folder / "labelled.json", model.features, model.label};
  labelled.commit(model);
  EXPECT_LT(std::filesystem::file_size(folder / "labelled.json"), labelled.space());
}

// What lies under the names that a process would choose by its number is nobody's way into the model, and is not written to.
TEST(ModelFile, DoesNotWriteToWhatWasPlanted) {
  const TemporaryFolder folder;
  const auto victim = folder.write("victim", "precious");
  const auto guess = folder / ("model.json.partial-" + std::to_string(getpid()));
  std::filesystem::create_hard_link(victim, guess);
  ModelFile first{folder / "model.json", example().features};
  ModelFile second{folder / "model.json", example().features};  // of another container with the same process number
  first.commit(example());
  second.commit(example());
  EXPECT_EQ(content(victim), "precious");
  EXPECT_EQ(content(guess), "precious");
  EXPECT_EQ(content(folder / "model.json"), write_model(example()));
}

TEST(ModelFile, RefusesNamesThatJsonCannotHoldBeforeTheTraining) {
  const TemporaryFolder folder;
  const auto refused = [&](const FeatureMap& features, const std::optional<LabelRule>& label, std::string_view word) {
    return refuses([&] { ModelFile(folder / "model.json", features, label); }, ErrorCode::invalid_argument, {word, "not UTF-8"});
  };
  EXPECT_TRUE(refused({.inputs = NamedColumns{{"gr\xf6\xdf"
                                               "e",
                                               Unchanged{}}}},
                      std::nullopt, "column 'gr\\xf6\\xdfe'"));
  EXPECT_TRUE(refused({.inputs = NamedColumns{{"town", Categories{{"a", "M\xfcnchen"}}}}}, std::nullopt, "category 'M\\xfcnchen'"));
  EXPECT_TRUE(refused(example().features, LabelRule{.column = "\xff", .test = std::nullopt}, "label '\\xff'"));
  EXPECT_EQ(files_in(folder), 0U);
}

Model of_three_classes() {
  Model model = example();
  model.label = with_classes(parse_label_rule("kind"), {"red", "a, b", "x"});
  model.weights.resize(12, 0.5);
  return model;
}

TEST(Model, OfSeveralClassesSurvivesItsFile) {
  const Model model = of_three_classes();
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 4);
  const Model again = parse_model(text, "model.json");
  EXPECT_EQ(again.label, model.label);
  EXPECT_EQ(again.weights, model.weights);
  EXPECT_EQ(again.classes(), 3U);
  EXPECT_EQ(write_model(again), text);
  EXPECT_EQ(example().classes(), 1U);
  const auto refused = [&](const auto& change, const std::string& said) {
    auto json = nlohmann::json::parse(text);
    change(json);
    EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {said})) << said;
  };
  refused([](auto& json) { json["weights"].erase(0); }, "11 weights for 4 features and 3 classes");
  refused([](auto& json) { json["classes"].push_back("red"); }, "class 'red' stands twice");
  refused([](auto& json) { json["classes"] = {"red"}; }, "the number of classes is 1, must be at least 2");
  refused([](auto& json) { json["classes"][1] = 7; }, "each of classes must be a text (got a number)");
  refused([](auto& json) { json["classes"] = "red"; }, "classes must be a list (got a text)");
  refused([](auto& json) { json["label"] = "kind==red"; }, "must be a column");
  refused([](auto& json) { json["label"] = nullptr; }, "classes and no label");
  refused([](auto& json) { json["loss"] = "hinge"; }, "loss is hinge, must be logistic for several classes");
  refused([](auto& json) { json["surety_model"] = 3; }, "version is 3, must be 4");
}

TEST(Model, BySoftmaxIsOfVersionEight) {
  Model model = of_three_classes();
  model.classes_by = ClassesBy::softmax;
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 8);
  EXPECT_EQ(nlohmann::json::parse(text)["classes_by"], "softmax");
  const Model again = parse_model(text, "model.json");
  EXPECT_EQ(again.classes_by, ClassesBy::softmax);
  EXPECT_EQ(write_model(again), text);
  const auto refused = [&](const auto& change, const std::string& said) {
    auto json = nlohmann::json::parse(text);
    change(json);
    EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {said})) << said;
  };
  refused([](auto& json) { json["surety_model"] = 4; }, "version is 4, must be 8");
  refused([](auto& json) { json.erase("classes_by"); }, "version is 8, must be 4");
  refused([](auto& json) { json["classes_by"] = "one-against-the-rest"; }, "classes_by is not softmax");
  refused([](auto& json) { json["classes_by"] = 3; }, "classes_by is not softmax");
  refused(
      [](auto& json) {
        json.erase("classes");
        json["weights"] = {1, 2, 3, 4};
      },
      "its classes are told by softmax, must be several");
}

TEST(ReadModel, RowsOfOneScaleAreOfVersionFive) {
  Model model = example();
  model.features.unit_norm = false;
  model.features.row_scale = 0.25;
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 5);
  EXPECT_TRUE(parse_model(text, "model.json").features == model.features);
  auto json = nlohmann::json::parse(text);
  json["surety_model"] = 4;
  EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {"version is 4, must be 5"}));
}

TEST(ReadModel, AdditiveTermsAndPairsAreOfVersionNine) {
  Model model = example();
  model.features = {.inputs = data::NamedColumns{{"a", data::Bounds{0, 4}}, {"b", data::Bounds{-1, 1}}}, .pairs = {{"a", "b"}}};
  model.weights.assign(4, 0.5);
  const auto of_pairs = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(of_pairs)["surety_model"], 9);
  EXPECT_TRUE(parse_model(of_pairs, "m").features == model.features);
  model.features.pairs.clear();
  model.features = with_additive_terms(model.features);
  model.weights.assign(model.features.features(), 0.25);
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 9);
  EXPECT_TRUE(parse_model(text, "m").features == model.features);
  auto json = nlohmann::json::parse(text);
  json["surety_model"] = 3;
  EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {"version is 3, must be 9"}));
  // A curve is the number's part and the hat functions', which together are what a row's score has of the column.
  for (std::size_t k = 0; k < model.weights.size(); ++k) model.weights[k] = std::cos(static_cast<double>(k));
  const auto terms = additive_terms(model);
  ASSERT_EQ(terms.shapes.size(), 2U);
  const auto& shape = terms.shapes[1];
  EXPECT_EQ(shape.column, "b");
  for (std::size_t k = 0; k < shape.at.size(); ++k) {
    std::vector<double> row(1 + data::standard_knots, 0.0);
    row.push_back(data::scaled(shape.at[k], data::Bounds{-1, 1}));
    data::append_hats(row.back(), data::standard_knots, row);
    row.push_back(0);
    EXPECT_NEAR(scores(model, data::RowView{.indices = {}, .values = row, .norm = 1})[0], shape.values[0][k], 1e-12) << k;
  }
}

TEST(ReadModel, StandardErrorsAreOfVersionTen) {
  Model model = example();
  model.loss = "squared";
  model.label = parse_label_rule("kind");
  model.features = data::with_additive_terms(
      {.inputs = data::NamedColumns{{"a", data::Bounds{0, 4}, "1"}, {"u", data::Unchanged{}}, {"b", data::Bounds{-1, 1}}},
       .unit_norm = false,
       .row_scale = 0.5,
       .pairs = {{"a", "b"}}});
  model.weights.resize(model.features.features());
  for (std::size_t k = 0; k < model.weights.size(); ++k) model.weights[k] = std::cos(static_cast<double>(k));
  EXPECT_EQ(nlohmann::json::parse(write_model(model))["surety_model"], 9) << "who has none is read by older versions";
  const auto values = value_functions(model.features);
  ASSERT_EQ(values.size(), 18U);
  for (std::size_t k = 0; k < values.size(); ++k) model.standard_errors.push_back(static_cast<double>(k) / 3);
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 10);
  EXPECT_EQ(parse_model(text, "m").standard_errors, model.standard_errors);
  // The functions are those whose values the terms are, in their order.
  const auto terms = additive_terms(parse_model(text, "m"));
  std::size_t next = 0;
  const auto same = [&](double value, double error) {
    double sum = 0;
    for (const auto& [place, factor] : values.at(next)) sum += factor * model.weights[place];
    EXPECT_NEAR(sum, value, 1e-14) << next;
    EXPECT_EQ(error, static_cast<double>(next++) / 3);
  };
  ASSERT_EQ(terms.shapes.size(), 2U);
  for (const auto& shape : terms.shapes) {
    for (std::size_t k = 0; k < shape.at.size(); ++k) same(shape.values[0][k], shape.errors.at(k));
    if (!shape.missing.empty()) same(shape.missing[0], shape.missing_error);
  }
  same(terms.pairs.at(0).values[0], terms.pairs[0].error);
  EXPECT_EQ(next, values.size());
  const auto refused = [&](const nlohmann::json& errors, const std::string& said) {
    auto json = nlohmann::json::parse(text);
    json["standard_errors"] = errors;
    EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {said})) << said;
  };
  refused(std::vector<double>(17, 1.0), "17 standard_errors for 18 values of additive terms and pairs");
  refused(std::vector<double>(18, -1.0), "one of standard_errors is negative or not finite");
  refused(std::vector<std::string>(18, "1"), "each of standard_errors must be a number (got a text)");
  refused(nlohmann::json::array(), "standard_errors are not a list of at least one");
  refused(1.5, "standard_errors are not a list of at least one");
  auto json = nlohmann::json::parse(text);
  json["surety_model"] = 9;
  EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {"version is 9, must be 10"}));
  json["surety_model"] = 10;
  json["loss"] = "logistic";
  json["label"] = "kind>0";
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {"standard_errors and loss logistic"}));
  model.standard_errors[3] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(write_model(model)); }, ErrorCode::invalid_argument, {"standard_errors is negative or not finite"}));
}

TEST(ReadModel, ALabelWithACentreIsOfVersionSeven) {
  Model model = example();
  model.loss = "squared";
  model.label = parse_label_rule("kind");
  EXPECT_NE(nlohmann::json::parse(write_model(model))["surety_model"], 7) << "who has none is read by older versions";
  model.label_centre = -3.25;
  const auto text = write_model(model);
  EXPECT_EQ(nlohmann::json::parse(text)["surety_model"], 7);
  EXPECT_EQ(parse_model(text, "m").label_centre, -3.25);
  EXPECT_EQ(predict(parse_model(text, "m"), 1), -2.25);
  const auto refused = [&](const char* field, const nlohmann::json& value, const std::string& said) {
    auto json = nlohmann::json::parse(text);
    json[field] = value;
    EXPECT_TRUE(refuses([&] { static_cast<void>(parse_model(json.dump(), "m")); }, ErrorCode::bad_data, {said})) << said;
  };
  refused("surety_model", 6, "version is 6, must be 7");
  refused("label_centre", 0, "the label's centre is not a number other than 0");
  refused("label_centre", "3", "the label's centre is not a number other than 0");
  refused("loss", "logistic", "the label's centre is -3.25, must be finite, and 0 unless the loss is squared");
}

TEST(Predict, SaysProbabilitiesOfSeveralClasses) {
  const Model model = of_three_classes();
  const std::vector<double> scores{1, -2, 1};
  const auto found = class_probabilities(scores);
  const auto against_the_rest = [](double score) { return 1 / (1 + std::exp(-score)); };
  const double sum = 2 * against_the_rest(1) + against_the_rest(-2);
  EXPECT_NEAR(found[0], against_the_rest(1) / sum, 1e-15);
  EXPECT_NEAR(found[1], against_the_rest(-2) / sum, 1e-15);
  EXPECT_EQ(predicted_class(model, scores), "red") << "the first of equal ones";
  for (const double value : class_probabilities(std::vector<double>{-2000, -1999, -3000})) EXPECT_TRUE(value >= 0 && value <= 1);
  EXPECT_NEAR(class_probabilities(std::vector<double>{-2000, -1999, -3000})[1], 1 / (1 + std::exp(-1)), 1e-12);
  EXPECT_NEAR(class_probabilities(std::vector<double>{2000, 1999, -3000})[1], 0.5, 1e-12);
}

TEST(Predict, SaysProbabilitiesOfASoftmax) {
  const std::vector<double> scores{1, -2, 1};
  const auto found = class_probabilities(scores, ClassesBy::softmax);
  const double sum = 2 * std::exp(1) + std::exp(-2);
  EXPECT_NEAR(found[0], std::exp(1) / sum, 1e-15);
  EXPECT_NEAR(found[1], std::exp(-2) / sum, 1e-15);
  const auto far = class_probabilities(std::vector<double>{2001, -1, 2000 - 999}, ClassesBy::softmax);
  const auto near = class_probabilities(std::vector<double>{1000, -1002, 0}, ClassesBy::softmax);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(far[k], near[k], 1e-12) << "the same where a number is added to all";
  EXPECT_NEAR(class_probabilities(std::vector<double>{2000, 1999, -3000}, ClassesBy::softmax)[1], 1 / (1 + std::exp(1)), 1e-12);
}

}  // namespace
}  // namespace surety::optimizers::model_test
