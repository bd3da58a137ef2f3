#include "comm/device/connected_call.h"

#include "base/format.h"
#include "comm/collective/operation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dt {

namespace {

/// NCCL may notice the death of a rank before the job does, which knows the reason.
constexpr Duration reason_max = seconds(1);
/// The vote beside a call has the same limit. It names the rank that is late, so it comes first.
constexpr Duration vote_first = seconds(1);

std::vector<std::shared_ptr<NcclTask>> tasks_of(const OperationRequest& request, CallingRank self) {
  std::vector<std::shared_ptr<NcclTask>> tasks;
  const auto add = [&](const NcclPart& part) {
    tasks.push_back(std::make_shared<NcclTask>());
    tasks.back()->part = part;
  };
  if (request.tensors.empty()) add(nccl_part(request, self));
  for (const TensorOfList& tensor : request.tensors)
    add(nccl_part(request, tensor));
  return tasks;
}

}  // namespace

Result<std::unique_ptr<DeviceCopies>> ConnectedCall::start(Terms terms) {
  std::unique_ptr<ConnectedCall> made(new ConnectedCall(std::move(terms)));
  made->terms_.executed->submitted = Clock::now();
  made->deadline_ = deadline(*made->terms_.executed);
  made->tasks_ = tasks_of(made->request(), made->terms_.self);
  if (matches_by_name(made->request())) made->terms_.connection->order().use_slots();
  // Copies are refused too late: behind a vote, the others wait for this rank.
  TRY(check_ranges(made->terms_.ranges, made->terms_.device->device()));
  TRY(made->take_memory());
  return std::unique_ptr<DeviceCopies>(std::move(made));
}

/// Allocates what the call needs. To allocate later would hold up other calls. A call by name that
/// is staged because a rank has joined does so all the same. Otherwise all calls would need much
/// for that rare case.
Result<> ConnectedCall::take_memory() {
  const NcclConnection& connection = *terms_.connection;
  for (const auto& task : tasks_)
    task->memory =
        TRY(terms_.connection->memory().take(nccl_memory_bytes(task->part, terms_.self)));
  const bool by_name = matches_by_name(request());
  if (by_name ? connection.runs_by_name() : connection.agreed() == DeviceRoute::nccl) return {};
  pinned_ = TRY(terms_.device->take_pinned(lay_out(terms_.ranges).bytes));
  return {};
}

ConnectedCall::~ConnectedCall() {
  release();
  finish();
  terms_.device->keep_pinned(std::move(pinned_));
  if (!terms_.device->device().status()) return;
  for (const auto& task : tasks_)
    terms_.connection->memory().keep(std::move(task->memory));
}

Result<DeviceStep> ConnectedCall::next() {
  if (staged_) return staged_->next();
  if (agreement_) return follow_agreement();
  if (vote_) return follow_vote();
  if (matches_by_name(request())) return agree();
  // The votes end in the order of the calls, so that all ranks see the same here.
  return terms_.connection->agreed() == DeviceRoute::staged ? stage() : vote();
}

/// Once the ranks have voted for NCCL, they do so again.
DeviceStep ConnectedCall::vote() {
  NcclConnection& connection = *terms_.connection;
  const bool slot = connection.order().uses_slots();
  if (!slot) without_slot_ = connection.order().expect_without_slot();
  vote_.emplace(request(), NcclVote::Choice{.route = connection.wish(), .slot = slot});
  limit_time(vote_->operation()->request);
  const bool by_nccl = connection.agreed() == DeviceRoute::nccl;
  if (by_nccl && !slot) return DeviceStep::end_beside(vote_->operation());
  return DeviceStep::run(vote_->operation(), by_nccl);
}

Result<DeviceStep> ConnectedCall::follow_vote() {
  const NcclVote::Choice outcome = vote_->outcome();
  NcclConnection& connection = *terms_.connection;
  connection.agree(outcome.route);
  if (outcome.route != DeviceRoute::nccl) without_slot_.reset();
  if (outcome.route != DeviceRoute::nccl) return route(outcome.route);
  if (outcome.slot) return agree();
  // This rank makes calls by name, but another one has begun the call.
  without_slot_ = connection.order().expect_without_slot();
  return route(outcome.route);
}

/// Agrees on the slot of the call, and on the route of one by name. Called until the input is
/// there.
Result<DeviceStep> ConnectedCall::agree() {
  NcclOrder& order = terms_.connection->order();
  const bool by_name = !vote_;
  if (!by_name && slot_name_.empty()) slot_name_ = order.next_call_name(request().name);
  preparing_ = true;
  bool reached = true;
  if (terms_.ready) reached = TRY(is_reached(*terms_.ready));
  if (!reached && Clock::now() >= deadline_)
    return tl::unexpected(labelled({Errc::timeout, "its stream has not reached it in time"}));
  if (!reached) return DeviceStep{.passes = !by_name};
  preparing_ = false;
  DeviceRoute wish = terms_.connection->wish();
  if (by_name && order.expects_without_slot()) wish = std::min(wish, DeviceRoute::undecided);
  agreement_ = std::make_shared<CallAgreement>(
      CallAgreement{.wish = wish, .of_unnamed = !by_name, .before = order.begun_without_slot()});
  announced_ = std::make_shared<Operation>();
  OperationRequest& announced = announced_->request;
  announced = request();
  if (!by_name) announced.name = slot_name_;
  announced.in_sequence = false;
  announced.terms->memory = MemoryKind::connected_device;
  announced.agreement = agreement_;
  limit_time(announced);
  return DeviceStep::run(announced_, !by_name);
}

