#pragma once

// The job's store for C++20. Programs include dtrain.hpp, which includes this file.

#include "dtrain_types.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

/// The job's keys and values; see dtrain_store.h for limits and errors. The Context must outlive
/// the Store that refers to it. Values are arbitrary bytes, not only text.
class Store {
 public:
  explicit Store(dtrain_context* context) : context_(context) {}

  void set(const std::string& key, std::string_view value, const OpOptions& options = {}) {
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_set(context_, name, bytes_of(value), c, error);
    });
  }
  /// Returns the key's value; none when there is no such key.
  std::optional<std::string> get(const std::string& key, const OpOptions& options = {}) {
    dtrain_value* value = nullptr;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_get(context_, name, &value, c, error);
    });
    return take(value);
  }
  /// Returns the key's value as soon as the key exists.
  std::string wait(const std::string& key, const OpOptions& options = {}) {
    dtrain_value* value = nullptr;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_wait(context_, name, &value, c, error);
    });
    return take(value).value();
  }
  /// Adds the amount to the number that the key holds (0 without such a key); returns the sum.
  std::int64_t add(const std::string& key, std::int64_t amount, const OpOptions& options = {}) {
    std::int64_t number = amount;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_add(context_, name, &number, c, error);
    });
    return number;
  }

  struct Exchange {
    bool done = false;                     ///< the key has been set
    std::optional<std::string> held = {};  ///< if not done: the key's value, if it exists
  };
  /// Sets the key if it holds `expected`. Without `expected`, sets it if it does not exist.
  Exchange compare_and_set(const std::string& key, std::optional<std::string_view> expected,
                           std::string_view desired, const OpOptions& options = {}) {
    dtrain_bytes before = {};
    dtrain_exchange exchange = {};
    if (expected) {
      before = bytes_of(*expected);
      exchange.expected = &before;
    }
    exchange.desired = bytes_of(desired);
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_compare_and_set(context_, name, &exchange, c, error);
    });
    return {exchange.done != 0, take(exchange.held)};
  }
  /// Erases the key; returns false when there was no such key.
  bool erase(const std::string& key, const OpOptions& options = {}) {
    int existed = 0;
    run(key, options, [&](const char* name, const dtrain_op_options* c, dtrain_error* error) {
      return dtrain_store_erase(context_, name, &existed, c, error);
    });
    return existed != 0;
  }

 private:
  static dtrain_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

  static std::optional<std::string> take(dtrain_value* value) {
    struct Free {
      void operator()(dtrain_value* owned) const { dtrain_value_free(owned); }
    };
    const std::unique_ptr<dtrain_value, Free> owner(value);
    if (value == nullptr) return std::nullopt;
    return std::string(static_cast<const char*>(dtrain_value_data(value)),
                       dtrain_value_size(value));
  }

  template <class Call>
  static void run(const std::string& key, const OpOptions& options, const Call& call) {
    if (key.find('\0') != std::string::npos) {
      throw Error(DTRAIN_ERROR_INPUT, "a key must not contain a NUL byte");
    }
    const dtrain_op_options c = detail::c_options(options);
    dtrain_error error = detail::empty_error();
    if (call(key.c_str(), &c, &error) != DTRAIN_OK) throw Error(error);
  }

  dtrain_context* context_;
};

}  // namespace dtrain
