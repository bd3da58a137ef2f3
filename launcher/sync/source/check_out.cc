#include "launcher/sync/source/check_out.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/process/executable.h"
#include "launcher/sync/source/git_files.h"
#include "launcher/sync/source/program_run.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr size_t answer_bytes_max = size_t{16} << 20;

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns what git and its programs printed about the fault, as one line.
std::string faults_of(const ProgramEnd& end) {
  constexpr std::array<std::string_view, 3> progress = {"hint:", "Cloning into", "Submodule '"};
  constexpr size_t lines_max = 5;
  std::vector<std::string> shown;
  for (const std::string_view line : split(end.messages, '\n')) {
    const std::string_view text = trim(line);
    const bool useful = std::ranges::none_of(
        progress, [&](std::string_view beginning) { return text.starts_with(beginning); });
    if (!text.empty() && useful && shown.size() < lines_max) shown.push_back(printable(text, 300));
  }
  return shown.empty() ? end.status.text() : join(shown, " ");
}

/// Returns what the user can do about it, or nothing.
std::string_view remedy_for(std::string_view messages) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> table = {
      {{"could not read Username",
        "; give --sync-user with --sync-token-file or --sync-token-env, or set a credential helper "
        "of git"},
       {"could not read Password",
        "; give --sync-token-file or --sync-token-env, or set a credential helper of git"},
       {"Authentication failed", "; check the user and the token"},
       {"Permission denied", "; check that `ssh` logs in there without a question"},
       {"Host key verification failed", "; connect once by `ssh`, and check the key of the host"},
       {"returned error: 30", "; the server redirects: give the URL where it redirects to"},
       {"transport 'file' not allowed",
        "; git takes no submodule from a path, unless protocol.file.allow permits it"},
       {"dubious ownership", ""}}};
  const auto* const found =
      std::ranges::find_if(table, [&](const auto& row) { return has_text(messages, row.first); });
  return found == table.end() ? "" : found->second;
}

