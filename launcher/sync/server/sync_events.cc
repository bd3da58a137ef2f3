#include "launcher/sync/server/sync_events.h"

namespace dt {

Bytes encode(const HostOrder& order) {
  return Writer()
      .number(order.id)
      .text(order.name)
      .number(order.here)
      .number(order.original)
      .take();
}

Result<HostOrder> decode_host_order(ByteSpan payload) {
  Reader reader(payload);
  HostOrder order;
  order.id = reader.number<uint32_t>();
  order.name = reader.text();
  order.here = reader.number<bool>();
  order.original = reader.number<bool>();
  TRY(reader.finish("the order for a host"));
  return order;
}

Bytes encode(const TreeFacts& facts) {
  return Writer()
      .text(facts.root)
      .text(facts.place)
      .text(facts.commit)
      .number(facts.dirty)
      .number(facts.files)
      .number(facts.bytes)
      .take();
}

Result<TreeFacts> decode_tree_facts(ByteSpan payload) {
  Reader reader(payload);
  TreeFacts facts;
  facts.root = reader.text();
  facts.place = reader.text();
  facts.commit = reader.text();
  facts.dirty = reader.number<bool>();
  facts.files = reader.number<uint64_t>();
  facts.bytes = reader.number<uint64_t>();
  TRY(reader.finish("the facts of a tree"));
  return facts;
}

Bytes encode(const HostTree& tree) {
  return Writer()
      .text(tree.folder)
      .number(tree.files_sent)
      .number(tree.bytes_sent)
      .text(tree.setup_folder)
      .number(tree.has_bin)
      .take();
}

Result<HostTree> decode_host_tree(ByteSpan payload) {
  Reader reader(payload);
  HostTree tree;
  tree.folder = reader.text();
  tree.files_sent = reader.number<uint64_t>();
  tree.bytes_sent = reader.number<uint64_t>();
  tree.setup_folder = reader.text();
  tree.has_bin = reader.number<bool>();
  TRY(reader.finish("the tree of a host"));
  return tree;
}

}  // namespace dt
