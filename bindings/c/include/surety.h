/* Surety from C, and from whatever calls C: what releases cost, exact noise, the ledger, and jobs: whole trainings and releases by their plans.
 *
 * Nothing is decided here: each function asks the C++ library what the command asks, so the numbers are the command's to the last bit.
 *
 * Conventions
 *   Failures   Every function that can fail returns a code, SURETY_OK where all went well, and leaves what it should have written as it was.
 *              Its last argument is where a failure with a message goes, for surety_failure_free; NULL where nobody wants it.
 *   Text       UTF-8 with a length, no zero needed. Messages are one line, and nothing that may be private is in them.
 *   Results    go where the caller says. A text is made by surety and freed with surety_free.
 *   Handles    are made by a function that ends in _create, _parse, _open, _reserve, _prepare, _run, _finish or _load and
 *              freed by the one that ends in _free, which takes NULL.
 *   Structs    begin with their size, which the caller sets: fields may be appended. A struct of an earlier, smaller size is taken as it was, one of
 *              a later version where its fields that are not known here are zero; no more than its size is written.
 *   Threads    Functions without a handle, those that take a const one and those of one ledger may be called by several threads at once; calls to
 *              a ledger wait for each other. Noise, a reservation, and a handle that is freed belong to one thread at a time.
 *   Processes  In a copy of the process made by fork, ledgers, reservations and noise from the caller's own bits refuse; noise from the operating
 *              system's bits is independent there; events are data. The shared library stays loaded: dlclose leaves it, for threads and the kernel
 *              hold on to what it made.
 *   Numbers    NaN and infinities are refused, but for what is noised: see there. How the calling thread rounds and whether it flushes subnormal
 *              numbers changes no result.
 */
#ifndef SURETY_H
#define SURETY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nothing is thrown through them. */
#if defined(__GNUC__)
#define SURETY_API __attribute__((visibility("default"), nothrow))
#else
#define SURETY_API
#endif

/* ---- Failures ---- */

/* Numbers are for ever; new ones are appended. */
typedef int32_t surety_code;
enum surety_codes {
  SURETY_OK = 0,
  SURETY_INVALID_ARGUMENT = 1, /* an argument breaks its constraint */
  SURETY_UNSUPPORTED = 2,      /* no theorem is known for the event */
  SURETY_BAD_DATA = 3,
  SURETY_BUDGET_EXCEEDED = 4, /* a reservation would exceed the ledger's budget, or a release what is left of its reservation */
  SURETY_DAMAGED_LEDGER = 5,
  SURETY_ENVIRONMENT = 6, /* the machine refused: full disk, no entropy, no permission, no memory */
  SURETY_UNREACHABLE = 7, /* no value meets the target */
  SURETY_MEMORY = 8,      /* an answer of the width asked for would take more memory than allowed */
  SURETY_INTERNAL = 9,    /* a defect in Surety itself */
  SURETY_STOPPED = 10     /* a question took longer than its limit, or was called off */
};

typedef struct surety_failure surety_failure;
/* One line, ended by a zero; it lives as long as the failure. "" of NULL. */
SURETY_API const char* surety_failure_message(const surety_failure* failure);
/* SURETY_OK of NULL. */
SURETY_API surety_code surety_failure_code(const surety_failure* failure);
SURETY_API void surety_failure_free(surety_failure* failure);

/* 0: what is promised of this header. A program made for one number runs with every later library of that number. */
SURETY_API int surety_abi_version(void);
/* "0.2.0" */
SURETY_API const char* surety_version(void);
/* Frees a text, or bytes, that a function has made. */
SURETY_API void surety_free(char* text);

/* ---- Events ---- */

typedef int32_t surety_adjacency;
enum surety_adjacencies { SURETY_ADD_OR_REMOVE_ONE = 0, SURETY_REPLACE_ONE = 1, SURETY_ZERO_OUT = 2 };

/* What was released. Never changes. */
typedef struct surety_event surety_event;

/* From the event language, "repeat(100, gaussian(40))". */
SURETY_API surety_code surety_event_parse(const char* text, size_t length, surety_adjacency adjacency, surety_event** event,
                                          surety_failure** failure);