bool is_hash(std::string_view ref) {
  constexpr size_t hash_digits_min = 4;
  constexpr size_t hash_digits_max = 64;
  return ref.size() >= hash_digits_min && ref.size() <= hash_digits_max &&
         ref.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_full_hash(std::string_view ref) {
  return is_hash(ref) && (ref.size() == 40 || ref.size() == 64);
}

/// Runs git in one folder, as often as it takes.
class FetchingGit {
 public:
  FetchingGit(const GitSource& source, std::string folder, const GitAccess& access)
      : source_(source), folder_(std::move(folder)), access_(access) {
    environment_ = git_environment(access.environment);
    // Set but empty, it also replaces the askpass programs of settings and of ssh.
    environment_["GIT_ASKPASS"] = "";
    environment_["SSH_ASKPASS_REQUIRE"] = "never";
    environment_.erase("SSH_ASKPASS");
    const auto server = git_server_of(source.url);
    if (access.token.given() && server) {
      // Its name may be one that git_environment() leaves out, such as GIT_TOKEN.
      const auto variable = access.environment.find(access.token.variable);
      if (variable != access.environment.end()) environment_.insert(*variable);
      environment_ = asking_environment(environment_, access.token, *server);
      environment_["GIT_ASKPASS"] = access.answering_program;
    }
  }

  /// ssh must not ask either. A program of the user's choice has no terminal to ask at.
  Result<> prepare_ssh() {
    if (environment_.contains("GIT_SSH") || environment_.contains("GIT_SSH_COMMAND")) return {};
    const ProgramEnd chosen = TRY(run({"config", "--get", "core.sshCommand"}));
    if (!chosen.status.good())
      environment_["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes -o ConnectTimeout=60";
    return {};
  }

  Result<ProgramEnd> run(std::vector<std::string> words) const {
    std::vector<std::string> command = {"git",
                                        "-c",
                                        "core.hooksPath=/dev/null",
                                        "-c",
                                        "http.followRedirects=false",
                                        "-c",
                                        "gc.auto=0",
                                        "-c",
                                        "maintenance.auto=false",
                                        "-c",
                                        "advice.detachedHead=false",
                                        "-c",
                                        "core.fsmonitor=false",
                                        "-c",
                                        "http.lowSpeedLimit=1",
                                        "-c",
                                        "http.lowSpeedTime=120"};
    // A helper could answer first, and would store the token.
    if (access_.token.given())
      command.insert(command.end(), {"-c", "credential.helper="});
    else if (!access_.token.user.empty())
      command.insert(command.end(), {"-c", "credential.username=" + access_.token.user});
    command.insert(command.end(), std::make_move_iterator(words.begin()),
                   std::make_move_iterator(words.end()));
    auto started = ProgramRun::start({.command = std::move(command),
                                      .environment = environment_,
                                      .folder = folder_,
                                      .output_bytes_max = answer_bytes_max,
                                      .patience = access_.patience,
                                      .joins_group = access_.joins_group});
    if (!started)
      return fail(started.error().code,
                  format("--sync-from {}: {}; install git", shell_quote(printable(source_.url)),
                         started.error().message));
    return started->finish();
  }

  /// Runs a command that must succeed. Returns its output without the last newline.
  Result<std::string> output(std::vector<std::string> words, std::string_view doing) const {
    ProgramEnd end = TRY(run(std::move(words)));
    if (!end.status.good()) return failure(end, doing);
    return std::string(trim(end.output));
  }

  tl::unexpected<Error> failure(const ProgramEnd& end, std::string_view doing) const {
    return fail(Errc::input,
                format("--sync-from {}: git cannot {}: {}{}", shell_quote(printable(source_.url)),
                       doing, faults_of(end), remedy_for(end.messages)));
  }

  bool has_program(std::string_view program) const {
    const auto path = environment_.find("PATH");
    return find_executable(program, path == environment_.end() ? "" : path->second, folder_)
        .has_value();
  }

 private:
  const GitSource& source_;
  std::string folder_;
  const GitAccess& access_;
  Environment environment_;
};

/// The refs of the other side that the wanted one may mean.
struct RemoteRefs {
  std::string default_branch;      ///< "refs/heads/main"
  std::vector<std::string> found;  ///< of the names that were asked for
};

Result<RemoteRefs> list_remote_refs(const FetchingGit& git, const std::string& ref) {
  std::vector<std::string> words = {"ls-remote", "--symref", "origin", "HEAD"};
  if (!ref.empty()) words.insert(words.end(), {"refs/heads/" + ref, "refs/tags/" + ref, ref});
  const std::string list = TRY(git.output(std::move(words), "reach the repository"));
  RemoteRefs refs;
  for (const std::string_view line : split(list, '\n')) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    constexpr std::string_view symbolic = "ref: ";
    if (line.starts_with(symbolic) && line.substr(tab + 1) == "HEAD")
      refs.default_branch = line.substr(symbolic.size(), tab - symbolic.size());
    refs.found.emplace_back(line.substr(tab + 1));
  }
  return refs;
}

/// Returns the whole name of the wanted ref on the other side; none if there is no such name.
std::string whole_name(const RemoteRefs& refs, const std::string& ref) {
  std::vector<std::string> candidates = {"refs/heads/" + ref, "refs/tags/" + ref};
  if (ref.starts_with("refs/")) candidates.push_back(ref);
  for (std::string& candidate : candidates) {
    if (std::ranges::find(refs.found, candidate) != refs.found.end()) return std::move(candidate);
  }
  return "";
}

/// Fetches a commit that no name stands for. Returns what names it here.
Result<std::string> fetch_hash(const FetchingGit& git, const GitSource& source) {
  if (is_full_hash(source.ref)) {
    const ProgramEnd end =
        TRY(git.run({"fetch", "-q", "--depth", "1", "--no-tags", "origin", source.ref}));
    if (end.status.good()) return std::string("FETCH_HEAD");
  }
  // The server does not serve single commits, or only git can complete the hash.
  TRY(git.output({"fetch", "-q", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*"},
                 "fetch the repository"));
  const ProgramEnd commit =
      TRY(git.run({"rev-parse", "--verify", "--end-of-options", source.ref + "^{commit}"}));
  if (commit.status.good()) return std::string(trim(commit.output));
  const bool ambiguous = has_text(commit.messages, "ambiguous");
  return fail(Errc::input, format("--sync-from {}: '{}' is no branch and no tag there, and {}",
                                  shell_quote(printable(source.url)), printable(source.ref),
                                  ambiguous ? "the beginning of several commits; give more digits"
                                            : "no commit of one; check the name behind the '@'"));
}

/// Fetches the wanted commit, and returns what names it here.
Result<std::string> fetch_ref(const FetchingGit& git, const GitSource& source, Checkout& checkout) {
  const RemoteRefs refs = TRY(list_remote_refs(git, source.ref));
  checkout.ref = source.ref;
  std::string wanted = "HEAD";
  if (source.ref.empty()) {
    constexpr std::string_view branches = "refs/heads/";
    checkout.ref = refs.default_branch.starts_with(branches)
                       ? refs.default_branch.substr(branches.size())
                       : refs.default_branch;
    if (refs.found.empty())
      return fail(Errc::input, format("--sync-from {}: the repository has no commit",
                                      shell_quote(printable(source.url))));
  } else {
    wanted = whole_name(refs, source.ref);
    if (wanted.empty() && is_hash(source.ref)) return fetch_hash(git, source);
    if (wanted.empty())
      return fail(
          Errc::input,
          format("--sync-from {}: there is no branch and no tag '{}'; check the name behind "
                 "the '@', or leave it out for the default branch{}",
                 shell_quote(printable(source.url)), printable(source.ref),
                 refs.default_branch.empty() ? std::string()
                                             : format(", {}", printable(refs.default_branch))));
  }
  TRY(git.output({"fetch", "-q", "--depth", "1", "--no-tags", "origin", wanted},
                 format("fetch '{}'", printable(wanted))));
  return std::string("FETCH_HEAD");
}

/// Lets git-lfs replace its pointers at the check-out, where it is installed.
Result<bool> prepare_lfs(const FetchingGit& git) {
  if (!git.has_program("git-lfs")) return false;
  TRY(git.output({"lfs", "install", "--local", "--skip-repo"}, "use git-lfs"));
  return true;
}

bool uses_lfs(const std::string& folder) {
  constexpr size_t attributes_bytes_max = size_t{1} << 20;
  const auto text = read_text_file(folder + "/.gitattributes", attributes_bytes_max);
  return text && has_text(*text, "filter=lfs");
}

Result<> add_submodules(const FetchingGit& git, const std::string& folder) {
  constexpr size_t modules_bytes_max = size_t{1} << 20;
  if (!read_text_file(folder + "/.gitmodules", modules_bytes_max)) return {};
  const ProgramEnd shallow =
      TRY(git.run({"submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1"}));
  if (shallow.status.good()) return {};
  // Some servers serve a single commit only where a branch or a tag stands for it.
  TRY(git.output({"submodule", "--quiet", "foreach", "--recursive",
                  "git fetch -q --unshallow --tags origin || :"},
                 "fetch the submodules"));
  TRY(git.output({"submodule", "--quiet", "update", "--init", "--recursive"},
                 "fetch the submodules"));
  return {};
}

}  // namespace

Result<Checkout> check_out(const GitSource& source, const std::string& folder,
                           const GitAccess& access) {
  if (access.token.given()) TRY(read_git_token(access.token, access.environment));
  FetchingGit git(source, folder, access);
  // Without a template, the user's hooks stay out of it.
  TRY(git.output({"init", "-q", "--template="}, "make a repository here"));
  TRY(git.prepare_ssh());
  TRY(git.output({"remote", "add", "origin", source.url}, "name the repository"));
  Checkout checkout;
  const std::string fetched = TRY(fetch_ref(git, source, checkout));
  const bool lfs = TRY(prepare_lfs(git));
  TRY(git.output({"checkout", "-q", "--detach", fetched}, "check the files out"));
  TRY(add_submodules(git, folder));
  checkout.commit = TRY(git.output({"rev-parse", "HEAD"}, "name the commit"));
  if (!lfs && uses_lfs(folder))
    checkout.warnings.emplace_back(
        "--sync-from: the repository uses Git LFS, and git-lfs is not installed here: its large "
        "files are only pointers");
  return checkout;
}

}  // namespace dt
