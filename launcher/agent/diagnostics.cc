#include "launcher/agent/diagnostics.h"

#include "launcher/agent/gather_facts.h"
#include "launcher/agent/local_host.h"
#include "launcher/process/executable.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace dt {

namespace {

/// To start a Python from a cold network file system takes seconds.
constexpr Duration python_patience = seconds(10);
/// An activated environment provides both names, first in PATH.
constexpr std::array python_names = {"python3", "python"};

std::string find_python(const std::string& path) {
  for (const char* const name : python_names) {
    if (auto found = find_executable(name, path, "/")) return *std::move(found);
  }
  return {};
}

/// This host's variables, with the PATH of the job.
std::vector<std::string> environment_with(const std::string& path) {
  std::vector<std::string> environment = {"PATH=" + path};
  for (std::string& entry : own_environment()) {
    if (!entry.starts_with("PATH=")) environment.push_back(std::move(entry));
  }
  return environment;
}

/// Returns the bytes that a pipe holds now, at most the size of a line. Does not wait for the end
/// of the pipe: a child of the program may hold it open.
std::string read_available(int pipe) {
  std::string text;
  std::array<char, 256> buffer;
  while (text.size() < buffer.size()) {
    pollfd readable = {.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 1 || (readable.revents & POLLIN) == 0) break;
    const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

void Diagnostics::diagnose(const DiagnoseRequest& wanted, DiagnoseReply answer,
                           uint64_t open_files_soft) {
  answer_ = std::move(answer);
  claim_ = {.token = {},
            .job = "check",
            .generation = 1,
            .self = {"agent", static_cast<int>(wanted.number)}};
  if (const auto token = Token::parse(wanted.token)) {
    claim_.token = *token;
    bandwidth_server_ = BandwidthServer::open(loop_, answer_.bandwidth_addresses, claim_);
    answer_.bandwidth_addresses = bandwidth_server_->addresses();
  }
  answer_.facts = gather_facts(open_files_soft);
  query_driver();
  query_python(wanted.path);
  answer_when_complete();
}

void Diagnostics::query_driver() {
  driver_answered_ = false;
  auto scanner =
      ResourceScanner::start(loop_, {.gpus = true}, [this](const HostResources& resources) {
        answer_.facts.gpus = resources.gpus;
        answer_.facts.gpus.gpus = visible_gpus(resources.gpus.gpus, resources.visible);
        if (resources.has_driver) answer_.facts.gpu_failure = resources.gpu_failure;
        driver_answered_ = true;
        answer_when_complete();
      });
  if (scanner) {
    scanner_ = *std::move(scanner);
  } else {
    answer_.facts.gpu_failure = scanner.error().message;
    driver_answered_ = true;
  }
}

void Diagnostics::query_python(const std::string& path) {
  answer_.facts.python_path = find_python(path);
  auto output = make_pipe();
  if (answer_.facts.python_path.empty() || !output) return;
  // Python 2 prints its version on stderr.
  auto started = Child::start({.path = answer_.facts.python_path,
                               .arguments = {answer_.facts.python_path, "--version"},
                               .environment = environment_with(path),
                               .cwd = "/",
                               .output = output->write.get(),
                               .error = output->write.get(),
                               .new_session = true});
  if (!started) return;
  python_ = *std::move(started);
  python_output_ = std::move(output->read);
  auto watch = loop_.watch(python_->pidfd(), EPOLLIN, [this](uint32_t) { python_ended(); });
  if (watch) python_watch_ = *std::move(watch);
  python_timer_ = loop_.after(python_patience, [this] { python_->signal_group(SIGKILL); });
}

void Diagnostics::python_ended() {
  python_watch_ = Watch();
  python_timer_ = Timer();
  if (python_->reap()) {
    answer_.facts.python_version = python_version_of(read_available(python_output_.get()));
  }
  python_.reset();
  answer_when_complete();
}

void Diagnostics::answer_when_complete() {
  if (!driver_answered_ || python_) return;
  answer_.sent_ns = wall_clock_ns();
  send_(MessageType::diagnosed, encode(answer_));
}

void Diagnostics::measure(const Measure& wanted) {
  const auto send_result = [this](const Result<Speed>& speed) {
    send_(MessageType::measured,
          encode(Measured{.speed = speed.value_or(Speed()),
                          .failure = speed ? std::string() : speed.error().message}));
  };
  bandwidth_client_ = std::make_unique<BandwidthClient>(
      loop_,
      BandwidthClient::Target{.address = wanted.address,
                              .peer = {"agent", static_cast<int>(wanted.number)},
                              .deadline = Clock::now() + wanted.patience},
      claim_, send_result);
}

}  // namespace dt