/* From the JSON form, which says the adjacency. May be hostile. */
SURETY_API surety_code surety_event_parse_json(const char* text, size_t length, surety_event** event, surety_failure** failure);
SURETY_API void surety_event_free(surety_event* event);
SURETY_API surety_adjacency surety_event_adjacency(const surety_event* event);
/* The event language, and the JSON form on one line. Ended by a zero that is not counted. */
SURETY_API surety_code surety_event_text(const surety_event* event, char** text, size_t* length, surety_failure** failure);
SURETY_API surety_code surety_event_json(const surety_event* event, char** text, size_t* length, surety_failure** failure);

/* ---- Memory ---- */

/* Where malloc fails, GMP and OpenSSL abort or crash, and MPFR allows no exception. After this call they take memory from a reserve of 16 MiB instead.
 * A function that used the reserve for its answer returns SURETY_ENVIRONMENT; what it had charged or settled by then stays so. Where the reserve
 * is spent, or memory is missing in a destructor within a function of surety, the process ends with one line on standard error and exit code 5.
 * This replaces mp_set_memory_functions, CRYPTO_set_mem_functions and the handler of std::terminate, in the whole process and until it ends: the program's
 * own numbers of GMP take memory there too. Call it once, first in `main`, before any thread uses GMP, MPFR or OpenSSL. SURETY_ENVIRONMENT where there are no
 * 16 MiB, and nothing has changed then; or where OpenSSL is in use already, and only OpenSSL goes without the reserve then. */
SURETY_API surety_code surety_use_memory_reserve(surety_failure** failure);

/* ---- What events cost ---- */

/* How long each later question of the calling thread may take, in seconds of the clock, 0 for no limit; and who calls one off: `is_called_off`, NULL
 * for nobody, is asked every 10 milliseconds or so by the thread that computes, and answers other than 0 to end the question. It must not call
 * surety: functions that return a code refuse, with SURETY_INVALID_ARGUMENT. Such a question returns SURETY_STOPPED, within a fifth of a second of the machine's time. Questions are the functions that follow, up to
 * surety_solve, and surety_ledger_audit; nothing else is cut short. Other threads have limits of their own. */
typedef int (*surety_called_off)(void* context);
SURETY_API surety_code surety_limit_questions(double seconds, surety_called_off is_called_off, void* context, surety_failure** failure);

/* The truth lies between the ends. An upper end may be infinity. */
typedef struct surety_enclosure {
  double lower;
  double upper;
} surety_enclosure;

/* The smallest epsilon at this delta, and the smallest delta at this epsilon, by all accountants together. `width` is what accountants on a grid
 * aim at, in epsilon; 0 for 0.0001. `accountant`, if not NULL, is set to the name of whose upper end it is, which lives for ever. */
SURETY_API surety_code surety_epsilon(const surety_event* event, double delta, double width, surety_enclosure* epsilon,
                                      const char** accountant, surety_failure** failure);
SURETY_API surety_code surety_delta(const surety_event* event, double epsilon, double width, surety_enclosure* delta,
                                    const char** accountant, surety_failure** failure);
/* The same answer with what it rests on, as JSON: what `surety account --explain --json` prints, on one line. `at` is the delta or the epsilon that
 * is given. */
typedef int32_t surety_question;
enum surety_questions { SURETY_EPSILON_AT_DELTA = 0, SURETY_DELTA_AT_EPSILON = 1 };
SURETY_API surety_code surety_event_explain(const surety_event* event, surety_question question, double at, double width, char** json,
                                            size_t* length, surety_failure** failure);
/* delta at each of `count` epsilons: quicker than one by one. */
SURETY_API surety_code surety_curve(const surety_event* event, const double* epsilons, size_t count, double width, surety_enclosure* deltas,
                                    surety_failure** failure);
/* The smallest rate of false negatives at each of `count` rates of false positives in (0, 1). */
SURETY_API surety_code surety_tradeoff(const surety_event* event, const double* false_positive_rates, size_t count, double width,
                                       surety_enclosure* false_negative_rates, surety_failure** failure);

/* What an attacker gets. */
typedef struct surety_risk {
  size_t size;                /* sizeof(surety_risk) */
  double prior;               /* in (0, 1): asked */
  double false_positive_rate; /* in (0, 1): asked */
  surety_enclosure advantage; /* true positives less false positives, at most */
  surety_enclosure true_positive_rate;
  surety_enclosure accuracy; /* of a guess at this prior */
  surety_enclosure mu;       /* the least whose Gaussian curve covers every epsilon */
} surety_risk;
SURETY_API surety_code surety_event_risk(const surety_event* event, double width, surety_risk* risk, surety_failure** failure);

