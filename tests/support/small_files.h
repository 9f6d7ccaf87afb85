// Small files of owners of several rows, read and added as a release does, and how far one owner can move what they add up to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <surety/statistics/parts.h>

#include <support/temporary_folder.h>

namespace surety::statistics {

using Vector = std::map<std::string, double>;  ///< which coordinate, and how much in its unit

/// Files of the columns u, x and t.
class SmallFiles {
 public:
  /// What the rows, "u,x,t" each, add up to before noise: sums in the unit of their numbers.
  Vector added(const Statistic& statistic, const std::vector<std::string>& rows) {
    {
      std::ofstream file{path_, std::ios::binary | std::ios::trunc};
      file << "u,x,t\n";
      for (const auto& row : rows) file << row << "\n";
    }
    const auto parts = adding_parts_of({{statistic}}, NoiseFamily::laplace, 1);
    static_cast<void>(read_parts(data::CsvReader{path_, {}}, parts, false));
    const auto total = parts.front()->total();
    Vector result;
    if (const auto* const steps = std::get_if<StepTotal>(&total)) {
      for (std::size_t k = 0; k < steps->steps.size(); ++k) result[std::to_string(k)] = static_cast<double>(steps->steps[k]);
    } else if (const auto* const groups = std::get_if<GroupTotal>(&total)) {
      const GroupMeans means{statistic};
      const double step = means.frame().grid().step();
      for (const auto& [key, sum] : groups->counts) {
        result[key + " sum"] = static_cast<double>(sum.steps) * step;
        result[key + " count"] = static_cast<double>(sum.units) * static_cast<double>(means.frame().weight()) * step;
      }
    } else {
      result["texts"] = static_cast<double>(std::get<KeyTotal>(total).counts.size());
    }
    return result;
  }

 private:
  /// In memory, where there is such a place.
  bool is_in_memory_ = std::filesystem::is_directory("/dev/shm") && setenv("TMPDIR", "/dev/shm", 1) == 0;
  TemporaryFolder folder_;
  std::string path_ = (folder_ / "data.csv").string();
};

struct Reach {
  double l1 = 0;
  double l2 = 0;
};

inline Reach apart(const Vector& left, Vector right) {
  double l1 = 0;
  double squares = 0;
  for (const auto& [name, value] : left) right[name] -= value;
  for (const auto& [name, value] : right) {
    l1 += std::abs(value);
    squares += value * value;
  }
  return {l1, std::sqrt(squares)};
}

/// All sequences of one to `most` of these cells, as rows of u.
inline std::vector<std::vector<std::string>> units_of(const std::vector<std::string>& cells, std::size_t most) {
  std::vector<std::vector<std::string>> all;
  std::vector<std::vector<std::string>> last{{}};
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& rows : last) {
      for (const auto& cell : cells) {
        longer.push_back(rows);
        longer.back().push_back("u," + cell);
      }
    }
    all.insert(all.end(), longer.begin(), longer.end());
    last = std::move(longer);
  }
  return all;
}

/// How far a unit of any rows can move it, from the meaning of the adjacency: beside no others, and beside two.
inline Reach reach_of(const Statistic& statistic, const std::vector<std::string>& cells, SmallFiles& files) {
  Reach reach;
  const auto meet = [&](const Vector& left, const Vector& right) {
    const auto found = apart(left, right);
    reach = {std::max(reach.l1, found.l1), std::max(reach.l2, found.l2)};
  };
  for (const std::vector<std::string>& others : {std::vector<std::string>{}, std::vector<std::string>{"a,1,p", "b,1,q", "b,0,p"}}) {
    const auto beside = [&](const std::vector<std::string>& rows) {
      std::vector<std::string> all = others;
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(others.size() / 2), rows.begin(), rows.end());
      return files.added(statistic, all);
    };
    std::vector<Vector> found;
    for (const auto& rows : units_of(cells, static_cast<std::size_t>(statistic.unit.most().value()))) found.push_back(beside(rows));
    if (statistic.adjacency == Adjacency::replace_one) {
      // Few are different.
      const std::set<Vector> different{found.begin(), found.end()};
      for (const auto& one : different) {
        for (const auto& another : different) meet(one, another);
      }
    } else {
      const auto without =
          beside(statistic.adjacency == Adjacency::zero_out ? std::vector<std::string>{"u,,"} : std::vector<std::string>{});
      for (const auto& one : found) meet(one, without);
    }
  }
  return reach;
}

inline Statistic statistic_of(const decltype(Statistic::of)& of, Adjacency adjacency, std::uint64_t most) {
  return {.of = of, .adjacency = adjacency, .unit = UnitOfPrivacy{"u", Count{most}}};
}

/// What is charged for, of both families.
inline Reach charged(const Statistic& statistic) {
  const auto facts = [&](NoiseFamily family) { return parts_of({{statistic}}, family, 1, 0.95).front()->facts(); };
  return {facts(NoiseFamily::laplace).l1_sensitivity.value(), facts(NoiseFamily::gaussian).l2_sensitivity.value()};
}

}  // namespace surety::statistics
