#include "comm/engine/engine.h"

#include "base/format.h"
#include "base/spin_pause.h"
#include "base/text.h"
#include "comm/collective/messages.h"
#include "comm/collective/operation.h"
#include "comm/collective/peers.h"
#include "comm/collective/uneven_parts.h"
#include "comm/engine/groups.h"
#include "comm/engine/point_to_point.h"
#include "comm/engine/tensor_list.h"
#include "comm/schedule/step_check.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <map>
#include <utility>

namespace dt {

/// Dispatches messages to `groups` and `messages`, and fails all operations when a task died.
struct Engine::State final : MessageReceiver {
  State(const Options& options, std::vector<Peer> given)
      : peers(options, std::move(given)),
        groups(peers, {options.host_memory, options.shared, options.named_shared, options.pool},
               [this](const GroupPeers& lane, OperationRequest& request) {
                 const RankGroup* group = groups.find(request.group);
                 const bool in_memory = group != nullptr && group->collectives().has_memory();
                 return choose_algorithm(lane, in_memory, request);
               }),
        messages(peers) {}

  Result<> control(const Message& message, ByteSpan payload) override;
  Result<PayloadTarget> place(const Message& message) override;
  Result<> arrived(const Message& message) override;
  void fail_all(OperationFailure why);
  void abort_and_announce(const OperationFailure& why, const OperationFailure& for_others,
                          Recipients recipients);
  void announce(const OperationFailure& for_others, Recipients recipients);
  Result<> peer_aborted(ByteSpan payload);
  Result<> choose_algorithm(const GroupPeers& group, bool in_memory,
                            OperationRequest& request) const;
  Result<Steps> registered_steps(const std::string& name, Group ranks,
                                 const CollectiveShape& shape) const;
  void submit(const std::shared_ptr<Operation>& operation);
  void submit_list(const std::shared_ptr<Operation>& list);

