/* A library to preload (LD_PRELOAD). It puts CLOCK_REALTIME an hour ahead once a file exists at the
 * path in the variable WRONG_CLOCK. */

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void) {
  const char* file = getenv("WRONG_CLOCK");
  return file != NULL && access(file, F_OK) == 0 ? 3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += ahead();
  return (int)result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  const long result = syscall(SYS_gettimeofday, now, zone);
  if (result == 0) now->tv_sec += ahead();
  return (int)result;
}

time_t time(time_t* where) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) *where = now.tv_sec;
  return now.tv_sec;
}
