#include "comm/collective/descriptor.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/compression.h"
#include "comm/collective/reduce.h"
#include "comm/collective/terms.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

constexpr size_t ranks_named_max = 4;
constexpr size_t differences_named_max = 4;
/// In the byte of the state: terms are at the end. Most calls have none.
constexpr uint8_t terms_bit = 0x80;

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
  bool shapes = false;  ///< the ranks have given shapes
};

/// Returns "float32[4]" for a call, or its shape if some rank has given one.
std::string sent_text(const Descriptor& d, bool shapes) {
  if (d.terms.has_shape) return shape_text(d.type, d.terms);
  std::string text = element_text(d.type, d.terms);
  if (!has_own_counts(d.kind)) text += format("[{}]", d.count / bytes_of_opaque(d.terms));
  return shapes ? text + " without a shape" : text;
}

bool same_shape(const OperationTerms& one, const OperationTerms& other) {
  return one.has_shape == other.has_shape && one.shape == other.shape;
}

bool same_type(const Descriptor& one, const Descriptor& other) {
  return one.type == other.type && one.terms.element == other.terms.element;
}

std::string size_text(const OperationTerms& terms) {
  return format("\"{}\" of {} bytes", printable(terms.element), terms.element_bytes);
}

std::string average_text(const OperationTerms& terms) {
  return terms.average_active ? "an average over the active ranks" : "one over all ranks";
}

std::string compression_text(const OperationTerms& terms) {
  const bool none = terms.compression == Compression::none;
  return none ? "none" : format("compression to {}", compression_name(terms.compression));
}

std::string memory_text(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::host:
      return "memory of the host";
    case MemoryKind::device:
      return "memory of a device";
    case MemoryKind::connected_device:
      break;
  }
  return "memory of the device that NCCL connects";
}

std::string quorum_text(const Quorum& quorum) {
  if (quorum.ranks == 0) return "the contributions of all ranks";
  return format("a quorum of {}, a deadline of {} ms, {} behind, and {}", quorum.ranks,
                quorum.deadline_ms, quorum.behind_max,
                quorum.carries_late ? "carrying" : "dropping");
}

std::string scales_text(const OperationTerms& terms) {
  return format("prescale {} and postscale {}", terms.prescale, terms.postscale);
}

Difference difference(const Descriptor& one, const Descriptor& most) {
  if (one.kind != most.kind)
    return {format("called {}", kind_name(one.kind)), std::string(kind_name(most.kind))};
  const bool shapes = one.terms.has_shape || most.terms.has_shape;
  const bool sizes = one.terms.element_bytes != most.terms.element_bytes;
  if (sizes && same_type(one, most) && one.terms.element_bytes > 0 && most.terms.element_bytes > 0)
    return {"sent " + size_text(one.terms), size_text(most.terms)};
  if (!same_type(one, most) || one.count != most.count || !same_shape(one.terms, most.terms))
    return {"sent " + sent_text(one, shapes), sent_text(most, shapes), shapes};
  if (one.reduce != most.reduce)
    return {format("asked for {}", reduce_name(one.reduce)), std::string(reduce_name(most.reduce))};
  if (one.root != most.root)
    return {format("asked for root {}", one.root), format("root {}", most.root)};
  if (one.terms.parts != most.terms.parts) return {"gave other counts of the parts", "equal ones"};
  if (one.terms.average_active != most.terms.average_active)
    return {"asked for " + average_text(one.terms), average_text(most.terms)};
  if (one.terms.compression != most.terms.compression) {
    const bool none = one.terms.compression == Compression::none;
    return {none ? "asked for no compression" : "asked for " + compression_text(one.terms),
            compression_text(most.terms)};
  }
  if (one.terms.quorum != most.terms.quorum)
    return {"asked for " + quorum_text(one.terms.quorum), quorum_text(most.terms.quorum)};
  if (one.terms.memory != most.terms.memory)
    return {"gave " + memory_text(one.terms.memory), memory_text(most.terms.memory)};
  if (one.terms != most.terms)
    return {"asked for " + scales_text(one.terms), scales_text(most.terms)};
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
  std::string names = {};  ///< "rank 1 (host b), rank 2 (host c)", if wanted
  size_t named = 0;
};

