// Every kind of event, with its text, its JSON form and the adjacencies that allow it. Numbers differ within each.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <surety/accounting/events/event_kinds.h>

namespace surety::reference {

/// A kind of event in each of its spellings.
struct Kind {
  std::string text;
  std::string in_json;
  std::vector<Adjacency> allowed;
  Event (*in_words)(Adjacency);  ///< made by the function of its word, with the arguments of its text
};

inline const std::vector<Adjacency> everywhere = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
inline const std::vector<Adjacency> fixed_number = {Adjacency::replace_one, Adjacency::zero_out};

inline std::vector<Kind> every_kind() {
  const std::string inner = R"({"gaussian": {"noise_multiplier": 3.5}})";
  return {
      {"gaussian(2.5)", R"({"gaussian": {"noise_multiplier": 2.5}})", everywhere,
       [](Adjacency a) { return gaussian(NoiseMultiplier{2.5}, a); }},
      {"record_sum(2.5)", R"({"record_sum": {"noise_multiplier": 2.5}})", everywhere,
       [](Adjacency a) { return record_sum(NoiseMultiplier{2.5}, a); }},
      {"laplace(2.5)", R"({"laplace": {"scale": 2.5}})", everywhere, [](Adjacency a) { return laplace(NoiseScale{2.5}, a); }},
      {"laplace_record_sum(2.5)", R"({"laplace_record_sum": {"scale": 2.5}})", everywhere,
       [](Adjacency a) { return laplace_record_sum(NoiseScale{2.5}, a); }},
      {"discrete_gaussian(2.5, 7)", R"({"discrete_gaussian": {"sigma": 2.5, "sensitivity": 7}})", everywhere,
       [](Adjacency a) { return discrete_gaussian(NoiseScale{2.5}, Count{7}, a); }},
      {"discrete_laplace(2.5, 7)", R"({"discrete_laplace": {"scale": 2.5, "sensitivity": 7}})", everywhere,
       [](Adjacency a) { return discrete_laplace(NoiseScale{2.5}, Count{7}, a); }},
      {"binomial(9, 7)", R"({"binomial": {"flips": 9, "sensitivity": 7}})", everywhere,
       [](Adjacency a) { return binomial(Count{9}, Count{7}, a); }},
      {"skellam(2.5, 7)", R"({"skellam": {"poisson_mean": 2.5, "sensitivity": 7}})", everywhere,
       [](Adjacency a) { return skellam(PoissonMean{2.5}, Count{7}, a); }},
      {"randomized_response(0.75, 7)", R"({"randomized_response": {"truth": 0.75, "categories": 7}})", fixed_number,
       [](Adjacency a) { return randomized_response(Probability{0.75}, Count{7}, a); }},
      {"exponential(2.5)", R"({"exponential": {"epsilon": 2.5}})", everywhere, [](Adjacency a) { return exponential(Epsilon{2.5}, a); }},
      {"pure(2.5)", R"({"pure": {"epsilon": 2.5}})", everywhere, [](Adjacency a) { return pure(Epsilon{2.5}, a); }},
      {"approx(2.5, 0.125)", R"({"approx": {"epsilon": 2.5, "delta": 0.125}})", everywhere,
       [](Adjacency a) { return approx(Epsilon{2.5}, Delta{0.125}, a); }},
      {"zcdp(2.5)", R"({"zcdp": {"rho": 2.5}})", everywhere, [](Adjacency a) { return zcdp(Rho{2.5}, a); }},
      {"generalized_gaussian(3, 7, 2.5)", R"({"generalized_gaussian": {"norm_exponent": 3, "dimension": 7, "noise_multiplier": 2.5}})",
       everywhere, [](Adjacency a) { return generalized_gaussian(NormExponent{3}, Count{7}, NoiseMultiplier{2.5}, a); }},
      {"k_norm(linf, 7, 2.5)", R"({"k_norm": {"norm": "linf", "dimension": 7, "scale": 2.5}})", everywhere,
       [](Adjacency a) { return k_norm(NormName::linf, Count{7}, NoiseScale{2.5}, a); }},
      {"repeat(7, gaussian(3.5))", R"({"repeat": {"count": 7, "event": )" + inner + "}}", everywhere,
       [](Adjacency a) { return repeat(Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"compose(gaussian(3.5), gaussian(3.5))", R"({"compose": [)" + inner + ", " + inner + "]}", everywhere,
       [](Adjacency a) {
         return compose({gaussian(NoiseMultiplier{3.5}, a), gaussian(NoiseMultiplier{3.5}, a)});
       }},
      {"parallel(gaussian(3.5), gaussian(3.5))", R"({"parallel": [)" + inner + ", " + inner + "]}", everywhere,
       [](Adjacency a) {
         return parallel({gaussian(NoiseMultiplier{3.5}, a), gaussian(NoiseMultiplier{3.5}, a)});
       }},
      {"poisson(0.25, gaussian(3.5))",
       R"({"poisson": {"sampling_rate": 0.25, "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) { return poisson(SamplingRate{0.25}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"without_replacement(9, 7, gaussian(3.5))",
       R"({"without_replacement": {"records": 9, "batch_size": 7, "event": )" + inner + "}}",
       {Adjacency::replace_one},
       [](Adjacency a) { return without_replacement(Count{9}, Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"with_replacement(7, 9, gaussian(3.5))",
       R"({"with_replacement": {"records": 7, "batch_size": 9, "event": )" + inner + "}}",
       {Adjacency::replace_one},
       [](Adjacency a) { return with_replacement(Count{7}, Count{9}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"shuffled(9, 7, gaussian(3.5))", R"({"shuffled": {"records": 9, "batch_size": 7, "event": )" + inner + "}}", fixed_number,
       [](Adjacency a) { return shuffled(Count{9}, Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"deterministic(9, 7, gaussian(3.5))", R"({"deterministic": {"records": 9, "batch_size": 7, "event": )" + inner + "}}", fixed_number,
       [](Adjacency a) { return deterministic(Count{9}, Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"cyclic(9, 7, 0.25, gaussian(3.5))",
       R"({"cyclic": {"groups": 9, "rounds": 7, "sampling_rate": 0.25, "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) { return cyclic(Count{9}, Count{7}, SamplingRate{0.25}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"allocated(7, gaussian(3.5))",
       R"({"allocated": {"rounds": 7, "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) { return allocated(Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"allocated(7, 3, gaussian(3.5))",
       R"({"allocated": {"rounds": 7, "participations": 3, "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) { return allocated(Count{7}, Count{3}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"truncated_poisson(0.25, 7, 9, gaussian(3.5))",
       R"({"truncated_poisson": {"sampling_rate": 0.25, "largest": 7, "records": 9, "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) { return truncated_poisson(SamplingRate{0.25}, Count{7}, Count{9}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"users(7, gaussian(3.5))", R"({"users": {"records": 7, "event": )" + inner + "}}", everywhere,
       [](Adjacency a) { return users(Count{7}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"best_of(poisson_runs, 7.5, gaussian(3.5))", R"({"best_of": {"runs": "poisson_runs", "mean": 7.5, "event": )" + inner + "}}",
       everywhere, [](Adjacency a) { return best_of(RunsLaw::poisson, 7.5, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"zcdp(1.5, 2.5)", R"({"zcdp": {"xi": 1.5, "rho": 2.5}})", everywhere, [](Adjacency a) { return zcdp(Epsilon{1.5}, Rho{2.5}, a); }},
      {"curve(0.5, 0.25, 1.5, 0.125)", R"({"curve": {"points": [[0.5, 0.25], [1.5, 0.125]]}})", everywhere,
       [](Adjacency a) {
         return curve({{0.5, 0.25}, {1.5, 0.125}}, a);
       }},
      {"law(1.5, 0.25, 0.5, 0.5, inf, 0.25)", R"({"law": {"atoms": [[1.5, 0.25], [0.5, 0.5], ["inf", 0.25]]}})", everywhere,
       [](Adjacency a) {
         return law({{1.5, 0.25}, {0.5, 0.5}, {std::numeric_limits<double>::infinity(), 0.25}}, a);
       }},
      {"renyi(1.5, 0.25, 8.5, 0.75)", R"({"renyi": {"bounds": [[1.5, 0.25], [8.5, 0.75]]}})", everywhere,
       [](Adjacency a) {
         return surety::renyi({{1.5, 0.25}, {8.5, 0.75}}, a);
       }},
      {"mixture(0.75, 1.5, 0.25, 2.5, gaussian(3.5))",
       R"({"mixture": {"components": [[0.75, 1.5], [0.25, 2.5]], "event": )" + inner + "}}",
       {Adjacency::add_or_remove_one, Adjacency::zero_out},
       [](Adjacency a) {
         return mixture({{0.75, 1.5}, {0.25, 2.5}}, gaussian(NoiseMultiplier{3.5}, a));
       }},
      {"shuffled_reports(7, 2.5)",
       R"({"shuffled_reports": {"reports": 7, "epsilon0": 2.5}})",
       {Adjacency::replace_one},
       [](Adjacency a) { return shuffled_reports(Count{7}, Epsilon{2.5}, a); }},
      {"shuffled_responses(7, 0.75, 3)",
       R"({"shuffled_responses": {"reports": 7, "truth": 0.75, "categories": 3}})",
       {Adjacency::replace_one},
       [](Adjacency a) { return shuffled_responses(Count{7}, Probability{0.75}, Count{3}, a); }},
      {"last_iterate(7, 0.25, gaussian(3.5))", R"({"last_iterate": {"steps": 7, "lipschitz_constant": 0.25, "event": )" + inner + "}}",
       fixed_number, [](Adjacency a) { return last_iterate(Count{7}, LipschitzConstant{0.25}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"last_iterate_within(1.5, 7, 0.25, gaussian(3.5))",
       R"({"last_iterate_within": {"diameter": 1.5, "steps": 7, "lipschitz_constant": 0.25, "event": )" + inner + "}}", fixed_number,
       [](Adjacency a) {
         return last_iterate_within(Diameter{1.5}, Count{7}, LipschitzConstant{0.25}, gaussian(NoiseMultiplier{3.5}, a));
       }},
      {"last_iterate_of_passes(9, 7, 0.25, gaussian(3.5))",
       R"({"last_iterate_of_passes": {"passes": 9, "batches": 7, "lipschitz_constant": 0.25, "event": )" + inner + "}}", fixed_number,
       [](Adjacency a) { return last_iterate_of_passes(Count{9}, Count{7}, LipschitzConstant{0.25}, gaussian(NoiseMultiplier{3.5}, a)); }},
      {"last_iterate_of_batches(9, 7, 5, 11, gaussian(3.5))",
       R"({"last_iterate_of_batches": {"sizes": [[9, 7], [5, 11]], "event": )" + inner + "}}", fixed_number,
       [](Adjacency a) {
         return last_iterate_of_batches({{9, 7}, {5, 11}}, gaussian(NoiseMultiplier{3.5}, a));
       }},
  };
}

}  // namespace surety::reference
