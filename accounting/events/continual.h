// Continual release: what a binary tree over n steps costs, as an event that any accountant can price.
//
// A tree mechanism over steps 1 .. n holds a node for each aligned interval (j 2^l, (j + 1) 2^l] of level l; a node releases the
// sum over its steps plus noise. A record belongs to one step, so it touches one node per level. Given all earlier results, the
// laws of all other nodes do not depend on it: only the touched nodes count, and there are at most floor(log2 n) + 1 of them.
//
// Only the nodes (t - lowbit(t), t] are ever needed: the prefix sum up to t is theirs for t, t - lowbit(t), ... These are the
// left children (and the root of each power of two), one completed at each step. Step q touches those of t = q, q + lowbit(q),
// ... <= n. Step 1 touches 1, 2, 4, ..., so the worst step is charged as many as in the full tree, and later steps fewer.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// floor(log2 steps) + 1: the most nodes that one step touches, both of the full tree and of the needed nodes alone.
[[nodiscard]] Count tree_levels(Count steps);

/// How many needed nodes, completed by the end of `steps` steps, hold step `step`. At most tree_levels(steps), and as many for
/// step 1. \throws Error{invalid_argument} when step > steps. \complexity O(log steps).
[[nodiscard]] Count nodes_of_step(Count step, Count steps);

/// A tree over `steps` steps, each node a release of `node`: repeat(tree_levels(steps), plainest(node)), see normal_form.h.
///
/// Sound for every node without sampling, also when later queries depend on earlier nodes. Exact where all nodes of a record can
/// move together by their full sensitivity, which a sum does: mu^2 = levels / multiplier^2 for Gaussian nodes; the curve of `levels`
/// Laplace losses for Laplace nodes, epsilon = levels / scale at delta = 0 alone. Other K-norm nodes are pure, composed optimally by
/// the accountants; generalized Gaussian ones have rho = levels (r - 1) / (2 multiplier^2). The sensitivity in `node` is that of one step's
/// contribution, not of the whole interval. Under add-or-remove-one the number of steps is public: a record joins one step and moves no
/// other record. \throws Error{unsupported} naming a node with sampling. \source docs/proofs/composition.md#continual.
[[nodiscard]] Event tree(Count steps, const Event& node);

/// The same with a node event of its own for each level, the leaves' first: composed of them. A budget is split over the levels by
/// giving them different noise. \throws Error{invalid_argument} unless there are tree_levels(steps) levels.
[[nodiscard]] Event tree(Count steps, std::span<const Event> levels);

/// What one step is charged when `steps` steps are known to have ended: repeat(nodes_of_step(step, steps), node).
[[nodiscard]] Event tree_of_step(Count step, Count steps, const Event& node);

/// Multipliers, the leaves' level first, that spend exactly the share weights[l] / sum of weights of mu^2 on level l:
/// z_l = sqrt(sum of weights / weights[l]) / mu, each rounded up (relative 2^-52). Equal weights give sqrt(levels) / mu.
/// \throws Error{invalid_argument} when there are no weights, one is not positive and finite, mu is 0, or a multiplier overflows.
[[nodiscard]] std::vector<NoiseMultiplier> split_over_levels(Mu mu, std::span<const double> weights);

/// Noise scale of Laplace or K-norm nodes whose tree is (epsilon, 0)-private: levels / epsilon, rounded up.
/// \throws Error{invalid_argument} when epsilon is 0 or the scale overflows.
[[nodiscard]] NoiseScale tree_noise_scale(Count steps, Epsilon epsilon);

/// Restarts: the trees of epochs over disjoint steps. A record is in one epoch, so the epochs are parallel: the dearest one counts
/// and not their sum. \throws Error{invalid_argument} when `epochs` is empty or mixes adjacencies.
[[nodiscard]] Event restarted(std::vector<Event> epochs);

/// Unknown horizon: epoch i = 0, 1, ... has 2^i steps, and its nodes are node(2^i). The event after `steps` steps; the last epoch is
/// charged as if completed. With one node event for all epochs this costs as much as a tree of known horizon; with nodes
/// calibrated so that each epoch's tree meets a target, the whole meets it, however long it runs.
[[nodiscard]] Event doubling_tree(Count steps, const std::function<Event(Count epoch_steps)>& node);

}  // namespace surety::accounting
