#pragma once

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace dt {

/// Why something failed, for callers that decide on it; people read the message.
enum class Errc {
  input,         ///< what the user gave is wrong
  os,            ///< a system call failed
  unreachable,   ///< a host or an address cannot be reached
  refused,       ///< the other side said no
  closed,        ///< the other side is gone
  timeout,       ///< a deadline passed
  protocol,      ///< bytes that no honest peer sends
  mismatch,      ///< ranks disagree about an operation
  peer_lost,     ///< a task died or left while it was needed
  not_found,     ///< no such file, key or task
  not_runnable,  ///< found, but cannot be executed
  unsupported,   ///< this build or a library of it cannot do it
  interrupted,   ///< a person or a scheduler told us to stop
};

/// A failure: its kind and one sentence for people (what was tried, on what, why not, what to do).
struct Error {
  Errc code = Errc::os;
  std::string message;

  /// The same failure with what we were doing in front: "doing: message".
  Error during(std::string_view doing) &&;
  bool operator==(const Error&) const = default;
};

/// A value, or why there is none. Never ignored silently.
template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// A failure of kind `code`; converts to any Result.
tl::unexpected<Error> fail(Errc code, std::string message);

/// errno as a failure: "what: strerror(number)". Reads errno when no number is given.
tl::unexpected<Error> fail_errno(std::string_view what);
tl::unexpected<Error> fail_errno(std::string_view what, int number);

/// The text of an errno value, thread-safe.
std::string errno_text(int number);

template <class T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace dt

/// The value of a Result, or return its error from the enclosing function. May stand inside another
/// TRY, whence the silenced warning.
#define TRY(expression)                                                    \
  __extension__({                                                          \
    _Pragma("GCC diagnostic push");                                        \
    _Pragma("GCC diagnostic ignored \"-Wshadow\"");                        \
    auto try_result = (expression);                                        \
    _Pragma("GCC diagnostic pop");                                         \
    if (!try_result) return tl::unexpected(std::move(try_result).error()); \
    ::dt::take(std::move(try_result));                                     \
  })
