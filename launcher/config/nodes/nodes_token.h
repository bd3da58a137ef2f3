#pragma once

#include "base/crypto.h"
#include "base/environment.h"
#include "base/result.h"

#include <optional>
#include <string>

namespace dt {

/// The variable that has the secret of a job's nodes.
inline constexpr const char* nodes_token_variable = "DTRAIN_NODES_TOKEN";

/// Reads the secret in this file: 64 hex digits, around which blanks and ends of lines may stand.
/// Fails with Errc::input for any other text, and for files that read_secret_file refuses. Errors
/// show nothing of the text, and not the path.
Result<Token> read_nodes_token_file(const std::string& path);
/// Reads the secret from DTRAIN_NODES_TOKEN. Returns none where that is not set, or empty. Fails
/// with Errc::input, and the variable's name, for any other text.
Result<std::optional<Token>> read_nodes_token_variable(const Environment& environment);

}  // namespace dt
