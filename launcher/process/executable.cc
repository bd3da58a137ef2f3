#include "launcher/process/executable.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace dt {

namespace {

/// Returns 0 when `file` can be executed, else the errno that exec would fail with.
int why_not_runnable(const std::string& file) {
  struct stat about = {};
  if (::stat(file.c_str(), &about) < 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  if (::access(file.c_str(), X_OK) < 0) return errno;
  return 0;
}

/// Returns the path of the loader that an executable of 64 bits names; empty: none is found.
std::string loader_of(std::string_view head) {
  Elf64_Ehdr about = {};
  if (!head.starts_with(ELFMAG) || head.size() < sizeof about) return {};
  std::memcpy(&about, head.data(), sizeof about);
  if (about.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (size_t i = 0; i < about.e_phnum; ++i) {
    Elf64_Phdr part = {};
    const size_t at = about.e_phoff + i * sizeof part;
    if (at > head.size() || head.size() - at < sizeof part) return {};
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_INTERP || part.p_offset > head.size()) continue;
    return head.substr(part.p_offset, part.p_filesz).data();
  }
  return {};
}

std::string absolute(std::string_view file, std::string_view cwd) {
  if (file.starts_with('/')) return std::string(file);
  return format("{}/{}", cwd, file);
}

}  // namespace

std::string missing_part(const std::string& file) {
  constexpr size_t head_bytes = 4096;
  std::error_code failed;
  const auto target = std::filesystem::read_symlink(file, failed);
  if (!failed && ::access(file.c_str(), F_OK) != 0)
    return format("it is a link to {}, which does not exist",
                  shell_quote(printable(target.native())));
  std::string head(head_bytes, '\0');
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t n = ::read(opened.get(), head.data(), head.size());
  head.resize(n < 0 ? 0 : static_cast<size_t>(n));
  if (!head.starts_with("#!")) {
    const std::string loader = loader_of(head);
    return loader.empty() ? "" : format("its loader {} does not exist", printable(loader));
  }
  const std::string_view line = std::string_view(head).substr(2, head.find('\n') - 2);
  const auto words = split_words(line);
  if (words.empty()) return {};
  const bool dos = line.ends_with('\r');
  return format(
      "its interpreter {} does not exist{}", shell_quote(printable(words.front())),
      dos ? "; its lines end in CR LF; try: sed -i 's/\\r$//' " + shell_quote(printable(file))
          : "");
}

Result<std::string> find_executable(std::string_view command, std::string_view path,
                                    std::string_view cwd) {
  if (command == own_command) return "/proc/self/exe";
  const std::string shown = shell_quote(printable(command));
  if (command.find('/') != std::string_view::npos) {
    std::string file = absolute(command, cwd);
    const int number = why_not_runnable(file);
    if (number == 0) return file;
    const bool missing = number == ENOENT || number == ENOTDIR;
    const std::string part = missing ? missing_part(file) : "";
    return fail(missing ? Errc::not_found : Errc::not_runnable,
                format("cannot run {}: {}{}", shown, part.empty() ? errno_text(number) : part,
                       number == EACCES ? format("; try: chmod +x {}", shown) : ""));
  }
  std::string refused;
  std::string dangling;
  for (const std::string_view folder : split(path, ':')) {
    std::string file = absolute(format("{}/{}", folder.empty() ? "." : folder, command), cwd);
    const int number = why_not_runnable(file);
    if (number == 0) return file;
    // A folder that this user cannot search may have no such file: shells ignore it.
    const bool is_there = ::access(file.c_str(), F_OK) == 0;
    if (number == EACCES && is_there && refused.empty()) refused = file;
    if (number == ENOENT && dangling.empty()) dangling = missing_part(file);
  }
  if (!refused.empty()) {
    return fail(Errc::not_runnable, format("cannot run {}: Permission denied; try: chmod +x {}",
                                           shown, shell_quote(printable(refused))));
  }
  const bool python3 = command == "python" && find_executable("python3", path, cwd);
  return fail(Errc::not_found, format("cannot run {}: not found in PATH{}{}", shown,
                                      dangling.empty() ? "" : ", where " + dangling,
                                      python3 ? "; python3 is there" : ""));
}

}  // namespace dt
