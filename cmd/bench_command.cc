#include "cmd/bench_command.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "cmd/bench/comparison.h"
#include "launcher/config/options.h"
#include "launcher/job/run.h"
#include "launcher/process/executable.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dt {

RunRequest bench_request(const BenchOptions& options) {
  RunRequest request;
  request.command = {std::string(own_command), "__bench"};
  std::ranges::move(rank_words(options), std::back_inserter(request.command));
  request.takes = is_bench_option;
  // A rank that moves between cores measures its caches. Scripts' variables are of no use to ranks.
  request.defaults = {{"no-tag", {"true"}},  {"bind-to", {"auto"}},   {"cluster-spec", {"none"}},
                      {"env-set", {"none"}}, {"no-macros", {"true"}}, {"no-horovod", {"true"}}};
  // A comparison measures this machine.
  if (!options.compare.empty()) request.defaults["allocation"] = {"none"};
  return request;
}

std::vector<std::string> mpirun_command(const std::string& mpirun, const std::string& executable,
                                        int ranks, const BenchOptions& options) {
  std::vector<std::string> command = {mpirun, "-np", format("{}", ranks), "--oversubscribe"};
  // As `auto` does for dtrain: cores of their own where there are enough.
  const bool fit = ranks <= static_cast<int>(std::thread::hardware_concurrency());
  command.insert(command.end(), {"--bind-to", fit ? "core" : "none"});
  // Its own transports are named where dtrain is restricted to one, too.
  if (options.transport == "shm") command.insert(command.end(), {"--mca", "btl", "vader,self"});
  if (options.transport == "tcp") {
    command.insert(command.end(), {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"});
  }
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.insert(command.end(), {executable, "__bench"});
  BenchOptions of_rank = options;
  of_rank.library = "mpi";
  of_rank.progress = false;
  std::ranges::move(rank_words(of_rank), std::back_inserter(command));
  return command;
}

bool shows_progress(bool terminal, const Environment& environment) {
  const auto value_of = [&environment](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string kind = value_of("TERM");
  return terminal && !kind.empty() && kind != "dumb" && value_of("CI").empty();
}

namespace {

/// A file that exists until the end of the comparison.
class ResultsFile {
 public:
  static Result<ResultsFile> make() {
    ResultsFile file;
    std::error_code failed;
    file.path_ = std::filesystem::temp_directory_path(failed).string() + "/dtrain-bench.XXXXXX";
    const Fd made(::mkostemp(file.path_.data(), O_CLOEXEC));
    if (!made) return fail_errno(file.path_);
    return file;
  }
  ResultsFile(ResultsFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ResultsFile& operator=(ResultsFile&&) = delete;
  ~ResultsFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  Result<std::string> text() const { return read_text_file(path_, size_t{1} << 20); }

 private:
  ResultsFile() = default;
  std::string path_;
};

Result<std::string> find_mpirun(const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string folders = path == environment.end() ? "/usr/bin:/bin" : path->second;
  // With several MPIs installed, Debian's alternatives may give mpirun to another one.
  if (auto found = find_executable("mpirun.openmpi", folders, ".")) return found;
  auto found = find_executable("mpirun", folders, ".");
  if (found) return found;
  return fail(found.error().code, format("--compare mpirun: {}; install Open MPI, on Debian: "
                                         "apt-get install openmpi-bin",
                                         found.error().message));
}

Result<RunConfig> config_of(RunRequest request, const RunRequest& given) {
  request.flags = given.flags;
  request.environment = given.environment;
  request.notice = given.notice;
  RunConfig config = TRY(load_run_config(std::move(request)));
  config.stdin_target.kind = StdinTarget::Kind::none;  // a bench has no use for input
  return config;
}

/// Runs mpirun as a job of one process, so that nothing of it is left, however it ends.
Result<int> run_mpirun(const BenchOptions& options, const std::string& mpirun,
                       const ResultsFile& results, const RunRequest& given) {
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string before = TRY(results.text());
  RunRequest request = bench_request(options);
  request.command = mpirun_command(mpirun, executable.string(), ranks_in_lines(before), options);
  RunConfig config = TRY(config_of(std::move(request), given));
  config.roles = workers(1);
  config.hosts.clear();
  config.placement = {};
  const int status = run(config, parse_environment(given.environment));
  if (status != 0) return status;
  const std::string lines = TRY(results.text());
  const std::string text = TRY(comparison_text(lines));
  if (options.format == BenchFormat::table) TRY(write_all(STDOUT_FILENO, as_bytes(text)));
  return 0;
}

Result<int> run_comparison(BenchOptions options, const RunRequest& given) {
  const Environment environment = parse_environment(given.environment);
  const std::string mpirun = TRY(find_mpirun(environment));
  const ResultsFile results = TRY(ResultsFile::make());
  options.results = results.path();
  const RunConfig config = TRY(config_of(bench_request(options), given));
  if (!std::ranges::all_of(config.hosts, &Host::here)) {
    return fail(Errc::input,
                "--compare mpirun: measures this machine alone; leave out other hosts");
  }
  const int status = run(config, environment);
  if (status != 0 || config.dry_run) return status;
  return run_mpirun(options, mpirun, results, given);
}

}  // namespace

Result<int> run_bench(const BenchOptions& options, const RunRequest& given) {
  if (!options.compare.empty()) return run_comparison(options, given);
  const RunConfig config = TRY(config_of(bench_request(options), given));
  return run(config, parse_environment(given.environment));
}

}  // namespace dt
