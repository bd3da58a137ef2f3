#include "launcher/sync/source/check_out.h"

#include "base/format.h"
#include "tests/unit/launcher/connect/message_form.h"
#include "tests/unit/launcher/sync/source/git_server.h"
#include "tests/unit/launcher/sync/source/git_trees.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;

/// A server with a repository "app" of two commits, with a submodule by a relative URL.
struct ServedRepositories {
  TemporaryFolder folder = {};
  Environment environment = clean_git_environment();
  std::string first = {};
  std::string second = {};
  std::string library = {};
  std::optional<GitServerProcess> server = {};
  int count = 0;

  ServedRepositories() {
    folder.write("lib/code.h", "library one");
    library = make_repository(folder.path() + "/lib");
    folder.write("app/train.py", "one", 0755);
    first = make_repository(folder.path() + "/app");
    git_in(folder.path() + "/app", {"tag", "v1"});
    git_in(folder.path() + "/app", {"branch", "old/one"});
    git_in(folder.path() + "/app", {"submodule", "--quiet", "add", folder.path() + "/lib", "lib"});
    git_in(folder.path() + "/app", {"config", "-f", ".gitmodules", "submodule.lib.url", "../lib"});
    folder.write("app/train.py", "two", 0755);
    git_in(folder.path() + "/app", {"add", "-A"});
    git_in(folder.path() + "/app", {"commit", "-q", "-m", "second"});
    second = git_in(folder.path() + "/app", {"rev-parse", "HEAD"});
    // The submodule's commit is not the newest of its repository.
    folder.write("lib/code.h", "library two");
    git_in(folder.path() + "/lib", {"commit", "-q", "-a", "-m", "second"});
    // A server of another user's repositories would refuse them.
    environment["HOME"] = folder.path();
    server.emplace(folder.path(), environment);
  }