  Peers peers;
  Groups groups;
  PointToPoint messages;
  std::map<std::string, StepMaker> registered;
  std::optional<OperationFailure> aborted;  ///< the failure of all operations from now on
  Time now = {};                            ///< of the current step
};

Result<> Engine::State::control(const Message& message, ByteSpan payload) {
  if (aborted) return {};
  switch (static_cast<EngineMessageType>(message.type)) {
    case EngineMessageType::call:
    case EngineMessageType::roll_call:
    case EngineMessageType::descriptor:
    case EngineMessageType::verdict:
    case EngineMessageType::stop:
    case EngineMessageType::name_call:
    case EngineMessageType::name_decision:
      return groups.control(message, payload, now);
    case EngineMessageType::aborted:
      return peer_aborted(payload);
    case EngineMessageType::offer:
      return messages.offer(message, payload);
    case EngineMessageType::accept:
      return messages.accept(message);
    case EngineMessageType::refuse:
      return messages.refuse(message, payload);
    case EngineMessageType::cancel:
      return messages.cancel(message, payload);
    case EngineMessageType::left_group:
      return messages.left_group(message);
    case EngineMessageType::leaving:
      peers.left(message.from, now);
      return {};
    case EngineMessageType::collective_data:
    case EngineMessageType::message_data:
      break;
  }
  return fail(Errc::protocol, format("a message of unknown type {}", message.type));
}

Result<PayloadTarget> Engine::State::place(const Message& message) {
  if (aborted) return PayloadTarget{PayloadTarget::Action::discard};
  switch (static_cast<EngineMessageType>(message.type)) {
    case EngineMessageType::collective_data:
      return groups.place(message);
    case EngineMessageType::message_data:
      return messages.place(message);
    default:
      return fail(Errc::protocol, format("data of unknown type {}", message.type));
  }
}

Result<> Engine::State::arrived(const Message& message) {
  const bool collective = message.type == static_cast<uint8_t>(EngineMessageType::collective_data);
  return collective ? groups.arrived(message) : messages.arrived(message);
}

void Engine::State::fail_all(OperationFailure why) {
  if (aborted) return;
  groups.fail_all(why);
  messages.fail_all(why);
  aborted = std::move(why);
}

/// Fails all operations here and announces it to the other ranks. The launcher sends them no
/// notice, because this rank's task lives.
void Engine::State::abort_and_announce(const OperationFailure& why,
                                       const OperationFailure& for_others, Recipients recipients) {
  if (aborted) return;
  fail_all(why);
  announce(for_others, recipients);
}

void Engine::State::announce(const OperationFailure& for_others, Recipients recipients) {
  Writer writer;
  writer.number(int32_t{for_others.blamed_rank}).text(for_others.reason);
  peers.send_all(EngineMessageType::aborted, 0, writer.view(), recipients);
}

/// Every rank forwards the announcement once, as it does with a stop.
Result<> Engine::State::peer_aborted(ByteSpan payload) {
  Reader reader(payload);
  const OperationFailure why{Errc::peer_lost, reader.number<int32_t>(),
                             printable(reader.text(), 1000)};
  TRY(reader.finish("announcement of an abort"));
  TRY(peers.check_blamed(why.blamed_rank));
  abort_and_announce(why, why, Recipients::connected);
  return {};
}

/// `in_memory`: the ranks of the group share memory.
Result<> Engine::State::choose_algorithm(const GroupPeers& group, bool in_memory,
                                         OperationRequest& request) const {
  if (in_memory && SharedCommunicator::runs(request, group.size())) return {};
  if (request.reduce == ReduceOp::adasum) return {};  // has one algorithm
  const CollectiveShape shape = shape_of(request);
  const AlgorithmRule& rule =
      group.algorithms().rule(request.kind, request.count * shape.element_bytes);
  request.algorithm = rule.algorithm;
  if (rule.registered.empty()) return {};
  if (!registered.contains(rule.registered)) {
    return fail(Errc::input, format("--algorithms names @{}, which is not registered; call "
                                    "dtrain_register_algorithm on every rank first",
                                    rule.registered));
  }
  const Group ranks{group.rank(), group.size(), &group.hosts()};
  Steps steps = TRY(registered_steps(rule.registered, ranks, shape));
  request.steps = std::make_shared<const Steps>(std::move(steps));
  return {};
}

Result<Steps> Engine::State::registered_steps(const std::string& name, Group ranks,
                                              const CollectiveShape& shape) const {
  const auto maker = registered.find(name);
  if (maker == registered.end()) {
    return fail(Errc::input,
                format("@{} is not registered; call dtrain_register_algorithm first", name));
  }
  Result<Steps> steps = maker->second(ranks, shape);
  Result<> checked;
  if (steps) checked = check_steps(*steps, ranks, shape);
  if (steps && checked) return steps;
  return fail(Errc::input, format("the registered algorithm {}: {}", name,
                                  (steps ? checked.error() : steps.error()).message));
}

/// Submits a call of several tensors: all of them, or none if one is wrong.
void Engine::State::submit_list(const std::shared_ptr<Operation>& list) {
  OperationRequest& request = list->request;
  RankGroup* group = groups.find(request.group);
  if (group == nullptr) return end(*list, {Errc::closed, -1, "the group has been finalized"});
  // Ranks make unnamed calls in one order.
  if (request.name.empty()) request.name = format("#{}", group->take_list());
  const auto parts = parts_of(list, request.name);
  for (const auto& part : parts) {
    Result<> checked = check_request(part->request, group->peers().rank(), group->peers().size());
    if (checked && group->is_pending(part->request))
      checked = fail(Errc::input, std::string(name_is_pending));
    if (!checked)
      return end_labelled(
          *list, {checked.error().code, -1, label(*part) + ": " + checked.error().message});
  }
  for (const auto& part : parts)
    submit(part);
}

void Engine::State::submit(const std::shared_ptr<Operation>& operation) {
  OperationRequest& request = operation->request;
  RankGroup* group = groups.find(request.group);
  if (group == nullptr) return end(*operation, {Errc::closed, -1, "the group has been finalized"});
  const GroupPeers& members = group->peers();
  Collectives& collectives = group->collectives();
  const Result<> checked = check_request(request, members.rank(), members.size());
  if (!checked) return end(*operation, {checked.error().code, -1, checked.error().message});
  if (has_uneven_parts(request)) even_parts(request, members.rank());
  const bool collective = is_collective(request.kind);
  if (!collective) request.peer = members.job_rank(request.peer);
  const bool named = matches_by_name(request);
  if (collective && request.kind != OperationKind::join) {
    const Result<> chosen = choose_algorithm(members, collectives.has_memory(), request);
    if (!chosen) return end(*operation, {chosen.error().code, -1, chosen.error().message});
  }
  if (aborted && collective && !named) operation->sequence = collectives.take_sequence();
  if (aborted) {
    end(*operation, *aborted);
  } else if (collective) {
    groups.submit(*group, operation);
  } else {
    messages.submit(operation);
  }
}

Engine::Engine(const Options& options, std::vector<Peer> peers) {
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
std::string Engine::name_of(int rank) const {
  return state_->peers.name(rank);
}

std::shared_ptr<Operation> Engine::submit(OperationRequest request, Time now) {
  auto operation = std::make_shared<Operation>();
  operation->request = std::move(request);
  submit(operation, now);
  return operation;
}

void Engine::submit(const std::shared_ptr<Operation>& operation, Time now) {
  operation->submitted = now;
  if (operation->request.tensors.empty()) return state_->submit(operation);
  state_->submit_list(operation);
}

Groups& Engine::groups() {
  return state_->groups;
}

void Engine::leave_group(uint32_t number) {
  const RankGroup* group = state_->groups.find(number);
  if (state_->aborted || group == nullptr) return;
  state_->messages.leave_group(group->peers(), {Errc::closed, -1, "the group has been finalized"});
  state_->groups.leave(number);
}

Result<Steps> Engine::registered_steps(const std::string& name, Group ranks,
                                       const CollectiveShape& shape) const {
  return state_->registered_steps(name, ranks, shape);
}

Result<> Engine::register_algorithm(const std::string& name, const StepMaker& maker) {
  if (state_->registered.try_emplace(name, maker).second) return {};
  return fail(Errc::input, format("an algorithm {} is registered already", name));
}

std::string Engine::algorithms_text(uint32_t group) const {
  const RankGroup* found = state_->groups.find(group);
  std::string text;
  if (found == nullptr) return text;
  const GroupPeers& peers = found->peers();
  const bool in_memory = found->collectives().has_memory();
  for (auto kind = OperationKind::all_reduce; is_collective(kind);
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    const bool shared = in_memory && SharedCommunicator::runs(kind, peers.size());
    if (!text.empty()) text += ',';
    text += format("{}={}", kind_name(kind),
                   shared ? "shm" : rules_text(peers.algorithms().rules(kind)));
  }
  return text;
}

bool Engine::step(Time now) {
  State& s = *state_;
  s.now = now;
  bool moved = s.peers.receive(s, now);
  s.peers.settle(now);
  if (!s.aborted) {
    moved |= s.groups.step(now);
    moved |= s.messages.step(now);
  }
  moved |= s.peers.flush(now);
  return moved;
}

bool Engine::spin(const Operation& operation, int checks) {
  RankGroup* group = state_->groups.find(operation.request.group);
  if (group != nullptr && group->needs_no_frames(operation.request))
    return spin(*group, operation, checks);
  return !operation.outcome && step(state_->now);
}

bool Engine::spin(RankGroup& group, const Operation& operation, int checks) {
  if (operation.outcome) return false;
  Collectives& collectives = group.collectives();
  // In shared memory the operation needs no frames, so the links can wait until the next step.
  if (!collectives.runs_in_memory()) return step(state_->now);
  for (int check = 0; check < checks; ++check) {
    if (collectives.spin(state_->now)) return true;
    spin_pause();
  }
  return false;
}

bool Engine::poll(const Operation& operation) {
  const OperationRequest& request = operation.request;
  if (state_->aborted || operation.outcome || !state_->peers.all_sent()) return false;
  if (request.kind == OperationKind::receive) return state_->peers.poll(request.peer);
  if (!is_collective(request.kind)) return false;
  const RankGroup* group = state_->groups.find(request.group);
  const int rank = group == nullptr ? -1 : group->data_from(operation);
  return rank >= 0 && state_->peers.poll(rank);
}

Time Engine::next_deadline() const {
  if (state_->aborted) return Time::max();
  return std::min({state_->peers.next_deadline(), state_->groups.next_deadline(),
                   state_->messages.next_deadline()});
}

bool Engine::idle() const {
  return state_->groups.idle() && state_->messages.idle() && state_->peers.all_sent();
}

bool Engine::serves() const {
  return !state_->aborted && state_->groups.serves();
}

std::optional<OperationFailure> Engine::lost(uint32_t group, bool has_slot) const {
  if (state_->aborted) return state_->aborted;
  const RankGroup* const members = state_->groups.find(group);
  if (members == nullptr) return OperationFailure{Errc::closed, -1, "the group has been finalized"};
  if (const CollectiveStop* const stop = members->collectives().stopped()) return stop->why;
  if (auto lost = lost_among(members->peers().job_ranks())) return lost;
  return has_slot ? members->failed_by_name() : std::nullopt;
}

std::optional<OperationFailure> Engine::lost_among(std::span<const int> ranks) const {
  const int rank = state_->peers.first_lost(ranks);
  if (rank < 0) return std::nullopt;
  return OperationFailure{Errc::peer_lost, rank, state_->peers.gone_reason(rank)};
}

const OperationFailure* Engine::aborted() const {
  const std::optional<OperationFailure>& aborted = state_->aborted;
  return aborted ? &*aborted : nullptr;
}

void Engine::add_waits(std::vector<PendingWait>& waits) const {
  state_->groups.add_waits(waits);
  state_->messages.add_waits(waits);
}

std::vector<int> Engine::awaited(const Operation& operation) const {
  if (!is_collective(operation.request.kind)) return {operation.request.peer};
  const RankGroup* group = state_->groups.find(operation.request.group);
  return group == nullptr ? std::vector<int>() : group->awaited(operation);
}

std::string Engine::last_before(const Operation& operation) const {
  const RankGroup* group = state_->groups.find(operation.request.group);
  const bool collective = group != nullptr && is_collective(operation.request.kind);
  return collective ? group->last_before(operation) : "";
}

void Engine::notice(const Notice& notice, Time now) {
  const int rank = state_->peers.rank_of(notice.task);
  if (rank < 0 || rank == this->rank()) return;
  // The collectives have ended by its death, and stay ended.
  if (notice.kind == Notice::Kind::restarted) return;
  if (notice.kind == Notice::Kind::left) return state_->peers.left(rank, now);
  const std::string died = state_->peers.name(rank) + " died";
  state_->fail_all(
      {Errc::peer_lost, rank, notice.cause.empty() ? died : died + ": " + notice.cause});
}

void Engine::launcher_lost(Time /*now*/) {
  const std::string self = state_->peers.name(rank());
  // All ranks may lose it at once, so none connects with all others.
  state_->abort_and_announce({Errc::peer_lost, -1, "launcher lost"},
                             {Errc::peer_lost, rank(), self + " has lost the launcher"},
                             Recipients::connected);
}

void Engine::close() {
  if (state_->aborted) return;
  state_->fail_all({Errc::closed, -1, "the context has been finalized"});
  // All that this rank has sent lies before it. Ranks without a connection learn it when they dial.
  state_->peers.send_all(EngineMessageType::leaving, 0, {}, Recipients::connected);
}

void Engine::abort(std::string_view why) {
  if (state_->aborted) return;
  try {
    const std::string reason = printable(why, 200);
    const std::string text = state_->peers.name(rank()) + " cannot continue: " + reason;
    state_->abort_and_announce({Errc::os, -1, reason}, {Errc::peer_lost, rank(), text},
                               Recipients::all);
  } catch (const std::exception&) {
    // Memory has run out again, and the announcement with it.
    state_->fail_all({Errc::os, -1, std::string(out_of_memory)});
    state_->peers.close_all();
  }
}

}  // namespace dt
