// One exec of `true` on each of N hosts at once; all hosts are the same sshd. One benchmark uses
// libssh2 in this process, the other the ssh command. cpu_ms is the client's CPU time per host.
#include "launcher/ssh/session.h"
#include "tests/unit/launcher/ssh/ssh_server.h"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

namespace dt {
namespace {

// At SHLVL=5, bash reads no ~/.bashrc, whose time would count too.
constexpr const char* server_settings = "MaxStartups 1000\nSetEnv SHLVL=5";

double cpu_ms(int who) {
  rusage usage = {};
  getrusage(who, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

void report(benchmark::State& state, double cpu) {
  const auto hosts = static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["cpu_ms"] = cpu / hosts;
}

void in_process(benchmark::State& state) {
  const std::string why =
      ssh_library().present ? RealSshd::obstacle().value_or("") : ssh_library().text;
  if (!why.empty()) return state.SkipWithError(why.c_str());
  const SshServer server(server_settings);
  const auto loop = Loop::create().value();
  const auto key =
      std::make_shared<const SshIdentity>(load_identity(server.path("user_key")).value());
  const double before = cpu_ms(RUSAGE_SELF);
  for ([[maybe_unused]] auto _ : state) {
    const auto count = static_cast<size_t>(state.range(0));
    std::vector<std::unique_ptr<SshSession>> sessions;
    size_t ended = 0;
    std::string failure;
    for (size_t i = 0; i < count; ++i) {
      SshSession::Target target = {
          .dial = {.addresses = {{"127.0.0.1", server.port()}}},
          .credentials = {.copy_id = "host", .user = SshServer::user(), .identities = {key}},
          .command = [] { return "true"; }};
      sessions.push_back(std::make_unique<SshSession>(
          *loop, std::move(target), SshSession::Options{.open_by = Clock::now() + seconds(60)},
          SshSession::Handlers{.check_host_key = [](ByteSpan) { return Result<>(); },
                               .on_bytes = [](ByteSpan bytes) { return bytes.size(); },
                               .on_end =
                                   [&](const SshSession::End& end) {
                                     ++ended;
                                     if (end.failure) failure = end.failure->error.message;
                                   }}));
    }
    while (ended < count && loop->run_once(Clock::now() + seconds(60))) {
    }
    if (!failure.empty()) state.SkipWithError(failure.c_str());
  }
  report(state, cpu_ms(RUSAGE_SELF) - before);
}
BENCHMARK(in_process)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void ssh_command(benchmark::State& state) {
  if (const auto why = RealSshd::obstacle()) return state.SkipWithError(why->c_str());
  const SshServer server(server_settings);
  const std::string line = format(
      "for i in $(seq {}); do ssh -F none -p {} -i {} -a -x -o BatchMode=yes "
      "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
      "127.0.0.1 true & done; wait",
      state.range(0), server.port(), server.path("user_key"));
  const double before = cpu_ms(RUSAGE_CHILDREN);
  for ([[maybe_unused]] auto _ : state)
    SshServer::run({"sh", "-c", line});
  report(state, cpu_ms(RUSAGE_CHILDREN) - before);
}
BENCHMARK(ssh_command)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dt
