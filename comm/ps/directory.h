#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/wire.h"

#include <memory>
#include <optional>
#include <utility>

namespace dt {

/// The job's rendezvous, as a client of parameter servers uses it. The connection is one of its
/// own, or that of this process's context. For one thread at a time.
class PsDirectory {
 public:
  virtual ~PsDirectory() = default;
  virtual const TaskTable& table() const = 0;
  virtual const TaskEntry& self() const = 0;
  /// Sends a request and waits for its reply. Fails with Errc::timeout at the deadline, and with
  /// the error of the reply.
  virtual Result<Reply> ask(const Request& request, Time deadline) = 0;
  /// Readable when refresh() has news; -1: nothing shows that.
  virtual int fd() const = 0;
  /// Reads what has arrived. Fails when the launcher is lost.
  virtual Result<> refresh() = 0;
  virtual std::optional<Notice> next_notice() = 0;
};

/// A connection of its own.
class RendezvousDirectory final : public PsDirectory {
 public:
  explicit RendezvousDirectory(std::unique_ptr<RendezvousClient> client)
      : client_(std::move(client)) {}
  const TaskTable& table() const override { return client_->table(); }
  const TaskEntry& self() const override { return client_->self(); }
  Result<Reply> ask(const Request& request, Time deadline) override;
  int fd() const override { return client_->fd(); }
  Result<> refresh() override { return client_->pump(); }
  std::optional<Notice> next_notice() override { return client_->next_notice(); }

 private:
  std::unique_ptr<RendezvousClient> client_;
};

}  // namespace dt
