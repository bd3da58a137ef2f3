#include "base/format.h"

#include <fmt/format.h>

namespace dt {

std::string format_erased(fmt::string_view text, fmt::format_args arguments) {
  return fmt::vformat(text, arguments);
}

}  // namespace dt
