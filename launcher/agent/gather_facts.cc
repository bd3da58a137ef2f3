#include "launcher/agent/gather_facts.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/io/network.h"
#include "base/text.h"
#include "base/version.h"
#include "launcher/agent/local_host.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>

namespace dt {

namespace {

constexpr size_t small_file_bytes_max = size_t{64} << 10;

/// Returns the text of a kernel file; empty when it does not exist.
std::string text_of(const std::string& path) {
  return read_text_file(path, small_file_bytes_max).value_or(std::string());
}

std::optional<int64_t> limit_value(rlim_t value) {
  if (value == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(value);
}

Limit locked_memory_limit() {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return {limit_value(limit.rlim_cur), limit_value(limit.rlim_max)};
}

Limit tasks_file_limit(uint64_t soft) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {limit_value(soft), limit_value(limit.rlim_max)};
}

Room room_of(std::string path) {
  Room room{.path = std::move(path), .bytes = {}, .free_bytes = {}};
  struct statvfs about = {};
  if (room.path.empty() || ::statvfs(room.path.c_str(), &about) < 0) return room;
  const auto block = static_cast<int64_t>(about.f_frsize);
  room.bytes = static_cast<int64_t>(about.f_blocks) * block;
  room.free_bytes = static_cast<int64_t>(about.f_bavail) * block;
  return room;
}

/// Counts the entries of a sysfs folder that satisfy `counts`.
template <class Counts>
int64_t count_in(const char* folder, Counts counts) {
  std::error_code failed;
  int64_t count = 0;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    count += counts(at->path().string()) ? 1 : 0;
  }
  return count;
}

/// True for a VGA or 3D controller of NVIDIA.
bool is_nvidia_gpu(const std::string& device) {
  return text_of(device + "/vendor").starts_with("0x10de") &&
         text_of(device + "/class").starts_with("0x03");
}

/// Returns "2.36", or "none" for another C library.
std::string glibc_version() {
  std::array<char, 64> text = {};
  if (::confstr(_CS_GNU_LIBC_VERSION, text.data(), text.size()) == 0) return "none";
  const std::vector<std::string_view> words = split_words(text.data());
  return std::string(words.empty() ? "none" : words.back());
}

void find_memory(HostDiagnostics& facts) {
  facts.memory_bytes = usable_memory_bytes();
  facts.memory_free_bytes =
      std::min(facts.memory_bytes, meminfo_bytes(text_of("/proc/meminfo"), "MemAvailable"));
}

}  // namespace

int64_t usable_memory_bytes() {
  int64_t bytes = meminfo_bytes(text_of("/proc/meminfo"), "MemTotal");
  const std::string cgroups = text_of("/proc/self/cgroup");
  for (const std::string_view line : split(cgroups, '\n')) {
    if (!line.starts_with("0::")) continue;
    const int64_t max = cgroup_memory_max("/sys/fs/cgroup", std::string(line.substr(3)));
    if (max > 0) bytes = std::min(bytes, max);
  }
  return bytes;
}

std::string misleading_own_name() {
  utsname about = {};
  ::uname(&about);
  const std::string address = address_in_hosts(text_of("/etc/hosts"), about.nodename);
  return is_loopback(address) ? format("{} is {}", about.nodename, address) : "";
}

std::string address_in_hosts(std::string_view hosts, std::string_view name) {
  for (const std::string_view line : split(hosts, '\n')) {
    const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
    if (words.size() > 1 && std::ranges::count(std::span(words).subspan(1), name) > 0)
      return std::string(words[0]);
  }
  return "";
}

int64_t meminfo_bytes(std::string_view meminfo, std::string_view name) {
  for (const std::string_view line : split(meminfo, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 2 || !words[0].ends_with(':')) continue;
    if (words[0].substr(0, words[0].size() - 1) != name) continue;
    return parse_integer(words[1]).value_or(0) << 10;
  }
  return 0;
}

std::string python_version_of(std::string_view printed) {
  const std::vector<std::string_view> words = split_words(printed.substr(0, printed.find('\n')));
  return words.size() >= 2 && words[0] == "Python" ? printable(words[1], 40) : std::string();
}

