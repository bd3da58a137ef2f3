#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A non-blocking client of the user's ssh-agent, which holds keys and signs with them
/// (draft-ietf-sshm-ssh-agent, sections 3 to 5). One connection serves all hosts; replies come in
/// the order of the requests. (libssh2's own client blocks until each reply.)
class KeyAgent {
 public:
  /// The data to sign, and the key. `flags` request RSA with SHA-2.
  struct SignRequest {
    ByteSpan key;
    ByteSpan data;
    uint32_t flags = 0;
  };
  /// Called once, from the Loop; must not destroy the KeyAgent.
  using OnKeys = std::function<void(Result<std::vector<Bytes>> keys)>;
  using OnSignature = std::function<void(Result<Bytes> signature)>;

  /// Fails when no process listens at `socket_path`.
  static Result<std::unique_ptr<KeyAgent>> connect(Loop& loop, const std::string& socket_path);
  KeyAgent(const KeyAgent&) = delete;
  KeyAgent& operator=(const KeyAgent&) = delete;

  /// Requests the agent's public keys, as blobs of RFC 4253 6.6.
  void list_keys(OnKeys on_keys);
  /// Requests a signature: its bytes without the type in front. Fails with Errc::refused when the
  /// agent refuses.
  void sign(const SignRequest& request, OnSignature on_signature);

  /// OpenSSH's own limit for a message.
  static constexpr size_t message_bytes_max = size_t{256} << 10;

 private:
  using OnReply = std::function<void(Result<ByteSpan> reply)>;
  explicit KeyAgent(Loop& loop) : loop_(loop) {}
  void request(ByteSpan message, OnReply on_reply);
  size_t receive(ByteSpan bytes);
  void end(Error why);
  void fail_all();

  Loop& loop_;
  std::unique_ptr<Stream> stream_;
  std::deque<OnReply> waiting_;
  std::optional<Error> ended_;
  Timer failing_;
};

}  // namespace dt
