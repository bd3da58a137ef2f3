#include "launcher/config/nodes/nodes_token.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <string_view>

namespace dt {
namespace {

constexpr size_t token_file_bytes_max = 4096;

Result<Token> parse_nodes_token(std::string_view text) {
  const std::string_view digits = trim(text);
  if (auto token = Token::parse(digits)) return *std::move(token);
  constexpr size_t digits_count = 64;
  const std::string fault = digits.size() == digits_count
                                ? "it has other characters than 0-9 and a-f"
                                : format("it has {} byte{}, not {} hex digits", digits.size(),
                                         digits.size() == 1 ? "" : "s", digits_count);
  return fail(Errc::input,
              fault + "; `dtrain token` prints a token, which all nodes of a job need");
}

}  // namespace

Result<Token> read_nodes_token_file(const std::string& path) {
  const std::string text = TRY(read_secret_file(path, token_file_bytes_max));
  return parse_nodes_token(text);
}

Result<std::optional<Token>> read_nodes_token_variable(const Environment& environment) {
  const auto found = environment.find(nodes_token_variable);
  if (found == environment.end() || trim(found->second).empty()) return std::nullopt;
  const auto token = parse_nodes_token(found->second);
  if (token) return std::optional(*token);
  return fail(Errc::input, format("{}: {}", nodes_token_variable, token.error().message));
}

}  // namespace dt
