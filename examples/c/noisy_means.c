/* What a training costs; then the means of three columns, released three times with Gaussian noise for (epsilon, delta) = (1, 1e-6), and charged to
 * a ledger. examples/rust, examples/go and examples/java do the same and print the same.
 *
 *   cc noisy_means.c $(pkg-config --cflags --libs surety) -o noisy_means && ./noisy_means means.db
 */
#include <stdio.h>
#include <string.h>

#include <surety.h>

enum { columns = 3, records = 1000, releases = 3 };

static int tell(surety_failure* failure) {
  fprintf(stderr, "noisy_means: %s\n", surety_failure_message(failure));
  surety_failure_free(failure);
  return 1;
}

int main(int count, char** arguments) {
  surety_failure* failure = NULL;
  if (count != 2) {
    fprintf(stderr, "usage: noisy_means LEDGER\n");
    return 2;
  }

  /* What a training costs: the truth lies between the ends. */
  static const char training_text[] = "repeat(1000, poisson(0.01, gaussian(1)))";
  surety_event* training = NULL;
  surety_enclosure epsilon;
  if (surety_event_parse(training_text, strlen(training_text), SURETY_ADD_OR_REMOVE_ONE, &training, &failure) != SURETY_OK) {
    return tell(failure);
  }
  if (surety_epsilon(training, 1e-5, 0, &epsilon, NULL, &failure) != SURETY_OK) return tell(failure);
  printf("epsilon %.17g %.17g\n", epsilon.lower, epsilon.upper);

  /* The least noise that keeps the promise. */
  static const char plan_text[] = "repeat(3, gaussian(z))";
  surety_promise promise;
  surety_solution solution;
  surety_event* plan = NULL;
  memset(&promise, 0, sizeof promise);
  promise.size = sizeof promise;
  promise.epsilon = 1;
  promise.delta = 1e-6;
  memset(&solution, 0, sizeof solution);
  solution.size = sizeof solution;
  if (surety_solve(plan_text, strlen(plan_text), "z", 1, SURETY_ZERO_OUT, promise.epsilon, promise.delta, 0, &solution, &plan, &failure) !=
      SURETY_OK) {
    return tell(failure);
  }
  printf("multiplier %.17g %.17g %.17g\n", solution.value, solution.epsilon.lower, solution.epsilon.upper);

  /* Each record is a vector of norm at most 1, so that one of them moves their sum by at most 1. */
  surety_noise_options options;
  surety_noise* noise = NULL;
  surety_event* release = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.scale = solution.value;
  options.sensitivity = 1;
  options.dimension = columns;
  options.adjacency = SURETY_ZERO_OUT;
  if (surety_gaussian_create(&options, &noise, &failure) != SURETY_OK) return tell(failure);
  if (surety_noise_event(noise, &release, &failure) != SURETY_OK) return tell(failure);

  /* The charge is on disk before the noise is drawn. */
  surety_unit unit;
  surety_ledger* ledger = NULL;
  surety_reservation* reservation = NULL;
  memset(&unit, 0, sizeof unit);
  unit.size = sizeof unit;
  unit.name = "patient";
  unit.most = 1;
  if (surety_ledger_create(arguments[1], SURETY_ZERO_OUT, NULL, &unit, &ledger, &failure) != SURETY_OK) return tell(failure);
  if (surety_ledger_reserve(ledger, plan, &promise, "means", 5, &reservation, &failure) != SURETY_OK) return tell(failure);
  for (int turn = 0; turn < releases; ++turn) {
    double sums[columns] = {0, 0, 0};
    for (int i = 0; i < records; ++i) sums[i % columns] += 0.5;
    if (surety_reservation_spend(reservation, release, &failure) != SURETY_OK) return tell(failure);
    if (surety_release_double(noise, sums, columns, &failure) != SURETY_OK) return tell(failure);
    printf("means %.4f %.4f %.4f\n", sums[0] / records, sums[1] / records, sums[2] / records);
  }
  if (surety_reservation_settle(reservation, 0, &failure) != SURETY_OK) return tell(failure);

  char* audit = NULL;
  if (surety_ledger_audit(ledger, 1e-6, &audit, NULL, &failure) != SURETY_OK) return tell(failure);
  printf("audit %s\n", audit);

  surety_free(audit);
  surety_reservation_free(reservation);
  surety_ledger_free(ledger);
  surety_noise_free(noise);
  surety_event_free(release);
  surety_event_free(plan);
  surety_event_free(training);
  return 0;
}
