#include "comm/training/ps/checkpoint_file.h"

#include "base/format.h"
#include "base/io/atomic_file.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace dt {

namespace {

std::string part_suffix(CheckpointPart part) {
  return format(".ps-{}-of-{}", part.server, part.servers);
}

std::filesystem::path folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Takes a number off the beginning of the text. Returns none when there is none.
std::optional<uint64_t> take_number(std::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer(text.substr(0, digits));
  text.remove_prefix(digits);
  return number ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

std::optional<uint64_t> take_number_behind(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  return take_number(text);
}

/// Returns the facts in a name such as "model-100.ps-0-of-2"; none for other files.
std::optional<StepFile> parse_name(std::string_view name, std::string_view prefix) {
  const auto step = take_number_behind(name, prefix);
  const auto server = take_number_behind(name, ".ps-");
  const auto servers = take_number_behind(name, "-of-");
  if (!step || !server || !servers || !name.empty()) return std::nullopt;
  return StepFile{*step, {static_cast<uint32_t>(*server), static_cast<uint32_t>(*servers)}};
}

}  // namespace

std::string checkpoint_name(const std::string& path, CheckpointPart part) {
  return path + part_suffix(part);
}

std::string checkpoint_name(const std::string& path, uint64_t step, CheckpointPart part) {
  return format("{}-{}", path, step) + part_suffix(part);
}

std::vector<StepFile> checkpoint_files(const std::string& path) {
  std::vector<StepFile> files;
  std::error_code ended;
  for (std::filesystem::directory_iterator at(folder_of(path), ended), end; !ended && at != end;
       at.increment(ended)) {
    const std::string name = at->path().filename().string();
    const std::optional<StepFile> file =
        parse_name(name, std::filesystem::path(path).filename().string() + "-");
    if (file) files.push_back(*file);
  }
  std::ranges::sort(files, std::greater(), &StepFile::step);
  return files;
}

std::vector<uint64_t> checkpoint_steps(const std::string& path, CheckpointPart part) {
  std::vector<uint64_t> steps;
  for (const StepFile& file : checkpoint_files(path))
    if (file.part == part) steps.push_back(file.step);
  return steps;
}

Result<> try_checkpoint(const std::string& path, CheckpointPart part) {
  remove_abandoned_drafts(path + "-", part_suffix(part));
  const auto made = AtomicFile::create(checkpoint_name(path, part));
  if (made) return {};
  return fail(Errc::input,
              format("checkpoints {}: no file can be made in the folder {}: {}; make the folder, "
                     "or choose another one",
                     printable(path), printable(folder_of(path).string()), made.error().message));
}

Result<> write_checkpoint(const std::string& path, const MessageParts& content) {
  const auto failed = [&path](Error why) {
    return tl::unexpected(std::move(why).during(format("checkpoint {}", printable(path))));
  };
  auto file = AtomicFile::create(path);
  if (!file) return failed(std::move(file).error());
  Result<> written;
  for (const MessagePart& part : content.parts)
    if (written) written = file->write(part.ready());
  if (written) written = file->commit();
  return written ? written : failed(std::move(written).error());
}

Result<SavedBytes> read_checkpoint(const std::string& file, uint64_t array_bytes_max) {
  const std::string what = format("checkpoint {}", printable(file));
  Result<Fd> opened = open_trusted_file(file);
  if (!opened && opened.error().code == Errc::not_found)
    return fail(Errc::not_found, what + ": there is no such file");
  if (!opened) return tl::unexpected(std::move(opened).error().during(what));
  struct stat facts = {};
  if (::fstat(opened->get(), &facts) < 0) return fail_errno(what);
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (size > array_bytes_max + saved_head_bytes_max) {
    return fail(Errc::input, format("{}: it has {} bytes, and there is memory for {}", what, size,
                                    array_bytes_max));
  }
  const auto shared = std::make_shared<const Fd>(*std::move(opened));
  return SavedBytes{.size = size,
                    .read = [shared](uint64_t at, std::span<std::byte> into) -> Result<> {
                      return read_all_at(shared->get(), at, into);
                    }};
}

void remove_old_checkpoints(const std::string& path, CheckpointPart part, size_t kept,
                            uint64_t common) {
  const std::vector<uint64_t> steps = checkpoint_steps(path, part);
  for (size_t i = kept; i < steps.size(); ++i)
    if (steps[i] < common) ::unlink(checkpoint_name(path, steps[i], part).c_str());
}

Result<size_t> put_later_aside(const std::string& path, CheckpointPart part, uint64_t step) {
  size_t count = 0;
  for (const uint64_t later : checkpoint_steps(path, part)) {
    if (later <= step) break;
    const std::string file = checkpoint_name(path, later, part);
    const std::string aside = file + ".put-aside";
    if (std::rename(file.c_str(), aside.c_str()) != 0)
      return fail_errno(format("checkpoint {}: cannot be renamed", printable(file)));
    ++count;
  }
  return count;
}

}  // namespace dt
