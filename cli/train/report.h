// What is said of a training at its end, for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/optimizers/models/model.h>

#include "algorithm.h"

namespace surety::cli {

struct Report {
  const TrainOptions& options;
  const optimizers::Model& model;
  const CalibratedNoise& noise;
  Released released;
  accounting::RunId run;

  // The kind of run adds these.
  std::string extent = {};                                            ///< for people: "100 steps"
  std::vector<std::pair<std::string, std::string>> lines = {};        ///< behind the extent
  std::vector<std::pair<std::string, std::string>> in_place_of = {};  ///< in the place of what was planned and released
  nlohmann::json fields = {};
  std::uint64_t damaged = 0;  ///< private
  std::string scores = {};    ///< behind everything
  bool is_one_line = false;   ///< as JSON, behind lines of JSON
};

void print_report(const Report& report);

}  // namespace surety::cli