  std::string new_folder() {
    const std::string path = format("{}/out{}", folder.path(), ++count);
    fs::create_directory(path);
    return path;
  }
  std::string content(const std::string& name) const {
    return folder.read(format("out{}/{}", count, name));
  }
  Result<Checkout> check(const std::string& url, const GitToken& token = {}) {
    const auto source = parse_git_source(url);
    REQUIRE(source);
    return check_out(*source, new_folder(),
                     {.environment = environment,
                      .token = token,
                      .answering_program = folder.path() + "/answer",
                      .patience = seconds(120)});
  }
  /// Returns the message of the failure.
  std::string refused(const std::string& url, const GitToken& token = {}) {
    const auto checkout = check(url, token);
    REQUIRE_FALSE(checkout);
    CHECK(checkout.error().code == Errc::input);
    CHECK(fault_of_message(checkout.error().message) == "");
    return checkout.error().message;
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the default branch, a branch, a tag and hashes are checked out, with submodules") {
  ServedRepositories served;
  for (const std::string& url :
       {served.server->http("open/app/.git"), served.server->git("app/.git")}) {
    const auto newest = served.check(url);
    REQUIRE_MESSAGE(newest, (newest ? "" : newest.error().message));
    CHECK(newest->commit == served.second);
    CHECK(newest->ref == "main");
    CHECK(newest->warnings.empty());
    CHECK(served.content("train.py") == "two");
    for (const std::string& ref :
         {std::string("v1"), std::string("old/one"), served.first, served.first.substr(0, 8)}) {
      const auto old = served.check(url + "@" + ref);
      REQUIRE_MESSAGE(old, (old ? "" : old.error().message));
      CHECK(old->commit == served.first);
      CHECK(old->ref == ref);
      CHECK(served.content("train.py") == "one");
    }
  }
}

TEST_CASE("submodules by relative URLs come from the same server, also at an older commit") {
  ServedRepositories served;
  const TemporaryFolder bare;
  const std::string root = served.folder.path() + "/bare";
  fs::create_directory(root);
  git_in(root, {"clone", "-q", "--bare", "../app", "app"});
  git_in(root, {"clone", "-q", "--bare", "../lib", "lib"});
  for (const std::string& url :
       {served.server->http("open/bare/app"), served.server->git("bare/app")}) {
    const auto newest = served.check(url);
    REQUIRE_MESSAGE(newest, (newest ? "" : newest.error().message));
    CHECK(served.content("lib/code.h") == "library one");
    CHECK(served.content("train.py") == "two");
  }
  CHECK(served.check("file://" + root + "/app@v1"));
  CHECK(has(served.refused("file://" + root + "/app"), "transport 'file' not allowed"));
}

TEST_CASE("a ref that is not there, and a server that cannot be reached, are named") {
  ServedRepositories served;
  const std::string url = served.server->http("open/app/.git");
  CHECK(has(served.refused(url + "@none"), "no branch and no tag 'none'"));
  CHECK(has(served.refused(url + "@none"), "default branch, refs/heads/main"));
  CHECK(has(served.refused(url + "@abcdef12"), "no commit of one"));
  CHECK(has(served.refused(url + "@" + std::string(40, 'a')), "no commit of one"));
  CHECK(has(served.refused(served.server->http("open/none")), "not found"));
  CHECK(has(served.refused("http://127.0.0.1:1/app"), "git cannot reach the repository: fatal:"));
}

TEST_CASE("git asks for a token only where the user named one, and never stores it") {
  ServedRepositories served;
  const std::string url = served.server->http("private/app/.git@v1");
  CHECK(has(served.refused(url), "--sync-user with --sync-token-file"));
  // It prints the variables, too: the token is in none of them.
  served.folder.write("answer",
                      "#!/bin/sh\nenv >>\"$HOME/variables\"\ncase $1 in\n"
                      "Username*) echo \"$DTRAIN_GIT_USER\" ;;\n"
                      "*) cat \"$DTRAIN_GIT_TOKEN_FILE\" ;;\nesac\n",
                      0700);
  served.folder.write("token", "s3cret\n");
  served.folder.write("wrong", "guess\n");
  // A helper of the user's settings would get the token to store it.
  served.folder.write("helper",
                      "#!/bin/sh\necho \"$1\" >>\"$HOME/helped\"\ncat >>\"$HOME/helped\"\n", 0700);
  served.folder.write("settings", "[credential]\nhelper = " + served.folder.path() + "/helper\n");
  served.environment["GIT_CONFIG_GLOBAL"] = served.folder.path() + "/settings";
  const GitToken token{.user = "me", .variable = "", .file = served.folder.path() + "/token"};
  const auto checkout = served.check(url, token);
  REQUIRE_MESSAGE(checkout, (checkout ? "" : checkout.error().message));
  CHECK(checkout->commit == served.first);
  CHECK(served.content("train.py") == "one");
  CHECK(served.folder.read("helped") == "");
  CHECK(has(served.folder.read("variables"), "DTRAIN_GIT_USER=me"));
  CHECK_FALSE(has(served.folder.read("variables"), "s3cret"));
  CHECK_FALSE(has(served.content(".git/config"), "s3cret"));
  const GitToken wrong{.user = "me", .variable = "", .file = served.folder.path() + "/wrong"};
  const std::string message = served.refused(url, wrong);
  CHECK(has(message, "Authentication failed"));
  CHECK_FALSE(has(message, "guess"));
  const GitToken missing{.user = "me", .variable = "", .file = served.folder.path() + "/none"};
  CHECK(has(served.refused(url, missing), "No such file"));
}

TEST_CASE("a redirection to another host is not followed") {
  ServedRepositories served;
  CHECK(has(served.refused(served.server->http("moved/app/.git")), "the server redirects"));
  CHECK_FALSE(has(served.server->requests(), "localhost"));
}

TEST_CASE("ssh is asked not to ask, unless the user chose another command") {
  ServedRepositories served;
  // It runs the command for the other host here.
  served.folder.write("bin/ssh",
                      "#!/bin/sh\necho \"$*\" >>\"$HOME/called\"\nfor last; do :; done\n"
                      "exec sh -c \"$last\"\n",
                      0700);
  served.environment["PATH"] = served.folder.path() + "/bin:" + served.environment["PATH"];
  const std::string url = "me@example.org:" + served.folder.path() + "/app/.git@v1";
  const auto checkout = served.check(url);
  REQUIRE_MESSAGE(checkout, (checkout ? "" : checkout.error().message));
  CHECK(checkout->commit == served.first);
  CHECK(has(served.folder.read("called"), "BatchMode=yes"));
  CHECK(has(served.folder.read("called"), "me@example.org git-upload-pack"));
  served.folder.write("called", "");
  served.environment["GIT_SSH_COMMAND"] = "ssh -p 2222";
  REQUIRE(served.check(url));
  CHECK(has(served.folder.read("called"), "-p 2222"));
  CHECK_FALSE(has(served.folder.read("called"), "BatchMode"));
  served.folder.write(
      "bin/ssh", "#!/bin/sh\necho 'me@example.org: Permission denied (publickey).' >&2\nexit 255\n",
      0700);
  const std::string message = served.refused(url);
  CHECK(has(message, "Permission denied"));
  CHECK(has(message, "check that `ssh` logs in there without a question"));
}

TEST_CASE("files of Git LFS that stay pointers are a warning") {
  ServedRepositories served;
  served.folder.write("large/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
  served.folder.write("large/a.bin", "version https://git-lfs.github.com/spec/v1\n");
  make_repository(served.folder.path() + "/large");
  // A PATH without git-lfs.
  fs::create_directory(served.folder.path() + "/bin");
  for (const char* program : {"git", "sh"}) {
    const auto path = find_executable(program, served.environment["PATH"], "/");
    REQUIRE(path);
    fs::create_symlink(*path, served.folder.path() + "/bin/" + program);
  }
  served.environment["PATH"] = served.folder.path() + "/bin";
  const auto checkout = served.check(served.server->http("open/large/.git"));
  REQUIRE_MESSAGE(checkout, (checkout ? "" : checkout.error().message));
  REQUIRE(checkout->warnings.size() == 1);
  CHECK(has(checkout->warnings[0], "git-lfs is not installed"));
  // Where it is installed, git runs it as a filter of the check-out.
  served.folder.write("bin/git-lfs",
                      "#!/bin/sh\n[ \"$1\" = install ] &&\n"
                      "  exec git config filter.lfs.smudge \"printf whole\"\n",
                      0700);
  const auto whole = served.check(served.server->http("open/large/.git"));
  REQUIRE_MESSAGE(whole, (whole ? "" : whole.error().message));
  CHECK(whole->warnings.empty());
  CHECK(served.content("a.bin") == "whole");
}

}  // namespace
}  // namespace dt
