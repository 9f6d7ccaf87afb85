#include <surety/accounting/answers/explanation.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <surety/accounting/answers/apart.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/loss_tests.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>

namespace surety::accounting {
namespace {

bool has_gaussian(const Event& event) {
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) return has_gaussian(repeated->event);
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) return has_gaussian(composed->events.front());
  if (const auto* batch = std::get_if<Event::PoissonSampled>(&event.node())) return has_gaussian(batch->event);
  return std::holds_alternative<Event::Gaussian>(event.node()) || last_iterate_cost(event, 64);
}

constexpr std::string_view theorem_without_gaussians =
    "every release has the same worst pair (of pure and approx: Kairouz, Oh, Viswanath 2015), whose privacy loss takes few values or, for Laplace noise, lies between two atoms; the law of the sum is known exactly.";

constexpr std::string_view theorem_of_shuffle =
    "reports of any two records have a part that every record's report contains; the curve is the mean of a sum of independent values, one for each report in that part (Balle, Bell, Gascon, Nissim 2019; Feldman, McMillan, Talwar 2021).";

std::string theorem_of(std::string_view accountant, const Event& event) {
  if (accountant == ClosedForm::name && one_report(plainest(event))) return fmt::format("{}: {}", accountant, theorem_of_shuffle);
  const bool is_other = accountant == ClosedForm::name && !has_gaussian(event);
  return fmt::format("{}: {}", accountant, is_other ? theorem_without_gaussians : row_of_accountant(accountant).theorem);
}

