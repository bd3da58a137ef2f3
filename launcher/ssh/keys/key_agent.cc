#include "launcher/ssh/keys/key_agent.h"

#include "base/format.h"
#include "launcher/ssh/keys/wire.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

namespace dt {

namespace {

// Message types of the protocol, section 6.1 of the draft.
constexpr uint8_t request_identities = 11;
constexpr uint8_t identities_answer = 12;
constexpr uint8_t sign_request = 13;
constexpr uint8_t sign_response = 14;

constexpr size_t length_bytes = 4;

Result<Fd> connect_to(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::input, format("the path of the socket is too long: {}", path));
  }
  path.copy(address.sun_path, path.size());
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket");
  // connect(2) on a Unix socket does not block: it succeeds or fails at once.
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    return fail_errno(format("cannot connect to ssh-agent at {}", path));
  }
  return fd;
}

Result<std::vector<Bytes>> keys_of(ByteSpan reply) {
  SshReader reader(reply);
  if (reader.byte() != identities_answer) return fail(Errc::refused, "ssh-agent lists no keys");
  std::vector<Bytes> keys;
  for (uint32_t left = reader.number(); left > 0 && reader.ok(); --left) {
    const ByteSpan key = reader.string();
    reader.string();  // the comment
    keys.emplace_back(key.begin(), key.end());
  }
  if (!reader.ok()) return fail(Errc::protocol, "ssh-agent's reply is cut short");
  return keys;
}

Result<Bytes> signature_of(ByteSpan reply) {
  SshReader reader(reply);
  if (reader.byte() != sign_response) return fail(Errc::refused, "ssh-agent refused to sign");
  SshReader signature(reader.string());
  signature.string();  // its type
  const ByteSpan bytes = signature.string();
  if (!signature.ok()) return fail(Errc::protocol, "ssh-agent's signature is cut short");
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace

Result<std::unique_ptr<KeyAgent>> KeyAgent::connect(Loop& loop, const std::string& socket_path) {
  Fd socket = TRY(connect_to(socket_path));
  std::unique_ptr<KeyAgent> agent(new KeyAgent(loop));
  KeyAgent& self = *agent;
  self.stream_ = TRY(Stream::open(
      loop, std::move(socket), Fd(),
      {.on_bytes = [&self](ByteSpan bytes) { return self.receive(bytes); },
       .on_end =
           [&self](const std::optional<Error>& why) {
             self.end(Error{Errc::closed, why ? why->message : "it closed the connection"});
           },
       .on_drained = {}}));
  return agent;
}

void KeyAgent::list_keys(OnKeys on_keys) {
  request(SshWriter().byte(request_identities).view(),
          [on_keys = std::move(on_keys)](Result<ByteSpan> reply) {
            on_keys(reply ? keys_of(*reply) : tl::unexpected(std::move(reply).error()));
          });
}

void KeyAgent::sign(const SignRequest& wanted, OnSignature on_signature) {
  SshWriter message;
  message.byte(sign_request).string(wanted.key).string(wanted.data).number(wanted.flags);
  request(message.view(), [on_signature = std::move(on_signature)](Result<ByteSpan> reply) {
    on_signature(reply ? signature_of(*reply) : tl::unexpected(std::move(reply).error()));
  });
}

void KeyAgent::request(ByteSpan message, OnReply on_reply) {
  waiting_.push_back(std::move(on_reply));
  // No callback runs within the call that requests it.
  if (ended_) {
    failing_ = loop_.after(Duration::zero(), [this] { fail_all(); });
    return;
  }
  stream_->write(SshWriter().string(message).view());
}

size_t KeyAgent::receive(ByteSpan bytes) {
  size_t used = 0;
  for (;;) {
    SshReader reader(bytes.subspan(used));
    const uint32_t length = reader.number();
    if (length > message_bytes_max || (reader.ok() && waiting_.empty())) {
      end(Error{Errc::protocol, "ssh-agent sent a malformed reply"});
      return bytes.size();
    }
    const ByteSpan reply = reader.raw(length);
    if (!reader.ok()) return used;
    used += length_bytes + length;
    // ssh-agent replies in the order of the requests, so the first one that waits gets this reply.
    const OnReply on_reply = std::move(waiting_.front());
    waiting_.pop_front();
    on_reply(reply);
  }
}

void KeyAgent::end(Error why) {
  ended_ = std::move(why);
  stream_.reset();
  fail_all();
}

void KeyAgent::fail_all() {
  // A callback may send a further request, which must not change the list of this loop.
  auto unanswered = std::exchange(waiting_, {});
  for (const OnReply& on_reply : unanswered)
    on_reply(tl::unexpected(Error(*ended_).during("ssh-agent")));
}

}  // namespace dt
