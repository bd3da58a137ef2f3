#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The abilities of this build's libssh2.
struct SshLibrary {
  bool present = false;
  bool rsa_sha2 = false;  ///< false: RSA keys are unusable, since servers refuse SHA-1 signatures
  std::string text;       ///< "libssh2 1.10.0", or why this build has none
};
SshLibrary ssh_library();

/// How the remote command ended.
struct SshExit {
  int status = 0;
  std::string signal = {};  ///< "TERM" if a signal killed it; else empty
};

/// The client's side of one SSH connection, without I/O. It is libssh2 between two buffers, with no
/// socket, no clock and no blocking call. The caller passes received bytes to `receive` and sends
/// the bytes that Options::send gets. Options::send must take everything at once: libssh2 does
/// nothing else while a packet is half sent. A step that needs more bytes returns `waiting`. The
/// caller repeats it later with the same arguments, until it returns `done`.
///
/// Fails with `refused` when the server refuses, and `closed` when it closed the connection. Fails
/// with `unsupported` when library and server share no algorithm or key, else with `protocol`.
class SshProtocol {
 public:
  enum class Step { waiting, done };
  enum class Output { standard, error };
  struct Options {
    std::function<void(ByteSpan)> send;
    /// Types of the host's known keys; the handshake prefers them.
    std::vector<std::string> host_key_types = {};
    int socket = -1;  ///< libssh2 reads its flags only; it neither reads nor writes bytes
  };
  /// Returns a signature of `data`, or none while ssh-agent still makes it.
  using Signer = std::function<Result<std::optional<Bytes>>(ByteSpan data, uint32_t flags)>;

  SshProtocol() = default;
  SshProtocol(const SshProtocol&) = delete;
  SshProtocol& operator=(const SshProtocol&) = delete;
  /// Sends nothing, also no disconnect message.
  virtual ~SshProtocol() = default;

  virtual void receive(ByteSpan bytes) = 0;

  virtual Result<Step> handshake() = 0;
  /// True once the server's SSH banner has arrived.
  virtual bool banner_received() const = 0;
  /// The server's key as a blob (RFC 4253 6.6). Requires a completed handshake.
  virtual ByteSpan host_key() const = 0;

  virtual Result<Step> log_in_with_secret(const std::string& user, const std::string& secret) = 0;
  virtual Result<Step> log_in_with_signer(const std::string& user, ByteSpan key,
                                          const Signer& signer) = 0;
  /// Requests a login without a key. Its `refused` names the methods that the server offers.
  virtual Result<Step> log_in_with_nothing(const std::string& user) = 0;

  virtual Result<Step> open_channel() = 0;
  virtual Result<Step> execute(const std::string& command) = 0;
  /// Returns how many bytes at the front of `bytes` it took; 0: the server's window is full.
  virtual Result<size_t> write(ByteSpan bytes) = 0;
  virtual Result<Step> end_input() = 0;
  /// Returns how many bytes it read; 0: none are there now.
  virtual Result<size_t> read(Output output, std::span<std::byte> into) = 0;
  /// Returns how the command ended; none until all is read and the server has closed the channel.
  virtual Result<std::optional<SshExit>> closed() = 0;
  /// Sends the disconnect message, so that the server logs no error.
  virtual void disconnect() = 0;
};

/// Fails with `unsupported` where this build has no libssh2.
Result<std::unique_ptr<SshProtocol>> open_ssh_protocol(SshProtocol::Options options);

}  // namespace dt
