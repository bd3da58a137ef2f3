#include "comm/training/ps/state/push_turn.h"

#include <algorithm>

namespace dt {

void PsKnowledge::learn(const PsReply& reply) {
  if (reply.mode.number > mode.number) mode = reply.mode;
  if (reply.decision.round > decision.round) decision = reply.decision;
}

PushTurn::PushTurn(PsKnowledge& knowledge, uint32_t servers, bool pulls)
    : knowledge_(knowledge), servers_(servers), pulls_(pulls) {
  enter(Phase::push);
}

PushRequest PushTurn::push() const {
  return {.decision = knowledge_.decision,
          .kind = mode_.kind,
          .round = knowledge_.seen_round,
          .seen_step = knowledge_.seen_step};
}

bool PushTurn::has_values() const {
  return pulls_ &&
         (phase_ == Phase::pull || (phase_ == Phase::push && mode_.kind == PsMode::Kind::async));
}

void PushTurn::enter(Phase phase) {
  phase_ = phase;
  awaited_.clear();
  if (phase == Phase::push) mode_ = knowledge_.mode;
  if (phase == Phase::commit) awaited_ = {0};
  if (phase == Phase::pull) pulled_round_ = knowledge_.decision.round;
  if (phase != Phase::push && phase != Phase::pull) return;
  for (uint32_t server = 0; server < servers_; ++server)
    awaited_.insert(server);
}

Result<> PushTurn::take(uint32_t server, const PsReply& reply) {
  if (awaited_.erase(server) == 0) return fail(Errc::protocol, "a reply to no request");
  if (server == 0) knowledge_.learn(reply);
  if (reply.error) return tl::unexpected(*reply.error);
  stale_ = stale_ || reply.verdict == PsVerdict::stale;
  changed_ = changed_ || reply.verdict == PsVerdict::mode_changed;
  if (server == 0 && has_values()) knowledge_.seen_step = reply.step;
  if (awaited_.empty()) end_phase();
  return {};
}

void PushTurn::end_phase() {
  const bool asynchronous = mode_.kind == PsMode::Kind::async;
  if (phase_ == Phase::push && asynchronous) return enter(Phase::done);
  if (phase_ == Phase::push && !stale_) return enter(Phase::commit);
  if (phase_ == Phase::commit && changed_) {
    changed_ = false;
    return enter(Phase::push);
  }
  if (phase_ == Phase::pull) knowledge_.seen_round = pulled_round_;
  enter(phase_ == Phase::pull || !pulls_ ? Phase::done : Phase::pull);
}

}  // namespace dt
