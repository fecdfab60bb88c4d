#include "backends/onednn/head_attention.hpp"

#include <algorithm>
#include <limits>

#include "core/rounding.hpp"

namespace headroom::onednn {
namespace {

// Keys of a cache are rounded up to this, so that a step seldom needs a new size.
constexpr std::int64_t kKeyStep = 64;

// More rows make longer products; fewer rows waste less above the diagonal. A quarter of the
// sequence balances the two. The scores of a block should stay within half of a 2 MiB L2, and those
// of all threads within 64 MiB however long the sequence is.
std::int64_t choose_block_rows(std::int64_t all_rows, std::int64_t keys, int threads) {
  constexpr std::int64_t kCacheFloats = (1 << 20) / 4;
  constexpr std::int64_t kAllFloats = (std::int64_t{64} << 20) / 4;
  std::int64_t rows = std::clamp<std::int64_t>(round_up(keys / 4, 64), 64, 256);
  while (rows > 128 && rows * keys > kCacheFloats) rows /= 2;
  while (rows > 16 && rows * keys * threads > kAllFloats) rows /= 2;
  return std::min(rows, std::max<std::int64_t>(all_rows, 1));
}

// Call overhead dominates short sequences, so one call covers several heads: as many as fit their
// scores in the cache and leave every thread a group. A divisor of all heads, so that one size
// serves every group.
std::int64_t choose_members(std::int64_t heads, std::int64_t tokens, std::int64_t most,
                            int threads) {
  constexpr std::int64_t kCacheFloats = (256 << 10) / 4;
  const std::int64_t fitting = kCacheFloats / std::max<std::int64_t>(tokens * tokens, 1);
  std::int64_t members = std::clamp<std::int64_t>(
      heads / threads, 1, std::max<std::int64_t>(std::min(fitting, most), 1));
  while (heads % members != 0) --members;
  return members;
}

// The largest call of a shape.
std::vector<Sequence> largest_call(const Case& shape) {
  std::vector<Sequence> sequences = sequences_of(shape);
  if (shape.d_memory == 0) return sequences;
  for (Sequence& sequence : sequences) {
    sequence.first_key = sequence.number * shape.memory_tokens;
    sequence.new_keys = shape.memory_tokens;
  }
  return sequences;
}

#if defined(__aarch64__)
constexpr bool kExponentialEndsAboveZero = true;
#else
constexpr bool kExponentialEndsAboveZero = false;
#endif

// With SVE, the library's softmax (2.6) takes the least normal number for what is zero in float32:
// keys that a mask hides would be seen, times 1e-38.
void make_least_weights_zero(float* weights, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[i] <= std::numeric_limits<float>::min()) weights[i] = 0.0F;
  }
}

bool are_alike(std::span<const Sequence> sequences) {
  return std::all_of(sequences.begin(), sequences.end(), [&](const Sequence& s) {
    return s.rows == sequences.front().rows && s.keys() == sequences.front().keys();
  });
}

}  // namespace

OnednnAttention::OnednnAttention(int threads, Operand operand, const Case& shape)
    : threads_(threads), operand_(operand), shape_(shape), group_(shape.heads / shape.key_heads()) {
  const bool cross = shape.d_memory > 0;
  const std::int64_t keys = cross ? shape.memory_tokens : shape.tokens;
  const std::int64_t all_keys = cross ? shape.memory_rows() : shape.rows();
  const std::int64_t rows = shape.tokens * group_;
  const int slots = worthwhile_threads(threads, shape.flops().attention);
  block_rows_ = choose_block_rows(rows, keys, slots);
  heads_ = DenseHeads(shape.batch * shape.key_heads(), all_keys * shape.key_heads(),
                      shape.head_dim(), shape.head_value_dim(), operand);
  preparation_ = HeadPreparation(shape, keys);
  const std::int64_t most_members =
      rows > block_rows_ ? 1
                         : choose_members(shape.batch * shape.key_heads(), shape.tokens,
                                          shape.batch * shape.key_heads(), slots);
  const std::int64_t slot_rows = block_rows_ * most_members;
  space_ = BlockWorkspace(slots, slot_rows, slot_rows * keys, keys, shape, operand);
  slot_rows_ = slot_rows;
  const std::vector<Sequence> sequences = largest_call(shape);
  AttendCall call;
  call.sequences = sequences;
  // A plan of all of 2^31 rows would take 2.6 GiB before a call has them.
  constexpr std::size_t kPlannedAhead = 1 << 16;
  if (shape.rows() > 0 && keys > 0) {
    plan(call, {heads_, space_, preparation_, nullptr}, kPlannedAhead);
  }
}

