/* starved FOLDER ONCE ALWAYS LIMITS: asks, releases and audits again and again, each time in a process of its own that has no memory for one allocation, for
 * all from one on, or from some on little address space; after surety_use_memory_reserve. Says how the processes ended, and fails where one ended
 * otherwise than with the right answer, with SURETY_ENVIRONMENT, or in one line with exit code 5. tests/faults is preloaded. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <surety.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t faults_fail_allocation(uint64_t at, int always);

static char path[4096], said[4096];
static const char event_text[] = "repeat(10, poisson(0.01, gaussian(2)))";
static const char plan[] = "{\"version\": 1, \"command\": \"release\", \"adjacency\": \"replace-one\", \"target\": {\"epsilon\": 1, \"delta\": 0},"
                           " \"options\": {\"query\": \"mean(visits)\", \"bounds\": \"0,20\"}}";
enum { answered, refused, ended, wrong };
static surety_enclosure truth;
static surety_solution solution;

enum { rows = 100 };
static double cells[rows];
static void keep_schema(struct ArrowSchema* it) { it->release = NULL; }
static void keep_array(struct ArrowArray* it) { it->release = NULL; }
static void keep_stream(struct ArrowArrayStream* it) { it->release = NULL; }
static int schema(struct ArrowArrayStream* self, struct ArrowSchema* out) {
  static struct ArrowSchema of, *all = &of;
  of = (struct ArrowSchema){.format = "g", .name = "visits", .release = keep_schema};
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 1, .children = &all, .release = keep_schema};
  return self == NULL;
}
static int next(struct ArrowArrayStream* self, struct ArrowArray* out) {
  static const void *none[1], *buffers[2] = {NULL, cells};
  static struct ArrowArray of, *all = &of;
  of = (struct ArrowArray){rows, 0, 0, 2, 0, buffers, NULL, NULL, keep_array, NULL};
  *out = (struct ArrowArray){rows, 0, 0, 1, 1, none, &all, NULL, self->private_data != NULL ? keep_array : NULL, NULL};
  self->private_data = NULL;
  return 0;
}

static surety_code ask(surety_enclosure* epsilon) {
  surety_event* event = NULL;
  surety_code code = surety_event_parse(event_text, strlen(event_text), SURETY_ADD_OR_REMOVE_ONE, &event, NULL);
  if (code == SURETY_OK) code = surety_epsilon(event, 1e-5, 1, epsilon, NULL, NULL);
  surety_event_free(event);
  return code;
}

/* As far as it goes. */
static surety_code work(int* released, surety_enclosure* epsilon, surety_solution* solved) {
  surety_ledger* ledger = NULL;
  surety_job* job = NULL;
  surety_result* result = NULL;
  char *json = NULL, *audit = NULL;
  struct ArrowArrayStream table = {.get_schema = schema, .get_next = next, .release = keep_stream, .private_data = cells};
  surety_code code = surety_ledger_create(path, SURETY_REPLACE_ONE, NULL, NULL, &ledger, NULL);
  if (code == SURETY_OK) code = surety_job_prepare(plan, strlen(plan), &job, NULL);
  if (code == SURETY_OK) code = surety_job_run_arrow(job, &table, ledger, NULL, &result, NULL);
  if (code == SURETY_OK) code = surety_result_json(result, &json, NULL, NULL);
  *released = code == SURETY_OK;
  if (code == SURETY_OK) code = surety_ledger_audit(ledger, 1e-6, &audit, NULL, NULL);
  solved->size = sizeof *solved;
  if (code == SURETY_OK) code = surety_solve("repeat(3, gaussian(z))", 22, "z", 1, SURETY_ZERO_OUT, 1, 1e-6, 1, solved, NULL, NULL);
  if (code == SURETY_OK) code = ask(epsilon);
  if (table.release != NULL) table.release(&table);
  surety_free(audit), surety_free(json), surety_result_free(result), surety_job_free(job), surety_ledger_free(ledger);
  return code;
}

static int runs_of_ledger(void) {
  surety_ledger* ledger = NULL;
  char* audit = NULL;
  int runs = 0;
  if (access(path, F_OK) != 0) return 0;
  if (surety_ledger_open(path, &ledger, NULL) != SURETY_OK || surety_ledger_audit(ledger, 1e-6, &audit, NULL, NULL) != SURETY_OK) return -1;
  for (const char* at = audit; (at = strstr(at, "\"state\":")) != NULL; ++at) ++runs;
  surety_free(audit), surety_ledger_free(ledger);
  return runs;
}

