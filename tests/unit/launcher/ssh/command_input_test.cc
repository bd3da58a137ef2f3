#include "launcher/ssh/command_input.h"

#include "base/crypto.h"
#include "tests/unit/launcher/ssh/ssh_client.h"
#include "tests/unit/run_until.h"

#include <random>

namespace dt {
namespace {

std::string random_text(size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& byte : text)
    byte = static_cast<char>(random());
  return text;
}

/// Writes `text` as fast as the session takes it, with at most a megabyte queued, and then ends the
/// input.
void feed(SshClient& client, std::string_view text) {
  auto sent = std::make_shared<size_t>(0);
  const auto more = [&client, sent, text] {
    constexpr size_t chunk = size_t{100} << 10;
    while (*sent < text.size() && client.session->unsent() < (size_t{1} << 20)) {
      client.session->write(as_bytes(text.substr(*sent, chunk)));
      *sent = std::min(text.size(), *sent + chunk);
    }
    if (*sent == text.size()) client.session->close_after_sending();
  };
  client.on_drained = more;
  more();
}

TEST_CASE("50 MB go through cat and back unchanged, while the reader pauses now and then") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "cat");
  const std::string text = random_text(size_t{50} << 20);
  client.received.reserve(text.size());
  auto handlers = client.handlers();
  int pauses = 0;
  Timer resuming;
  handlers.on_bytes = [&](ByteSpan bytes) {
    // Consume half of it: the rest must come again.
    const size_t used = bytes.size() > 1 ? bytes.size() / 2 : bytes.size();
    client.received += as_text(bytes.first(used));
    if (++pauses % 50 == 0) {
      client.session->pause();
      resuming = loop->after(milliseconds(1), [&] { client.session->resume(); });
    }
    return used;
  };
  // The last bytes get no further call: at the end of the command the handler consumes all.
  handlers.on_bytes = [&, halved = handlers.on_bytes](ByteSpan bytes) {
    if (client.received.size() + bytes.size() < text.size()) return halved(bytes);
    client.received += as_text(bytes);
    return bytes.size();
  };
  client.start(std::move(handlers));
  feed(client, text);
  CHECK(client.run() == "ended");
  CHECK(client.received.size() == text.size());
  CHECK(sha256(as_bytes(client.received)) == sha256(as_bytes(text)));
  CHECK(client.end->exit.status == 0);
}

TEST_CASE("keys are exchanged anew in the middle of the traffic") {
  if (no_ssh_here()) return;
  const SshServer server("RekeyLimit 1M");
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "cat");
  const std::string text = random_text(size_t{8} << 20);
  client.start();
  feed(client, text);
  CHECK(client.run() == "ended");
  CHECK(client.received == text);
}

TEST_CASE("either side may end its direction first") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient ours(*loop, server, "cat; echo after the end");
  ours.start().write(as_bytes("words\n"));
  ours.session->close_after_sending();
  CHECK(ours.run() == "ended");
  CHECK(ours.received == "words\nafter the end\n");

  SshClient theirs(*loop, server, "echo open; exec >&-; read word; test $word = go; exit $?");
  theirs.start();
  run_until(*loop, [&] { return theirs.received == "open\n"; });
  theirs.session->write(as_bytes("go\n"));
  CHECK(theirs.run() == "ended");
  CHECK(theirs.end->exit.status == 0);
}

}  // namespace
}  // namespace dt
