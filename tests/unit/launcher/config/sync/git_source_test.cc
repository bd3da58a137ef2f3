#include "launcher/config/sync/git_source.h"

#include "tests/unit/launcher/connect/message_form.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

TEST_CASE("the REF of a git URL follows the first @ of its path") {
  struct Row {
    std::string text;
    std::string url;
    std::string ref;
  };
  const std::vector<Row> table = {
      {"https://example.org/a/b.git", "https://example.org/a/b.git", ""},
      {"https://example.org/a/b@v1.2", "https://example.org/a/b", "v1.2"},
      {"https://me@example.org/a@main", "https://me@example.org/a", "main"},
      {"https://me@example.org/a", "https://me@example.org/a", ""},
      {"HTTPS://example.org:8443/a@feature/x", "HTTPS://example.org:8443/a", "feature/x"},
      {"https://example.org/a@b@c", "https://example.org/a", "b@c"},
      {"git@example.org:a/b.git", "git@example.org:a/b.git", ""},
      {"git@example.org:a/b.git@0123abc", "git@example.org:a/b.git", "0123abc"},
      {"ssh://git@[::1]:2222/a@main", "ssh://git@[::1]:2222/a", "main"},
      {"file:///srv/a.git@v1", "file:///srv/a.git", "v1"},
      {"git://127.0.0.1:9418/a", "git://127.0.0.1:9418/a", ""},
  };
  for (const Row& row : table) {
    CAPTURE(row.text);
    CHECK(is_git_url(row.text));
    const auto source = parse_git_source(row.text);
    REQUIRE(source);
    CHECK(*source == GitSource{.url = row.url, .ref = row.ref});
  }
}

TEST_CASE("a repository has one name for all users and commits of it") {
  for (const auto& [text, name] : std::vector<std::pair<std::string, std::string>>{
           {"https://me@example.org/a/b.git@v1", "https://example.org/a/b.git"},
           {"https://example.org:8443/a", "https://example.org:8443/a"},
           {"git@example.org:a/b.git", "example.org:a/b.git"},
           {"file:///srv/a", "file:///srv/a"}}) {
    const auto source = parse_git_source(text);
    REQUIRE(source);
    CHECK(name_of_repository(*source) == name);
  }
}

TEST_CASE("texts that are paths of folders are no git URLs") {
  for (const char* text :
       {"", ".", "/home/me@host:x", "code", "a:b", "./me@host:x", "@host:x", "me@:x",
        "me@host:", "c:/code", "ftp://example.org/a", "ext::sh -c x", "me@host"})
    CHECK_FALSE_MESSAGE(is_git_url(text), text);
}

TEST_CASE("a URL that git could take for something else is refused, without its password") {
  struct Row {
    std::string text;
    std::string message;
  };
  const std::vector<Row> table = {
      {"https://example.org/a@", "it is empty"},
      {"https://example.org/a@-upload-pack=x", "begins with '-'"},
      {"https://example.org/a@+main", "begins with '+'"},
      {"https://example.org/a@a:b", "a character that no branch"},
      {"https://example.org/a@v*", "a character that no branch"},
      {"https://example.org/a@HEAD~1", "a character that no branch"},
      {"https://example.org/a@a..b", "an expression"},
      {"https://example.org/a@x@{1}", "an expression"},
      {"https://example.org/a b", "is no URL"},
      {"https://example.org/a\nhost=evil", "is no URL"},
      {"https://example.org", "has no path"},
      {"https://example.org/@main", "has no path"},
      {"https:///a", "is no URL"},
      {"https://example.org:99999/a", "is no URL"},
      {"ssh://-oProxyCommand=x/a", "is no URL"},
      {"-me@example.org:a", "is no URL"},
      {"https://me:hunter2@example.org/a", "has a password"},
      {"plain/path", "is no git URL"},
  };
  for (const Row& row : table) {
    CAPTURE(row.text);
    const auto source = parse_git_source(row.text);
    REQUIRE_FALSE(source);
    CHECK(source.error().code == Errc::input);
    CHECK_MESSAGE(source.error().message.find(row.message) != std::string::npos,
                  source.error().message);
    CHECK(source.error().message.find("hunter2") == std::string::npos);
    CHECK(fault_of_message(source.error().message) == "");
  }
}

TEST_CASE("servers are the same by scheme, host and port") {
  const auto same = [](const char* one, const char* other) {
    const auto left = git_server_of(one);
    const auto right = git_server_of(other);
    REQUIRE(left);
    REQUIRE(right);
    return left->same_server(*right);
  };
  CHECK(same("https://example.org/a", "https://me@EXAMPLE.org:443/b"));
  CHECK(same("git@example.org:a", "ssh://example.org:22/b"));
  CHECK_FALSE(same("https://example.org/a", "http://example.org/a"));
  CHECK_FALSE(same("https://example.org/a", "https://example.org:8443/a"));
  CHECK_FALSE(same("https://example.org/a", "https://example.org.evil.net/a"));
  CHECK_FALSE(same("https://example.org/a", "https://example.org@evil.net/a"));
  CHECK_FALSE(git_server_of("code"));
}

}  // namespace
}  // namespace dt