Result<DeviceStep> ConnectedCall::follow_agreement() {
  if (agreement_->route == DeviceRoute::nccl && !vote_) terms_.connection->run_by_name();
  // The engine has given a list without a name one. If it is staged, it has that name again.
  if (!vote_) terms_.executed->request.name = announced_->request.name;
  terms_.executed->request.follows_agreement = !vote_;
  return route(agreement_->route);
}

Result<DeviceStep> ConnectedCall::route(DeviceRoute route) {
  switch (route) {
    case DeviceRoute::nccl:
      return DeviceStep::end();
    case DeviceRoute::undecided:
    case DeviceRoute::staged:
      return stage();
    case DeviceRoute::failed:
      break;
  }
  return tl::unexpected(labelled(without_nccl()));
}

/// Called until the input is there.
Result<DeviceStep> ConnectedCall::stage() {
  staging_ = true;
  if (terms_.ready) {
    const bool reached = TRY(is_reached(*terms_.ready));
    if (!reached) return DeviceStep::wait();
  }
  limit_time(terms_.executed->request);
  staged_ = TRY(StagedCopies::start({.device = terms_.device,
                                     .earlier = EarlierWork(),  // it is done
                                     .results = terms_.results,
                                     .ranges = terms_.ranges,
                                     .executed = terms_.executed,
                                     .memory = std::move(pinned_)}));
  return staged_->next();
}

/// Limits a later operation of the engine to the rest of the call's time.
void ConnectedCall::limit_time(OperationRequest& request) const {
  if (deadline_ != Time::max()) request.timeout = std::max(Duration(1), deadline_ - Clock::now());
}

Error ConnectedCall::without_nccl() const {
  if (terms_.connection->way() == NcclConnection::Way::failed) return terms_.connection->reason();
  return {Errc::unsupported,
          "DTRAIN_DEVICE_COLLECTIVES is nccl, and NCCL cannot connect the devices of other ranks"};
}

Result<> ConnectedCall::start_results() {
  if (staged_) return staged_->start_results();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i]->ready = terms_.ready;
    tasks_[i]->results = terms_.results;
    tasks_[i]->tasks = tasks_.size();
    if (agreement_) {
      terms_.connection->begin(tasks_[i], agreement_->slots[i]);
    } else {
      terms_.connection->begin(tasks_[i]);
    }
  }
  if (!agreement_) terms_.connection->order().begin_without_slot();
  begun_ = true;
  note_input();
  return {};
}

/// Until the input is there, NCCL's stream may wait for a stream that waits for a call by name.
void ConnectedCall::note_input() {
  if (without_slot_ == nullptr) return;
  const bool reached = !terms_.ready || is_reached(*terms_.ready).value_or(true);
  if (reached) without_slot_.reset();
}

/// True when all tasks have ended. Fails when one has failed, and none runs any more.
Result<bool> ConnectedCall::all_ended() const {
  Result<bool> all = true;
  for (const auto& task : tasks_) {
    Result<bool> ended = terms_.connection->ended(*task);
    if (ended && !*ended) return false;
    if (!ended && all) all = std::move(ended);
  }
  return all;
}

Result<bool> ConnectedCall::results_copied() {
  if (staged_) return staged_->results_copied();
  note_input();
  Result<bool> ended = all_ended();
  if (ended && !*ended) check_progress();
  // Also when the device has failed, and NCCL does not know it.
  if (!ended) terms_.connection->stop(ended.error());
  if (ended || (!stopped_ && !failing())) return ended ? ended : Result<bool>(false);
  return tl::unexpected(labelled(stopped_ ? *stopped_ : std::move(ended).error()));
}

/// Called while NCCL has the task.
void ConnectedCall::check_progress() {
  const bool votes = vote_ && !vote_->operation()->outcome;
  if (deadline_ != Time::max() && Clock::now() >= deadline_ + (votes ? vote_first : Duration()))
    terms_.connection->stop({Errc::timeout, "NCCL has not ended it in time"});
}

/// The others must learn of a failure of NCCL. But it may be due to the death of a rank, which the
/// job names soon.
std::optional<Error> ConnectedCall::failing() {
  if (staged_ || !begun_ || stopped_) return std::nullopt;
  if (terms_.connection->way() != NcclConnection::Way::failed) return std::nullopt;
  const Error why = terms_.connection->reason();
  if (!failed_at_) failed_at_ = Clock::now();
  const bool of_nccl = why.code == Errc::os || why.code == Errc::peer_lost;
  if (of_nccl && Clock::now() - *failed_at_ < reason_max) return std::nullopt;
  return labelled(why);
}

bool ConnectedCall::others_wait() const {
  if (staged_) return staged_->others_wait();
  // The others know, too, why it was stopped.
  return staging_ || preparing_ || (begun_ && !stopped_);
}

void ConnectedCall::stop(const Error& why) {
  if (!begun_) return;
  if (!stopped_) stopped_ = why;
  terms_.connection->stop(why);
}

void ConnectedCall::release() {
  if (terms_.results) terms_.results->release();
}

void ConnectedCall::finish() {
  if (staged_) staged_->finish();
  if (!begun_) return;
  for (const auto& task : tasks_) {
    const Result<bool> ended = terms_.connection->ended(*task);
    if (!ended || *ended) continue;
    terms_.connection->stop({Errc::closed, "the context has been finalized"});
    terms_.connection->await_end(*task);
  }
}

Error ConnectedCall::labelled(Error why) const {
  return std::move(why).during(label(*terms_.executed));
}

}  // namespace dt
