#pragma once

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace dt {

/// The kinds of failures, for callers that decide on them. People read the message.
enum class Errc {
  input,          ///< the user's input is wrong
  os,             ///< a system call failed
  unreachable,    ///< a host or an address cannot be reached
  refused,        ///< the other side refused
  closed,         ///< the connection or the other side is gone
  timeout,        ///< a deadline passed
  protocol,       ///< received bytes that no correct peer sends
  mismatch,       ///< ranks disagree about an operation
  peer_lost,      ///< a task died or left while it was needed
  not_found,      ///< no such file, key or task
  not_runnable,   ///< found, but cannot be executed
  unsupported,    ///< this build or a library of it cannot do it
  interrupted,    ///< a user or a scheduler stopped us
  out_of_memory,  ///< a device or this host has too little free memory
};

/// A failure: its kind, and one sentence for people (what was tried, on what, the reason, the
/// remedy).
struct Error {
  Errc code = Errc::os;
  std::string message;
  int blamed_rank = -1;  ///< in a job of ranks, the one that is the cause; -1: none is known

  /// Returns the same failure with the activity before the message: "doing: message".
  Error during(std::string_view doing) &&;
  bool operator==(const Error&) const = default;
};

/// A value, or the reason why there is none. The compiler warns when a caller ignores it.
template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// Returns a failure of kind `code`, which converts to any Result.
tl::unexpected<Error> fail(Errc code, std::string message, int blamed_rank = -1);

/// Returns an error number as a failure: "what: strerror(number)". The default is errno.
tl::unexpected<Error> fail_errno(std::string_view what);
tl::unexpected<Error> fail_errno(std::string_view what, int number);

/// Returns the text of an errno value; thread-safe.
std::string errno_text(int number);

template <class T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace dt

/// Evaluates to the value of a Result, or returns its error from the enclosing function. One TRY
/// may contain another: the pragma silences the warning about the shadowed name.
#define TRY(expression)                                                    \
  __extension__({                                                          \
    _Pragma("GCC diagnostic push");                                        \
    _Pragma("GCC diagnostic ignored \"-Wshadow\"");                        \
    auto try_result = (expression);                                        \
    _Pragma("GCC diagnostic pop");                                         \
    if (!try_result) return tl::unexpected(std::move(try_result).error()); \
    ::dt::take(std::move(try_result));                                     \
  })
