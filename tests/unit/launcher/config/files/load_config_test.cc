#include "launcher/config/files/load_config.h"

#include "base/format.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace dt {
namespace {

/// A folder that the destructor removes.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dtrain-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<RunConfig> load(OptionValues values, std::vector<std::string> environment = {}) {
  OptionSource flags = {.values = std::move(values), .origins = {{"hostfile", "--hostfile"}}};
  return load_run_config(
      {.flags = std::move(flags), .command = {"true"}, .environment = std::move(environment)});
}

TEST_CASE("flags come before variables, variables before the file") {
  const Folder folder;
  const std::string file = folder.write("job.toml", "np = 4\nchdir = \"/f\"\ngrace = 3\n");
  const RunConfig config =
      load({{"np", {"2"}}, {"config-file", {file}}}, {"DTRAIN_OPT_NP=8", "DTRAIN_OPT_CHDIR=/v"})
          .value();
  CHECK(config.roles == workers(2));
  CHECK(config.chdir == "/v");
  CHECK(config.grace == seconds(3));
}

TEST_CASE("a wrong table of algorithms is named with its source") {
  RunRequest request{.flags = {.values = {{"np", {"2"}}}, .origins = {}},
                     .command = {"true"},
                     .environment = {"DTRAIN_OPT_ALGORITHMS=ring"}};
  CHECK(load_run_config(request).value().algorithms == "ring");
  request.environment = {"DTRAIN_OPT_ALGORITHMS=ring,"};
  CHECK(error_of(load_run_config(request)).starts_with("DTRAIN_OPT_ALGORITHMS: column 6: "));
  request.environment.clear();
  CHECK(error_of(load_run_config(request)) == "accepted");
}

TEST_CASE("--deterministic refuses a table that chooses a reduction") {
  RunRequest request{
      .flags = {.values = {{"np", {"2"}}, {"deterministic", {"true"}}}, .origins = {}},
      .command = {"true"},
      .environment = {}};
  CHECK(load_run_config(request).value().algorithms == "deterministic");
  request.flags.values["algorithms"] = {"broadcast=tree"};
  CHECK(load_run_config(request).value().algorithms == "deterministic,broadcast=tree");
  request.flags.values["algorithms"] = {"ring"};
  CHECK(error_of(load_run_config(request)) ==
        "algorithms: --deterministic chooses the algorithms of all_reduce, reduce and "
        "reduce_scatter; leave them out");
  request.flags.values["deterministic"] = {"false"};
  CHECK(load_run_config(request).value().algorithms == "ring");
}

TEST_CASE("without --config-file the user's own file counts, XDG_CONFIG_HOME before HOME") {
  const Folder folder;
  folder.write("xdg/dtrain/config.toml", "np = 5\n");
  folder.write("home/.config/dtrain/config.toml", "np = 6\n");
  const std::string home = "HOME=" + folder.path() + "/home";
  CHECK(load({}, {home}).value().roles == workers(6));
  CHECK(load({}, {home, "XDG_CONFIG_HOME=" + folder.path() + "/xdg"}).value().roles == workers(5));
  CHECK(load({}, {home, "XDG_CONFIG_HOME=relative"}).value().roles == workers(6));
  CHECK(error_of(load({}, {"HOME=" + folder.path() + "/nobody"})).starts_with("-np: missing"));
  const std::string named = folder.write("named.toml", "np = 7\n");
  CHECK(load({}, {home, "DTRAIN_OPT_CONFIG_FILE=" + named}).value().roles == workers(7));
}

TEST_CASE("variables of all sources count, and the nearer one wins") {
  const Folder folder;
  const std::string file =
      folder.write("job.toml", "env = [\"A=1\", \"B=2\"]\nenv-exclude = \"X*\"\n");
  const RunConfig config =
      load({{"np", {"1"}}, {"env", {"C=3", "B=9"}}, {"config-file", {file}}}).value();
  std::map<std::string, std::string> values;
  for (const EnvironmentSetting& setting : config.environment)
    values[setting.name] = setting.value.value_or("");
  CHECK(values == std::map<std::string, std::string>{{"A", "1"}, {"B", "9"}, {"C", "3"}});
}

TEST_CASE("B17: a file that cannot be read is named with the reason") {
  const Folder folder;
  const std::string& path = folder.path();
  const std::string gone = path + "/gone";
  CHECK(error_of(load({{"hostfile", {gone}}})) ==
        format("--hostfile: cannot read \"{}\": No such file or directory", gone));
  CHECK(error_of(load({{"hostfile", {path}}})) ==
        format("--hostfile: cannot read \"{}\": Is a directory", path));
  CHECK(error_of(load({{"np", {"1"}}, {"config-file", {gone}}})) ==
        format("--config-file: cannot read \"{}\": No such file or directory", gone));
  CHECK(error_of(load({}, {"DTRAIN_OPT_NP=1", "DTRAIN_OPT_CONFIG_FILE=" + path})) ==
        format("DTRAIN_OPT_CONFIG_FILE: cannot read \"{}\": Is a directory", path));
  const std::string large = folder.write("large", "a\n");
  std::filesystem::resize_file(large, hostfile_bytes_max + 1);
  CHECK(error_of(load({{"hostfile", {large}}})) ==
        format("--hostfile: cannot read \"{}\": it is larger than 16 MB", large));
}

TEST_CASE("horovodrun's YAML is not read, but its keys are translated") {
  const Folder folder;
  const std::string file = folder.write("job.conf", "params:\n  cycle_time_ms: 3\n");
  CHECK(error_of(load({{"np", {"1"}}, {"config-file", {file}}})) ==
        format("--config-file: \"{}\" is YAML, as horovodrun reads it; the same as a "
               "dtrain.toml:\ncycle-time-ms = 3",
               file));
}

TEST_CASE("a hostfile's text is read to its end, and its faults carry its path") {
  const Folder folder;
  const std::string good = folder.write("good", "a slots=2\nb slots=3\n");
  CHECK(load({{"hostfile", {good}}}).value().hosts ==
        std::vector<Host>{{.name = "a", .slots = 2}, {.name = "b", .slots = 3}});
  const std::string bad = folder.write("bad", "a slots=2\nb slots=x\n");
  CHECK(error_of(load({{"hostfile", {bad}}})) ==
        format("{}:2:9: host \"b\": slots must be 1..4096, got \"x\"", bad));
}

}  // namespace
}  // namespace dt
