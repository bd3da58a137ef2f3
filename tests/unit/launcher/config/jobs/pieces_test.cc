#include "launcher/config/jobs/pieces.h"

#include "base/text.h"
#include "launcher/config/jobs/job_file.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace dt {
namespace {

constexpr const char* shared_pieces = R"([code.vision]
path = "vision"
exclude = ["*.bin"]
token-file = "token"
[env.proxy]
A = "proxy"
B = "proxy"
[env.both]
use = ["env.proxy"]
A = "both"
[roles.ps]
use = ["resources.small", "env.proxy"]
replicas = 1
restart = "always"
[roles.base]
command = "serve"
[resources.small]
cpus = 1
gpus = 0
[resources.big]
cpus = 8
)";

/// Returns the options of a job, with the pieces above or others.
Result<JobFile> job_with(const std::string& text, const std::string& pieces = shared_pieces) {
  return read_job_file("schema = 1\n" + text, "job.toml", [&pieces]() -> Result<PiecesText> {
    return PiecesText{.path = "/p/pieces.toml", .text = pieces};
  });
}

std::string values_of(const std::string& text, const std::string& option) {
  const auto job = job_with(text);
  if (!job) return job.error().message.substr(0, job.error().message.find('\n'));
  const auto found = job->options.values.find(option);
  return found == job->options.values.end() ? "" : join(found->second, " ");
}

TEST_CASE("a job takes pieces, and its own keys win") {
  const std::string code = "use = [\"code.vision\"]\n";
  CHECK(values_of(code, "sync-from") == "/p/vision");
  CHECK(values_of(code, "sync-token-file") == "/p/token");
  CHECK(values_of(code + "[code]\npath = \"own\"", "sync-from") == "own");
  CHECK(values_of(code + "[code]\npath = \"own\"", "sync-exclude") == "*.bin");
  const std::string env = "use = [\"env.proxy\"]\n";
  CHECK(values_of(env, "env") == "A=proxy B=proxy");
  CHECK(values_of(env + "[env]\nB = \"own\"", "env") == "B=own A=proxy");
  CHECK(values_of("use = [\"env.proxy\", \"env.both\"]", "env") == "A=both B=proxy");
  CHECK(values_of("use = [\"env.both\", \"env.proxy\"]", "env") == "A=proxy B=proxy");
}

TEST_CASE("a role is a piece, and takes pieces") {
  const std::string ps = "use = [\"roles.ps\"]\n";
  CHECK(values_of(ps, "role") == "ps=1");
  CHECK(values_of(ps, "role-cpus") == "ps=1");
  CHECK(values_of(ps, "role-env") == "ps=A=proxy ps=B=proxy");
  CHECK(values_of(ps + "[roles.ps]\nreplicas = 3\nenv = {B = \"own\"}", "role") == "ps=3");
  CHECK(values_of(ps + "[roles.ps]\nenv = {B = \"own\"}", "role-env") == "ps=B=own ps=A=proxy");
  const std::string worker =
      "[roles.worker]\nreplicas = 2\nuse = [\"roles.base\", "
      "\"resources.big\", \"env.both\"]\n";
  CHECK(values_of(worker, "role-cpus") == "worker=8");
  CHECK(values_of(worker, "role-command") == "worker=sh -c serve");
  CHECK(values_of(worker, "role-env") == "worker=A=both worker=B=proxy");
  CHECK(values_of(worker + "resources = {cpus = 2}", "role-cpus") == "worker=2");
}

