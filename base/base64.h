#pragma once

#include "base/bytes.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Encodes with the padding of RFC 4648 section 4.
std::string base64_encode(ByteSpan bytes);
/// Decodes; skips blanks between the digits. Returns none for wrong padding, for other characters,
/// and when the last digit has bits that belong to no byte.
std::optional<Bytes> base64_decode(std::string_view text);

}  // namespace dt
