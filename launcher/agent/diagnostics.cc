#include "launcher/agent/diagnostics.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/agent/gather_facts.h"
#include "launcher/agent/local_host.h"
#include "launcher/process/executable.h"

#include <array>
#include <filesystem>
#include <utility>

namespace dt {

namespace {

/// To start a Python from a cold network file system takes seconds.
constexpr Duration python_patience = seconds(10);
/// To read a program from one takes seconds, too.
constexpr Duration digest_patience = seconds(10);
/// A resolver without an answer takes 10 s by itself.
constexpr Duration surroundings_patience = seconds(10);
/// The content of a larger program is not compared.
constexpr size_t command_bytes_max = size_t{64} << 20;
/// An activated environment provides both names, first in PATH.
constexpr std::array python_names = {"python3", "python"};

std::string find_python(const std::string& path) {
  for (const char* const name : python_names) {
    if (auto found = find_executable(name, path, "/")) return *std::move(found);
  }
  return {};
}

/// Returns the variables that a job would have, but for those that dtrain adds.
std::vector<std::string> environment_of_job(const DiagnoseRequest& wanted) {
  Environment environment = wanted.forwarded;
  environment["PATH"] = wanted.path;
  const Environment own = local_host_environment();
  environment.insert(own.begin(), own.end());
  return environment_entries(environment);
}

/// A job would start in the home folder, or in another one, where its own does not exist.
std::string folder_of(const DiagnoseRequest& wanted) {
  std::error_code failed;
  return std::filesystem::is_directory(wanted.cwd, failed) ? wanted.cwd : "/";
}

/// Reads the file in a process of its own: it may lie on a network file system that hangs. Nothing
/// for a file that is too large.
Bytes digest_of_file(const std::string& path) {
  const auto content = read_text_file(path, command_bytes_max);
  if (!content) return {};
  const Digest digest = sha256(as_bytes(*content));
  return {digest.begin(), digest.end()};
}

/// Adds the result of look_around(), as JSON. Without one in time nothing is known.
void take_surroundings(ByteSpan text, HostDiagnostics& facts) {
  const auto json = Json::parse(as_text(text));
  auto seen = json ? read_facts(*json) : tl::unexpected(json.error());
  if (!seen) return;
  facts.folder = std::move(seen->folder);
  facts.folder_failure = std::move(seen->folder_failure);
  facts.files_missing = std::move(seen->files_missing);
  facts.home_failure = std::move(seen->home_failure);
  facts.name_addresses = std::move(seen->name_addresses);
  facts.name_failure = std::move(seen->name_failure);
}

std::string hex_of(ByteSpan bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

}  // namespace

void Diagnostics::diagnose(const DiagnoseRequest& wanted, DiagnoseReply answer,
                           uint64_t open_files_soft) {
  answer_ = std::move(answer);
  claim_ = {.token = {},
            .job = "check",
            .generation = 1,
            .self = {std::string(agent_role), static_cast<int>(wanted.number)}};
  if (const auto token = Token::parse(wanted.token)) {
    claim_.token = *token;
    bandwidth_server_ = BandwidthServer::open(loop_, answer_.bandwidth_addresses, claim_);
    answer_.bandwidth_addresses = bandwidth_server_->addresses();
  }
  answer_.facts = gather_facts(open_files_soft);
  answer_.facts.path_missing = missing_folders(wanted.path);
  awaited_ = 1;  // this function
  query_driver();
  query_python(wanted);
  query_modules(wanted);
  query_command(wanted);
  query_surroundings(wanted);
  one_ended();
}

bool Diagnostics::owns(pid_t pid) const {
  return (python_ && python_->pid() == pid) || (modules_ && modules_->pid() == pid);
}

void Diagnostics::query_driver() {
  auto scanner =
      ResourceScanner::start(loop_, {.gpus = true}, [this](const HostResources& resources) {
        answer_.facts.gpus = resources.gpus;
        answer_.facts.gpus.gpus = visible_gpus(resources.gpus.gpus, resources.visible);
        if (resources.has_driver) answer_.facts.gpu_failure = resources.gpu_failure;
        one_ended();
      });
  if (scanner) {
    scanner_ = *std::move(scanner);
    one_started();
  } else {
    answer_.facts.gpu_failure = scanner.error().message;
  }
}

void Diagnostics::query_python(const DiagnoseRequest& wanted) {
  const std::string& python = answer_.facts.python_path = find_python(wanted.path);
  if (python.empty()) return;
  auto started = ProgramQuery::start(loop_,
                                     {.path = python,
                                      .arguments = {python, "--version"},
                                      .environment = environment_of_job(wanted),
                                      .cwd = "/"},
                                     python_patience, [this](const ProgramQuery::Answer& answer) {
                                       answer_.facts.python_version =
                                           python_version_of(answer.output);
                                       python_.reset();
                                       one_ended();
                                     });
  if (!started) return;
  python_ = *std::move(started);
  one_started();
}

void Diagnostics::query_modules(const DiagnoseRequest& wanted) {
  const std::string& python = answer_.facts.python_path;
  if (wanted.imports.empty()) return;
  answer_.facts.modules = modules_of("", wanted.imports, "there is no Python");
  if (python.empty()) return;
  ChildRequest request = {.path = python,
                          .arguments = {python, "-c", import_program()},
                          .environment = environment_of_job(wanted),
                          .cwd = folder_of(wanted)};
  request.arguments.insert(request.arguments.end(), wanted.imports.begin(), wanted.imports.end());
  const auto received = [this, names = wanted.imports,
                         patience = wanted.import_patience](const ProgramQuery::Answer& answer) {
    const std::string why = answer.late ? format("not imported within {}", duration_text(patience))
                                        : "Python ended before the import did";
    answer_.facts.modules = modules_of(answer.output, names, why);
    modules_.reset();
    one_ended();
  };
  auto started = ProgramQuery::start(loop_, std::move(request), wanted.import_patience, received);
  if (!started) return;
  modules_ = *std::move(started);
  one_started();
}

void Diagnostics::query_command(const DiagnoseRequest& wanted) {
  if (wanted.command.empty()) return;
  const auto path = find_executable(wanted.command, wanted.path, folder_of(wanted));
  if (!path) {
    answer_.facts.command_failure = path.error().message;
    return;
  }
  answer_.facts.command_path = *path;
  auto started = ForkedQuery::start(
      loop_, [file = *path] { return digest_of_file(file); }, digest_patience,
      [this](const ForkedQuery::Answer& answer) {
        answer_.facts.command_sha256 = hex_of(answer.bytes);
        one_ended();
      });
  if (!started) return;
  command_ = *std::move(started);
  one_started();
}

/// In a process of its own: a file system or the resolver may hang.
void Diagnostics::query_surroundings(const DiagnoseRequest& wanted) {
  const auto look = [folder = wanted.cwd, files = wanted.files, name = answer_.facts.hostname] {
    const std::string text = facts_json(look_around(folder, files, name)).text();
    const ByteSpan bytes = as_bytes(text);
    return Bytes(bytes.begin(), bytes.end());
  };
  auto started = ForkedQuery::start(loop_, look, surroundings_patience,
                                    [this](const ForkedQuery::Answer& answer) {
                                      take_surroundings(answer.bytes, answer_.facts);
                                      one_ended();
                                    });
  if (!started) return;
  surroundings_ = *std::move(started);
  one_started();
}

void Diagnostics::one_ended() {
  if (--awaited_ > 0) return;
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
      HandshakeDial::Target{.address = wanted.address,
                            .peer = {std::string(agent_role), static_cast<int>(wanted.number)},
                            .deadline = Clock::now() + wanted.patience},
      claim_, send_result);
}

}  // namespace dt
