#pragma once

#include "comm/api/context.h"
#include "comm/peer/rendezvous_view.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace dt {

/// The rendezvous through a context of all ranks: a task has one connection to it, which the engine
/// uses. Notices arrive while some thread is in a call of the context, or in ask().
class ContextRendezvousView final : public RendezvousView {
 public:
  explicit ContextRendezvousView(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  const TaskTable& table() const override { return context_->tasks(); }
  const TaskEntry& self() const override {
    return *context_->tasks().by_rank(context_->layout().rank);
  }
  std::string local_ip() const override { return {}; }
  Result<Reply> ask(const Request& request, Time deadline) override;
  int fd() const override { return -1; }
  Result<> refresh() override;
  std::optional<Notice> next_notice() override;
  Result<std::unique_ptr<RendezvousView>> another() override {
    return std::make_unique<ContextRendezvousView>(context_);
  }

 private:
  std::shared_ptr<Context> context_;
  size_t taken_ = 0;  ///< of the driver's notices
  std::deque<Notice> notices_;
};

}  // namespace dt