/// Notes on the kinds of event that occur, each once.
class Notes {
 public:
  void visit(const Event& event) {
    std::visit([&](const auto& node) { visit(node, event.adjacency()); }, event.node());
  }
  [[nodiscard]] std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  void add(std::string line) {
    if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) lines_.push_back(std::move(line));
  }

  void visit(const Event::Gaussian& /*node*/, Adjacency adjacency) {
    add(fmt::format(
        "gaussian(z): z is the standard deviation over the l2 sensitivity under {}; for a sum of vectors clipped to norm C that is {}.",
        name(adjacency), adjacency == Adjacency::replace_one ? "2C" : "C"));
  }
  void visit(const Event::RandomizedResponse& /*node*/, Adjacency adjacency) {
    if (adjacency != Adjacency::zero_out) return;
    add("randomized_response under zero-out: a zeroed record answers as one of the categories, or at random; charged as a replaced one.");
  }
  void visit(const Event::Law& /*node*/, Adjacency /*adjacency*/) {
    add("law(loss, mass, ...): the law of the loss where the record is there (replaced: where the first one is); in the other order the reversed pair.");
  }
  void visit(const Event::Profile& /*node*/, Adjacency /*adjacency*/) { both_orders("curve"); }
  void visit(const Event::RenyiCurve& /*node*/, Adjacency /*adjacency*/) { both_orders("renyi"); }
  void both_orders(std::string_view word) { add(fmt::format("{}: its bounds hold in both orders of two neighbours.", word)); }
  void visit(const Event::Mixture& node, Adjacency /*adjacency*/) {
    add("mixture(weight, shift, ..., e): which of the components a record gets is secret, and drawn independently of all else.");
    visit(node.event);
  }
  void visit(const Event::DiscreteGaussian& /*node*/, Adjacency /*adjacency*/) { integers(); }
  void visit(const Event::DiscreteLaplace& /*node*/, Adjacency /*adjacency*/) { integers(); }
  void visit(const Event::Binomial& /*node*/, Adjacency /*adjacency*/) { integers(); }
  void visit(const Event::Skellam& /*node*/, Adjacency /*adjacency*/) { integers(); }
  void integers() {
    add("discrete noise: the query is one integer; its worst neighbours differ by the sensitivity s (log-concave noise).");
  }
  void visit(const Event::Exponential& /*node*/, Adjacency /*adjacency*/) {
    add("exponential(eps): any choice whose privacy loss has range at most eps; choices between two candidates are the worst of them, and those of different ranges may come in any order (Dong, Durfee, Rogers 2020).");
  }
  void visit(const Event::RecordSum& /*node*/, Adjacency adjacency) {
    add(fmt::format("record_sum(z): z is the standard deviation over C, the most that one record can contribute in l2 norm{}.",
                    adjacency == Adjacency::replace_one ? "; under replace-one two sums lie up to 2C apart" : ""));
  }
  void visit(const Event::LaplaceRecordSum& /*node*/, Adjacency adjacency) {
    add(fmt::format("laplace_record_sum(b): b is the scale over C, the most that one record can contribute in l1 norm{}.",
                    adjacency == Adjacency::replace_one ? "; under replace-one two sums lie up to 2C apart" : ""));
  }
  void visit(const Event::Repeated& node, Adjacency /*adjacency*/) {
    add("repeat and compose: every release may be chosen with knowledge of the earlier results.");
    visit(node.event);
  }
  void visit(const Event::Composed& node, Adjacency /*adjacency*/) {
    add("repeat and compose: every release may be chosen with knowledge of the earlier results.");
    for (const auto& part : node.events) visit(part);
  }
  void visit(const Event::Parallel& node, Adjacency adjacency) {
    const bool any_parts = adjacency == Adjacency::add_or_remove_one ||
                           (adjacency == Adjacency::zero_out && std::all_of(node.events.begin(), node.events.end(), zeroed_acts_as_absent));
    add(any_parts ? "parallel: a record takes part in one of the parts; what is composed is the largest of their curves."
                  : "parallel: the parts of the data are fixed by the public index of a record, not by its values.");
    for (const auto& part : node.events) visit(part);
  }
  void visit(const Event::PoissonSampled& node, Adjacency adjacency) {
    if (adjacency == Adjacency::replace_one) {
      add("poisson under replace-one: the worst two records lie opposite each other at the full bound, along one coordinate in the l1 norm; either is in the batch or not.");
    }
    add("poisson(q, e): each record joins a batch independently with probability q, afresh for every batch, and nobody sees who did. A shuffled data set is not that.");
    if (adjacency == Adjacency::zero_out) {
      add(zeroed_acts_as_absent(node.event)
              ? "poisson under zero-out of noise added to a sum: a zeroed record contributes what an absent one does."
              : "poisson under zero-out of a release that is no noise added to a sum: it may show who was in the batch, so only the chance to be in it counts.");
    }
    visit(node.event);
  }
  void visit(const Event::SampledWithoutReplacement& node, Adjacency /*adjacency*/) {
    add("without_replacement(n, m, e): each batch is a fresh uniform subset of m of n records, and nobody sees which.");
    visit(node.event);
  }
  void visit(const Event::SampledWithReplacement& node, Adjacency /*adjacency*/) {
    add("with_replacement(n, m, e): each of the m slots of a batch holds one of the n records, drawn uniformly, afresh and independently, and nobody sees which; a record may be in several, and the release knows a batch as m records.");
    visit(node.event);
  }
  void visit(const Event::Shuffled& node, Adjacency /*adjacency*/) {
    add("shuffled(n, m, e): no amplification by shuffling is counted; the upper bound is that of a record whose batch is known.");
    visit(node.event);
  }
  void visit(const Event::Deterministic& node, Adjacency /*adjacency*/) {
    add("deterministic(n, m, e): a record is in one batch of the epoch, and everybody may know which.");
    visit(node.event);
  }
  void visit(const Event::Cyclic& node, Adjacency /*adjacency*/) {
    add("cyclic(b, T, q, e): a record's group depends on the record alone, never on its place, and it is drawn with probability q in the rounds of its group; a record that replaces another one takes its group.");
    visit(node.event);
  }
  void visit(const Event::Allocated& node, Adjacency adjacency) {
    add("allocated(t, e): each record takes part in exactly one of t rounds, drawn for it alone, uniformly and independently of all else; positions, permutations and balanced deals are not that.");
    if (node.participations.value() > 1) {
      add("allocated(t, k, e): in exactly k of them, all sets of k rounds being equally likely; both bounds are proved, and apart.");
    }
    if (adjacency == Adjacency::add_or_remove_one) {
      add("allocated under add-or-remove-one: every round releases, also of an empty batch, and sizes of batches are not used.");
    }
    visit(node.event);
  }
  void visit(const Event::TruncatedPoisson& node, Adjacency adjacency) {
    add("truncated_poisson(q, m, n, e): a Poisson batch of more than m of the n records loses the surplus, uniformly, and nobody sees whom.");
    if (adjacency == Adjacency::add_or_remove_one) add("truncated_poisson under add-or-remove-one: for any number of records up to n.");
    visit(node.event);
  }
  void visit(const Event::Users& node, Adjacency /*adjacency*/) {
    add("users(k, e): neighbours differ in one user, who owns at most k records; each joins batches independently of the user's others. Under replace-one each record is replaced by one other.");
    visit(node.event);
  }
  void visit(const Event::ShuffledReports& /*node*/, Adjacency /*adjacency*/) {
    add("shuffled_reports(n, epsilon0): all n records report honestly, each by the same (epsilon0, 0)-private randomizer, and nobody sees whose a report is; bounded by what all reports have in common with the two of the record, and by ternary and binary randomized response.");
  }
  void visit(const Event::ShuffledResponses& /*node*/, Adjacency /*adjacency*/) {
    add("shuffled_responses(n, p, k): all n records answer honestly by k-ary randomized response, and nobody sees whose an answer is.");
  }
  void visit(const Event::LastIterate& /*node*/, Adjacency /*adjacency*/) {
    last_iterate("last_iterate(T, c, e): each step uses all data.");
  }
  void visit(const Event::LastIterateWithin& /*node*/, Adjacency /*adjacency*/) {
    last_iterate(
        "last_iterate_within(d, T, c, e): each step uses all data; the set is d times as wide as one record moves the map of a step.");
  }
  void visit(const Event::LastIterateOfPasses& /*node*/, Adjacency /*adjacency*/) {
    last_iterate("last_iterate_of_passes(E, l, c, e): a record is in one of the l public batches, the same one in each pass.");
  }
  void visit(const Event::LastIterateOfBatches& /*node*/, Adjacency /*adjacency*/) {
    last_iterate(
        "last_iterate_of_batches(n, B, ..., e): a record is in one public batch of the pass, of mean gradients; e is a step on one record.");
  }
  void last_iterate(std::string line) {
    add(std::move(line));
    add("last iterate: only x_T is published, from a public start; steps, noise (the same in each), set and batches are fixed beforehand, and every map has the Lipschitz constant for all data sets (Bok, Su, Altschuler 2024).");
  }
  void visit(const Event::BestOf& node, Adjacency /*adjacency*/) {
    add("best_of(runs, m, e): e is run a secret number of times, drawn independently with mean m, and only the run of the highest score is published, with its candidate; the score is part of what e releases, and candidates are drawn from one public law. A fixed number of runs is a composition.");
    visit(node.event);
  }
  template <class Leaf>
  void visit(const Leaf& /*node*/, Adjacency /*adjacency*/) {}

  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> explanation(const Event& event, const BestAnswer& best) {
  Notes notes;
  notes.visit(event);
  auto lines = std::move(notes).lines();
  lines.insert(lines.begin(), theorem_of(best.accountant, event));
  if (told_apart(event, Epsilon{0})) {
    lines.emplace_back(
        "tiny releases: from above they raise the loss of the rest by no more than all of theirs, from below they are left out.");
  }
  return lines;
}

