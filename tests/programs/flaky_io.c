/* A library to preload (LD_PRELOAD) that makes input and output as awkward as POSIX allows. Every
 * second call of each function below fails with EINTR or EAGAIN, or transfers fewer bytes. This
 * holds only for the programs in FLAKY_IO_PROGRAMS ("dtrain" when unset; colons between names).
 * Other programs inherit the library and run undisturbed.
 *
 * FLAKY_IO_EPIPE=1 (or 2, or 12) replaces all that: every second write to these descriptors fails
 * with EPIPE. The agent runs undisturbed then, because its descriptor 1 is its connection.
 *
 * FLAKY_IO_COUNT is a file to which each program appends the number of its disturbed calls. */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool active;
static const char* broken_fds = "";
static atomic_uint disturbed;

static bool is_named(const char* program) {
  const char* names = getenv("FLAKY_IO_PROGRAMS");
  const size_t length = strlen(program);
  for (const char* at = names != NULL ? names : "dtrain"; at != NULL; at = strchr(at, ':')) {
    if (*at == ':') ++at;
    if (strncmp(at, program, length) == 0 && (at[length] == ':' || at[length] == '\0')) return true;
  }
  return false;
}

__attribute__((constructor)) static void begin(int argc, char** argv) {
  char path[4096] = {0};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return;
  const char* slash = strrchr(path, '/');
  active = slash != NULL && is_named(slash + 1);
  const char* epipe = getenv("FLAKY_IO_EPIPE");
  if (!active || epipe == NULL) return;
  active = argc > 1 && strcmp(argv[1], "agent") != 0;
  broken_fds = epipe;
}

__attribute__((destructor)) static void end(void) {
  const char* path = getenv("FLAKY_IO_COUNT");
  if (!active || path == NULL) return;
  FILE* file = fopen(path, "a");
  if (file == NULL) return;
  fprintf(file, "%u\n", atomic_load(&disturbed));
  fclose(file);
}

/* A local agent is a fork of its launcher and ends by _exit, which would run no destructors. */
__attribute__((noreturn)) void _exit(int status) {
  end();
  for (;;)
    syscall(SYS_exit_group, status);
}

enum trouble { none, interrupted, cut_short, not_now };

/* Returns the trouble for the next call of a function; `calls` is that function's counter. */
static enum trouble next_trouble(atomic_uint* calls) {
  if (!active || *broken_fds != '\0') return none;
  const unsigned call = atomic_fetch_add(calls, 1);
  if (call % 2 == 0) return none;
  atomic_fetch_add(&disturbed, 1);
  const enum trouble troubles[] = {interrupted, cut_short, not_now};
  return troubles[call / 2 % 3];
}

/* True for descriptors whose bytes POSIX may transfer in any portions; eventfds and datagram
 * sockets transfer whole messages. */
