#pragma once

#include "cmd/bench/collective_world.h"

#include <memory>
#include <string>
#include <string_view>

namespace dt {

/// Open MPI, for a comparison. The library is loaded at run time, because most machines have none.
/// Its constants are those of Open MPI 4 and 5.
class MpiWorld final : public CollectiveWorld {
 public:
  /// Joins the ranks that mpirun has started.
  static Result<std::unique_ptr<MpiWorld>> join();
  ~MpiWorld() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override;
  Result<> run(const CollectiveCall& call) override;
  Result<> barrier() override;
  /// Fails with Errc::unsupported.
  Result<void*> allocate(size_t bytes) override;
  void free(void* /*memory*/) override {}

 private:
  struct Functions;
  struct Arguments;
  explicit MpiWorld(std::unique_ptr<Functions> functions);

  int start(const CollectiveCall& call, const Arguments& with);
  int ping(const CollectiveCall& call, const Arguments& with);
  int reduce_tensors(const CollectiveCall& call, const Arguments& given);

  std::unique_ptr<Functions> functions_;
  int rank_ = 0;
  int size_ = 1;
};

/// True if MPI has the type and the reduction, by their names in bench_type.h.
bool mpi_has(std::string_view type, std::string_view reduction);

}  // namespace dt