std::unique_ptr<KeyValueStore> OnednnAttention::make_store(std::int64_t sequences,
                                                           std::int64_t capacity) {
  auto store = std::make_unique<OnednnStore>();
  store->capacity = round_up(capacity, kKeyStep);
  store->key_heads = shape_.key_heads();
  const std::int64_t heads = sequences * shape_.key_heads();
  store->heads = DenseHeads(heads, heads * store->capacity, shape_.head_dim(),
                            shape_.head_value_dim(), operand_);
  store->preparation = HeadPreparation(shape_, capacity);
  store->block_rows = choose_block_rows(shape_.tokens * group_, store->capacity, threads_);
  store->space = BlockWorkspace(threads_, store->block_rows, store->block_rows * store->capacity,
                                store->capacity, shape_, operand_);
  return store;
}

void OnednnStore::copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
                       std::int64_t tokens) {
  const auto& other = static_cast<const OnednnStore&>(from);
  for (std::int64_t head = 0; head < key_heads; ++head) {
    const std::int64_t to = sequence * key_heads + head, at = of * key_heads + head;
    heads.copy({to, to * capacity}, other.heads, {at, at * other.capacity}, tokens);
  }
}

std::int64_t OnednnAttention::padded_keys(std::int64_t keys, const Space& space) const {
  return space.store == nullptr ? keys : round_up(keys, kKeyStep);
}

void OnednnAttention::plan(const AttendCall& call, const Space& space, std::size_t most) {
  // Tasks are blocks, each on one thread, so the primitives are made for one thread.
  const ThreadCount one(1);
  space.blocks.begin_call();
  blocks_.clear();
  first_tasks_.clear();
  first_rows_.clear();
  std::int64_t first_row = 0;
  for (const Sequence& sequence : call.sequences) {
    first_rows_.push_back(first_row);
    first_row += sequence.new_keys * shape_.key_heads();
  }
  const auto count = static_cast<std::int64_t>(call.sequences.size());
  if (space.store == nullptr && are_alike(call.sequences)) {
    plan_sequences(call, 0, count, space, most);
  } else {
    for (std::int64_t i = 0; i < count; ++i) plan_sequences(call, i, 1, space, most);
  }
  std::int64_t tasks = 0;
  for (const Block& block : blocks_) {
    first_tasks_.push_back(tasks);
    tasks += block.pairs / block.members;
  }
  first_tasks_.push_back(tasks);
}

// Last blocks first: they see the most keys, and short tasks at the end balance the load.
void OnednnAttention::plan_sequences(const AttendCall& call, std::int64_t first, std::int64_t count,
                                     const Space& space, std::size_t most_blocks) {
  const Sequence& sequence = call.sequences[static_cast<std::size_t>(first)];
  const std::int64_t rows = sequence.rows * group_;
  const std::int64_t most = space.store == nullptr ? block_rows_ : space.store->block_rows;
  const std::int64_t pairs = count * shape_.key_heads();
  std::int64_t members = 1;
  // Of heads that one call covers, keys must follow those of the head before, so none are left out.
  const bool from_first_key = rows > 0 && seen_keys(shape_, sequence, 0).begin < kKeyStep;
  if (space.store == nullptr && group_ == 1 && from_first_key && rows <= most) {
    members = choose_members(pairs, sequence.rows, slot_rows_ / rows, space.blocks.slots());
    // Keys that lie one after the other must fill the room between them.
    while (members > 1 && members * rows * sequence.keys() > space.blocks.score_floats()) {
      do --members;
      while (pairs % members != 0);
    }
  }
  for (std::int64_t row = (rows - 1) / most * most; row >= 0; row -= most) {
    if (rows == 0 || blocks_.size() >= most_blocks) break;
    Block block{first, pairs, members, row, std::min(most, rows - row), 0, 0, nullptr};
    const KeyRange of_last = seen_keys(shape_, sequence, row + block.rows - 1);
    block.first_key = seen_keys(shape_, sequence, row).begin / kKeyStep * kKeyStep;
    block.keys = padded_keys(of_last.end, space) - block.first_key;
    block.size = &space.blocks.find(device_, {members, block.rows, block.keys, shape_.head_dim(),
                                              shape_.head_value_dim(), operand_});
    if (provenance_.empty()) provenance_ = block.size->primitives.provenance();
    blocks_.push_back(block);
  }
}

Member OnednnAttention::member_of(const AttendCall& call, const Space& space, const Block& block,
                                  std::int64_t pair) const {
  const std::int64_t key_heads = shape_.key_heads();
  const std::int64_t index = block.first_sequence + pair / key_heads;
  Member member;
  member.sequence = &call.sequences[static_cast<std::size_t>(index)];
  member.key_head = pair % key_heads;
  if (space.store != nullptr) {
    member.head = member.sequence->number * key_heads + member.key_head;
    member.first_row = member.head * space.store->capacity;
  } else {
    member.head = index * key_heads + member.key_head;
    member.first_row =
        first_rows_[static_cast<std::size_t>(index)] + member.key_head * member.sequence->new_keys;
  }
  member.row = block.row;
  member.rows = block.rows;
  member.first_key = block.first_key;
  member.keys = block.keys;
  return member;
}

