/* A library that tasks preload. It makes stdout line-buffered where it is the pipe that the agent
 * reads. Without this, the C library keeps 4 KiB, which are late, and lost when the task is killed.
 *
 * It needs no other library, so that each C library can load it. All symbols are weak, so that
 * programs without a C library start, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak getenv
#pragma weak readlink
#pragma weak setvbuf
#pragma weak stdout
#pragma weak strcmp

__attribute__((constructor)) static void line_buffer(void) {
  char link[64] = {0};
  if (!getenv || !readlink || !setvbuf || !&stdout || !strcmp) return;
  const char* const pipe = getenv("DTRAIN_LINE_BUFFERED");
  if (!pipe || readlink("/proc/self/fd/1", link, sizeof link - 1) < 0) return;
  if (stdout && strcmp(link, pipe) == 0) setvbuf(stdout, 0, _IOLBF, 0);
}
