/* Means of three columns, released once with Gaussian noise for (epsilon, delta) = (1, 1e-6) and charged to a ledger.
 *
 *   cc noisy_means.c $(pkg-config --cflags --libs surety) -o noisy_means && ./noisy_means means.db
 */
#include <stdio.h>
#include <string.h>

#include <surety.h>

enum { columns = 3, records = 1000 };

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

  /* The least noise that keeps the promise. */
  static const char release[] = "gaussian(z)";
  surety_solution solution;
  surety_event* event = NULL;
  memset(&solution, 0, sizeof solution);
  solution.size = sizeof solution;
  if (surety_solve(release, strlen(release), "z", 1, SURETY_ZERO_OUT, 1, 1e-6, 0, &solution, &event, &failure) != SURETY_OK) return tell(failure);
  printf("noise multiplier %.6f: epsilon is in [%.9f, %.9f]\n", solution.value, solution.epsilon.lower, solution.epsilon.upper);

  /* Each record is a vector of norm at most 1, so that one of them moves their sum by at most 1. */
  surety_noise_options options;
  surety_noise* noise = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.scale = solution.value;
  options.sensitivity = 1;
  options.dimension = columns;
  options.adjacency = SURETY_ZERO_OUT;
  if (surety_gaussian_create(&options, &noise, &failure) != SURETY_OK) return tell(failure);

  /* The charge is on disk before the noise is drawn. */
  surety_ledger* ledger = NULL;
  surety_reservation* reservation = NULL;
  if (surety_ledger_create(arguments[1], SURETY_ZERO_OUT, NULL, NULL, &ledger, &failure) != SURETY_OK) return tell(failure);
  if (surety_ledger_reserve(ledger, event, NULL, "means", 5, &reservation, &failure) != SURETY_OK) return tell(failure);

  double sums[columns] = {0, 0, 0};
  for (int i = 0; i < records; ++i) sums[i % columns] += 0.5;
  if (surety_reservation_spend(reservation, event, &failure) != SURETY_OK) return tell(failure);
  if (surety_release_double(noise, sums, columns, &failure) != SURETY_OK) return tell(failure);
  if (surety_reservation_settle(reservation, 0, &failure) != SURETY_OK) return tell(failure);
  for (int i = 0; i < columns; ++i) printf("mean %d: %.4f\n", i, sums[i] / records);

  char* audit = NULL;
  size_t length = 0;
  if (surety_ledger_audit(ledger, 1e-6, &audit, &length, &failure) != SURETY_OK) return tell(failure);
  printf("%s\n", audit);

  surety_free(audit);
  surety_reservation_free(reservation);
  surety_ledger_free(ledger);
  surety_noise_free(noise);
  surety_event_free(event);
  return 0;
}
