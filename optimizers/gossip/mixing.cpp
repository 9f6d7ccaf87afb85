#include <surety/optimizers/gossip/mixing.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/lazy_real.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::optimizers {

namespace {

using Rows = std::vector<std::vector<MixingWeight>>;

/// Disjoint sets of learners, merged as edges join them.
class Components {
 public:
  explicit Components(std::size_t learners) : parent_(learners) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  [[nodiscard]] std::size_t root(std::size_t learner) {
    while (parent_[learner] != learner) learner = parent_[learner] = parent_[parent_[learner]];
    return learner;
  }
  /// The smaller root stays, so learner 0 is always a root.
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Whether a sum of `entries` non-negative doubles, added one by one, may be that of reals with sum 1 that were rounded before.
bool is_one(double sum, std::size_t entries) { return std::fabs(sum - 1) <= static_cast<double>(entries + 1) * 0x1p-52; }

void require_most(Count learners, std::uint64_t most, std::string_view kind) {
  if (learners.value() > most) invalid(fmt::format("learners is {}, must be at most {} for {}", learners.value(), most, kind));
}

std::size_t size_of(Count learners) { return static_cast<std::size_t>(learners.value()); }

std::vector<Edge> matching(std::size_t learners, const mechanisms::NextWord& next_word) {
  std::vector<std::size_t> order(learners);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = learners; left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(mechanisms::uniform_below(left, next_word))]);
  }
  std::vector<Edge> edges;
  for (std::size_t i = 0; i + 1 < learners; i += 2) edges.push_back({order[i], order[i + 1]});
  return edges;
}

std::vector<MixingMatrix> drawn_matchings(Count learners, std::uint64_t seed, std::uint64_t block) {
  const auto bits_of_block = mechanisms::ReplayBits{seed}.substream("random matchings").substream(block);
  for (std::uint64_t attempt = 0;; ++attempt) {
    auto bits = bits_of_block.substream(attempt);
    const mechanisms::NextWord next_word = [&bits] { return mechanisms::draw_word(bits); };
    std::vector<MixingMatrix> matrices;
    for (std::uint64_t i = 0; i < Mixing::matchings_drawn; ++i) {
      matrices.push_back(MixingMatrix::metropolis(learners, matching(size_of(learners), next_word)));
    }
    if (!unreachable_learner(matrices)) return matrices;
  }
}

}  // namespace

MixingMatrix::MixingMatrix(const Rows& rows) : starts_{0} {
  if (rows.empty()) invalid("a mixing matrix has no rows, must have one for each learner");
  struct Column {
    double sum = 0;
    std::size_t entries = 0;
  };
  std::vector<Column> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0;
    bool keeps_own = false;
    for (std::size_t k = 0; k < rows[i].size(); ++k) {
      const auto& [learner, weight] = rows[i][k];
      if (learner >= rows.size()) {
        invalid(fmt::format("row {} of a mixing matrix names learner {}, must be below {}", i, learner, rows.size()));
      }
      if (k > 0 && learner <= rows[i][k - 1].learner) {
        invalid(fmt::format("row {} of a mixing matrix names learner {} after {}, must ascend", i, learner, rows[i][k - 1].learner));
      }
      if (!(weight > 0 && std::isfinite(weight))) {
        invalid(fmt::format("row {} of a mixing matrix gives learner {} the weight {}, must be positive and finite", i, learner, weight));
      }
      keeps_own = keeps_own || learner == i;
      sum += weight;
      columns[learner].sum += weight;
      ++columns[learner].entries;
    }
    if (!keeps_own) invalid(fmt::format("row {} of a mixing matrix has no diagonal entry, must have a positive one", i));
    if (!is_one(sum, rows[i].size())) invalid(fmt::format("row {} of a mixing matrix sums to {}, must be 1", i, sum));
    entries_.insert(entries_.end(), rows[i].begin(), rows[i].end());
    starts_.push_back(entries_.size());
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (!is_one(columns[j].sum, columns[j].entries)) {
      invalid(fmt::format("column {} of a mixing matrix sums to {}, must be 1", j, columns[j].sum));
    }
  }
}

