#include "launcher/sync/source/git_token.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <cstdlib>

namespace dt {

namespace {

constexpr const char* server_variable = "DTRAIN_GIT_SERVER";
constexpr const char* user_variable = "DTRAIN_GIT_USER";
constexpr const char* token_variable = "DTRAIN_GIT_TOKEN_ENV";
constexpr const char* file_variable = "DTRAIN_GIT_TOKEN_FILE";

std::string variable_of(const Environment& environment, const std::string& name) {
  const auto at = environment.find(name);
  return at == environment.end() ? "" : at->second;
}

Result<std::string> read_token_file(const std::string& path) {
  auto text = read_secret_file(path, GitToken::bytes_max);
  if (text) return text;
  return fail(Errc::input, format("--sync-token-file {}: {}", shell_quote(printable(path)),
                                  text.error().message));
}

}  // namespace

Result<std::string> read_git_token(const GitToken& token, const Environment& environment) {
  std::string text;
  std::string shown;
  if (!token.file.empty()) {
    shown = "--sync-token-file " + shell_quote(printable(token.file));
    text = TRY(read_token_file(token.file));
  } else {
    shown = "--sync-token-env " + printable(token.variable);
    if (!environment.contains(token.variable))
      return fail(Errc::input, shown + ": there is no such variable");
    text = variable_of(environment, token.variable);
  }
  while (text.ends_with('\n') || text.ends_with('\r'))
    text.pop_back();
  if (text.empty()) return fail(Errc::input, shown + ": it is empty");
  if (text.size() > GitToken::bytes_max)
    return fail(Errc::input, format("{}: it is longer than {} bytes", shown, GitToken::bytes_max));
  if (text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return fail(Errc::input, shown + ": it has several lines; it must hold the token alone");
  return text;
}

Environment without_token(const GitToken& token, Environment environment) {
  if (token.variable.empty()) return environment;
  environment.erase(token.variable);
  ::unsetenv(token.variable.c_str());  // NOLINT(concurrency-mt-unsafe): it has one thread
  return environment;
}

Environment asking_environment(const Environment& environment, const GitToken& token,
                               const GitServer& server) {
  Environment result = environment;
  result[server_variable] =
      format("{}://{}{}/", server.scheme, server.host,
             server.port == 0 ? std::string() : ":" + std::to_string(server.port));
  result[user_variable] = token.user.empty() ? server.user : token.user;
  result[token_variable] = token.file.empty() ? token.variable : "";
  result[file_variable] = token.file;
  return result;
}

std::optional<Result<std::string>> git_answer(std::string_view question,
                                              const Environment& environment) {
  const std::string wanted = variable_of(environment, server_variable);
  if (wanted.empty()) return std::nullopt;
  const size_t begin = question.find('\'');
  const size_t end = question.rfind('\'');
  const auto known = git_server_of(wanted);
  const auto asked = begin < end && end != std::string_view::npos
                         ? git_server_of(question.substr(begin + 1, end - begin - 1))
                         : std::nullopt;
  if (!known || !asked || !asked->same_server(*known))
    return fail(Errc::refused, format("the token is for {} alone, and git asks: {}",
                                      printable(wanted), printable(question)));
  if (question.starts_with("Username")) {
    const std::string user = variable_of(environment, user_variable);
    return user.empty() ? "git" : user;
  }
  if (!question.starts_with("Password"))
    return fail(Errc::refused, format("git asks: {}", printable(question)));
  return read_git_token({.user = {},
                         .variable = variable_of(environment, token_variable),
                         .file = variable_of(environment, file_variable)},
                        environment);
}

}  // namespace dt