BestAnswer best_answer(const Event& event, const Question& question, const Effort& effort) {
  if (const auto* const delta = std::get_if<Delta>(&question)) return best_epsilon(event, *delta, effort);
  return best_delta(event, std::get<Epsilon>(question), effort);
}

BestAnswer with_all_asked(const Event& event, const Question& question, const Effort& effort, BestAnswer best) {
  auto& by_pld = best.opinions.at(place_of<Pld>);
  if (by_pld.refusal != left_out().refusal) return best;
  by_pld = opinion_of(place_of<Pld>, event, question, effort);
  auto all = best_of(event, std::move(best.opinions));
  return {best.value, best.accountant, std::move(all.opinions)};
}

std::string why_no_second_opinion(const Event& event, const BestAnswer& best) {
  const auto is_left_out = [](const Opinion& one) { return one.refusal == left_out().refusal; };
  if (std::any_of(best.opinions.begin(), best.opinions.end(), is_left_out))
    return "none: privacy-loss would take long, and is asked by --explain";
  const auto answers = std::count_if(best.opinions.begin(), best.opinions.end(), [](const Opinion& one) { return one.value.has_value(); });
  if (answers > 1) return "none: what else answers rests on a computation of this answer's";
  for (AccountantPlace i = 0; i < best.opinions.size(); ++i) {
    const auto& opinion = best.opinions[i];
    if (!opinion.value && !why_not(i, event, curves_of_all())) {
      return fmt::format("none: {} has a theorem for it and no answer: {}", opinion.accountant, reason_of(opinion, event));
    }
  }
  return "none: no other accountant has a theorem for it";
}

