#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace dt {

Error Error::during(std::string_view doing) && {
  message.insert(0, std::string(doing) + ": ");
  return std::move(*this);
}

tl::unexpected<Error> fail(Errc code, std::string message, int blamed_rank) {
  return tl::unexpected(Error{code, std::move(message), blamed_rank});
}

tl::unexpected<Error> fail_errno(std::string_view what) {
  return fail_errno(what, errno);
}

tl::unexpected<Error> fail_errno(std::string_view what, int number) {
  return fail(Errc::os, std::string(what) + ": " + errno_text(number));
}

std::string errno_text(int number) {
  char buffer[128] = {};
  return strerror_r(number, buffer, sizeof buffer);
}

}  // namespace dt
