/* A release, a training and an audit through surety.h, as scripts/faults makes calls of the machine fail under them. A failure of the machine ends it
 * with code 5 and one line, as the command; any other failure with code 1. */
#include <stdio.h>
#include <string.h>
#include <surety.h>

static const char* const plans[] = {
    "{\"version\": 1, \"command\": \"release\", \"adjacency\": \"replace-one\", \"target\": {\"epsilon\": 0.25, \"delta\": 0},"
    " \"options\": {\"query\": \"sum(x)\", \"bounds\": \"-3,3\"}}",
    "{\"version\": 1, \"command\": \"train\", \"adjacency\": \"replace-one\", \"target\": {\"epsilon\": 0.25, \"delta\": 1e-6},"
    " \"options\": {\"algorithm\": \"gradient-descent\", \"label\": \"label\", \"steps\": 2}}"};

int main(void) {
  surety_failure* failure = NULL;
  surety_ledger* ledger = NULL;
  surety_code code = surety_ledger_open("run.db", &ledger, &failure);
  for (int k = 0; k < 2 && code == SURETY_OK; ++k) {
    surety_job* job = NULL;
    surety_result* result = NULL;
    surety_model* model = NULL;
    char* json = NULL;
    if ((code = surety_job_prepare(plans[k], strlen(plans[k]), &job, &failure)) == SURETY_OK &&
        (code = surety_job_run(job, "data.csv", ledger, NULL, &result, &failure)) == SURETY_OK &&
        (code = surety_result_json(result, &json, NULL, &failure)) == SURETY_OK) {
      printf("value %s\n", json);
      fflush(stdout);
      if (k == 1 && (code = surety_result_model(result, &model, &failure)) == SURETY_OK) code = surety_model_save(model, "m.json", &failure);
    }
    surety_free(json), surety_model_free(model), surety_result_free(result), surety_job_free(job);
  }
  char* audit = NULL;
  if (code == SURETY_OK && (code = surety_ledger_audit(ledger, 1e-5, &audit, NULL, &failure)) == SURETY_OK) printf("audit %s\n", audit);
  if (code != SURETY_OK) fprintf(stderr, "surety: error: %d %s\n", (int)code, surety_failure_message(failure));
  const int ended = code == SURETY_OK ? 0 : code == SURETY_ENVIRONMENT && surety_failure_code(failure) == code ? 5 : 1;
  surety_failure_free(failure), surety_free(audit), surety_ledger_free(ledger);
  return ended;
}
