#include "cmd/check_words.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/run_arguments.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <vector>

namespace dt {
namespace {

constexpr size_t imports_max = 64;

/// True for a module's name, such as torch.distributed. Other text might be an option of Python.
bool is_module(std::string_view name) {
  const auto is_part = [](std::string_view part) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
             static_cast<unsigned char>(c) >= 0x80;
    };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !part.empty() && letter(part[0]) &&
           std::ranges::all_of(part, [&](char c) { return letter(c) || digit(c); });
  };
  return std::ranges::all_of(split(name, '.'), is_part);
}

Result<std::vector<std::string>> imports_of(const RunArguments& words) {
  std::vector<std::string> imports;
  for (const auto& [spelling, value] : words.own_values) {
    for (const std::string_view name : split(value, ',')) {
      if (!is_module(trim(name))) {
        return fail(Errc::input,
                    format("{}: expected modules of Python, as torch,numpy, got \"{}\"", spelling,
                           printable(value)));
      }
      imports.emplace_back(trim(name));
    }
  }
  if (imports.size() <= imports_max) return imports;
  return fail(Errc::input, format("--import: {} modules; at most {}", imports.size(), imports_max));
}

}  // namespace

Result<CheckWords> read_check_words(std::span<const std::string> words) {
  std::vector<std::string_view> flags;
  std::vector<OwnOption> valued;
  for (const CheckOption& option : check_own_options) {
    if (option.placeholder.empty()) {
      flags.push_back(option.spelling);
    } else {
      valued.push_back({option.spelling, option.placeholder});
    }
  }
  RunArguments read = TRY(read_run_arguments(
      words,
      {.command = "check", .own_flags = flags, .takes = is_check_option, .own_options = valued}));
  if (read.prints != nullptr) return CheckWords{.help = true, .flags = {}, .check = {}};
  // Without `--` before it, an argument may be a host whose -H was forgotten.
  const size_t before = words.size() - read.command.size();
  if (!read.command.empty() && (before == 0 || words[before - 1] != "--")) {
    return fail(Errc::input,
                format("check: starts no command, so \"{}\" means nothing to it; hosts go behind "
                       "-H, the command of a job behind --",
                       printable(read.command.front())));
  }
  std::vector<std::string> imports = TRY(imports_of(read));
  return CheckWords{.help = false,
                    .flags = std::move(read.flags),
                    .check = {.json = !read.own.empty(),
                              .command = std::move(read.command),
                              .imports = std::move(imports)}};
}

}  // namespace dt