static int attempt(uint64_t at, int always, size_t limit) {
  struct rlimit before, little;
  int released = 0;
  surety_enclosure epsilon = {0, 0};
  surety_solution solved;
  getrlimit(RLIMIT_AS, &before);
  little = (struct rlimit){limit, before.rlim_max};
  if (limit != 0) setrlimit(RLIMIT_AS, &little);
  if (at != 0) faults_fail_allocation(at, always);
  const surety_code code = work(&released, &epsilon, &solved);
  faults_fail_allocation(0, 0);
  setrlimit(RLIMIT_AS, &before);
  if (code != SURETY_OK && code != SURETY_ENVIRONMENT) return fprintf(stderr, "code %d\n", (int)code), wrong;
  if (code == SURETY_OK && (memcmp(&epsilon, &truth, sizeof truth) != 0 || solved.value != solution.value)) return fprintf(stderr, "another answer\n"), wrong;
  if (ask(&epsilon) != SURETY_OK || memcmp(&epsilon, &truth, sizeof truth) != 0) return fprintf(stderr, "another answer later\n"), wrong;
  const int runs = runs_of_ledger();
  if (runs < 0 || runs > 1 || runs < released) return fprintf(stderr, "the ledger has %d runs\n", runs), wrong;
  return code == SURETY_OK ? answered : refused;
}

static void clear(const char* folder) {
  DIR* const all = opendir(folder);
  for (struct dirent* one; (one = readdir(all)) != NULL;) {
    char name[8192];
    snprintf(name, sizeof name, "%s/%s", folder, one->d_name);
    if (one->d_name[0] != '.') unlink(name);
    if (strncmp(one->d_name, ".surety", 7) == 0) fprintf(stderr, "starved: %s is left\n", one->d_name), exit(1);
  }
  closedir(all);
}

static int trial(const char* folder, uint64_t at, int always, size_t limit) {
  static char text[512];
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (freopen(said, "w", stderr) == NULL) _exit(99);
    _exit(10 + attempt(at, always, limit));
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return wrong;
  FILE* const file = fopen(said, "r");
  const size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  text[length] = 0;
  if (file != NULL) fclose(file);
  int end = WIFEXITED(status) && WEXITSTATUS(status) >= 10 && WEXITSTATUS(status) < 13 ? WEXITSTATUS(status) - 10 : wrong;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 5 && strcmp(text, "surety: error: memory is exhausted\n") == 0) end = ended;
  if (end == ended && runs_of_ledger() < 0) end = wrong;
  if (end == wrong) fprintf(stderr, "starved: at %llu%s, limit %zu: status %x: %s\n", (unsigned long long)at, always ? " and later" : "", limit, status, text);
  clear(folder);
  return end;
}

int main(int count, char** words) {
  int ends[4] = {0, 0, 0, 0}, released = 0;
  if (count != 5 || surety_use_memory_reserve(NULL) != SURETY_OK || surety_use_memory_reserve(NULL) != SURETY_OK) return 2;
  snprintf(path, sizeof path, "%s/run.db", words[1]);
  snprintf(said, sizeof said, "%s/said", words[1]);
  for (int i = 0; i < rows; ++i) cells[i] = i % 11;
  if (work(&released, &truth, &solution) != SURETY_OK) return 3;
  clear(words[1]);
  faults_fail_allocation(0, 0);
  if (work(&released, &truth, &solution) != SURETY_OK) return 3;
  const uint64_t allocations = faults_fail_allocation(0, 0);
  clear(words[1]);
  for (int always = 0; always < 2; ++always) {
    const uint64_t most = strtoull(words[2 + always], NULL, 10);
    for (uint64_t k = 0; k < most; ++k) ++ends[trial(words[1], 1 + k * (allocations - 1) / (most - 1), always, 0)];
  }
  unsigned long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) return 4;
  fclose(file);
  const size_t limits = strtoull(words[4], NULL, 10);
  for (size_t k = 0; k < limits; ++k) ++ends[trial(words[1], 0, 0, pages * (size_t)sysconf(_SC_PAGESIZE) + k * 131072)];
  printf("%llu allocations: %d answers, %d refusals, %d ended in a line, %d wrong\n", (unsigned long long)allocations, ends[answered], ends[refused],
         ends[ended], ends[wrong]);
  return ends[wrong] != 0 || ends[refused] == 0;
}