static bool is_stream(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  if (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode)) return true;
  int type = 0;
  socklen_t size = sizeof type;
  return S_ISSOCK(status.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

/* Descriptors in an epoll with EPOLLET. They must get no EAGAIN from us: the caller would wait for
 * an edge that never comes. */
enum { fds_max = 4096 };
static atomic_bool edge_triggered[fds_max];

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  if (fd >= 0 && fd < fds_max) {
    edge_triggered[fd] = operation != EPOLL_CTL_DEL && (event->events & EPOLLET) != 0;
  }
  return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

/* True where the kernel itself could fail with EAGAIN. Regular files never do. */
static bool may_refuse(int fd, int flags) {
  struct stat status;
  if (fd < 0 || fd >= fds_max || edge_triggered[fd]) return false;
  if (fstat(fd, &status) != 0 || S_ISREG(status.st_mode)) return false;
  return (flags & MSG_DONTWAIT) != 0 || (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

/* Files of sysfs arrive whole in one read, and hwloc relies on that. */
static bool is_of_sysfs(int fd) {
  struct statfs system;
  return fstatfs(fd, &system) == 0 && system.f_type == SYSFS_MAGIC;
}

/* Returns true when the call shall fail, and sets errno. Otherwise it may shorten `*length`. */
static bool disturb(atomic_uint* calls, int fd, int flags, size_t* length) {
  enum trouble trouble = next_trouble(calls);
  if (trouble == none || is_of_sysfs(fd)) return false;
  const bool stream = is_stream(fd);
  if (trouble == not_now && !(stream && may_refuse(fd, flags))) trouble = cut_short;
  if (trouble == cut_short && !stream) trouble = interrupted;
  if (trouble == cut_short && *length > 1) *length = *length > 64 ? *length / 2 : 1;
  if (trouble == interrupted) errno = EINTR;
  if (trouble == not_now) errno = EAGAIN;
  return trouble == interrupted || trouble == not_now;
}

static bool reader_gone(int fd) {
  static atomic_uint writes;
  if (!active || fd < 0 || fd > 9 || strchr(broken_fds, '0' + fd) == NULL) return false;
  if (atomic_fetch_add(&writes, 1) % 2 == 0) return false;
  atomic_fetch_add(&disturbed, 1);
  errno = EPIPE;
  return true;
}

ssize_t read(int fd, void* buffer, size_t length) {
  static atomic_uint calls;
  if (disturb(&calls, fd, 0, &length)) return -1;
  return syscall(SYS_read, fd, buffer, length);
}

ssize_t __read_chk(int fd, void* buffer, size_t length, size_t size);
ssize_t __read_chk(int fd, void* buffer, size_t length, size_t size) {
  if (length > size) abort();
  return read(fd, buffer, length);
}

ssize_t write(int fd, const void* buffer, size_t length) {
  static atomic_uint calls;
  if (reader_gone(fd) || disturb(&calls, fd, 0, &length)) return -1;
  return syscall(SYS_write, fd, buffer, length);
}

ssize_t recv(int fd, void* buffer, size_t length, int flags) {
  static atomic_uint calls;
  if (disturb(&calls, fd, flags, &length)) return -1;
  return syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL);
}

ssize_t __recv_chk(int fd, void* buffer, size_t length, size_t size, int flags);
ssize_t __recv_chk(int fd, void* buffer, size_t length, size_t size, int flags) {
  if (length > size) abort();
  return recv(fd, buffer, length, flags);
}

ssize_t send(int fd, const void* buffer, size_t length, int flags) {
  static atomic_uint calls;
  if (reader_gone(fd) || disturb(&calls, fd, flags, &length)) return -1;
  return syscall(SYS_sendto, fd, buffer, length, flags, NULL, 0);
}

/* A list of buffers, which `disturb_buffers` may replace by a part of its first one. */
struct portion {
  struct iovec first;
  const struct iovec* buffers;
  size_t count;
};

static bool disturb_buffers(atomic_uint* calls, int fd, int flags, struct portion* portion) {
  if (portion->count == 0) return false;
  portion->first = portion->buffers[0];
  if (disturb(calls, fd, flags, &portion->first.iov_len)) return true;
  if (portion->first.iov_len == portion->buffers[0].iov_len) return false;
  portion->buffers = &portion->first;
  portion->count = 1;
  return false;
}

ssize_t readv(int fd, const struct iovec* buffers, int count) {
  static atomic_uint calls;
  struct portion portion = {.buffers = buffers, .count = (size_t)count};
  if (disturb_buffers(&calls, fd, 0, &portion)) return -1;
  return syscall(SYS_readv, fd, portion.buffers, (int)portion.count);
}

ssize_t writev(int fd, const struct iovec* buffers, int count) {
  static atomic_uint calls;
  struct portion portion = {.buffers = buffers, .count = (size_t)count};
  if (reader_gone(fd) || disturb_buffers(&calls, fd, 0, &portion)) return -1;
  return syscall(SYS_writev, fd, portion.buffers, (int)portion.count);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  static atomic_uint calls;
  struct portion portion = {.buffers = message->msg_iov, .count = message->msg_iovlen};
  if (disturb_buffers(&calls, fd, flags, &portion)) return -1;
  struct msghdr shorter = *message;
  shorter.msg_iov = (struct iovec*)portion.buffers;
  shorter.msg_iovlen = portion.count;
  const ssize_t got = syscall(SYS_recvmsg, fd, &shorter, flags);
  message->msg_namelen = shorter.msg_namelen;
  message->msg_controllen = shorter.msg_controllen;
  message->msg_flags = shorter.msg_flags;
  return got;
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  static atomic_uint calls;
  struct portion portion = {.buffers = message->msg_iov, .count = message->msg_iovlen};
  if (reader_gone(fd) || disturb_buffers(&calls, fd, flags, &portion)) return -1;
  struct msghdr shorter = *message;
  shorter.msg_iov = (struct iovec*)portion.buffers;
  shorter.msg_iovlen = portion.count;
  return syscall(SYS_sendmsg, fd, &shorter, flags);
}

int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
  // A count for each descriptor: a program may accept from two listeners in turn. With one count
  // for both, it would never get a connection of the second one.
  static atomic_uint calls[fds_max];
  const bool counted = fd >= 0 && fd < fds_max;
  const enum trouble trouble = counted ? next_trouble(&calls[fd]) : none;
  if (trouble != none) {
    errno = trouble == interrupted ? EINTR : trouble == cut_short ? ECONNABORTED : EAGAIN;
    return -1;
  }
  return (int)syscall(SYS_accept4, fd, address, size, flags);
}

int epoll_wait(int fd, struct epoll_event* events, int count, int timeout_ms) {
  static atomic_uint calls;
  const enum trouble trouble = next_trouble(&calls);
  if (trouble == interrupted) {
    errno = EINTR;
    return -1;
  }
  if (trouble == cut_short) count = 1;
  return (int)syscall(SYS_epoll_pwait, fd, events, count, timeout_ms, NULL, (size_t)8);
}

int poll(struct pollfd* fds, nfds_t count, int timeout_ms) {
  static atomic_uint calls;
  if (next_trouble(&calls) != none) {
    errno = EINTR;
    return -1;
  }
  const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
  return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &timeout, NULL, (size_t)8);
}

pid_t waitpid(pid_t pid, int* status, int options) {
  static atomic_uint calls;
  if ((options & WNOHANG) == 0 && next_trouble(&calls) != none) {
    errno = EINTR;
    return -1;
  }
  return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  static atomic_uint calls;
  if ((options & WNOHANG) == 0 && next_trouble(&calls) != none) {
    errno = EINTR;
    return -1;
  }
  return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}
