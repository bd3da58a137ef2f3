#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The names of the models whose tensors are known.
std::vector<std::string> bench_model_names();
/// Returns the sizes in elements of a model's weights, in the order of its layers; none for another
/// name. ResNet-50: He et al., 2015. BERT-large, with the heads of its training: Devlin et al.,
/// 2018.
std::optional<std::vector<size_t>> bench_model(std::string_view name);
/// Returns `count` elements in equal tensors, as far as they can be divided.
std::vector<size_t> equal_tensors(size_t count, size_t tensors);

/// The gradients of a training step, as tensors behind each other. Has the order in which a rank
/// has them ready. Has the order in which a rank has them ready.
class TensorPlan {
 public:
  TensorPlan() = default;
  /// Every rank has another order, which is the same in each run.
  TensorPlan(const std::vector<size_t>& counts, int rank);

  struct Tensor {
    size_t begin = 0;  ///< in elements
    size_t count = 0;
    std::string name = {};
  };
  std::span<const Tensor> tensors() const { return tensors_; }
  /// Indices of tensors.
  std::span<const size_t> order() const { return order_; }

 private:
  std::vector<Tensor> tensors_;
  std::vector<size_t> order_;
};

}  // namespace dt