MixingMatrix MixingMatrix::metropolis(Count learners, std::span<const Edge> edges) {
  const std::size_t size = size_of(learners);
  Rows rows(size);
  for (const auto& [a, b] : edges) {
    if (std::max(a, b) >= size) invalid(fmt::format("an edge joins learners {} and {}, must be below {}", a, b, size));
    if (a == b) invalid(fmt::format("an edge joins learner {} to itself, must join two", a));
    rows[a].push_back({b, 0});
    rows[b].push_back({a, 0});
  }
  for (auto& row : rows) {
    std::sort(row.begin(), row.end(), [](const MixingWeight& x, const MixingWeight& y) { return x.learner < y.learner; });
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  std::vector<std::size_t> degrees;
  for (const auto& row : rows) degrees.push_back(row.size());
  for (std::size_t i = 0; i < size; ++i) {
    double given = 0;
    for (auto& [learner, weight] : rows[i]) {
      weight = 1 / static_cast<double>(1 + std::max(degrees[i], degrees[learner]));
      given += weight;
    }
    const auto after =
        std::upper_bound(rows[i].begin(), rows[i].end(), i, [](std::size_t x, const MixingWeight& y) { return x < y.learner; });
    rows[i].insert(after, {i, 1 - given});
  }
  return MixingMatrix{rows};
}

std::optional<std::size_t> unreachable_learner(std::span<const MixingMatrix> matrices) {
  const std::size_t learners = matrices.empty() ? 0 : matrices.front().learners();
  Components components{learners};
  for (const auto& matrix : matrices) {
    for (std::size_t i = 0; i < learners; ++i) {
      for (const auto& entry : matrix.row(i)) components.join(i, entry.learner);
    }
  }
  for (std::size_t i = 0; i < learners; ++i) {
    if (components.root(i) != 0) return i;
  }
  return std::nullopt;
}

Mixing::Mixing(std::vector<MixingMatrix> block, std::uint64_t window) : block_{std::move(block)}, window_{window} {}

Mixing Mixing::repeating(std::vector<MixingMatrix> matrices) {
  if (matrices.empty()) invalid("a sequence of mixing matrices is empty, must have at least one");
  for (const auto& matrix : matrices) {
    if (matrix.learners() != matrices.front().learners()) {
      invalid(
          fmt::format("a mixing matrix is for {} learners, must be for {} as the first", matrix.learners(), matrices.front().learners()));
    }
  }
  if (const auto learner = unreachable_learner(matrices)) {
    invalid(fmt::format("learner {} cannot be reached from learner 0, every learner must be", *learner));
  }
  const std::uint64_t period = matrices.size();
  return Mixing{std::move(matrices), period};
}

Mixing Mixing::of_graph(Count learners, std::span<const Edge> edges) {
  require_most(learners, max_learners, "mixing");
  return repeating({MixingMatrix::metropolis(learners, edges)});
}

// The same double everywhere, so that learners who read the same parameters in the same order get the same mean to the last bit.
Mixing Mixing::complete(Count learners) {
  require_most(learners, max_complete, "complete mixing");
  const std::size_t size = size_of(learners);
  std::vector<MixingWeight> row;
  for (std::size_t j = 0; j < size; ++j) row.push_back({j, 1 / static_cast<double>(size)});
  return repeating({MixingMatrix{Rows(size, row)}});
}

Mixing Mixing::ring(Count learners) {
  require_most(learners, max_learners, "a ring");
  const std::size_t size = size_of(learners);
  std::vector<Edge> edges;
  for (std::size_t i = 0; size > 1 && i < size; ++i) edges.push_back({i, (i + 1) % size});
  return of_graph(learners, edges);
}

Mixing Mixing::torus(Count rows, Count columns) {
  if (rows.value() < 2 || columns.value() < 2) {
    invalid(fmt::format("a torus has {} x {} learners, must have at least two rows and two columns", rows.value(), columns.value()));
  }
  require_most(rows, max_learners, "the rows of a torus");
  require_most(columns, max_learners, "the columns of a torus");
  const Count learners{rows.value() * columns.value()};
  require_most(learners, max_learners, "a torus");
  const std::size_t height = size_of(rows);
  const std::size_t width = size_of(columns);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      edges.push_back({i * width + j, i * width + (j + 1) % width});
      edges.push_back({i * width + j, (i + 1) % height * width + j});
    }
  }
  return of_graph(learners, edges);
}

Mixing Mixing::torus(Count learners) {
  require_most(learners, max_learners, "a torus");
  const std::uint64_t size = learners.value();
  std::uint64_t rows = 1;
  for (std::uint64_t divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) rows = divisor;
  }
  if (rows == 1) invalid(fmt::format("learners is {}, must be a product of two numbers above 1 for a torus", size));
  return torus(Count{rows}, Count{size / rows});
}

Mixing Mixing::hypercube(Count learners) {
  require_most(learners, max_learners, "a hypercube");
  if (!std::has_single_bit(learners.value())) {
    invalid(fmt::format("learners is {}, must be a power of two for a hypercube", learners.value()));
  }
  const std::size_t size = size_of(learners);
  std::vector<MixingMatrix> matrices;
  for (std::size_t bit = 1; bit < size; bit *= 2) {
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < size; ++i) {
      if ((i & bit) == 0) edges.push_back({i, i | bit});
    }
    matrices.push_back(MixingMatrix::metropolis(learners, edges));
  }
  if (matrices.empty()) matrices.push_back(MixingMatrix::metropolis(learners, {}));
  return repeating(std::move(matrices));
}

Mixing Mixing::random_matchings(Count learners, std::uint64_t seed) {
  require_most(learners, max_learners, "random matchings");
  Mixing mixing{drawn_matchings(learners, seed, 0), learners.value() <= 2 ? 1 : 2 * matchings_drawn - 1};
  mixing.seed_ = seed;
  return mixing;
}

const MixingMatrix& Mixing::at(std::uint64_t round) {
  const std::uint64_t index = round / block_.size();
  if (seed_ && index != block_index_) {
    block_ = drawn_matchings(Count{learners()}, *seed_, index);
    block_index_ = index;
  }
  return block_[static_cast<std::size_t>(round % block_.size())];
}

}  // namespace surety::optimizers
