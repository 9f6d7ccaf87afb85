#include <surety/optimizers/problem/matroid.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

using Components = std::vector<std::vector<std::size_t>>;

/// Adds the components of a uniform matroid on `elements`: one, or each element alone where all or none are in every base.
void add_uniform(std::span<const std::size_t> elements, std::size_t rank, Components& components) {
  if (rank > 0 && rank < elements.size()) {
    components.emplace_back(elements.begin(), elements.end());
  } else {
    for (const std::size_t element : elements) components.push_back({element});
  }
}

/// The edges at each vertex.
Components edges_at(const GraphicMatroid::Options& graph) {
  Components at(graph.vertices);
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    at[graph.edges[e].a].push_back(e);
    at[graph.edges[e].b].push_back(e);
  }
  return at;
}

}  // namespace

UniformMatroid::UniformMatroid(Options options) : options_{options} {
  if (options.rank > options.size) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("rank of a uniform matroid is {}, must be at most its size, {}", options.rank, options.size)};
  }
}

Components UniformMatroid::components() const {
  std::vector<std::size_t> all(options_.size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  Components result;
  add_uniform(all, options_.rank, result);
  return result;
}

PartitionMatroid::PartitionMatroid(Options options) : options_{std::move(options)} {
  for (std::size_t element = 0; element < options_.block_of.size(); ++element) {
    if (options_.block_of[element] >= options_.capacities.size()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("block of element {} is {}, must be less than the number of capacities, {}",
                                                           element, options_.block_of[element], options_.capacities.size())};
    }
  }
}

Components PartitionMatroid::components() const {
  Components blocks(options_.capacities.size());
  for (std::size_t element = 0; element < options_.block_of.size(); ++element) blocks[options_.block_of[element]].push_back(element);
  Components result;
  for (std::size_t b = 0; b < blocks.size(); ++b) add_uniform(blocks[b], options_.capacities[b], result);
  return result;
}

GraphicMatroid::GraphicMatroid(Options options) : options_{std::move(options)} {
  if (options_.vertices < 1) throw Error{ErrorCode::invalid_argument, "number of vertices is 0, must be at least 1"};
  for (std::size_t e = 0; e < options_.edges.size(); ++e) {
    const auto [a, b] = options_.edges[e];
    if (std::max(a, b) >= options_.vertices) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("end of edge {} is {}, must be less than the number of vertices, {}", e, std::max(a, b), options_.vertices)};
    }
  }
  Set forest = empty_set();
  std::size_t parts = options_.vertices;
  for (std::size_t e = 0; e < options_.edges.size(); ++e) parts -= forest.add(e) ? 1 : 0;
  if (parts != 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("number of connected parts of the graph is {}, must be 1", parts)};
  }
}

Components GraphicMatroid::components() const {
  // Depth-first search with an explicit stack. `low` is the earliest vertex that a subtree reaches by one edge back; where it is not
  // earlier than the parent, the edges stacked since the subtree was entered are a block.
  constexpr std::size_t unseen = std::numeric_limits<std::size_t>::max();
  struct Frame {
    std::size_t vertex;
    std::size_t entered_by;  ///< an edge
    std::size_t next = 0;    ///< index into the vertex's edges
  };
  const Components at = edges_at(options_);
  std::vector<std::size_t> order(options_.vertices, unseen);
  std::vector<std::size_t> low(options_.vertices, unseen);
  std::vector<std::size_t> pending;
  Components blocks;
  std::size_t seen = 0;
  order[0] = low[0] = seen++;
  std::vector<Frame> path{{.vertex = 0, .entered_by = unseen}};
  while (!path.empty()) {
    Frame& frame = path.back();
    const std::size_t vertex = frame.vertex;
    if (frame.next < at[vertex].size()) {
      const std::size_t e = at[vertex][frame.next++];
      const auto [a, b] = options_.edges[e];
      const std::size_t other = a == vertex ? b : a;
      if (e == frame.entered_by || other == vertex) continue;
      if (order[other] == unseen) {
        pending.push_back(e);
        order[other] = low[other] = seen++;
        path.push_back({.vertex = other, .entered_by = e});
      } else if (order[other] < order[vertex]) {
        pending.push_back(e);
        low[vertex] = std::min(low[vertex], order[other]);
      }
      continue;
    }
    const std::size_t entered_by = frame.entered_by;
    path.pop_back();
    if (path.empty()) break;
    const std::size_t parent = path.back().vertex;
    low[parent] = std::min(low[parent], low[vertex]);
    if (low[vertex] < order[parent]) continue;
    blocks.emplace_back();
    do {
      blocks.back().push_back(pending.back());
      pending.pop_back();
    } while (blocks.back().back() != entered_by);
  }
  for (std::size_t e = 0; e < options_.edges.size(); ++e) {
    if (options_.edges[e].a == options_.edges[e].b) blocks.push_back({e});
  }
  return blocks;
}

GraphicMatroid::Set::Set(const Options& options) : edges_{options.edges}, parent_(options.vertices), tree_size_(options.vertices, 1) {
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
}

std::size_t GraphicMatroid::Set::root(std::size_t vertex) {
  while (parent_[vertex] != vertex) vertex = parent_[vertex] = parent_[parent_[vertex]];
  return vertex;
}

bool GraphicMatroid::Set::add(std::size_t element) {
  std::size_t a = root(edges_[element].a);
  std::size_t b = root(edges_[element].b);
  if (a == b) return false;
  if (tree_size_[a] < tree_size_[b]) std::swap(a, b);
  parent_[b] = a;
  tree_size_[a] += tree_size_[b];
  return true;
}

OracleMatroid::OracleMatroid(std::size_t size, Oracle is_independent) : size_{size}, is_independent_{std::move(is_independent)} {
  if (!is_independent_) throw Error{ErrorCode::invalid_argument, "independence oracle is empty, must be a function"};
  if (!is_independent_({})) throw Error{ErrorCode::invalid_argument, "independence of the empty set is false, must be true"};
}

}  // namespace surety::optimizers