/* The value of the number that stands as `name` in the event, "repeat(100, gaussian(z))", with the least noise that certainly keeps
 * (epsilon, delta). `failing`: the nearest value tried that does not, NaN where every one does. `solved`, if not NULL, is the event with it. */
typedef struct surety_solution {
  size_t size; /* sizeof(surety_solution) */
  double value;
  double failing;
  surety_enclosure epsilon; /* at the target's delta */
  double gap;               /* how far the nearest value that is not proved to keep it is, as a share; beyond 0.01 less noise may do, too */
} surety_solution;
SURETY_API surety_code surety_solve(const char* event, size_t length, const char* name, size_t name_length, surety_adjacency adjacency,
                                    double epsilon, double delta, double width, surety_solution* solution, surety_event** solved,
                                    surety_failure** failure);

/* ---- Noise ---- */

/* Cryptographic random bytes of the caller's own: `fill` writes `count` bytes and returns 0, or another number where it cannot. Who sets
 * `vouched_for` to SURETY_I_VOUCH_FOR_THESE_BITS promises that nobody can tell them from uniform and independent ones. */
#define SURETY_I_VOUCH_FOR_THESE_BITS 0x73756265u
typedef struct surety_bits {
  size_t size; /* sizeof(surety_bits) */
  int (*fill)(void* context, unsigned char* bytes, size_t count);
  void* context;
  uint32_t vouched_for;
} surety_bits;

/* A mechanism and its source of bits. */
typedef struct surety_noise surety_noise;

/* What noise is made of. */
typedef struct surety_noise_options {
  size_t size;        /* sizeof(surety_noise_options) */
  double scale;       /* sigma or b over the sensitivity; of noise on integers, in steps of the integers; 0 for binomial and skellam */
  double sensitivity; /* how far one record moves the values, in the norm that each says */
  size_t dimension;   /* how many values a release has: of noise for real numbers */
  double step;        /* of the public grid, a power of two: of noise for real numbers; 0 for one that fits doubles */
  surety_adjacency adjacency;
  const surety_bits* bits; /* NULL for those of the operating system */
} surety_noise_options;

/* Noise for real numbers, which are rounded to the public grid first: the sensitivity is that of the values as they are computed, and the noise is
 * scaled to what it is after rounding. The sensitivity of gaussian is in l2, that of laplace in l1. Takes some milliseconds: make one and keep it. */
SURETY_API surety_code surety_gaussian_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure);
SURETY_API surety_code surety_laplace_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure);
/* Of density proportional to exp(-||x|| / b), with the sensitivity in the same norm: a pure epsilon of sensitivity / b for a vector. */
typedef int32_t surety_norm;
enum surety_norms { SURETY_L1 = 0, SURETY_L2 = 1, SURETY_LINF = 2 };
SURETY_API surety_code surety_k_norm_create(const surety_noise_options* options, surety_norm norm, surety_noise** noise,
                                            surety_failure** failure);
/* Of density proportional to exp(-||x||_r^2 / (2 sigma^2)), with the sensitivity in l_r, r from 2 to 2^20. */
SURETY_API surety_code surety_generalized_gaussian_create(const surety_noise_options* options, double r, surety_noise** noise,
                                                          surety_failure** failure);
/* Noise on integers. The sensitivity is a whole number: of discrete_gaussian along one coordinate, of the others in l1. The discrete Gaussian's sigma
 * is the least it has that is no less than `scale`: its event says which. */
SURETY_API surety_code surety_discrete_gaussian_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure);
SURETY_API surety_code surety_discrete_laplace_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure);
/* Discrete Laplace noise with results from `lowest` to `highest`, a public range within 2^61 of 0: the best there is for a count. */
SURETY_API surety_code surety_truncated_geometric_create(const surety_noise_options* options, int64_t lowest, int64_t highest,
                                                         surety_noise** noise, surety_failure** failure);
/* The number of heads among `flips` fair coin flips minus flips / 2, of variance flips / 4. `flips` is even, from 2 to 2^52. A record moves one value
 * by at most the sensitivity, a whole number, and no other; the same for skellam. */
