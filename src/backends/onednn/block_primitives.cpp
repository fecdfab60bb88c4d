#include "backends/onednn/block_primitives.hpp"

#include <algorithm>

namespace headroom::onednn {
namespace {

using dnnl::memory;

// One head as a plain matrix: a batch of one is slower in some versions.
memory::desc row_major(std::int64_t heads, std::int64_t rows, std::int64_t cols) {
  if (heads == 1) return {{rows, cols}, memory::data_type::f32, memory::format_tag::ab};
  return {{heads, rows, cols}, memory::data_type::f32, memory::format_tag::abc};
}

// Keys are stored as rows of head_dim; the product reads them as columns, which needs only a tag.
memory::desc transposed(std::int64_t heads, std::int64_t rows, std::int64_t cols) {
  if (heads == 1) return {{rows, cols}, memory::data_type::f32, memory::format_tag::ba};
  return {{heads, rows, cols}, memory::data_type::f32, memory::format_tag::acb};
}

template <class Primitive, class Plan>
Primitive make(const Plan& plan) {
  require_memory_for_code();
  return Primitive(plan);
}

memory::desc scores_of(const BlockSize& size) {
  return row_major(size.heads, size.queries, size.keys);
}

memory::desc queries_of(const BlockSize& size) {
  return row_major(size.heads, size.queries, size.head_dim);
}

}  // namespace

BlockPrimitives::BlockPrimitives(const Device& device, const BlockSize& size)
    : size_(size),
      score_plan_(describe_matmul(device.engine, queries_of(size),
                                  transposed(size.heads, size.head_dim, size.keys), nullptr,
                                  scores_of(size), user_scratchpad())),
      context_plan_(describe_matmul(device.engine, scores_of(size),
                                    row_major(size.heads, size.keys, size.head_dim), nullptr,
                                    queries_of(size), user_scratchpad())),
      softmax_plan_(describe_softmax(device.engine, scores_of(size), size.heads == 1 ? 1 : 2,
                                     user_scratchpad())),
      score_(make<dnnl::matmul>(score_plan_)),
      context_(make<dnnl::matmul>(context_plan_)),
      softmax_(make<dnnl::softmax_forward>(softmax_plan_)),
      scratch_floats_(std::max({floats_of(score_plan_.scratchpad_desc()),
                                floats_of(context_plan_.scratchpad_desc()),
                                floats_of(softmax_plan_.scratchpad_desc())})) {}

std::string BlockPrimitives::provenance() const {
  return std::string(score_plan_.impl_info_str()) + "/softmax:" + softmax_plan_.impl_info_str();
}

BlockPrimitives::Binding::Binding(const BlockPrimitives& p, const dnnl::engine& engine,
                                  const BlockBuffers& buffers)
    : query_(p.score_plan_.src_desc(), engine, buffers.query),
      keys_(p.score_plan_.weights_desc(), engine, nullptr),
      scores_(p.score_plan_.dst_desc(), engine, buffers.scores),
      values_(p.context_plan_.weights_desc(), engine, nullptr),
      context_(p.context_plan_.dst_desc(), engine, buffers.context),
      score_scratch_(p.score_plan_.scratchpad_desc(), engine, buffers.scratch),
      softmax_scratch_(p.softmax_plan_.scratchpad_desc(), engine, buffers.scratch),
      context_scratch_(p.context_plan_.scratchpad_desc(), engine, buffers.scratch) {}

void BlockPrimitives::score(Binding& b, const dnnl::stream& stream, float* keys) const {
  b.keys_.set_data_handle(keys);
  execute(score_, stream,
          std::array{dnnl_exec_arg_t{DNNL_ARG_SRC, b.query_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_WEIGHTS, b.keys_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_DST, b.scores_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_SCRATCHPAD, b.score_scratch_.get()}});
}

void BlockPrimitives::softmax(Binding& b, const dnnl::stream& stream) const {
  execute(softmax_, stream,
          std::array{dnnl_exec_arg_t{DNNL_ARG_SRC, b.scores_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_DST, b.scores_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_SCRATCHPAD, b.softmax_scratch_.get()}});
}

void BlockPrimitives::weigh_values(Binding& b, const dnnl::stream& stream, float* values) const {
  b.values_.set_data_handle(values);
  execute(context_, stream,
          std::array{dnnl_exec_arg_t{DNNL_ARG_SRC, b.scores_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_WEIGHTS, b.values_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_DST, b.context_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_SCRATCHPAD, b.context_scratch_.get()}});
}

}  // namespace headroom::onednn
