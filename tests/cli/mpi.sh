# shellcheck shell=bash
# For tests of the detection of MPI programs. Sourced after lib.sh.
#
#   make_program LIBRARY   compiles the library and the program $PWD/alone, which is linked with it. The program
#                          ends when the file `end` exists beside it, or after 20 s

make_program() {
  echo 'int MPI_Init(void) { return 0; }' >library.c
  cat >program.c <<'END_OF_PROGRAM'
#include <unistd.h>
int MPI_Init(void);
int main(void) {
  for (int waited = MPI_Init(); waited < 1000 && access(END, F_OK) != 0; ++waited) usleep(20000);
  return 0;
}
END_OF_PROGRAM
  expect cc -shared -fPIC -o "$1" library.c
  expect cc -DEND="\"$PWD/end\"" -o alone program.c "./$1" -Wl,-rpath,"$PWD"
}
