/* Runs a program under a seccomp filter that refuses one system call, as containers do:
 *   refuse NAME EPERM|ENOSYS PROGRAM ARG…
 * Without arguments it prints the names of the calls that it can refuse. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct named {
  const char* name;
  unsigned number;
};

/* Calls of the launcher, the agent and the start of a task. The loader of programs needs none. */
static const struct named calls[] = {
    {"socketpair", SYS_socketpair},
    {"clone", SYS_clone},
    {"clone3", SYS_clone3},
    {"pidfd_open", SYS_pidfd_open},
    {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"pipe2", SYS_pipe2},
    {"epoll_create1", SYS_epoll_create1},
    {"epoll_ctl", SYS_epoll_ctl},
    {"signalfd4", SYS_signalfd4},
    {"socket", SYS_socket},
    {"bind", SYS_bind},
    {"listen", SYS_listen},
    {"getsockname", SYS_getsockname},
    {"setsockopt", SYS_setsockopt},
    {"getrandom", SYS_getrandom},
    {"prctl", SYS_prctl},
    {"prlimit64", SYS_prlimit64},
    {"close_range", SYS_close_range},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"setsid", SYS_setsid},
    {"setpgid", SYS_setpgid},
    {"dup3", SYS_dup3},
    {"wait4", SYS_wait4},
    {"waitid", SYS_waitid},
    {"kill", SYS_kill},
    {"fcntl", SYS_fcntl},
    {"ioctl", SYS_ioctl},
    {"uname", SYS_uname},
    {"getdents64", SYS_getdents64},
};
static const size_t calls_known = sizeof calls / sizeof calls[0];

static const struct named* find(const char* name) {
  for (size_t i = 0; i < calls_known; ++i)
    if (strcmp(calls[i].name, name) == 0) return &calls[i];
  return NULL;
}

static int refuse(unsigned number, unsigned error) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    for (size_t i = 0; i < calls_known; ++i)
      puts(calls[i].name);
    return 0;
  }
  const struct named* const call = find(argv[1]);
  if (call == NULL) {
    fprintf(stderr, "refuse: no such call: %s\n", argv[1]);
    return 125;
  }
  if (refuse(call->number, strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS) != 0) {
    perror("refuse: cannot install a filter");
    return 125;
  }
  execvp(argv[3], argv + 3);
  perror("refuse: cannot run it");
  return 125;
}
