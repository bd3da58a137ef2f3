#include "choices/algorithm_text.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace dt {

namespace {

constexpr std::string_view units = "kmg";
constexpr std::array kinds_that_reduce = {OperationKind::all_reduce, OperationKind::reduce,
                                          OperationKind::reduce_scatter};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string> names_of_operations() {
  std::vector<std::string> names;
  for (size_t i = 0; i <= static_cast<size_t>(OperationKind::barrier); ++i)
    if (!has_own_counts(static_cast<OperationKind>(i))) names.emplace_back(kind_names.at(i));
  return names;
}

std::vector<std::string> names_of_algorithms(OperationKind kind) {
  std::vector<std::string> names;
  for (int i = 0; i < algorithm_count; ++i)
    if (supports(static_cast<Algorithm>(i), kind))
      names.emplace_back(algorithm_name(static_cast<Algorithm>(i)));
  return names;
}

/// Reads a table from left to right.
class TableReader {
 public:
  explicit TableReader(std::string_view text) : text_(text) {}

  Result<ChosenAlgorithms> read() {
    ChosenAlgorithms chosen;
    const bool deterministic = take_deterministic();
    if (deterministic) {
      for (const OperationKind kind : kinds_that_reduce)
        chosen[kind] = {{.algorithm = Algorithm::rank_order}};
      if (!take(',')) return end_of(std::move(chosen));
    }
    do {
      const size_t begin = at_;
      const OperationKind kind = TRY(operation());
      AlgorithmRules rules = TRY(this->rules(kind));
      if (chosen.try_emplace(kind, std::move(rules)).second) continue;
      return wrong(begin, deterministic && reduces(kind)
                              ? format("{} has its algorithm by \"deterministic\"", kind_name(kind))
                              : format("{} is given twice", kind_name(kind)));
    } while (take(','));
    return end_of(std::move(chosen));
  }

 private:
  static tl::unexpected<Error> wrong(size_t at, std::string_view why) {
    return fail(Errc::input, format("column {}: {}", at + 1, why));
  }

  Result<ChosenAlgorithms> end_of(ChosenAlgorithms chosen) const {
    if (at_ == text_.size()) return chosen;
    return wrong(at_, format("expected ':' or ',', got \"{}\"", printable(text_.substr(at_, 1))));
  }

  bool take_deterministic() {
    const size_t begin = at_;
    if (name() == deterministic_part) return true;
    at_ = begin;
    return false;
  }

  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string_view name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_]))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// Reads "broadcast="; without it, the part is about all_reduce.
  Result<OperationKind> operation() {
    const size_t begin = at_;
    const std::string_view word = name();
    if (!take('=')) {
      at_ = begin;
      return OperationKind::all_reduce;
    }
    const std::vector<std::string> known = names_of_operations();
    if (std::ranges::count(known, word) == 0) return unknown({begin, "an operation"}, word, known);
    const auto* const found = std::ranges::find(kind_names, word);
    return static_cast<OperationKind>(found - kind_names.begin());
  }

  Result<AlgorithmRules> rules(OperationKind kind) {
    AlgorithmRules rules;
    while (true) {
      AlgorithmRule next = TRY(rule(kind));
      rules.push_back(std::move(next));
      if (!take(':')) return rules;
      const size_t begin = at_;
      const size_t bytes = TRY(limit());
      const bool ascends = rules.size() == 1 || rules[rules.size() - 2].bytes_max < bytes;
      if (!ascends) return wrong(begin, "a limit must be above the one before it");
      rules.back().bytes_max = bytes;
      if (!take(':')) return wrong(at_, "expected ':' and the algorithm above this limit");
    }
  }

  Result<AlgorithmRule> rule(OperationKind kind) {
    if (kind != OperationKind::barrier && take('@')) {
      const size_t begin = at_;
      const std::string_view word = name();
      if (!is_registrable(word)) return wrong(begin, registrable_names);
      return AlgorithmRule{.registered = std::string(word)};
    }
    const Algorithm known = TRY(algorithm(kind));
    return AlgorithmRule{known};
  }

  Result<Algorithm> algorithm(OperationKind kind) {
    const size_t begin = at_;
    const std::string_view word = name();
    const std::optional<Algorithm> found = algorithm_named(word);
    if (found && supports(*found, kind)) return *found;
    return unknown({begin, format("an algorithm of {}", kind_name(kind))}, word,
                   names_of_algorithms(kind));
  }

  Result<size_t> limit() {
    const size_t begin = at_;
    const std::string_view word = name();
    std::string_view digits = word;
    int shift = 0;
    if (!word.empty()) {
      const char last = word.back();
      const char small = last >= 'A' && last <= 'Z' ? static_cast<char>(last - 'A' + 'a') : last;
      if (const size_t unit = units.find(small); unit != std::string_view::npos) {
        shift = 10 * (static_cast<int>(unit) + 1);
        digits.remove_suffix(1);
      }
    }
    const std::optional<int64_t> number = parse_integer(digits);
    if (number && *number > 0 && *number <= (INT64_MAX >> shift))
      return static_cast<size_t>(*number) << shift;
    return wrong(begin, format("expected a number of bytes such as 64k, got \"{}\"", word));
  }

  struct Expected {
    size_t at;
    std::string what;
  };
  static tl::unexpected<Error> unknown(const Expected& expected, std::string_view word,
                                       const std::vector<std::string>& known) {
    const std::optional<std::string> guess = nearest(word, known);
    return wrong(expected.at,
                 format("expected {}, one of {}, got \"{}\"{}", expected.what, join(known, ", "),
                        printable(word), guess ? format("; did you mean {}?", *guess) : ""));
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string bytes_text(size_t bytes) {
  size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = format("{}", bytes);
  if (unit > 0) text += units[unit - 1];
  return text;
}

}  // namespace

bool is_registrable(std::string_view name) {
  constexpr size_t bytes_max = 63;
  return !name.empty() && name.size() <= bytes_max && std::ranges::all_of(name, is_name_character);
}

Result<ChosenAlgorithms> parse_algorithms(std::string_view text) {
  if (text.empty()) return ChosenAlgorithms();
  return TableReader(text).read();
}

std::string rules_text(const AlgorithmRules& rules) {
  std::string text;
  for (const AlgorithmRule& rule : rules) {
    text += rule.registered.empty() ? std::string(algorithm_name(rule.algorithm))
                                    : "@" + rule.registered;
    if (&rule != &rules.back()) text += format(":{}:", bytes_text(rule.bytes_max));
  }
  return text;
}

}  // namespace dt
