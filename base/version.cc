#include "base/version.h"

namespace dt {

const std::string_view build_version = DTRAIN_VERSION;

}  // namespace dt
