#include "launcher/discovery/host_discovery.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/config/files/load_config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// Opens a hostfile. A pipe, as of -H <(…), has no second text, and a read could block the loop.
Result<Fd> open_hostfile(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about = {};
  if (!file || ::fstat(file.get(), &about) != 0) return fail(Errc::input, errno_text(errno));
  if (S_ISDIR(about.st_mode)) return fail(Errc::input, errno_text(EISDIR));
  if (!S_ISREG(about.st_mode))
    return fail(Errc::input, "it is not a regular file, so it cannot be read again");
  return file;
}

Result<std::string> read_hostfile_again(const std::string& path) {
  const Fd file = TRY(open_hostfile(path));
  return read_text(file.get(), hostfile_bytes_max);
}

Result<HostList> read_hosts_again(const std::string& path) {
  const auto text = read_hostfile_again(path);
  if (text) return parse_hostfile(*text, path);
  return fail(Errc::input, format("cannot read {}: {}", printable(path), text.error().message));
}

/// True for a hostfile of comments and empty lines.
bool names_no_host(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  return std::ranges::all_of(split(text, '\n'), [](std::string_view line) {
    return trim(line.substr(0, line.find('#'))).empty();
  });
}

}  // namespace

HostDiscovery::HostDiscovery(Loop& loop, HostSource source, DiscoveryLimits limits)
    : loop_(loop), source_(std::move(source)), limits_(limits) {
  assert(source_.changes());
}

void HostDiscovery::read(OnRead on_read) {
  assert(!is_reading());
  on_read_ = std::move(on_read);
  program_.reset();
  timer_ = loop_.after(Duration::zero(), [this] {
    if (!source_.program.empty()) return start_program();
    finish(read_hosts_again(source_.hostfile));
  });
}

void HostDiscovery::start_program() {
  auto program =
      DiscoveryProgram::start(loop_, source_.program, limits_, [this](Result<std::string> output) {
        if (!output) return finish(tl::unexpected(output.error()));
        finish(parse_discovered_hosts(*output, source_.program, source_.slots_per_host));
      });
  if (!program) return finish(tl::unexpected(program.error()));
  program_ = *std::move(program);
}

void HostDiscovery::finish(Result<HostList> list) {
  const OnRead on_read = std::exchange(on_read_, nullptr);
  on_read(std::move(list));
}

Result<HostList> read_once(Loop& loop, const HostSource& source,
                           const std::function<bool()>& interrupted) {
  std::optional<Result<HostList>> found;
  HostDiscovery discovery(loop, source);
  discovery.read([&found](Result<HostList> list) { found = std::move(list); });
  while (!found && !interrupted())
    TRY(loop.run_once(Time::max()));
  if (!found) return fail(Errc::interrupted, "interrupted");
  return *std::move(found);
}

Result<HostList> parse_discovered_hosts(const std::string& output, const std::string& program,
                                        int slots_per_host) {
  if (names_no_host(output)) return HostList();
  HostList list = TRY(parse_hostfile(output, "output of " + printable(program)));
  for (Host& host : list.hosts) {
    // `counted` slots are a number of mentions, which the program did not print.
    const bool has_slots = host.slots > 0 && !host.counted;
    if (has_slots || slots_per_host == 0) continue;
    host.slots = slots_per_host;
    host.counted = false;
  }
  return list;
}

}  // namespace dt