std::vector<std::string> missing_folders(std::string_view path) {
  std::vector<std::string> missing;
  for (const std::string_view folder : split(path, ':')) {
    std::error_code failed;
    const bool known = folder.empty() || std::ranges::count(missing, folder) > 0;
    if (!known && !std::filesystem::is_directory(folder, failed)) missing.emplace_back(folder);
  }
  return missing;
}

std::string import_program() {
  return R"(
import importlib, os, sys
out, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1)
os.dup2(null, 2)
for name in sys.argv[1:]:
    version, failure = '', ''
    try:
        version = str(getattr(importlib.import_module(name), '__version__', ''))
        if not version:
            from importlib.metadata import version as version_of
            version = version_of(name)
    except BaseException as error:
        if name not in sys.modules:
            failure = type(error).__name__ + ': ' + str(error)
    line = '\t'.join(' '.join(text.split())[:300] for text in (name, version, failure))
    os.write(out, (line + '\n').encode('utf-8', 'replace'))
os._exit(0)
)";
}

std::vector<PythonModule> modules_of(std::string_view printed,
                                     const std::vector<std::string>& names,
                                     const std::string& why_missing) {
  std::vector<PythonModule> modules;
  for (const std::string& name : names)
    modules.push_back({.name = name, .version = "", .failure = why_missing});
  for (const std::string_view line : split(printed, '\n')) {
    const std::vector<std::string_view> parts = split(line, '\t');
    const auto module = parts.size() == 3
                            ? std::ranges::find(modules, parts[0], &PythonModule::name)
                            : modules.end();
    if (module == modules.end()) continue;
    module->version = parts[1];
    module->failure = parts[2];
  }
  return modules;
}

int64_t cgroup_memory_max(const std::string& root, const std::string& path) {
  int64_t least = 0;
  for (std::filesystem::path at = path; !at.empty(); at = at.parent_path()) {
    const std::string file = root + at.string() + "/memory.max";
    const auto max = parse_integer(trim(text_of(file)));  // "max" is no number
    if (max && *max > 0) least = least == 0 ? *max : std::min(least, *max);
    if (at == at.root_path()) break;
  }
  return least;
}

HostDiagnostics gather_facts(uint64_t open_files_soft) {
  HostDiagnostics facts;
  utsname about = {};
  uname(&about);
  facts.dtrain = build_version;
  facts.hostname = about.nodename;
  facts.architecture = about.machine;
  facts.kernel = about.release;
  facts.glibc = glibc_version();
  std::error_code failed;
  facts.executable = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  for (InterfaceAddress& address : interface_addresses())
    facts.addresses.push_back(std::move(address.ip));
  facts.cpus_allowed = count_allowed_cpus();
  facts.cpus_online = ::sysconf(_SC_NPROCESSORS_ONLN);
  find_memory(facts);
  facts.open_files = tasks_file_limit(open_files_soft);
  facts.locked_memory = locked_memory_limit();
  facts.shared_memory = room_of("/dev/shm");
  const Environment own = local_host_environment();
  const auto home = own.find("HOME");
  facts.home = room_of(home == own.end() ? "" : home->second);
  const auto temporary = own.find("TMPDIR");
  facts.temporary = room_of(temporary == own.end() ? "/tmp" : temporary->second);
  facts.rdma_devices = count_in("/sys/class/infiniband", [](const std::string&) { return true; });
  facts.gpus_on_bus = count_in("/sys/bus/pci/devices", is_nvidia_gpu);
  return facts;
}

HostDiagnostics look_around(const std::string& folder, const std::vector<std::string>& files,
                            const std::string& hostname) {
  HostDiagnostics facts;
  facts.folder = folder;
  const Environment own = local_host_environment();
  const auto at = own.find("HOME");
  const std::string home = at == own.end() ? "/" : at->second;
  if (::access((folder + "/.").c_str(), X_OK) < 0) facts.folder_failure = errno_text(errno);
  const std::filesystem::path start = facts.folder_failure.empty() ? folder : home;
  for (const std::string& file : files) {
    if (::access((start / file).c_str(), R_OK) < 0) facts.files_missing.push_back(file);
  }
  if (::access(home.c_str(), W_OK) < 0) facts.home_failure = errno_text(errno);
  auto addresses = look_up_addresses(hostname);
  if (addresses) {
    facts.name_addresses = *std::move(addresses);
  } else {
    facts.name_failure = addresses.error().message;
  }
  return facts;
}

}  // namespace dt
