#include "cmd/bench/tensor_plan.h"

#include "base/format.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

namespace dt {
namespace {

using Counts = std::vector<size_t>;

/// A convolution without bias, and the scale and shift of its normalisation.
void add_convolution(Counts& counts, size_t inputs, size_t outputs, size_t width) {
  counts.insert(counts.end(), {inputs * outputs * width * width, outputs, outputs});
}

void add_dense(Counts& counts, size_t inputs, size_t outputs) {
  counts.insert(counts.end(), {inputs * outputs, outputs});
}

Counts resnet50() {
  constexpr std::array<size_t, 4> blocks = {3, 4, 6, 3};
  constexpr size_t expansion = 4;
  Counts counts;
  add_convolution(counts, 3, 64, 7);
  size_t inputs = 64;
  size_t width = 64;
  for (const size_t stage : blocks) {
    for (size_t block = 0; block < stage; ++block) {
      add_convolution(counts, inputs, width, 1);
      add_convolution(counts, width, width, 3);
      add_convolution(counts, width, expansion * width, 1);
      if (block == 0) add_convolution(counts, inputs, expansion * width, 1);
      inputs = expansion * width;
    }
    width *= 2;
  }
  add_dense(counts, inputs, 1000);
  return counts;
}

Counts bert_large() {
  constexpr size_t words = 30'522;
  constexpr size_t positions = 512;
  constexpr size_t hidden = 1024;
  constexpr size_t inner = 4 * hidden;
  constexpr int layers = 24;
  Counts counts = {words * hidden, positions * hidden, 2 * hidden, hidden, hidden};
  for (int layer = 0; layer < layers; ++layer) {
    for (int matrix = 0; matrix < 4; ++matrix)  // query, key, value, output
      add_dense(counts, hidden, hidden);
    counts.insert(counts.end(), {hidden, hidden});
    add_dense(counts, hidden, inner);
    add_dense(counts, inner, hidden);
    counts.insert(counts.end(), {hidden, hidden});
  }
  add_dense(counts, hidden, hidden);  // the pooler
  // The head that predicts words shares their matrix.
  counts.push_back(words);
  add_dense(counts, hidden, hidden);
  counts.insert(counts.end(), {hidden, hidden});
  add_dense(counts, hidden, 2);
  return counts;
}

constexpr std::array<std::pair<std::string_view, Counts (*)()>, 2> models = {
    {{"resnet50", resnet50}, {"bert-large", bert_large}}};

}  // namespace

std::vector<std::string> bench_model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : models)
    names.emplace_back(name);
  return names;
}

std::optional<std::vector<size_t>> bench_model(std::string_view name) {
  for (const auto& [known, make] : models)
    if (known == name) return make();
  return std::nullopt;
}

std::vector<size_t> equal_tensors(size_t count, size_t tensors) {
  Counts counts(tensors, count / tensors);
  std::fill_n(counts.begin(), count % tensors, count / tensors + 1);
  return counts;
}

TensorPlan::TensorPlan(const std::vector<size_t>& counts, int rank) : order_(counts.size()) {
  size_t begin = 0;
  for (const size_t count : counts) {
    tensors_.push_back({begin, count, format("tensor{}", tensors_.size())});
    begin += count;
  }
  std::iota(order_.begin(), order_.end(), size_t{0});
  // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): each run measures the same order
  std::mt19937 random(static_cast<unsigned>(rank));
  std::ranges::shuffle(order_, random);
}

}  // namespace dt
