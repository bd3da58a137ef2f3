/* Collectives of an MPI, measured as `dtrain bench --format peers` measures those of libdtrain.
 *
 *    mpi_collectives OPERATION LABEL MIN MAX FACTOR MS
 *
 * OPERATION is all_reduce, broadcast, all_gather, reduce_scatter or first. MIN and MAX are bytes,
 * MS is the time for each size. Rank 0 prints the same line as dtrain for each size. `first` is the
 * time of MPI_Init with the first sum of 4 bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum operation { all_reduce, broadcast, all_gather, reduce_scatter, first, operations };
static const char* const names[] = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                    "first"};
enum { calls_max = 20000 };

struct job {
  enum operation operation;
  const char* label;
  int rank;
  int size;
  double ms;
  float* input;
  float* output;
  double* times_us;
  double* slowest_us;
};

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* `part` is a rank's part of the elements; `all` are those of all ranks. */
static void call(const struct job* job, int all) {
  const int part = all / job->size;
  switch (job->operation) {
    case broadcast:
      MPI_Bcast(job->output, all, MPI_FLOAT, 0, MPI_COMM_WORLD);
      break;
    case all_gather:
      MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, job->output, part, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case reduce_scatter:
      MPI_Reduce_scatter_block(job->input, job->output, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    default:
      MPI_Allreduce(MPI_IN_PLACE, job->output, all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}

static float value(int rank, int i) {
  return (float)((rank * 7 + i * 3) % 1021);
}

static float sum(int size, int i) {
  float result = 0;
  for (int rank = 0; rank < size; ++rank)
    result += value(rank, i);
  return result;
}

static float expected(const struct job* job, int all, int i) {
  const int part = all / job->size;
  if (job->operation == broadcast) return value(0, i);
  if (job->operation == all_gather) return value(i / part, i);
  return sum(job->size, job->operation == reduce_scatter ? job->rank * part + i : i);
}

/* Returns the number of wrong elements on all ranks. */
static long verify(const struct job* job, int all) {
  const int part = all / job->size;
  for (int i = 0; i < all; ++i) {
    job->input[i] = value(job->rank, i);
    const int own = job->operation != all_gather || i / part == job->rank;
    job->output[i] = own ? job->input[i] : -1;
  }
  call(job, all);
  long wrong = 0;
  for (int i = 0; i < (job->operation == reduce_scatter ? part : all); ++i)
    wrong += job->output[i] != expected(job, all, i);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

/* Returns how many calls fit into the time, after a fifth of it. All ranks get the same number. */
static int warm_up(const struct job* job, int all) {
  call(job, all);
  call(job, all);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  double elapsed = 0;
  int done = 0;
  while (elapsed < job->ms * 200 && done < calls_max) {
    call(job, all);
    MPI_Barrier(MPI_COMM_WORLD);
    ++done;
    elapsed = now_us() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  const double calls = job->ms * 1000 / (elapsed / done);
  return calls < 5 ? 5 : calls > calls_max ? calls_max : (int)calls;
}

static int by_time(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print(const struct job* job, int bytes, int calls, long wrong) {
  const double* us = job->slowest_us;
  printf("%s\t%s\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t0\t0\t%ld\n", job->label,
         names[job->operation], job->size, bytes, calls, us[0], us[calls / 2],
         us[(int)(calls * 0.99)], us[calls / 2], wrong);
  fflush(stdout);
}

static void measure(const struct job* job, int bytes) {
  const int all = bytes / (int)sizeof(float) / job->size * job->size;
  const int elements = job->operation < all_gather ? bytes / (int)sizeof(float) : all;
  if (elements == 0) return;
  const long wrong = verify(job, elements);
  memset(job->input, 0, (size_t)bytes);
  memset(job->output, 0, (size_t)bytes);
  const int calls = warm_up(job, elements);
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_us();
    call(job, elements);
    job->times_us[i] = now_us() - begin;
  }
  MPI_Allreduce(job->times_us, job->slowest_us, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (job->rank > 0) return;
  qsort(job->slowest_us, (size_t)calls, sizeof(double), by_time);
  print(job, elements * (int)sizeof(float), calls, wrong);
}

static void measure_first(const struct job* job, double begin) {
  float one = 1;
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  job->times_us[0] = now_us() - begin;
  MPI_Allreduce(job->times_us, job->slowest_us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (job->rank == 0) print(job, sizeof one, 1, one != (float)job->size);
}

int main(int argc, char** argv) {
  const double begin = now_us();
  if (argc != 7) return 2;
  struct job job = {.operation = all_reduce, .label = argv[2], .ms = atof(argv[6])};
  while (job.operation < operations && strcmp(names[job.operation], argv[1]) != 0)
    ++job.operation;
  if (job.operation == operations) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  const int min = atoi(argv[3]);
  const int max = atoi(argv[4]);
  job.input = calloc((size_t)max + 1, 1);
  job.output = calloc((size_t)max + 1, 1);
  job.times_us = calloc(calls_max, sizeof(double));
  job.slowest_us = calloc(calls_max, sizeof(double));
  if (job.operation == first) {
    measure_first(&job, begin);
  } else {
    for (long bytes = min; bytes <= max; bytes *= atoi(argv[5]))
      measure(&job, (int)bytes);
  }
  MPI_Finalize();
  return 0;
}