SURETY_API surety_code surety_binomial_create(const surety_noise_options* options, uint64_t flips, surety_noise** noise,
                                              surety_failure** failure);
/* The difference of two independent Poisson variables of mean `mean` each, of variance 2 mean. `mean` is greater than 0 and at most 2^50. */
SURETY_API surety_code surety_skellam_create(const surety_noise_options* options, double mean, surety_noise** noise,
                                             surety_failure** failure);
SURETY_API void surety_noise_free(surety_noise* noise);
/* What one release is, for the accountants. */
SURETY_API surety_code surety_noise_event(const surety_noise* noise, surety_event** event, surety_failure** failure);
/* The distance of the grid's points: 1 of noise on integers. */
SURETY_API double surety_noise_step(const surety_noise* noise);

/* One release, in place; of zeros, the noise alone. Never refused for a value: NaN counts as 0, what lies beyond 2^62 steps as the nearest that does
 * not, -0 as 0, and subnormal numbers are rounded to the grid as all others. That is right for values of which each is one record's. A sum that was
 * made elsewhere must keep its sensitivity as it is computed: one that a record can make NaN or infinite has none, for the sum of all others
 * then counts as 0, and one in float32 has not that of its formula. surety_release_sum_double takes the rows in its place. `count` is the mechanism's
 * dimension, or any number for noise on integers. Where the bits fail, SURETY_ENVIRONMENT: what stands there then must not be published. */
SURETY_API surety_code surety_release_double(surety_noise* noise, double* values, size_t count, surety_failure** failure);
/* The same of floats. Results are kept within 2^24 steps of the grid, where each is a float exactly. Refused, before a value is looked at, where that
 * is not so (steps below 2^-149 and above 2^103) and where the noise would often go beyond: more than 2^20 steps. Choose a step, as sigma / 4096. */
SURETY_API surety_code surety_release_float(surety_noise* noise, float* values, size_t count, surety_failure** failure);
/* For noise on integers. */
SURETY_API surety_code surety_release_int64(surety_noise* noise, int64_t* values, size_t count, surety_failure** failure);
/* One release of the sum of `count` rows of `columns` numbers, which stand one after the other. Each row is scaled down to at most `clip` in the norm
 * of the noise, rounded toward zero to the grid, and added in integers; a row that is not finite counts as zero. So a record that is one row moves
 * the sum by at most `clip`, or twice that under replace-one, whatever it holds and in every order: refused where that is more than the noise's
 * sensitivity. `columns` is the mechanism's dimension; of discrete_gaussian, binomial and skellam 1, of the other noise on integers any number. Nothing
 * is refused for a value, and `sum`, of `columns` numbers, is written where all went well. */
SURETY_API surety_code surety_release_sum_double(surety_noise* noise, const double* rows, size_t count, size_t columns, double clip,
                                                 double* sum, surety_failure** failure);
/* Of rows in floats; their sum is in doubles. */
SURETY_API surety_code surety_release_sum_float(surety_noise* noise, const float* rows, size_t count, size_t columns, double clip,
                                                double* sum, surety_failure** failure);
/* For noise on integers. */
SURETY_API surety_code surety_release_sum_int64(surety_noise* noise, const int64_t* rows, size_t count, size_t columns, double clip,
                                                int64_t* sum, surety_failure** failure);

/* ---- Time of a draw ---- */

