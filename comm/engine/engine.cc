#include "comm/engine/engine.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/engine/collectives.h"
#include "comm/engine/messages.h"
#include "comm/engine/operation.h"
#include "comm/engine/peers.h"
#include "comm/engine/point_to_point.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

/// Hands what arrives to those whom it concerns, and ends everything when a task died.
struct Engine::State final : MessageReceiver {
  State(const Options& options, std::vector<Peer> given)
      : peers(options, std::move(given)), collectives(peers), messages(peers) {}

  Result<> control(const Message& message, ByteSpan payload) override;
  Result<Place> place(const Message& message) override;
  Result<> arrived(const Message& message) override;
  void end_all(Failure why);
  void withdraw(Failure why);
  Result<> withdrawn(ByteSpan payload);

  Peers peers;
  Collectives collectives;
  PointToPoint messages;
  std::optional<Failure> over;  ///< nothing works any more, and why
  Time now = {};                ///< of the step under way
};

Result<> Engine::State::control(const Message& message, ByteSpan payload) {
  if (over) return {};
  switch (static_cast<MessageType>(message.type)) {
    case MessageType::descriptor:
      return collectives.descriptor(message, payload, now);
    case MessageType::verdict:
      return collectives.verdict(message, payload);
    case MessageType::stop:
      return collectives.stop(payload);
    case MessageType::withdrawn:
      return withdrawn(payload);
    case MessageType::offer:
      return messages.offer(message, payload);
    case MessageType::accept:
      return messages.accept(message);
    case MessageType::refuse:
      return messages.refuse(message, payload);
    case MessageType::cancel:
      return messages.cancel(message, payload);
    case MessageType::collective_data:
    case MessageType::message_data:
      break;
  }
  return fail(Errc::protocol, format("a message of unknown type {}", message.type));
}

Result<Place> Engine::State::place(const Message& message) {
  if (over) return Place{Place::Action::discard};
  switch (static_cast<MessageType>(message.type)) {
    case MessageType::collective_data:
      return collectives.place(message);
    case MessageType::message_data:
      return messages.place(message);
    default:
      return fail(Errc::protocol, format("data of unknown type {}", message.type));
  }
}

Result<> Engine::State::arrived(const Message& message) {
  const bool collective = message.type == static_cast<uint8_t>(MessageType::collective_data);
  return collective ? collectives.arrived(message) : messages.arrived(message);
}

void Engine::State::end_all(Failure why) {
  if (over) return;
  collectives.fail_all(why);
  messages.fail_all(why);
  over = std::move(why);
}

/// Ends all here and tells the others, who cannot know: this rank's task lives.
void Engine::State::withdraw(Failure why) {
  if (over) return;
  Writer writer;
  writer.number(int32_t{why.blamed_rank}).text(why.reason);
  peers.tell_all(MessageType::withdrawn, 0, writer.view());
  end_all(std::move(why));
}

Result<> Engine::State::withdrawn(ByteSpan payload) {
  Reader reader(payload);
  Failure why{Errc::peer_lost, reader.number<int32_t>(), printable(reader.text(), 1000)};
  TRY(reader.finish("withdrawal"));
  withdraw(std::move(why));
  return {};
}

Engine::Engine(Options options, std::vector<Peer> peers) {
  assert(options.rank >= 0 && static_cast<size_t>(options.rank) < peers.size());
  state_ = std::make_unique<State>(options, std::move(peers));
}

Engine::~Engine() = default;

int Engine::rank() const {
  return state_->peers.rank();
}
int Engine::size() const {
  return state_->peers.size();
}

std::shared_ptr<Operation> Engine::submit(OperationRequest request, Time now) {
  auto operation = std::make_shared<Operation>();
  operation->request = std::move(request);
  operation->submitted = now;
  const Result<> checked = check_request(operation->request, rank(), size());
  if (!checked) {
    end(*operation, {checked.error().code, -1, checked.error().message});
    return operation;
  }
  const bool collective = is_collective(operation->request.kind);
  const std::optional<Failure>& over = state_->over;
  if (over && collective) operation->sequence = state_->collectives.take_sequence();
  if (over) {
    end(*operation, *over);
  } else if (collective) {
    state_->collectives.submit(operation);
  } else {
    state_->messages.submit(operation);
  }
  return operation;
}

bool Engine::step(Time now) {
  State& s = *state_;
  s.now = now;
  bool moved = s.peers.receive(s, now);
  s.peers.settle(now);
  if (!s.over) {
    moved |= s.collectives.step(now);
    moved |= s.messages.step(now);
  }
  moved |= s.peers.flush(now);
  return moved;
}

Time Engine::next_deadline() const {
  if (state_->over) return Time::max();
  return std::min({state_->peers.next_deadline(), state_->collectives.next_deadline(),
                   state_->messages.next_deadline()});
}

bool Engine::idle() const {
  return state_->collectives.idle() && state_->messages.idle() && state_->peers.all_sent();
}

void Engine::notice(const Notice& notice, Time now) {
  const int rank = state_->peers.rank_of(notice.task);
  if (rank < 0 || rank == this->rank()) return;
  if (notice.kind == Notice::Kind::left) return state_->peers.left(rank, now);
  const std::string died = state_->peers.name(rank) + " died";
  state_->end_all(
      {Errc::peer_lost, rank, notice.cause.empty() ? died : died + ": " + notice.cause});
}

void Engine::launcher_lost(Time /*now*/) {
  if (state_->over) return;
  const std::string others = state_->peers.name(rank()) + " has lost the launcher";
  Writer writer;
  writer.number(int32_t{rank()}).text(others);
  state_->peers.tell_all(MessageType::withdrawn, 0, writer.view());
  state_->end_all({Errc::peer_lost, -1, "launcher lost"});
}

}  // namespace dt
