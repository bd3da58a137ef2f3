#pragma once

#include "comm/shared/block_transfer.h"

#include <cstddef>
#include <cstdint>

namespace dt {

/// scatter and all_to_all: an input has a part for each member, and each member copies its part of
/// the others' inputs. A slot has a chunk for each other member.
class ExchangeTransfer final : public BlockTransfer {
 public:
  explicit ExchangeTransfer(const SharedArea& area) : area_(area) {}
  void start(const OperationRequest& request) override;

  uint64_t blocks() const override { return blocks_; }
  bool reduces() const override { return false; }
  size_t send(Block block) override;
  size_t reduce(Block /*block*/) override { return 0; }
  size_t receive(Block block) override;

 private:
  bool gives(int member) const {
    return request_->kind == OperationKind::all_to_all || member == request_->peer;
  }
  size_t chunk_bytes(uint64_t index) const;
  std::byte* output_from(int member) const;

  const SharedArea& area_;
  const OperationRequest* request_ = nullptr;
  size_t part_bytes_ = 0;       ///< of `count` elements
  size_t chunk_bytes_max_ = 1;  ///< of every block but the last
  uint64_t blocks_ = 0;
};

}  // namespace dt
