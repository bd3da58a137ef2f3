#include "launcher/config/nodes/nodes_token.h"

#include "tests/unit/another_user.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <string>

namespace dt {
namespace {

const char* const nodes_secret = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

std::string nodes_token_fault(const Result<Token>& token) {
  REQUIRE_FALSE(token);
  CHECK(token.error().code == Errc::input);
  CHECK(token.error().message.find("0011") == std::string::npos);
  return token.error().message;
}

TEST_CASE("the token of nodes is 64 hex digits, with blanks and ends of lines around them") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text, mode_t mode = 0600) {
    folder.write("token", text, mode);
    return read_nodes_token_file(folder.path() + "/token");
  };
  const Token token = Token::parse(nodes_secret).value();
  CHECK(read(nodes_secret) == token);
  CHECK(read(std::string(" ") + nodes_secret + " \r\n\n") == token);
  CHECK(nodes_token_fault(read("")).starts_with("it has 0 bytes, not 64 hex digits; "));
  CHECK(nodes_token_fault(read("0011")).starts_with("it has 4 bytes, not 64 hex digits; "));
  CHECK(nodes_token_fault(read(std::string(63, '0') + "g"))
            .starts_with("it has other characters than 0-9 and a-f; "));
  CHECK(nodes_token_fault(read(std::string(64, 'A'))).starts_with("it has other characters"));
  CHECK(
      nodes_token_fault(read(std::string(nodes_secret) + nodes_secret)).starts_with("it has 128"));
  CHECK(nodes_token_fault(read(std::string(5000, '0'))).starts_with("it is larger than"));
}

TEST_CASE("a file of the token that others may read or change is refused, but not root's Secret") {
  const TemporaryFolder folder;
  folder.write("token", nodes_secret, 0644);
  const std::string path = folder.path() + "/token";
  if (::geteuid() == 0)
    CHECK(read_nodes_token_file(path).has_value());
  else
    CHECK(nodes_token_fault(read_nodes_token_file(path)).starts_with("other users may read it"));
  folder.write("token", nodes_secret, 0622);
  CHECK(nodes_token_fault(read_nodes_token_file(path)).starts_with("other users may write to it"));
  CHECK(nodes_token_fault(read_nodes_token_file(folder.path())).starts_with("it is no regular"));
  CHECK(nodes_token_fault(read_nodes_token_file(path + "s")) == "No such file or directory");
  folder.write("token", nodes_secret, 0600);
  if (give_to_another_user(path))
    CHECK(nodes_token_fault(read_nodes_token_file(path)).starts_with("it belongs to the user"));
}

TEST_CASE("the variable of the token is named where it has another text, and may be absent") {
  const auto read = [](const std::string& text) {
    return read_nodes_token_variable({{"DTRAIN_NODES_TOKEN", text}});
  };
  CHECK(read(nodes_secret).value() == Token::parse(nodes_secret).value());
  CHECK(read(std::string(nodes_secret) + "\n").value() == Token::parse(nodes_secret).value());
  CHECK(read_nodes_token_variable({}).value() == std::nullopt);
  CHECK(read(" \n").value() == std::nullopt);
  const auto wrong = read("0011");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.starts_with("DTRAIN_NODES_TOKEN: it has 4 bytes"));
}

}  // namespace
}  // namespace dt
