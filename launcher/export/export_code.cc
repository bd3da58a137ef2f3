#include "launcher/export/export_code.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/source/folder_below.h"
#include "launcher/sync/source/git_files.h"

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace dt {
namespace {

/// Returns the file behind a link of the tree, below its root.
std::string linked_path(const std::string& root, const TreeEntry& link) {
  std::error_code fault;
  const std::string full = std::filesystem::canonical(root + "/" + link.path, fault).string();
  return fault || !full.starts_with(root + "/") ? "" : full.substr(root.size() + 1);
}

Result<CodeFile> read_code_file(const Fd& root, const TreeEntry& entry, const std::string& path,
                                uint64_t bytes_max) {
  const Fd file = open_file_below(root, path);
  if (!file) {
    return fail(Errc::input,
                format("cannot read {} of the code: {}", printable(path), errno_text(errno)));
  }
  std::string content = TRY(read_text(file.get(), bytes_max));
  return CodeFile{
      .path = entry.path, .content = std::move(content), .is_executable = entry.executable};
}

}  // namespace

Result<std::optional<ExportedCode>> find_code(const RunConfig& config, const std::string& folder) {
  if (!config.sync || config.sync->repository) return std::nullopt;
  namespace fs = std::filesystem;
  std::error_code fault;
  const std::string named = fs::canonical(fs::path(folder) / config.sync->from, fault).string();
  if (fault) {
    return fail(Errc::input, format("--sync-from {}: {}", shell_quote(printable(config.sync->from)),
                                    fault.message()));
  }
  ExportedCode code = {.root = find_git_root(named).value_or(named), .start = {}};
  const std::string here = fs::canonical(folder, fault).string();
  if (!fault && here.starts_with(code.root + "/")) code.start = here.substr(code.root.size() + 1);
  return code;
}

Result<> read_code(const SyncOptions& sync, const UserPlace& place, uint64_t bytes_max,
                   ExportJob& job) {
  FoundTree tree = TRY(find_tree(sync, place));
  std::ranges::move(tree.warnings, std::back_inserter(job.config.warnings));
  job.code->bytes = tree.total_bytes();
  if (job.code->bytes > bytes_max) return {};
  const Fd root = TRY(open_tree_root(tree.root));
  for (const FoundEntry& found : tree.entries) {
    const TreeEntry& entry = found.entry;
    // A ConfigMap has neither folders nor links: the file behind a link stands in its place.
    const bool is_link = entry.kind == TreeEntry::Kind::link;
    const std::string path = is_link ? linked_path(tree.root, entry) : entry.path;
    if (entry.kind == TreeEntry::Kind::folder || path.empty()) continue;
    if (is_link && names_folder(tree.root + "/" + path)) continue;
    CodeFile file = TRY(read_code_file(root, entry, path, bytes_max));
    if (is_link) job.code->bytes += file.content.size();
    job.code->files.push_back(std::move(file));
  }
  return {};
}

}  // namespace dt
