#include "comm/collective/descriptor.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/reduce.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

constexpr size_t ranks_named_max = 4;
constexpr size_t differences_named_max = 4;

/// Mixes a value into a hash, after the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

/// The difference between a rank's call and the majority's: what the rank did, what the others did.
struct Difference {
  std::string one;
  std::string most;
};

Difference difference(const Descriptor& one, const Descriptor& most) {
  if (one.kind != most.kind)
    return {format("called {}", kind_name(one.kind)), std::string(kind_name(most.kind))};
  if (has_own_counts(one.kind) && one.type != most.type)
    return {format("sent {}", element_name(one.type)), std::string(element_name(most.type))};
  if (one.type != most.type || one.count != most.count)
    return {"sent " + shape_text(one.type, one.count), shape_text(most.type, most.count)};
  if (one.reduce != most.reduce)
    return {format("asked for {}", reduce_name(one.reduce)), std::string(reduce_name(most.reduce))};
  if (one.root != most.root)
    return {format("asked for root {}", one.root), format("root {}", most.root)};
  const NameDifference names = name_difference(one.name, most.name);
  return {"gave " + names.one, names.other};
}

/// The index of the descriptor that most ranks have.
size_t majority(std::span<const Descriptor> descriptors) {
  const auto as_first = [&](const Descriptor& d) { return d == descriptors.front(); };
  if (std::all_of(descriptors.begin(), descriptors.end(), as_first)) return 0;
  size_t best = 0;
  std::ptrdiff_t best_votes = 0;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    const auto votes = std::count(descriptors.begin(), descriptors.end(), descriptors[i]);
    if (votes <= best_votes) continue;
    best = i;
    best_votes = votes;
  }
  return best;
}

/// Ranks that differ from the others in the same way.
struct Dissent {
  Difference difference;
  std::vector<int> ranks;
};

/// "rank 1 sent int8[4], others float32[4]; rank 2 asked for max, others sum".
std::string differences_text(std::span<const Dissent> groups, const std::string& others) {
  std::string text;
  const size_t named = std::min(groups.size(), differences_named_max);
  for (size_t i = 0; i < named; ++i) {
    const Difference& difference = groups[i].difference;
    text += format("{} {}, ", ranks_text(groups[i].ranks), difference.one);
    const bool last = i + 1 == named;
    if (!last && groups[i + 1].difference.most == difference.most) continue;
    text += format("{} {}{}", others, difference.most, last ? "" : "; ");
  }
  if (named < groups.size()) text += format("; {} more differ", groups.size() - named);
  return text;
}

}  // namespace

Descriptor Descriptor::of(const OperationRequest& request) {
  Descriptor d{.kind = request.kind,
               .name_hash = hash_of_name(request.name),
               .name = request.name.substr(0, name_bytes_max)};
  if (request.kind == OperationKind::barrier) return d;
  d.type = request.type;
  if (!has_own_counts(request.kind)) d.count = request.count;
  if (reduces(request.kind)) d.reduce = request.reduce;
  if (is_rooted(request.kind)) d.root = request.peer;
  return d;
}

uint64_t call_hash(const OperationRequest& request, uint64_t sequence) {
  // The fields that Descriptor::of uses.
  uint64_t hash = mixed(hash_of_name(request.name), sequence);
  hash = mixed(hash, static_cast<uint64_t>(request.kind));
  if (request.kind == OperationKind::barrier) return hash;
  hash = mixed(hash, static_cast<uint64_t>(request.type));
  if (!has_own_counts(request.kind)) hash = mixed(hash, request.count);
  if (reduces(request.kind)) hash = mixed(hash, static_cast<uint64_t>(request.reduce));
  if (is_rooted(request.kind)) hash = mixed(hash, static_cast<uint64_t>(request.peer));
  return hash;
}

Bytes encode(const Arrival& arrival) {
  const Descriptor& d = arrival.descriptor;
  Writer writer;
  writer.number(arrival.sequence)
      .number(arrival.state)
      .number(d.kind)
      .number(d.type)
      .number(d.reduce)
      .number(d.root)
      .number(d.count);
  writer.number(d.name_hash).text(d.name);
  writer.number(arrival.timeout.count()).number(arrival.remaining.count());
  return writer.take();
}

Result<Arrival> decode_arrival(ByteSpan bytes) {
  Reader reader(bytes);
  Arrival arrival;
  arrival.sequence = reader.number<uint64_t>();
  arrival.state = reader.number<CallState>();
  Descriptor& d = arrival.descriptor;
  d.kind = reader.number<OperationKind>();
  d.type = reader.number<ElementType>();
  d.reduce = reader.number<ReduceOp>();
  d.root = reader.number<int32_t>();
  d.count = reader.number<uint64_t>();
  d.name_hash = reader.number<uint64_t>();
  d.name = reader.text();
  arrival.timeout = Duration(reader.number<Duration::rep>());
  arrival.remaining = Duration(reader.number<Duration::rep>());
  TRY(reader.finish("descriptor"));
  if (arrival.state > CallState::passed || !is_collective(d.kind) || !known(d.type) ||
      !known(d.reduce) || d.name.size() > name_bytes_max || arrival.timeout < Duration::zero() ||
      arrival.remaining < Duration::zero())
    return fail(Errc::protocol, "descriptor with unknown numbers");
  return arrival;
}

std::optional<Mismatch> compare(std::span<const Descriptor> descriptors, std::span<const int> ranks,
                                uint64_t sequence) {
  const Descriptor& most = descriptors[majority(descriptors)];
  std::vector<Dissent> groups;
  std::vector<int> agreeing;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    if (descriptors[i] == most) {
      agreeing.push_back(ranks[i]);
      continue;
    }
    Difference differs = difference(descriptors[i], most);
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const Dissent& g) { return g.difference.one == differs.one; });
    if (same == groups.end()) same = groups.insert(groups.end(), {std::move(differs), {}});
    same->ranks.push_back(ranks[i]);
  }
  if (groups.empty()) return std::nullopt;
  return Mismatch{
      collective_label(most.kind, sequence, most.name) + ": " +
          differences_text(groups, agreeing.size() == 1 ? ranks_text(agreeing) : "others"),
      groups.front().ranks.front()};
}

/// FNV-1a, 64 bits.
uint64_t hash_of_name(std::string_view name) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string quoted_name(std::string_view name) {
  return name.empty() ? "no name" : format("the name \"{}\"", printable(name));
}

NameDifference name_difference(std::string_view one, std::string_view other) {
  return {quoted_name(one),
          one == other ? "another one with the same beginning" : quoted_name(other)};
}

std::string collective_label(OperationKind kind, uint64_t sequence, std::string_view name) {
  const std::string label = format("{} #{}", kind_name(kind), sequence);
  return name.empty() ? label : label + format(" \"{}\"", printable(name, name_bytes_max));
}

std::string shape_text(ElementType type, uint64_t count) {
  return format("{}[{}]", element_name(type), count);
}

std::string ranks_text(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t named = std::min(ranks.size(), ranks_named_max);
  for (size_t i = 0; i < named; ++i)
    text += format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (named < ranks.size()) text += format(" and {} more", ranks.size() - named);
  return text;
}

}  // namespace dt
