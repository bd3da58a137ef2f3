/* Prints with printf, and ends in the middle: what the C library has kept is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  printf("step 1\nstep 2\n");
  printf("half");
  abort();
}
