#include "cmd/job_command.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/json.h"
#include "base/text.h"
#include "launcher/config/jobs/job_file.h"
#include "launcher/config/jobs/job_text.h"
#include "launcher/config/jobs/pieces.h"
#include "launcher/config/jobs/pieces_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace dt {
namespace {

/// Processes start in the folder of the code, or at --chdir from there.
void start_in_code(const std::string& code, const std::string& current, OptionSource& options) {
  const std::string folder = code.starts_with('/') ? code : current + "/" + code;
  std::vector<std::string>& chdir = options.values["chdir"];
  if (chdir.empty()) {
    chdir.push_back(folder);
  } else if (!chdir.back().starts_with('/')) {
    chdir.back().insert(0, folder + "/");
  }
}

}  // namespace

Result<RunRequest> job_request(const JobWords& words, std::vector<std::string> environment) {
  const Result<std::string> text = read_text_file(words.file, config_bytes_max);
  if (!text) {
    return fail(Errc::input,
                format("job: cannot read \"{}\": {}", printable(words.file), text.error().message));
  }
  JobFile job = TRY(read_job_file(*text, words.file, [&words, &environment] {
    return read_pieces_file(words.pieces, parse_environment(environment));
  }));
  if (!words.command.empty()) job.command = words.command;
  if (!job.code_folder.empty())
    start_in_code(job.code_folder, current_folder(parse_environment(environment)), job.options);
  RunRequest request = {.flags = words.flags,
                        .command = std::move(job.command),
                        .environment = std::move(environment),
                        .job = std::move(job.options)};
  if (words.action == JobWords::Action::check && !words.connect)
    request.flags.values["dry-run"] = {"true"};
  return request;
}

std::string effective_job_text(const RunRequest& request) {
  OptionSource all = request.job;
  for (const auto& [name, values] : request.flags.values) {
    if (name == "env") {
      std::ranges::copy(values, std::back_inserter(all.values[name]));
    } else {
      all.values.insert_or_assign(name, values);
    }
  }
  start_paths_at(current_folder(parse_environment(request.environment)) + "/", all);
  return job_file_text(all, request.command);
}

Result<std::string> initial_job_file(const JobWords& words,
                                     const std::vector<std::string>& environment) {
  RunRequest request = {.flags = words.flags, .command = words.command, .environment = environment};
  TRY(load_run_config(std::move(request)));
  OptionSource options = words.flags;
  // Paths of a file begin at its folder, those of a command line at the current one.
  if (words.file.find('/') != std::string::npos)
    start_paths_at(current_folder(parse_environment(environment)) + "/", options);
  return job_file_text(options, words.command);
}

Result<std::string> pieces_listing(const JobWords& words, const Environment& environment) {
  const PiecesText file = TRY(read_pieces_file(words.pieces, environment));
  const std::vector<Piece> pieces = TRY(list_pieces(file));
  if (words.json) {
    Json::Array all;
    for (const Piece& piece : pieces) {
      all.emplace_back(Json::Object{{"name", piece.name},
                                    {"file", file.path},
                                    {"line", static_cast<int64_t>(piece.line)},
                                    {"uses", Json::Array(piece.uses.begin(), piece.uses.end())}});
    }
    return Json(Json::Object{{"pieces", std::move(all)}}).text(2) + "\n";
  }
  size_t width = 0;
  for (const Piece& piece : pieces)
    width = std::max(width, piece.name.size());
  std::string text;
  for (const Piece& piece : pieces)
    text +=
        format("{:<{}}  {}:{}\n", printable(piece.name), width, printable(file.path), piece.line);
  return text;
}

Result<> write_new_file(const std::string& path, const std::string& text, bool is_secret) {
  const mode_t mode = is_secret ? 0600 : 0666;
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file) return write_all(file.get(), as_bytes(text));
  if (errno != EEXIST) {
    return fail(Errc::input, format("cannot write \"{}\": {}", printable(path), errno_text(errno)));
  }
  struct stat status = {};
  const bool is_folder = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  return fail(Errc::input,
              is_folder
                  ? format("\"{}\" is a folder; name a file in it", printable(path))
                  : format("\"{}\" exists; write to another file, or remove it", printable(path)));
}

}  // namespace dt