void OnednnAttention::run(const AttendCall& call) {
  with_live_threads(threads_, [&] { attend(call); });
}

void OnednnAttention::attend(const AttendCall& call) {
  auto* store = static_cast<OnednnStore*>(call.store);
  const Space space = store == nullptr
                          ? Space{heads_, space_, preparation_, nullptr}
                          : Space{store->heads, store->space, store->preparation, store};
  with_bad_alloc([&] { plan(call, space); });
  double flops = 0;
  for (const Block& block : blocks_) {
    flops += 2.0 * static_cast<double>(block.pairs * block.rows) *
             static_cast<double>(block.keys * (shape_.head_dim() + shape_.head_value_dim()));
  }
  const int threads = std::min(worthwhile_threads(threads_, flops), space.blocks.slots());
  const ThreadCount count(threads);
  const auto pairs = static_cast<std::int64_t>(call.sequences.size()) * shape_.key_heads();
  if (store == nullptr) heads_.expect(pairs);
  parallel_for(threads, pairs, [&](std::int64_t pair, int) { append(call, space, pair); });
  parallel_for(threads, first_tasks_.back(), [&](std::int64_t task, int slot) {
    const auto after = std::upper_bound(first_tasks_.begin(), first_tasks_.end(), task);
    const auto index = static_cast<std::size_t>(after - first_tasks_.begin()) - 1;
    const Block& block = blocks_[index];
    run_block(call, space, block, (task - first_tasks_[index]) * block.members, slot);
  });
}

// oneDNN's fast kernels need dense rows, so each head's keys and values are copied together; the
// copy also looks for NaN and Inf.
void OnednnAttention::append(const AttendCall& call, const Space& space, std::int64_t pair) const {
  const Member member = member_of(call, space, {}, pair);
  const Sequence& sequence = *member.sequence;
  space.preparation.keys(call, sequence, member.key_head);
  for (std::int64_t h = member.key_head * group_; h < (member.key_head + 1) * group_; ++h) {
    space.preparation.queries(call, sequence, h);
  }
  space.heads.append(member.head, member.first_row, sequence, member.key_head, call,
                     padded_keys(sequence.keys(), space));
}

void OnednnAttention::run_block(const AttendCall& call, const Space& space, const Block& block,
                                std::int64_t first_pair, int slot_index) const {
  BlockSlot& slot = space.blocks.slot(slot_index);
  const BlockPrimitives& primitives = block.size->primitives;
  BlockPrimitives::Binding& binding = block.size->bindings[static_cast<std::size_t>(slot_index)];
  const std::int64_t query_size = block.rows * shape_.head_dim();
  const std::int64_t context_size = block.rows * shape_.head_value_dim();
  const std::int64_t score_floats = block.rows * block.keys;
  const auto for_each_member = [&](const auto& work) {
    for (std::int64_t m = 0; m < block.members; ++m) {
      const Member member = member_of(call, space, block, first_pair + m);
      work(MemberRows(shape_, call, space.heads, member), m);
    }
  };
  const Member first = member_of(call, space, block, first_pair);
  for_each_member([&](const MemberRows& rows, std::int64_t m) {
    unsigned char* careful = slot.careful.data() + m * block.rows;
    if (operand_ == Operand::bf16) {
      auto* query = reinterpret_cast<Bf16*>(slot.query.data());
      rows.take_queries(query + m * query_size, careful);
    } else {
      rows.take_queries(slot.query.data() + m * query_size, careful);
    }
  });
  primitives.score(binding, device_.stream, space.heads.keys(first.first_row + block.first_key));
  for_each_member([&](const MemberRows& rows, std::int64_t m) {
    rows.mask(slot.scores.data() + m * score_floats, slot.careful.data() + m * block.rows);
  });
  if (call.parameters.sinks != nullptr) {
    for_each_member([&](const MemberRows& rows, std::int64_t m) {
      rows.weigh_beside_sinks(slot.scores.data() + m * score_floats);
    });
  } else {
    primitives.softmax(binding, device_.stream);
    if (kExponentialEndsAboveZero) {
      make_least_weights_zero(slot.scores.data(), block.members * score_floats);
    }
  }
  if (shape_.dropout > 0) {
    for_each_member([&](const MemberRows& rows, std::int64_t m) {
      rows.drop(slot.factors.data(), slot.scores.data() + m * score_floats);
    });
  }
  primitives.weigh_values(binding, device_.stream,
                          space.heads.values(first.first_row + block.first_key));
  for_each_member([&](const MemberRows& rows, std::int64_t m) {
    rows.finish(slot.context.data() + m * context_size, slot.careful.data() + m * block.rows, slot);
  });
}

OperationCosts OnednnAttention::costs() const {
  return {0, heads_.bytes() + space_.bytes() + preparation_.bytes(), provenance_};
}

}  // namespace headroom::onednn