/* Draws of two kinds, compared. Times are in cycles of the time-stamp counter, elsewhere than on x86-64 in nanoseconds. */
typedef struct surety_time_contrast {
  uint64_t first_draws; /* trimmed ones included */
  uint64_t second_draws;
  uint64_t first_trimmed; /* draws that took more than 20 times the median time of a first batch */
  uint64_t second_trimmed;
  double first_mean; /* of the draws that were not trimmed, 0 where there are none */
  double second_mean;
  double t;         /* Welch's t of the means; NaN where a side has fewer than 1000 draws */
  double trimmed_z; /* the same of the shares of trimmed draws: near a standard normal variable where they are equal */
} surety_time_contrast;
/* Numbers are for ever; new ones are appended. */
enum surety_time_verdicts {
  SURETY_TIME_INDEPENDENT = 0, /* every |t| and |trimmed_z| is below 4.5, and tail and magnitude have enough draws */
  SURETY_TIME_DEPENDS = 1,     /* some is 4.5 or more: the time of a draw tells something of its value */
  SURETY_TIME_TOO_FEW = 2      /* none is, and tail or magnitude has too few draws */
};
/* Whether the time of a draw depends on the value drawn. Independent means that no dependence was found with so many draws on this machine. */
typedef struct surety_timing {
  size_t size;         /* sizeof(surety_timing) */
  double seconds;      /* set by the caller: the longest to measure, greater than 0 and at most 86400 */
  uint64_t most_draws; /* set by the caller: the most draws after the first batch of up to 100000; 0 for as many as fit */
  uint64_t draws;
  uint64_t trimmed;
  double mean;                    /* time of a draw */
  double correlation;             /* of time and magnitude; NaN where one of them is constant */
  surety_time_contrast tail;      /* the outer 1 % by magnitude, and up to the 95th percentile */
  surety_time_contrast magnitude; /* above the median magnitude, and up to it */
  surety_time_contrast zero;      /* zero, and other values */
  surety_time_contrast sign;      /* negative, and positive */
  int64_t verdict;                /* of surety_time_verdicts */
} surety_timing;
/* One sample of the caller's own sampler, a finite number; called by the thread that measures. It may call surety. */
typedef double (*surety_draw)(void* context);
/* Times each call of `draw`. What it must not be: slow for a reason that depends on the sample and has nothing to do with the sampler, as a conversion with
 * branches. SURETY_INVALID_ARGUMENT for a sample that is not finite. */
SURETY_API surety_code surety_check_timing(surety_draw draw, void* context, surety_timing* timing, surety_failure** failure);
/* The same of single releases of zeros by `noise`, as surety_release_double and surety_release_int64 make them; of a release of several values the first one counts. */
SURETY_API surety_code surety_noise_check_timing(surety_noise* noise, surety_timing* timing, surety_failure** failure);

/* ---- Ledgers ---- */

typedef struct surety_ledger surety_ledger;
typedef struct surety_reservation surety_reservation;

typedef struct surety_budget {
  size_t size; /* sizeof(surety_budget) */
  double epsilon;
  double delta;
  const char* filter; /* "renyi", "gaussian", "zcdp" or "basic"; NULL for the default */
  double order;       /* of a renyi filter: greater than 1; 0 for the one that admits the most Gaussian releases */
} surety_budget;

/* What a promise protects: all rows of one owner, of which there are at most `most`. */
typedef struct surety_unit {
  size_t size;      /* sizeof(surety_unit), or that of an earlier version, which ends before `each_without_name` and means 0 */
  const char* name; /* "patient", ended by a zero; of a combination of columns "column user,day", as the ledger's JSON holds it */
  uint64_t most;
  int each_without_name; /* what rows are whose owner has no name: 0, they are one unit; 1, each is a unit of its own */
} surety_unit;

/* A new ledger. `budget` is NULL for one that only counts, `unit` for one row. Paths are the file system's bytes, ended by a zero. */
SURETY_API surety_code surety_ledger_create(const char* path, surety_adjacency adjacency, const surety_budget* budget,
                                            const surety_unit* unit, surety_ledger** ledger, surety_failure** failure);
SURETY_API surety_code surety_ledger_open(const char* path, surety_ledger** ledger, surety_failure** failure);
SURETY_API void surety_ledger_free(surety_ledger* ledger);
/* What a run was said to cost: written down, and held against what it costs by each audit. */
typedef struct surety_promise {
  size_t size; /* sizeof(surety_promise) */
  double epsilon;
  double delta;
} surety_promise;
/* Charges the whole event, of the ledger's unit, durably, before any of it may be released. `promise` may be NULL. `note` is for people. */
SURETY_API surety_code surety_ledger_reserve(surety_ledger* ledger, const surety_event* event, const surety_promise* promise,
                                             const char* note, size_t note_length, surety_reservation** reservation,
                                             surety_failure** failure);
/* Settles a run whose reservation is gone with its process, or freed. `released` is NULL where nothing was; who calls vouches for it. */
SURETY_API surety_code surety_ledger_settle(surety_ledger* ledger, uint64_t run, const surety_event* released, int adaptive,
                                            surety_failure** failure);
/* What is proved of everything that is charged, as JSON. */
SURETY_API surety_code surety_ledger_audit(surety_ledger* ledger, double delta, char** json, size_t* length, surety_failure** failure);