TEST_CASE("an error within a piece has the place in its file, one of its use that of the use") {
  const std::string at = "job.toml:2:1: use: ";
  const std::pair<std::string, std::string> rows[] = {
      {"use = [\"code.vison\"]",
       at + "there is no piece \"code.vison\"; did you mean code.vision?"},
      {"use = [\"code\"]", at + "expected KIND.NAME with a kind of code, mounts, env, roles, got "
                                "\"code\""},
      {"use = [\"resources.big\"]",
       at + "expected KIND.NAME with a kind of code, mounts, env, roles, got \"resources.big\""},
      {"use = \"code.vision\"", at + "expected an array of pieces, such as [\"code.vision\"]"},
      {"use = []", at + "expected an array of pieces, such as [\"code.vision\"]"},
      {"env = [\"A=1\"]\nuse = [\"env.proxy\"]",
       "job.toml:2:1: env: expected a table, to which pieces are added, got an array"},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text);
    CHECK(values_of(text, "env") == message);
  }
  const auto message = [](const std::string& pieces, const std::string& use) {
    return job_with("use = [\"" + use + "\"]", pieces).error().message;
  };
  CHECK(message("[code.a]\nuse = [\"code.a\"]", "code.a")
            .starts_with("/p/pieces.toml:2:1: use: code.a uses itself\n  use = [\"code.a\"]\n  ^"));
  CHECK(message("[env.a]\nuse = [\"env.b\"]\n[env.b]\nuse = [\"env.a\"]", "env.a")
            .starts_with("/p/pieces.toml:4:1: use: env.a uses itself, by env.b\n"));
  CHECK(message("[code.a]\npth = \"x\"", "code.a")
            .starts_with("/p/pieces.toml:2:1: unknown key \"pth\" in [code]; did you mean path?\n"
                         "  pth = \"x\"\n  ^"));
  CHECK(message("[cod.a]\n", "code.a").starts_with("/p/pieces.toml:1:2: unknown key \"cod\""));
  CHECK(message("code = 1", "code.a")
            .starts_with("/p/pieces.toml:1:1: code: expected named tables, such as [code.NAME]"));
  CHECK(message("code = ", "code.a").starts_with("/p/pieces.toml:1:"));
  CHECK(message("", "code.a")
            .starts_with("job.toml:2:1: use: there is no piece \"code.a\"; the file "
                         "of pieces has none"));
  CHECK(read_job_file("schema = 1\nuse = [\"code.a\"]", "j.toml")
            .error()
            .message.starts_with("j.toml:2:1: use: there is no file of pieces here"));
}

TEST_CASE("pieces that use each other over and over are refused") {
  std::string pieces;
  for (int i = 0; i < 20; ++i) {
    const std::string next = "env.e" + std::to_string(i + 1);
    pieces += "[env.e" + std::to_string(i) + "]\nuse = [\"" + next + "\", \"" + next + "\"]\n";
  }
  pieces += "[env.e20]\nA = \"1\"\n";
  const auto job = job_with("use = [\"env.e0\"]", pieces);
  REQUIRE_FALSE(job);
  CHECK(job.error().message.find("use: more than 1000 pieces") != std::string::npos);
}

TEST_CASE("a piece of mounts is one more element of the job's array") {
  TomlDocument job =
      TomlDocument::parse("use = [\"mounts.a\", \"mounts.b\"]\n[[mounts]]\ntarget = \"/own\"", "j")
          .value();
  const std::string pieces =
      "[mounts.a]\ntarget = \"/a\"\n[mounts.b]\nuse = [\"mounts.a\"]\nsource = \"/s\"";
  REQUIRE(use_pieces(job, [&] { return Result<PiecesText>(PiecesText{"/p", pieces}); }));
  REQUIRE(job.entries().size() == 1);
  const TomlEntry& mounts = job.entries().front();
  CHECK(mounts.value.kind == TomlValue::Kind::tables);
  REQUIRE(mounts.value.elements.size() == 3);
  CHECK(mounts.value.elements[0].entries[0].value.text == "/own");
  CHECK(mounts.value.elements[1].entries[0].value.text == "/a");
  CHECK(job.place(mounts.value.elements[2].entries[0]) == "/p:5:1");
  CHECK(mounts.value.elements[2].entries[1].value.text == "/a");
}

TEST_CASE("the pieces of a file are listed with their lines") {
  const std::vector<Piece> pieces = list_pieces({"/p", shared_pieces}).value();
  REQUIRE(pieces.size() == 7);
  CHECK(pieces[0] == Piece{.name = "code.vision", .line = 1});
  CHECK(pieces[3] ==
        Piece{.name = "roles.ps", .line = 11, .uses = {"resources.small", "env.proxy"}});
  CHECK_FALSE(list_pieces({"/p", "np = 2"}));
}

}  // namespace
}  // namespace dt
