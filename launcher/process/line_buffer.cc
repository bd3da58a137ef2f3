#include "launcher/process/line_buffer.h"

#include "base/io/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

/// Written by the build: the bytes of the library.
extern const unsigned char dtrain_line_buffer[];
extern const unsigned long dtrain_line_buffer_bytes;

namespace dt {

namespace {

constexpr std::string_view library_name = "/dtrain_line_buffer.so";
/// Programs with gcc's AddressSanitizer end when another library is loaded before its own.
constexpr std::string_view asan_option = "verify_asan_link_order=0";

/// A folder may be mounted without the right to execute files.
bool loads_as_code(int file) {
  void* const code =
      ::mmap(nullptr, dtrain_line_buffer_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  return code != MAP_FAILED && ::munmap(code, dtrain_line_buffer_bytes) == 0;
}

}  // namespace

std::string write_line_buffer(const std::string& folder) {
  std::string path = folder + std::string(library_name);
  constexpr mode_t everyone_reads = 0444;
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, everyone_reads));
  if (!file) return {};
  const ssize_t n = ::write(file.get(), dtrain_line_buffer, dtrain_line_buffer_bytes);
  if (n == static_cast<ssize_t>(dtrain_line_buffer_bytes) && loads_as_code(file.get())) return path;
  ::unlink(path.c_str());
  return {};
}

bool leaves_our_files(const std::vector<std::string>& command) {
  constexpr std::string_view programs[] = {
      "apptainer", "bwrap",       "ch-run", "chroot",  "docker", "enroot",
      "gosu",      "nsenter",     "podman", "runuser", "sarus",  "setpriv",
      "shifter",   "singularity", "su",     "sudo",    "unshare"};
  return std::ranges::any_of(command, [&programs](std::string_view word) {
    return std::ranges::count(programs, word.substr(word.rfind('/') + 1)) > 0;
  });
}

void add_line_buffer(Environment& environment, const std::string& library) {
  const auto append = [&environment](const char* name, std::string_view value) {
    std::string& all = environment[name];
    if (!all.empty()) all += ':';
    all += value;
  };
  append("LD_PRELOAD", library);
  append("ASAN_OPTIONS", asan_option);
}

void remove_line_buffer(Environment& environment) {
  const auto remove = [&environment](const char* name, std::string_view ending) {
    const auto at = environment.find(name);
    if (at == environment.end() || !at->second.ends_with(ending)) return;
    const size_t colon = at->second.rfind(':');
    if (colon == std::string::npos)
      environment.erase(at);
    else
      at->second.resize(colon);
  };
  remove("LD_PRELOAD", library_name);
  remove("ASAN_OPTIONS", asan_option);
}

}  // namespace dt