std::string names_of(const Dissent& group) {
  if (group.names.empty()) return ranks_text(group.ranks);
  const size_t more = group.ranks.size() - group.named;
  return more == 0 ? group.names : group.names + format(" and {} more", more);
}

/// "rank 1 sent int8[4], others float32[4]; rank 2 asked for max, others sum".
std::string differences_text(std::span<const Dissent> groups, const std::string& others) {
  std::string text;
  const size_t named = std::min(groups.size(), differences_named_max);
  for (size_t i = 0; i < named; ++i) {
    const Difference& difference = groups[i].difference;
    text += format("{} {}, ", names_of(groups[i]), difference.one);
    const bool last = i + 1 == named;
    if (!last && groups[i + 1].difference.most == difference.most) continue;
    text += format("{} {}{}", others, difference.most, last ? "" : "; ");
  }
  if (named < groups.size()) text += format("; {} more differ", groups.size() - named);
  return text;
}

}  // namespace

Descriptor Descriptor::of(const OperationRequest& made) {
  const OperationRequest& request = called(made);
  Descriptor d{.kind = request.kind,
               .name_hash = hash_of_name(request.name),
               .name = request.name.substr(0, name_bytes_max)};
  if (request.kind == OperationKind::barrier) return d;
  d.type = called_type(request);
  if (!has_own_counts(request.kind)) d.count = request.count;
  if (reduces(request.kind)) d.reduce = request.reduce;
  if (is_rooted(request.kind)) d.root = request.peer;
  d.terms = compared_terms(request);
  return d;
}

uint64_t call_hash(const OperationRequest& request, uint64_t sequence) {
  if (request.announced) return call_hash(*request.announced, sequence);
  // The fields that Descriptor::of uses.
  // Each mix takes some ns, so small fields share one: kind, type and reduction have 8 bits each.
  uint64_t fields = static_cast<uint8_t>(request.kind);
  if (request.kind != OperationKind::barrier) {
    fields |= uint64_t{static_cast<uint8_t>(called_type(request))} << 8;
    if (reduces(request.kind)) fields |= uint64_t{static_cast<uint8_t>(request.reduce)} << 16;
    if (is_rooted(request.kind)) fields |= uint64_t{static_cast<uint32_t>(request.peer)} << 32;
  }
  uint64_t hash = mixed(hash_of_name(request.name) + fields, sequence);
  if (request.kind == OperationKind::barrier) return hash;
  if (!has_own_counts(request.kind)) hash = mixed(hash, request.count);
  const bool has_terms = request.terms && *request.terms != OperationTerms();
  return has_terms ? mixed(hash, terms_hash(request)) : hash;
}

namespace {

Quorum read_quorum(Reader& reader) {
  Quorum quorum{.ranks = reader.number<uint32_t>()};
  if (quorum.ranks == 0) return {};
  quorum.deadline_ms = reader.number<uint32_t>();
  quorum.behind_max = reader.number<uint32_t>();
  quorum.carries_late = reader.number<bool>();
  return quorum;
}

void encode(const Quorum& quorum, Writer& writer) {
  writer.number(quorum.ranks);
  if (quorum.ranks == 0) return;
  writer.number(quorum.deadline_ms).number(quorum.behind_max).number(quorum.carries_late);
}

/// Makes the reader bad when there are more dimensions than possible.
OperationTerms read_terms(Reader& reader) {
  OperationTerms terms;
  terms.prescale = reader.number<double>();
  terms.postscale = reader.number<double>();
  terms.has_shape = reader.number<uint8_t>() != 0;
  terms.average_active = reader.number<uint8_t>() != 0;
  terms.compression = reader.number<Compression>();
  if (static_cast<size_t>(terms.compression) >= compression_count) reader.refuse();
  terms.quorum = read_quorum(reader);
  terms.parts = reader.number<uint64_t>();
  terms.memory = reader.number<MemoryKind>();
  if (terms.memory > MemoryKind::connected_device) reader.refuse();
  terms.element_bytes = reader.number<uint32_t>();
  terms.element = reader.text();
  if (terms.element.size() > OperationTerms::element_name_bytes_max) reader.refuse();
  const auto dimensions = reader.number<uint32_t>();
  if (dimensions > OperationTerms::dimensions_max) reader.refuse();
  for (size_t i = 0; i < std::min<size_t>(dimensions, OperationTerms::dimensions_max); ++i)
    terms.shape.push_back(reader.number<uint64_t>());
  return terms;
}

}  // namespace

