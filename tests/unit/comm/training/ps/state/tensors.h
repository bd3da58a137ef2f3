#pragma once

#include "base/bytes.h"
#include "comm/training/ps/state/messages.h"

#include <cstring>
#include <vector>

namespace dt {

/// Returns the bytes of some numbers.
template <class T>
Bytes bytes_of(const std::vector<T>& numbers) {
  Bytes bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> numbers_of(ByteSpan bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

/// A variable of float32 that takes each gradient as it is: value -= gradient.
inline VariableSpec plain_variable(std::string name, std::vector<uint64_t> shape) {
  return {.name = std::move(name), .shape = std::move(shape), .optimizer = {.learning_rate = 1}};
}

/// Declares one variable, of which the server has all rows as the shard with the same number.
struct DeclaredWhole {
  DeclaredWhole(uint32_t number, VariableSpec variable, const std::vector<float>& initial)
      : bytes(bytes_of(initial)) {
    request.first_variable = number;
    request.shards = {{.shard = {.number = number, .variable = number, .rows = variable.rows()},
                       .initial = bytes}};
    request.variables = {std::move(variable)};
    request.initializes = true;
  }
  DeclaredWhole(const DeclaredWhole&) = delete;
  DeclaredWhole& operator=(const DeclaredWhole&) = delete;
  Bytes bytes;
  DeclareRequest request;
};

}  // namespace dt