bool lacks_lower_end(const Enclosure& value) { return value.lower == 0 && value.upper > 0; }

std::string why_no_lower_end(const Event& event) {
  const auto part = without_test(event);
  return part ? fmt::format("nothing: no test is known of {}", describe(*part))
              : "nothing: no test that is known tells neighbours apart so far";
}

nlohmann::json to_json(const Risk& risk, const RiskQuestions& questions) {
  auto rates = nlohmann::json::array();
  for (const auto& [at, rate] : risk.rates) {
    rates.push_back({{"false_positive_rate", at.value()}, {"true_positive_rate", to_json(rate)}});
  }
  return {{"advantage", to_json(risk.advantage)},
          {"true_positive_rates", std::move(rates)},
          {"accuracy", to_json(risk.accuracy)},
          {"prior", questions.prior.value()},
          {"mu", to_json(risk.mu)},
          {"mu_above_floor", to_json(risk.mu_above_floor)},
          {"floor", questions.floor.value()}};
}

nlohmann::json to_json(const Event& event, const Question& question, const BestAnswer& best) {
  const bool asks_epsilon = std::holds_alternative<Delta>(question);
  const char* const asked = asks_epsilon ? "epsilon" : "delta";
  const char* const given = asks_epsilon ? "delta" : "epsilon";
  auto accountants = nlohmann::json::array();
  for (const auto& opinion : best.opinions) {
    accountants.push_back({{"accountant", opinion.accountant}});
    opinion.value ? accountants.back()[asked] = to_json(*opinion.value) : accountants.back()["refusal"] = opinion.refusal;
  }
  nlohmann::json object{{asked, to_json(best.value)},
                        {given, std::visit([](const auto& value) { return value.value(); }, question)},
                        {"adjacency", name(event.adjacency())},
                        {"accountant", best.accountant},
                        {"event", describe(event)},
                        {"accountants", std::move(accountants)}};
  if (const auto* const second = second_opinion(best)) {
    object["independent"] = {{"accountant", second->accountant}, {asked, to_json(*second->value)}};
  }
  if (lacks_lower_end(best.value)) object["from_below"] = why_no_lower_end(event);
  return object;
}

std::string explained_json_text(const Event& event, const Question& question, const Effort& effort) {
  const auto best = best_answer(event, question, effort);
  auto object = to_json(event, question, best);
  object["explanation"] = explanation(event, best);
  object["version"] = 1;
  return object.dump();
}

}  // namespace surety::accounting
