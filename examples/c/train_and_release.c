/* The mean of a column, and a model of it: of a table in memory that comes as an Arrow C stream, charged to one ledger.
 *
 *   cc train_and_release.c $(pkg-config --cflags --libs surety) -o train_and_release && ./train_and_release run.db
 */
#include <stdio.h>
#include <string.h>
#include <surety.h>

enum { rows = 1000, columns = 2 };
static double cells[columns][rows];
static const char* const names[columns] = {"visits", "age"};
static const char* const plans[] = {
    "{\"version\": 1, \"command\": \"release\", \"adjacency\": \"replace-one\", \"target\": {\"epsilon\": 1, \"delta\": 0},"
    " \"options\": {\"query\": \"mean(visits)\", \"bounds\": \"0,20\"}}",
    "{\"version\": 1, \"command\": \"train\", \"adjacency\": \"replace-one\", \"target\": {\"epsilon\": 1, \"delta\": 1e-6},"
    " \"options\": {\"algorithm\": \"gradient-descent\", \"label\": \"visits>5\", \"bounds\": \"age=0,100\"}}"};

/* A stream of one batch in static memory. Programs get theirs from DuckDB, pyarrow, nanoarrow and others. */
static void keep_schema(struct ArrowSchema* it) { it->release = NULL; }
static void keep_array(struct ArrowArray* it) { it->release = NULL; }
static void keep_stream(struct ArrowArrayStream* it) { it->release = NULL; }
static int schema(struct ArrowArrayStream* self, struct ArrowSchema* out) {
  static struct ArrowSchema of[columns], *all[columns] = {&of[0], &of[1]};
  for (int k = 0; k < columns; ++k) of[k] = (struct ArrowSchema){.format = "g", .name = names[k], .release = keep_schema};
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = columns, .children = all, .release = keep_schema};
  return self == NULL;
}
static int next(struct ArrowArrayStream* self, struct ArrowArray* out) {
  static const void *none[1], *buffers[columns][2] = {{NULL, cells[0]}, {NULL, cells[1]}};
  static struct ArrowArray of[columns], *all[columns] = {&of[0], &of[1]};
  for (int k = 0; k < columns; ++k) of[k] = (struct ArrowArray){rows, 0, 0, 2, 0, buffers[k], NULL, NULL, keep_array, NULL};
  *out = (struct ArrowArray){rows, 0, 0, 1, columns, none, all, NULL, self->private_data != NULL ? keep_array : NULL, NULL};
  self->private_data = NULL; /* the next one is the end */
  return 0;
}

int main(int count, char** arguments) {
  surety_failure* failure = NULL;
  surety_ledger* ledger = NULL;
  if (count != 2) return fprintf(stderr, "usage: train_and_release LEDGER\n"), 2;
  for (int i = 0; i < rows; ++i) cells[0][i] = i % 11, cells[1][i] = 20 + i % 60;
  surety_ledger_create(arguments[1], SURETY_REPLACE_ONE, NULL, NULL, &ledger, &failure);
  for (int k = 0; k < 2 && failure == NULL; ++k) {
    struct ArrowArrayStream table = {.get_schema = schema, .get_next = next, .release = keep_stream, .private_data = cells};
    surety_job* job = NULL;
    surety_result* result = NULL;
    char* json = NULL;
    if (surety_job_prepare(plans[k], strlen(plans[k]), &job, &failure) == SURETY_OK &&
        surety_job_run_arrow(job, &table, ledger, NULL, &result, &failure) == SURETY_OK &&
        surety_result_json(result, &json, NULL, &failure) == SURETY_OK)
      printf("released %s\n", json);
    fflush(stdout);
    surety_free(json), surety_result_free(result), surety_job_free(job);
  }
  if (failure != NULL) fprintf(stderr, "train_and_release: %s\n", surety_failure_message(failure));
  surety_ledger_free(ledger);
  return (int)surety_failure_code(failure);
}
