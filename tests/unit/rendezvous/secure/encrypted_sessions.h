#pragma once

#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <cstdint>

namespace dt {

/// An end of a connection whose handshake is over.
enum class SessionEnd : uint8_t { here, there };

/// Returns the session of an end, with encryption. Each end opens what the other one seals.
inline Session encrypted_session(SessionEnd end) {
  const auto key = [end](int of_here, int of_there) {
    Digest digest = {};
    digest.fill(static_cast<std::byte>(end == SessionEnd::here ? of_here : of_there));
    return digest;
  };
  Session session(key(1, 2), key(2, 1));
  session.encrypt_data(key(3, 4), key(4, 3));
  return session;
}

}  // namespace dt
