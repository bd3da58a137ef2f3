#include "cmd/completion.h"

#include "base/io/file.h"
#include "cmd/complete.h"
#include "cmd/completion_scripts.h"
#include "launcher/agent/local_host.h"
#include "launcher/config/files/load_config.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace dt {
namespace {

std::vector<std::string> matching_paths(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread.
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

/// None for a FIFO, too, whose reader would wait: nobody has named the file yet.
std::optional<std::string> text_of(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return std::nullopt;
  Result<std::string> text = read_text_file(path, hostfile_bytes_max);
  if (!text) return std::nullopt;
  return *std::move(text);
}

}  // namespace

std::vector<std::string> completion_shells() {
  std::vector<std::string> names(completion_scripts().size());
  std::ranges::transform(completion_scripts(), names.begin(),
                         [](const CompletionScript& script) { return std::string(script.shell); });
  return names;
}

std::optional<std::string_view> completion_script(std::string_view shell) {
  for (const CompletionScript& script : completion_scripts()) {
    if (script.shell == shell) return script.text;
  }
  return std::nullopt;
}

std::string answer_completion(std::span<const std::string> words) {
  const CompletionReaders readers = {.text = text_of,
                                     .paths = matching_paths,
                                     .environment = parse_environment(own_environment())};
  return completion_text(complete(words, readers));
}

}  // namespace dt
