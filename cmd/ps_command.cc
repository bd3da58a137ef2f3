#include "cmd/ps_command.h"

#include "base/io/fd.h"
#include "comm/include/dtrain/dtrain_ps.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <csignal>
#include <string>

namespace dt {

namespace {

/// Returns a descriptor that becomes readable when the job ends this task.
Result<Fd> stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (const int number = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); number != 0)
    return fail_errno("pthread_sigmask", number);
  Fd stop(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!stop) return fail_errno("signalfd");
  return stop;
}

/// The kind of error that has the exit status of the code.
Errc errc_of(int code) {
  switch (code) {
    case DTRAIN_ERROR_INPUT:
    case DTRAIN_ERROR_PROTOCOL:  // a checkpoint that is none
    case DTRAIN_ERROR_MISMATCH:  // one of another job
      return Errc::input;
    case DTRAIN_ERROR_UNREACHABLE:
      return Errc::unreachable;
    default:
      return Errc::os;
  }
}

}  // namespace

Result<> run_ps(const PsOptions& options, Log& log) {
  // The kernel names a process by its file, which was /proc/self/exe.
  prctl(PR_SET_NAME, "dtrain-ps");
  const Fd stop = TRY(stop_signals());
  dtrain_ps_serve_options serve = {};
  serve.struct_size = sizeof serve;
  if (!options.checkpoint.empty()) serve.checkpoint = options.checkpoint.c_str();
  serve.checkpoint_every = options.checkpoint_every;
  serve.stop_fd = stop.get();
  serve.report = [](const char* text, void* data) {
    static_cast<Log*>(data)->print("{}", std::string_view(text));
  };
  serve.report_data = &log;
  dtrain_error error = {};
  error.struct_size = sizeof error;
  if (dtrain_ps_serve(&serve, &error) == DTRAIN_OK) return {};
  return fail(errc_of(error.code), std::string(error.text));
}

}  // namespace dt