void encode(const Descriptor& d, Writer& writer) {
  const bool has_terms = d.terms != OperationTerms();
  writer.number(static_cast<uint8_t>(static_cast<uint8_t>(d.kind) | (has_terms ? terms_bit : 0)))
      .number(d.type)
      .number(d.reduce)
      .number(d.root)
      .number(d.count);
  writer.number(d.name_hash).text(d.name);
  if (!has_terms) return;
  writer.number(d.terms.prescale).number(d.terms.postscale);
  writer.number(d.terms.has_shape).number(d.terms.average_active);
  writer.number(d.terms.compression);
  encode(d.terms.quorum, writer);
  writer.number(d.terms.parts).number(d.terms.memory);
  writer.number(d.terms.element_bytes).text(d.terms.element);
  writer.number(static_cast<uint32_t>(d.terms.shape.size()));
  for (const uint64_t size : d.terms.shape)
    writer.number(size);
}

Result<Descriptor> decode_descriptor(Reader& reader) {
  Descriptor d;
  const auto kind = reader.number<uint8_t>();
  d.kind = static_cast<OperationKind>(kind & ~terms_bit);
  d.type = reader.number<ElementType>();
  d.reduce = reader.number<ReduceOp>();
  d.root = reader.number<int32_t>();
  d.count = reader.number<uint64_t>();
  d.name_hash = reader.number<uint64_t>();
  d.name = reader.text();
  if ((kind & terms_bit) != 0) d.terms = read_terms(reader);
  if (!reader.ok()) return fail(Errc::protocol, "descriptor is cut short");
  if (!is_collective(d.kind) || !known(d.type) || !known(d.reduce) ||
      d.name.size() > name_bytes_max)
    return fail(Errc::protocol, "descriptor with unknown numbers");
  return d;
}

Bytes encode(const Arrival& arrival) {
  Writer writer;
  writer.number(arrival.sequence).number(arrival.state);
  encode(arrival.descriptor, writer);
  writer.number(arrival.timeout.count()).number(arrival.remaining.count());
  return writer.take();
}

Result<Arrival> decode_arrival(ByteSpan bytes) {
  Reader reader(bytes);
  Arrival arrival;
  arrival.sequence = reader.number<uint64_t>();
  arrival.state = reader.number<CallState>();
  arrival.descriptor = TRY(decode_descriptor(reader));
  arrival.timeout = Duration(reader.number<Duration::rep>());
  arrival.remaining = Duration(reader.number<Duration::rep>());
  TRY(reader.finish("descriptor"));
  if (arrival.state > CallState::passed || arrival.timeout < Duration::zero() ||
      arrival.remaining < Duration::zero())
    return fail(Errc::protocol, "descriptor with unknown numbers");
  return arrival;
}

std::optional<Mismatch> compare(std::span<const Descriptor> descriptors, std::span<const int> ranks,
                                uint64_t sequence, const NameOfRank& name_of) {
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
    if (!name_of || !same->difference.shapes || same->named == ranks_named_max) continue;
    same->names += (same->named++ == 0 ? "" : ", ") + name_of(static_cast<int>(i));
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
  const std::string label =
      sequence == 0 ? std::string(kind_name(kind)) : format("{} #{}", kind_name(kind), sequence);
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