/* Says before a release that it happens now: SURETY_BUDGET_EXCEEDED where the rest of the reservation does not hold it, and then it must not. */
SURETY_API surety_code surety_reservation_spend(surety_reservation* reservation, const surety_event* event, surety_failure** failure);
/* surety_release_double and the others, and before that what the noise costs is spent: the order in which all is right. Whatever is refused is
 * refused before anything is spent, so that a wrong argument costs nothing; where the bits fail afterwards, the release stays charged. */
SURETY_API surety_code surety_reservation_release_double(surety_reservation* reservation, surety_noise* noise, double* values, size_t count,
                                                         surety_failure** failure);
SURETY_API surety_code surety_reservation_release_float(surety_reservation* reservation, surety_noise* noise, float* values, size_t count,
                                                        surety_failure** failure);
SURETY_API surety_code surety_reservation_release_int64(surety_reservation* reservation, surety_noise* noise, int64_t* values, size_t count,
                                                        surety_failure** failure);
SURETY_API surety_code surety_reservation_release_sum_double(surety_reservation* reservation, surety_noise* noise, const double* rows,
                                                             size_t count, size_t columns, double clip, double* sum,
                                                             surety_failure** failure);
SURETY_API surety_code surety_reservation_release_sum_float(surety_reservation* reservation, surety_noise* noise, const float* rows,
                                                            size_t count, size_t columns, double clip, double* sum,
                                                            surety_failure** failure);
SURETY_API surety_code surety_reservation_release_sum_int64(surety_reservation* reservation, surety_noise* noise, const int64_t* rows,
                                                            size_t count, size_t columns, double clip, int64_t* sum,
                                                            surety_failure** failure);
/* Writes what was released. `adaptive` is 0 where the end did not depend on what was released. */
SURETY_API surety_code surety_reservation_settle(surety_reservation* reservation, int adaptive, surety_failure** failure);
SURETY_API uint64_t surety_reservation_run(const surety_reservation* reservation);
/* One that is not settled leaves all of its event charged. */
SURETY_API void surety_reservation_free(surety_reservation* reservation);

/* ---- Arrow ---- */

/* Tables in memory, as pandas, polars, pyarrow, DuckDB and others give and take them: the structs of the Arrow C data and stream interfaces, which are
 * the same wherever they are declared. A stream that a function takes is the function's: it is released once, also where the function fails,
 * and counts as released when it returns. Who produces it is trusted as code is: the interface does not say how long buffers are. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

/* ---- Jobs ---- */

/* A training or a release of statistics by its plan, with the noise that keeps the plan's promise. A job may run any number of times, and each run is
 * charged. It belongs to one thread at a time, and to the process that made it. */
typedef struct surety_job surety_job;
/* What one run released. */
typedef struct surety_result surety_result;
/* A trained model. Never changes. */
typedef struct surety_model surety_model;

/* From the JSON that `surety train --print-plan` writes (docs/reference/commands.md names its options), of which event, noise, unit and schema_sha256 may
 * be missing: where they stand, they must be what follows from the rest. Everything is refused here that can be refused
 * without records, and noise is calibrated: a question (surety_limit_questions). The plan's `data` may be missing, for a run that is given
 * records. Its `ledger` and `model` say where the command would write: here the caller gives a ledger and saves the model. With `replay-seed` the
 * noise is a replay and NOT private. May be hostile. */
SURETY_API surety_code surety_job_prepare(const char* json, size_t length, surety_job** job, surety_failure** failure);
SURETY_API void surety_job_free(surety_job* job);
/* All that is charged for each run. */
SURETY_API surety_code surety_job_event(const surety_job* job, surety_event** event, surety_failure** failure);
/* The noise multiplier or scale of the job; NaN of NULL. */
SURETY_API double surety_job_noise(const surety_job* job);
/* Epsilon of the event at the target's delta; `delta` may be NULL. */
SURETY_API surety_code surety_job_cost(const surety_job* job, surety_enclosure* epsilon, double* delta, surety_failure** failure);
/* {"version": 1, "command": "train", "adjacency": ..., "target": {...}, "event": {...}, "noise": ..., "epsilon": {"lower": ..., "upper": ...}, "delta": ...,
 * "unit": {...}} on one line: the promise, to whom, and what it takes. "notes": [...] is added for a plan of an older version, an epsilon above 20 and a large delta. */
