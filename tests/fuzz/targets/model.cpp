// A model: what is one comes back from its text, bit for bit, and predicts a number of a record.
#include <cmath>
#include <vector>

#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/optimizers/models/model.h>

using namespace surety;
using namespace surety_fuzz;

SURETY_MUTATES_JSON(0)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  accepted([&] {
    const auto model = optimizers::parse_model(input.rest(), "model");
    const auto text = optimizers::write_model(model);
    const auto again = optimizers::parse_model(text, "model");
    expect(optimizers::write_model(again) == text, "a model does not come back from its text");
    expect(again.weights == model.weights, "weights do not survive");
    expect(model.guarantee.target.epsilon.value() >= 0, "a promise of less than nothing");
    if (model.features.features() <= 1000) {
      const std::vector<double> zeros(model.features.features(), 0.0);
      const auto found = optimizers::scores(model, data::Dataset::dense(zeros.size(), zeros, {}));
      for (const double score : found) expect(score == 0, "a score of nothing");
      if (found.size() == 1) expect(!std::isnan(optimizers::predict(model, found.front())), "a prediction that is no number");
    }
  });
  return 0;
}
