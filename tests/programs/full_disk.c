/* A library to preload (LD_PRELOAD) that makes a file system full, as the program "dtrain" sees it:
 * files and folders whose path fits FULL_DISK_PATHS get no more room. These are patterns of
 * fnmatch(3), with colons between. Other programs inherit the library and run undisturbed.
 *
 * The first FULL_DISK_AFTER calls of a process that need room succeed, later ones fail with EDQUOT,
 * or with ENOSPC if FULL_DISK_ERROR is that. Removals and renames need no room. */

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* full_paths;
static int error;
static long left;

__attribute__((constructor)) static void begin(void) {
  char program[PATH_MAX] = {0};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return;
  const char* slash = strrchr(program, '/');
  const char* after = getenv("FULL_DISK_AFTER");
  const char* name = getenv("FULL_DISK_ERROR");
  if (slash == NULL || strcmp(slash, "/dtrain") != 0 || after == NULL) return;
  full_paths = getenv("FULL_DISK_PATHS");
  left = strtol(after, NULL, 10);
  error = name != NULL && strcmp(name, "ENOSPC") == 0 ? ENOSPC : EDQUOT;
}

static bool opened_path(int fd, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  if (n < 0) return false;
  path[n] = '\0';
  return true;
}

static bool fits(const char* path) {
  char patterns[2 * PATH_MAX];
  snprintf(patterns, sizeof patterns, "%s", full_paths);
  char* next = NULL;
  for (char* one = strtok_r(patterns, ":", &next); one != NULL; one = strtok_r(NULL, ":", &next))
    if (fnmatch(one, path, 0) == 0) return true;
  return false;
}

/* Returns false, and sets errno, if a path that needs room gets none. */
static bool has_room(const char* path) {
  if (!fits(path)) return true;
  if (left > 0) {
    --left;
    return true;
  }
  errno = error;
  return false;
}

static bool has_room_at(int folder, const char* name) {
  char path[PATH_MAX] = {0};
  struct stat there;
  if (full_paths == NULL || fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (name[0] != '/' && folder != AT_FDCWD && opened_path(folder, path)) strcat(path, "/");
  if (strlen(path) + strlen(name) >= sizeof path) return true;
  return has_room(strcat(path, name));
}

static bool has_room_in(int fd) {
  char path[PATH_MAX];
  struct stat file;
  if (full_paths == NULL || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return true;
  return !opened_path(fd, path) || has_room(path);
}

ssize_t write(int fd, const void* buffer, size_t length) {
  return has_room_in(fd) ? syscall(SYS_write, fd, buffer, length) : -1;
}

ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t length,
                        unsigned flags) {
  return has_room_in(to) ? syscall(SYS_copy_file_range, from, from_at, to, to_at, length, flags)
                         : -1;
}

int mkdirat(int folder, const char* name, mode_t mode) {
  return has_room_at(folder, name) ? (int)syscall(SYS_mkdirat, folder, name, mode) : -1;
}

int mkdir(const char* path, mode_t mode) {
  return mkdirat(AT_FDCWD, path, mode);
}

int symlinkat(const char* target, int folder, const char* name) {
  return has_room_at(folder, name) ? (int)syscall(SYS_symlinkat, target, folder, name) : -1;
}

static int open_at(int folder, const char* name, int flags, va_list more) {
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  if ((flags & O_CREAT) != 0 && !has_room_at(folder, name)) return -1;
  return (int)syscall(SYS_openat, folder, name, flags, mode);
}

int openat(int folder, const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_at(folder, name, flags, more);
  va_end(more);
  return fd;
}

int openat64(int folder, const char* name, int flags, ...) __attribute__((alias("openat")));

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_at(AT_FDCWD, path, flags, more);
  va_end(more);
  return fd;
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
