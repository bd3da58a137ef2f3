#include "comm/training/strategy/call_status.h"

namespace dt {

Errc errc_of(int status) {
  switch (status) {
    case DTRAIN_ERROR_INPUT:
      return Errc::input;
    case DTRAIN_ERROR_UNREACHABLE:
      return Errc::unreachable;
    case DTRAIN_ERROR_REFUSED:
      return Errc::refused;
    case DTRAIN_ERROR_CLOSED:
      return Errc::closed;
    case DTRAIN_ERROR_TIMEOUT:
      return Errc::timeout;
    case DTRAIN_ERROR_PROTOCOL:
      return Errc::protocol;
    case DTRAIN_ERROR_MISMATCH:
      return Errc::mismatch;
    case DTRAIN_ERROR_PEER_LOST:
      return Errc::peer_lost;
    default:
      return Errc::os;
  }
}

dtrain_error empty_c_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  error.rank = -1;
  return error;
}

}  // namespace dt
