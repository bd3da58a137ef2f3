#pragma once

#include "base/bytes.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// With the padding of RFC 4648 section 4.
std::string base64_encode(ByteSpan bytes);
/// Blanks between the digits are skipped; none when a padding is wrong, anything else stands in the
/// text, or the last digit has bits that belong to no byte.
std::optional<Bytes> base64_decode(std::string_view text);

}  // namespace dt
