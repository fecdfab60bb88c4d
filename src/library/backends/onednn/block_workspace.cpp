#include "backends/onednn/block_workspace.hpp"

#include <algorithm>

namespace headroom::onednn {

BlockWorkspace::BlockWorkspace(int threads, std::int64_t rows, std::int64_t score_floats,
                               std::int64_t keys, const LayerConfig& layer, Operand operand) {
  for (int i = 0; i < threads; ++i) {
    BlockSlot& slot = slots_.emplace_back();
    slot.query = AlignedBuffer(floats_for(operand, rows * layer.head_dim()));
    slot.scores = AlignedBuffer(score_floats);
    if (operand != Operand::f32) slot.weights = AlignedBuffer(floats_for(operand, score_floats));
    slot.context = AlignedBuffer(rows * layer.head_value_dim());
    if (layer.dropout > 0) slot.factors = AlignedBuffer(keys);
    slot.careful.resize(static_cast<std::size_t>(rows));
  }
}

void BlockWorkspace::make_room() {
  while (sizes_.size() >= kMostSizes) {
    const auto oldest = std::min_element(
        sizes_.begin(), sizes_.end(),
        [](const ReadySize& a, const ReadySize& b) { return a.last_call < b.last_call; });
    if (oldest->last_call == call_) return;
    sizes_.erase(oldest);
  }
}

ReadySize& BlockWorkspace::find(const Device& device, const BlockSize& size) {
  const auto known = std::find_if(sizes_.begin(), sizes_.end(),
                                  [&](const ReadySize& ready) { return ready.size == size; });
  if (known != sizes_.end()) {
    known->last_call = call_;
    return *known;
  }
  make_room();
  sizes_.push_back({size, BlockPrimitives(device, size), {}, call_});
  ReadySize& ready = sizes_.back();
  // The scratch memory of a slot may move, so the other sizes are told anew.
  const std::int64_t scratch = ready.primitives.scratch_floats();
  for (BlockSlot& slot : slots_) {
    if (slot.scratch.size() >= scratch) continue;
    slot.scratch = AlignedBuffer(scratch);
    for (ReadySize& other : sizes_) other.bindings.clear();
  }
  for (ReadySize& each : sizes_) {
    if (!each.bindings.empty()) continue;
    for (BlockSlot& slot : slots_) {
      const bool apart = slot.weights.size() > 0;
      const BlockBuffers buffers{slot.query.data(), slot.scores.data(),
                                 apart ? slot.weights.data() : slot.scores.data(),
                                 slot.context.data(), slot.scratch.data()};
      each.bindings.emplace_back(each.primitives, device.engine, buffers);
    }
  }
  return ready;
}

std::int64_t BlockWorkspace::bytes() const {
  std::int64_t bytes = 0;
  for (const BlockSlot& slot : slots_) {
    bytes += slot.query.bytes() + slot.scores.bytes() + slot.weights.bytes() +
             slot.context.bytes() + slot.scratch.bytes() + slot.factors.bytes() +
             static_cast<std::int64_t>(slot.careful.size());
  }
  return bytes;
}

}  // namespace headroom::onednn
