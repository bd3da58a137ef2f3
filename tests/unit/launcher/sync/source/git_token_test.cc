#include "launcher/sync/source/git_token.h"

#include "tests/unit/another_user.h"
#include "tests/unit/launcher/connect/message_form.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace dt {
namespace {

std::string token_fault(const GitToken& token, const Environment& environment = {}) {
  const auto text = read_git_token(token, environment);
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Errc::input);
  CHECK(fault_of_message(text.error().message) == "");
  CHECK(text.error().message.find("s3cret") == std::string::npos);
  return text.error().message;
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a token is the text of a variable or of a file that only its user can read") {
  const TemporaryFolder folder;
  folder.write("token", "s3cret\n");
  const std::string file = folder.path() + "/token";
  CHECK(read_git_token({.file = file}, {}) == "s3cret");
  CHECK(read_git_token({.variable = "T"}, {{"T", "s3cret"}}) == "s3cret");
  CHECK(names(token_fault({.variable = "T"}), "no such variable"));
  CHECK(names(token_fault({.variable = "T"}, {{"T", ""}}), "it is empty"));
  CHECK(names(token_fault({.variable = "T"}, {{"T", "s3cret\nx"}}), "several lines"));
  CHECK(names(token_fault({.variable = "T"}, {{"T", std::string(5000, 'x')}}), "longer than"));
  CHECK(names(token_fault({.file = folder.path() + "/none"}), "No such file"));
  CHECK(names(token_fault({.file = folder.path()}), "no regular file"));
  folder.write("empty", "\n");
  CHECK(names(token_fault({.file = folder.path() + "/empty"}), "it is empty"));
  folder.write("large", std::string(5000, 'x'));
  CHECK(names(token_fault({.file = folder.path() + "/large"}), "larger"));
  folder.write("written", "s3cret", 0622);
  CHECK(names(token_fault({.file = folder.path() + "/written"}), "may write to it"));
  folder.write("shared", "s3cret", 0640);
  if (::geteuid() == 0)
    CHECK(read_git_token({.file = folder.path() + "/shared"}, {}) == "s3cret");
  else
    CHECK(names(token_fault({.file = folder.path() + "/shared"}), "may read it"));
  if (give_to_another_user(file)) CHECK(names(token_fault({.file = file}), "belongs to the user"));
}

TEST_CASE("without_token: neither the variables nor this process have the token then") {
  ::setenv("DTRAIN_TEST_TOKEN", "s3cret", 1);
  const Environment given = {{"DTRAIN_TEST_TOKEN", "s3cret"}, {"A", "1"}};
  CHECK(without_token({.file = "/token"}, given) == given);
  CHECK(::getenv("DTRAIN_TEST_TOKEN") != nullptr);
  CHECK(without_token({.variable = "DTRAIN_TEST_TOKEN"}, given) == Environment{{"A", "1"}});
  CHECK(::getenv("DTRAIN_TEST_TOKEN") == nullptr);
}

TEST_CASE("git's questions are answered for one server alone") {
  const TemporaryFolder folder;
  folder.write("token", "s3cret\n");
  const auto server = git_server_of("https://git.example.org:8443/a/b");
  REQUIRE(server);
  const Environment asking = asking_environment(
      {{"HOME", "/"}}, {.user = "me", .file = folder.path() + "/token"}, *server);
  for (const auto& [name, value] : asking)
    CHECK(value.find("s3cret") == std::string::npos);
  const auto answer = [&](const std::string& question) -> std::string {
    const auto text = git_answer(question, asking);
    REQUIRE(text);
    if (*text) return **text;
    CHECK((*text).error().code == Errc::refused);
    CHECK((*text).error().message.find("s3cret") == std::string::npos);
    return "refused";
  };
  CHECK(answer("Username for 'https://git.example.org:8443': ") == "me");
  CHECK(answer("Password for 'https://me@git.example.org:8443': ") == "s3cret");
  CHECK(answer("Password for 'https://me@git.example.org:8443/a/b': ") == "s3cret");
  CHECK(answer("Password for 'http://me@git.example.org:8443': ") == "refused");
  CHECK(answer("Password for 'https://me@git.example.org': ") == "refused");
  CHECK(answer("Password for 'https://me@evil.org:8443': ") == "refused");
  CHECK(answer("Password for 'https://git.example.org:8443@evil.org:8443': ") == "refused");
  CHECK(answer("Password for 'https://evil.org:8443/https://git.example.org:8443': ") == "refused");
  CHECK(answer("Enter passphrase for 'https://git.example.org:8443': ") == "refused");
  CHECK(answer("Password: ") == "refused");
  CHECK(answer("") == "refused");
  CHECK_FALSE(git_answer("Password for 'https://me@git.example.org:8443': ", {{"HOME", "/"}}));
}

TEST_CASE("the user of a question is that of the option, else that of the URL") {
  const auto user = [](const char* url, const std::string& name) {
    const auto server = git_server_of(url);
    REQUIRE(server);
    return git_answer("Username for 'https://h': ",
                      asking_environment({}, {.user = name, .variable = "T"}, *server))
        .value()
        .value();
  };
  CHECK(user("https://h/a", "me") == "me");
  CHECK(user("https://you@h/a", "me") == "me");
  CHECK(user("https://you@h/a", "") == "you");
  CHECK(user("https://h/a", "") == "git");
}

}  // namespace
}  // namespace dt
