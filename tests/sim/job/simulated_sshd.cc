#include "tests/sim/job/simulated_sshd.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace dt {

namespace {

constexpr Duration agent_starts = milliseconds(2);

std::string login_text(Login login, const std::string& name) {
  switch (login) {
    case Login::refused:
      return format("ssh: connect to host {} port 22: Connection refused\r\n", name);
    case Login::reset:
      return "kex_exchange_identification: Connection reset by peer\r\n";
    case Login::denied:
      return format("{}: Permission denied (publickey).\r\n", name);
    default:
      return "";
  }
}

}  // namespace

bool ends_well(Login login) {
  return login == Login::agent || login == Login::push || login == Login::noise;
}

SimulatedSshd::SimulatedSshd(Site& site, std::vector<Login> logins, Duration takes,
                             Handlers handlers)
    : site_(site), logins_(std::move(logins)), takes_(takes), handlers_(std::move(handlers)) {
}

Result<SpawnedProcess> SimulatedSshd::log_in(const std::string& name, Cable::Nature nature) {
  const Login login = logins_[std::min(cables_.size(), logins_.size() - 1)];
  handlers_.on_event(format("login {}", static_cast<int>(login)));
  input_ended_ = false;
  cables_.push_back(std::make_unique<Cable>(
      site_, nature,
      Cable::Handlers{.on_bytes = [this](ByteSpan bytes) { receive(bytes); },
                      .on_end =
                          [this, number = cables_.size()] {
                            if (number + 1 != cables_.size()) return;
                            input_ended_ = true;
                            handlers_.on_end();
                          }}));
  SocketPair messages = TRY(make_socketpair());
  TRY(set_nonblocking(messages.ours.get()));
  auto text = std::make_shared<Fd>(std::move(messages.theirs));
  timer_ = site_.loop.after(takes_,
                            [this, login, name, text] { answer(login, name, std::move(*text)); });
  return SpawnedProcess{cables_.back()->take_near_end(), Fd(), std::nullopt,
                        std::move(messages.ours)};
}

void SimulatedSshd::receive(ByteSpan bytes) {
  if (awaited_push_ == 0) return handlers_.on_bytes(bytes);
  // All bytes are the executable; its size is known.
  awaited_push_ += bytes.size();
  if (awaited_push_ <= pushed_bytes) return;
  awaited_push_ = 0;
  timer_ = site_.loop.after(agent_starts, [this] { handlers_.start_agent(); });
}

void SimulatedSshd::answer(Login login, const std::string& name, Fd messages) {
  Cable& link = *cables_.back();
  if (link.ended()) return;
  const std::string text = login_text(login, name);
  if (!text.empty() || login == Login::closed) {
    // The launcher may have closed its end meanwhile.
    const auto sent = ::send(messages.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(text.size())) link.hang_up();
    return;
  }
  switch (login) {
    case Login::push:
      awaited_push_ = 1;
      return link.send(as_bytes("dtrain-push x86_64\n"));
    case Login::architecture:
      return link.send(as_bytes("dtrain-push s390x\n"));
    case Login::babble:
      return link.send(Bytes(size_t{70} << 10, std::byte{'x'}));
    case Login::noise:
      link.send(as_bytes("Last login: Tue\nfortune: \x1b[31mnone\n"));
      return handlers_.start_agent();
    case Login::agent:
      return handlers_.start_agent();
    default:
      return;
  }
}

}  // namespace dt