SURETY_API surety_code surety_job_json(const surety_job* job, char** json, size_t* length, surety_failure** failure);

/* How a job is run. Functions may be NULL, are called by the thread that runs it, and must not call surety, which refuses as above.
 * They receive nothing that is private. */
typedef struct surety_run_options {
  size_t size;             /* sizeof(surety_run_options) */
  const surety_bits* bits; /* NULL for those of the operating system; not for a plan with a `replay-seed` */
  /* Told that a phase begins, "calibrating", "reading" or "releasing", as 0 of 0; within it, of what is public, how many of how many are done. */
  void (*progress)(void* context, const char* phase, uint64_t done, uint64_t all);
  /* Answers other than 0 to call the run off, which then returns SURETY_STOPPED: asked while a release reads, before anything is charged and between
   * releases. What was released by then is charged, and no more; what releases all at once was charged as a whole. A training that may be called off calibrates again, to
   * the same noise, so that it can be called off there, too. */
  int (*should_stop)(void* context);
  void* context; /* of the functions here */
} surety_run_options;

/* One run: asks the ledger, reads the records, charges the whole event durably, and then alone draws noise, releases and settles. What fails before the
 * charge has cost nothing and released nothing; what fails after it stays charged and returns nothing. `path` is of a file of the form that the
 * plan says, NULL for the plan's own `data`; a plan for a record file takes no other. `options` may be NULL. */
SURETY_API surety_code surety_job_run(surety_job* job, const char* path, surety_ledger* ledger, const surety_run_options* options,
                                      surety_result** result, surety_failure** failure);
/* The same of the rows of a stream, for a plan of a release, or of a training on CSV files: columns go by name, and under replayed bits the answer is
 * that of a CSV file with the same cells, to the last bit, unless rows of an owner are left out, which is then decided by other bytes. Nothing of how a file is written is asked of it, no delimiter and no names of
 * columns. `records` is released in every case. */
SURETY_API surety_code surety_job_run_arrow(surety_job* job, struct ArrowArrayStream* records, surety_ledger* ledger,
                                            const surety_run_options* options, surety_result** result, surety_failure** failure);
SURETY_API void surety_result_free(surety_result* result);
/* What `surety train --json` or `surety release --json` prints, but for names of files, on one line. What says of itself that it is not private is for
 * who holds the data. */
SURETY_API surety_code surety_result_json(const surety_result* result, char** json, size_t* length, surety_failure** failure);
/* The released numbers as one batch, whose stream the caller releases; nothing of `stream` is read. Of a release the columns query, group, cell (texts,
 * null where there is none), value, lower and upper (the ends of its interval, null where it has none); of a training column, category, class (texts,
 * null where there is none; column is null of the constant, and counts from 1 where features have no names) and weight. */
SURETY_API surety_code surety_result_arrow(const surety_result* result, struct ArrowArrayStream* stream, surety_failure** failure);
/* The model of a training. */
SURETY_API surety_code surety_result_model(const surety_result* result, surety_model** model, surety_failure** failure);

/* ---- Releases in parts ---- */

/* A release of a table that lies in parts, for engines that distribute their work: each part is added up where it lies, and what all add up to is
 * released once, with the answer of surety_job_run on the whole table, to the last bit under the same bits. Trainings are not in parts.
 *
 * A ticket and a partial are bytes with a length: made by surety, freed with surety_free, sent and stored as the caller likes. Both are as
 * PRIVATE as the table: a ticket holds the key by which rows of an owner are kept, a partial exact counts. Checksums are against accidents: who may
 * change a partial may also change the table. They are read by the same version of surety.
 *
 * Parts are numbered 0, 1, ..., and each row is in one of them. Where a unit is one row, any split will do, and that no row is in two parts is for who
 * splits. Where owners have several rows, all of them are in one part, in their order: the owner's bucket is the first three hexadecimal
 * digits of the MD5 of its name (of a combination of columns, of the first column's text, or of the empty text where a cell of it is missing), so `hash(substr(md5(owner), 1, 3))` modulo the number of parts is a part; a row without a name has the bucket
 * d41, or lies anywhere where each is a unit of its own. This is checked, by buckets. */

/* Asks the ledger, charges nothing. `json` is a plan of a release as surety_job_prepare takes it, without `replay-seed`; its `data` is not read. Parts
 * are from 1 to 2^20. `options` may be NULL; its bits draw the key. A question (surety_limit_questions). */
