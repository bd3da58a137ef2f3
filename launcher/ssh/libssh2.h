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

/// What this build's libssh2 can do.
struct SshLibrary {
  bool present = false;
  bool rsa_sha2 = false;  ///< else no RSA key counts: servers and OpenSSH refuse those with SHA-1
  std::string text;       ///< "libssh2 1.10.0", or why it is not in this build
};
SshLibrary ssh_library();

/// How the remote command ended.
struct SshExit {
  int status = 0;
  std::string signal = {};  ///< "TERM" where one killed it; else empty
};

/// The client's side of one SSH connection as a machine of bytes: libssh2 between two buffers, with
/// no socket, no clock and nothing that waits. What arrives goes into `receive`; what shall leave
/// comes out of Options::send, which takes everything at once (so that libssh2 never stands in the
/// middle of a packet, where it would let nothing else be done). A step that needs more bytes first
/// says `waiting` and is called again later, with the same arguments, until it says `done`.
///
/// Errors: `refused` the server says no; `closed` it has hung up; `unsupported` no algorithm or key
/// in common with this library; `protocol` the rest.
class SshProtocol {
 public:
  enum class Step { waiting, done };
  enum class Output { standard, error };
  struct Options {
    std::function<void(ByteSpan)> send;
    /// Types of the host's keys that are known, to be asked for first.
    std::vector<std::string> host_key_types = {};
    int socket = -1;  ///< libssh2 looks at its flags; it reads and writes nothing
  };
  /// A signature of `data` by the key's holder; none while it is still being made.
  using Signer = std::function<Result<std::optional<Bytes>>(ByteSpan data, uint32_t flags)>;

  SshProtocol() = default;
  SshProtocol(const SshProtocol&) = delete;
  SshProtocol& operator=(const SshProtocol&) = delete;
  /// Sends nothing.
  virtual ~SshProtocol() = default;

  virtual void receive(ByteSpan bytes) = 0;

  virtual Result<Step> handshake() = 0;
  /// Whether the server has said that it speaks SSH.
  virtual bool greeted() const = 0;
  /// After the handshake: the server's key as a blob (RFC 4253 6.6).
  virtual ByteSpan host_key() const = 0;

  virtual Result<Step> log_in_with_secret(const std::string& user, const std::string& secret) = 0;
  virtual Result<Step> log_in_with_signer(const std::string& user, ByteSpan key,
                                          const Signer& signer) = 0;
  /// Asks to be let in without a key. `refused` then names the ways that the server offers.
  virtual Result<Step> log_in_with_nothing(const std::string& user) = 0;

  virtual Result<Step> open_channel() = 0;
  virtual Result<Step> execute(const std::string& command) = 0;
  /// How many bytes at the front of `bytes` were taken; 0: the server's window is full.
  virtual Result<size_t> write(ByteSpan bytes) = 0;
  virtual Result<Step> end_input() = 0;
  /// How many bytes came; 0: none now.
  virtual Result<size_t> read(Output output, std::span<std::byte> into) = 0;
  /// Once all was read and the server has closed the channel: how the command ended.
  virtual Result<std::optional<SshExit>> closed() = 0;
  /// A last word, so that the server's log shows no error.
  virtual void say_goodbye() = 0;
};

/// Fails with `unsupported` where this build has no libssh2.
Result<std::unique_ptr<SshProtocol>> open_ssh_protocol(SshProtocol::Options options);

}  // namespace dt
