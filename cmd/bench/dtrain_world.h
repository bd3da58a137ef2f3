#pragma once

#include "cmd/bench/collective_world.h"
#include "comm/include/dtrain/dtrain.h"

#include <memory>
#include <string_view>
#include <vector>

namespace dt {

/// libdtrain, by its public C functions.
class DtrainWorld final : public CollectiveWorld {
 public:
  /// Joins the job of the environment. `transport` is auto, shm or tcp.
  static Result<std::unique_ptr<DtrainWorld>> join(std::string_view transport);
  /// Takes ownership of the context, which must not be null.
  explicit DtrainWorld(dtrain_context* context) : context_(context) {}

  int rank() const override { return dtrain_rank(context_.get()); }
  int size() const override { return dtrain_size(context_.get()); }
  std::string host() const override { return dtrain_host(context_.get()); }
  int local_rank() const { return dtrain_local_rank(context_.get()); }
  /// The number of hosts, on the first rank of a host.
  int hosts() const { return dtrain_cross_size(context_.get()); }
  /// The text of dtrain_algorithms.
  std::string algorithms() const;
  Result<> run(const CollectiveCall& call) override;
  Result<> barrier() override;
  Result<void*> allocate(size_t bytes) override;
  void free(void* memory) override;

 private:
  struct Finalize {
    void operator()(dtrain_context* context) const { dtrain_finalize(context); }
  };
  int start(const CollectiveCall& call, dtrain_error& error);
  int ping(const CollectiveCall& call, dtrain_error& error);
  int reduce_tensors(const CollectiveCall& call, dtrain_error& error);
  dtrain_work* start_tensor(const CollectiveCall& call, const TensorPlan::Tensor& tensor,
                            dtrain_error& error);

  std::unique_ptr<dtrain_context, Finalize> context_;
  std::vector<dtrain_work*> works_;
};

}  // namespace dt
