#include "launcher/agent/preparation.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/text.h"
#include "launcher/agent/local_host.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/process/argument_space.h"
#include "launcher/process/executable.h"
#include "launcher/process/open_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

Result<> check_entry(const std::string& folder) {
  if (folder.empty()) {
    return fail(Errc::input, "the current folder has been removed; cd elsewhere, or use --chdir");
  }
  const Fd opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened && ::access(folder.c_str(), X_OK) == 0) return {};
  return fail(Errc::input, format("cannot enter the working directory {}: {} (use --chdir)",
                                  shell_quote(printable(folder, 300)), errno_text(errno)));
}

/// Returns the folder to run in: that of the launcher, else the home if `wanted` allows it.
Result<std::string> folder_to_enter(const Prepare& wanted) {
  const auto entered = check_entry(wanted.cwd);
  if (entered) return wanted.cwd;
  std::string home = local_host_environment()["HOME"];
  if (wanted.home_instead && !home.empty() && check_entry(home)) return home;
  return tl::unexpected(entered.error());
}

}  // namespace

Prepared Preparation::prepare(Prepare wanted) {
  wanted_ = std::move(wanted);
  if (wanted_.stage != PrepareStage::command) held_ports_.clear();  // of an earlier order
  Prepared answer;
  if (const auto checked = check(answer); !checked) {
    answer.failure = checked.error().message;
    answer.status = exit_status_of(checked.error().code);
  }
  return answer;
}

Result<> Preparation::check(Prepared& answer) {
  if (wanted_.stage != PrepareStage::ports) {
    const std::string folder = TRY(folder_to_enter(wanted_));
    if (folder != wanted_.cwd) answer.home = wanted_.cwd = folder;
    TRY(find_programs());
  }
  if (wanted_.stage == PrepareStage::command) return {};
  answer.ports = TRY(hold_all_ports());
  if (!wanted_.probe) return {};
  const uint16_t port = TRY(probe_port());
  TRY(listen(wanted_.networks, port));
  answer.probe_endpoints = probe_listener_->endpoints();
  return {};
}

Result<> Preparation::find_programs() {
  if (!wanted_.command.empty()) programs_.common = TRY(program_of(wanted_.command, wanted_.path));
  for (const RoleCommand& of_role : wanted_.role_commands) {
    if (of_role.words.empty()) return fail(Errc::protocol, "a role without a command");
    auto program = program_of(of_role.words, of_role.path);
    if (!program) {
      return fail(program.error().code,
                  format("role {}: {}", printable(of_role.role), program.error().message));
    }
    programs_.by_role[of_role.role] = *std::move(program);
  }
  programs_.cwd = wanted_.cwd;
  return {};
}

Result<LocalTasks::Program> Preparation::program_of(const std::vector<std::string>& command,
                                                    const std::string& path) const {
  LocalTasks::Program program = {.executable = {}, .command = command};
  auto found = find_executable(command.front(), path, wanted_.cwd);
  const bool searched = command.front().find('/') == std::string::npos;
  if (!found && found.error().code == Errc::not_found && searched)
    found.error().message += "\n  PATH=" + printable(path, 300);
  program.executable = TRY(std::move(found));
  TRY(check_argument_space(command,
                           wanted_.environment_bytes + argument_bytes(local_host_environment()),
                           own_argument_bytes_max()));
  return program;
}

Result<std::vector<uint16_t>> Preparation::hold_all_ports() {
  const uint64_t port_files = static_cast<uint64_t>(wanted_.ports) * (wanted_.port_range ? 2 : 1) +
                              2 * wanted_.addresses.size();
  TRY(ensure_open_files(open_files_of_tasks(wanted_.tasks, port_files),
                        format("{} tasks", wanted_.tasks)));
  // The given ports come first, so that hold_ports() chooses none of them.
  for (const std::string& address : wanted_.addresses) {
    auto held = hold_this_port(port_of(address));
    if (!held)
      return fail(Errc::refused, format("{}: {}", printable(address), held.error().message));
    held_ports_.push_back(*std::move(held));
  }
  std::vector<uint16_t> chosen;
  for (HeldPort& port : TRY(hold_ports(wanted_.ports, wanted_.port_range))) {
    chosen.push_back(port.number);
    held_ports_.push_back(std::move(port));
  }
  return chosen;
}

/// Returns a held port of --port-range, before tasks need it; 0 without the option.
Result<uint16_t> Preparation::probe_port() {
  const auto& range = wanted_.port_range;
  if (!range) return uint16_t{0};
  for (const HeldPort& held : held_ports_) {
    if (range->contains(held.number)) return held.number;
  }
  // Only given addresses are held, and all of them are outside of the range.
  std::vector<HeldPort> more = TRY(hold_ports(1, range));
  held_ports_.push_back(std::move(more.front()));
  return held_ports_.back().number;
}

Result<> Preparation::listen(const std::vector<std::string>& networks, uint16_t port) {
  const Token token = TRY(Token::parse(wanted_.token));
  const auto where = TRY(allowed_addresses(interface_addresses(), networks));
  probe_listener_ = TRY(ProbeListener::open(loop_, {where, port}, token, wanted_.number));
  return {};
}

void Preparation::prepare_check(const DiagnoseRequest& wanted, DiagnoseReply& answer) {
  wanted_ = Prepare();
  wanted_.token = wanted.token;
  wanted_.number = wanted.number;
  const auto listen_twice = [&]() -> Result<> {
    // Each has its own port, since the first bytes of probes and measurements do not differ.
    std::array<uint16_t, 2> ports = {};
    if (wanted.port_range) {
      held_ports_ = TRY(hold_ports(static_cast<int>(ports.size()), wanted.port_range));
      std::ranges::transform(held_ports_, ports.begin(), &HeldPort::number);
    }
    TRY(listen(wanted.networks, ports[0]));
    for (const ProbeEndpoint& endpoint : probe_listener_->endpoints()) {
      answer.probe_addresses.push_back(endpoint.address);
      answer.bandwidth_addresses.push_back({endpoint.address.ip, ports[1]});
    }
    return {};
  };
  if (const auto listening = listen_twice(); !listening)
    answer.listen_failure = listening.error().message;
}

void Preparation::probe(Probe wanted) {
  const auto token = Token::parse(wanted_.token);
  if (!token) return;
  const auto answer = [this](ProbeDialer::Reached reached) {
    send_(MessageType::reached, encode(Reached{std::move(reached)}));
  };
  probe_dialer_ =
      std::make_unique<ProbeDialer>(loop_, *token,
                                    ProbeDialer::Terms{.targets = std::move(wanted.targets),
                                                       .deadline = loop_.now() + wanted.patience,
                                                       .head_start = wanted.head_start},
                                    answer);
}

Result<> Preparation::find_resources(const ResourcesWanted& wanted) {
  scanner_ = TRY(ResourceScanner::start(loop_, wanted, [this](const HostResources& resources) {
    send_(MessageType::resources, encode(resources));
  }));
  return {};
}

void Preparation::end() {
  scanner_.reset();
  probe_listener_.reset();
  probe_dialer_.reset();
}

std::vector<uint16_t> Preparation::held_ports() const {
  std::vector<uint16_t> numbers;
  for (const HeldPort& port : held_ports_)
    numbers.push_back(port.number);
  return numbers;
}

}  // namespace dt
