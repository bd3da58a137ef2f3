#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/jobs/pieces.h"

#include <string>

namespace dt {

/// Reads the file of pieces that the user named, or else ~/.config/dtrain/pieces.toml. The latter
/// is refused where another user could have written it. Fails with Errc::input.
Result<PiecesText> read_pieces_file(const std::string& named, const Environment& environment);

}  // namespace dt