SURETY_API surety_code surety_parts_begin(const char* json, size_t json_length, uint32_t parts, surety_ledger* ledger,
                                          const surety_run_options* options, char** ticket, size_t* ticket_length,
                                          surety_failure** failure);
/* What one part adds up to, of a CSV file as the plan says, which may have no records. Asks no ledger; may be done again, as by a task that is
 * retried, and gives the same bytes. SURETY_BAD_DATA for what is no ticket. */
SURETY_API surety_code surety_parts_partial(const char* ticket, size_t ticket_length, uint32_t part, const char* path, char** partial,
                                            size_t* partial_length, surety_failure** failure);
/* The same of the rows of a stream. `records` is released in every case. Where owners have several rows, all parts are files or all are streams. */
SURETY_API surety_code surety_parts_partial_arrow(const char* ticket, size_t ticket_length, uint32_t part, struct ArrowArrayStream* records,
                                                  char** partial, size_t* partial_length, surety_failure** failure);
/* What the parts of both add up to: in any order and any tree the same bytes. Refuses partials of two tickets, a part that is in both, which would count
 * its people twice, and owners of one bucket that are in both, without naming any. */
SURETY_API surety_code surety_parts_merge(const char* a, size_t a_length, const char* b, size_t b_length, char** merged,
                                          size_t* merged_length, surety_failure** failure);
/* Charges the whole event durably, and then alone draws noise, releases and settles what all parts add up to. Refuses a partial of another ticket, a
 * part that is missing, and a ticket that was finished in this ledger, whether that came to its end or not. What fails before the charge has
 * cost nothing; what fails after it stays charged and returns nothing. `options` may be NULL. */
SURETY_API surety_code surety_parts_finish(const char* ticket, size_t ticket_length, const char* partial, size_t partial_length,
                                           surety_ledger* ledger, const surety_run_options* options, surety_result** result,
                                           surety_failure** failure);

/* Writes a new file that its owner alone may read, whatever the umask says (mode 0600): durably, in one step or not at all. For tickets and partials, and for
 * whatever else is private. Refused, SURETY_INVALID_ARGUMENT, where the name is taken. */
SURETY_API surety_code surety_write_private_file(const char* path, const char* bytes, size_t length, surety_failure** failure);

/* ---- Models ---- */

/* A file that `surety train` or surety_model_save wrote. SURETY_BAD_DATA for everything else. */
SURETY_API surety_code surety_model_load(const char* path, surety_model** model, surety_failure** failure);
/* The same of the text of such a file. May be hostile. */
SURETY_API surety_code surety_model_parse(const char* text, size_t length, surety_model** model, surety_failure** failure);
SURETY_API void surety_model_free(surety_model* model);
/* Writes the file that the command writes: durably, in one step or not at all, in the place of nothing or of another model. */
SURETY_API surety_code surety_model_save(const surety_model* model, const char* path, surety_failure** failure);
/* Its text, on one line. */
SURETY_API surety_code surety_model_json(const surety_model* model, char** json, size_t* length, surety_failure** failure);

/* Takes what a model says of one record: `count` numbers, which live as long as the call. It is one, the probability of +1 for logistic loss, the value for squared
 * loss, and for hinge losses a score whose sign is the class; or of several classes their probabilities, in their order. NaN of a damaged record.
 * Returns 0 to go on; else no more is said, and the function that calls it returns SURETY_STOPPED. It must not call surety. */
typedef int (*surety_prediction)(void* context, const double* numbers, size_t count);
/* Says something of every record of a CSV file, or of LIBSVM text, as the model was trained on. The model is private already: this costs nothing of the
 * people whom it learned from, and what is said of a record is about that record, so errors show rows and cells. SURETY_BAD_DATA in the
 * end where a record was damaged. */
SURETY_API surety_code surety_model_predict(const surety_model* model, const char* path, surety_prediction say, void* context,
                                            surety_failure** failure);
/* The same of every row of a stream, for a model with names of columns. `records` is released in every case. */
SURETY_API surety_code surety_model_predict_arrow(const surety_model* model, struct ArrowArrayStream* records, surety_prediction say,
                                                  void* context, surety_failure** failure);

#ifdef __cplusplus
}
#endif

#endif
