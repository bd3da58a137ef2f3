#include "base/version.h"

namespace dt {

const std::string_view version = DTRAIN_VERSION;

}  // namespace dt
