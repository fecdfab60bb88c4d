#include "attend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "arrays.hpp"
#include "attention/choice.hpp"
#include "headroom/error.hpp"

namespace headroom::python {
namespace {

// `(batch, rows, heads, head_dim)`
struct Heads {
  Heads(std::string_view name, nb::handle object, bool written)
      : array(written ? writable_float_array(name, object) : float_array(name, object)) {
    if (array.ndim() != 4) {
      throw InvalidArgument(
          fmt::format("{} has {} dimensions; allowed are 4: (batch, tokens, heads, head_dim)", name,
                      array.ndim()));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      shape[i] = static_cast<std::int64_t>(array.shape(i));
      strides[i] = array.stride(i);
      const bool fits = i < 3 ? strides[i] > 0 : strides[i] == 1;
      if (shape[i] > 1 && !fits) {
        throw InvalidArgument(fmt::format(
            "{} has strides that the kernels cannot follow; give a contiguous copy", name));
      }
    }
    if (shape[1] == 1) strides[1] = shape[2] * shape[3];
  }

  // Whether the rows of all sequences are evenly apart.
  bool even() const { return shape[0] == 1 || strides[0] == shape[1] * strides[1]; }
  // Rows of one sequence, or of all.
  BlockedView view(std::int64_t first, std::int64_t count) const {
    auto* data = const_cast<float*>(static_cast<const float*>(array.data()));
    return {
        data + first * strides[0], count * shape[1], strides[1], shape[2], shape[3], strides[2]};
  }

  nb::ndarray<nb::ro> array;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> strides{};
};

}  // namespace

Attend::Attend(const Shape& shape, const AttentionOptions& options) : shape_(shape) {
  shape.validate();
  const nb::gil_scoped_release unlocked;
  const Choice choice = choose_backend(shape, options);
  const BackendEntry& entry = backend_entry(choice.backend);
  const int threads = entry.describe().threaded ? wanted_threads(options) : 1;
  backend_ = entry.make(
      {threads, select_target(options.isa, options.unit), choice.kernels, choice.precision,
       options.dtype});
  attend_ = backend_->make_attention(shape);
}

void Attend::check(std::span<const std::int64_t> queries,
                   std::span<const std::int64_t> keys) const {
  const std::int64_t most_keys = shape_.d_memory > 0 ? shape_.memory_tokens : shape_.tokens;
  const bool fits = queries[0] == keys[0] && queries[0] <= shape_.batch &&
                    queries[1] <= shape_.tokens && keys[1] <= most_keys &&
                    (shape_.d_memory > 0 || queries[1] == keys[1]) && queries[2] == shape_.heads &&
                    keys[2] == shape_.key_heads() && queries[3] == shape_.head_dim() &&
                    keys[3] == shape_.head_dim();
  if (fits) return;
  throw InvalidArgument(fmt::format("attend: q has shape ({}) and k ({}); this takes up to {}",
                                    fmt::join(queries, ", "), fmt::join(keys, ", "), shape_.id()));
}

void Attend::run(nb::handle q, nb::handle k, nb::handle v, nb::handle out) {
  const Heads of_q("q", q, false);
  const Heads of_k("k", k, false);
  const Heads of_v("v", v, false);
  const Heads of_out("out", out, true);
  check(of_q.shape, of_k.shape);
  if (of_k.shape != of_v.shape || of_q.shape != of_out.shape) {
    throw InvalidArgument("attend: v must have the shape of k, and out that of q");
  }
  const std::int64_t batch = of_q.shape[0];
  const std::int64_t rows = of_q.shape[1];
  const std::int64_t keys = of_k.shape[1];
  if (of_q.array.size() == 0 || keys == 0) return;
  const bool together = of_q.even() && of_k.even() && of_v.even() && of_out.even();
  const std::int64_t count = together ? batch : 1;
  std::vector<Sequence> sequences;
  for (std::int64_t i = 0; i < count; ++i) {
    sequences.push_back({i, i * rows, i * rows, rows, 0, i * keys, keys, 0});
  }
  const nb::gil_scoped_release unlocked;
  const std::lock_guard<std::mutex> turn(one_call_);
  for (std::int64_t first = 0; first < batch; first += count) {
    attend_->run({of_q.view(first, count), of_k.view(first, count), of_v.view(first, count),
                  of_out.view(first, count), sequences});
  }
}

}  // namespace headroom::python
