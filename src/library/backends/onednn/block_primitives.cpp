#include "backends/onednn/block_primitives.hpp"

#include <algorithm>

namespace headroom::onednn {
namespace {

using dnnl::memory;

// One head as a plain matrix: a batch of one is slower in some versions.
memory::desc row_major(std::int64_t heads, std::int64_t rows, std::int64_t cols, Operand operand) {
  if (heads == 1) return {{rows, cols}, type_of(operand), memory::format_tag::ab};
  return {{heads, rows, cols}, type_of(operand), memory::format_tag::abc};
}

// Keys are stored as rows of head_dim; the product reads them as columns, which needs only a tag.
memory::desc transposed(const BlockSize& size) {
  const dnnl::memory::data_type type = type_of(size.operand);
  if (size.heads == 1) return {{size.head_dim, size.keys}, type, memory::format_tag::ba};
  return {{size.heads, size.head_dim, size.keys}, type, memory::format_tag::acb};
}

template <class Primitive, class Plan>
Primitive make(const Plan& plan) {
  require_memory_for_code();
  return Primitive(plan);
}

memory::desc scores_of(const BlockSize& size, Operand operand = Operand::f32) {
  return row_major(size.heads, size.queries, size.keys, operand);
}

memory::desc queries_of(const BlockSize& size) {
  return row_major(size.heads, size.queries, size.head_dim, size.operand);
}

memory::desc context_of(const BlockSize& size) {
  return row_major(size.heads, size.queries, size.value_dim, Operand::f32);
}

dnnl::reorder make_rounding(const Device& device, const BlockSize& size) {
  if (size.operand == Operand::f32) return {};
  return make<dnnl::reorder>(dnnl::reorder::primitive_desc(
      device.engine, scores_of(size), device.engine, scores_of(size, size.operand)));
}

}  // namespace

BlockPrimitives::BlockPrimitives(const Device& device, const BlockSize& size)
    : size_(size),
      score_plan_(describe_matmul(device.engine, queries_of(size), transposed(size), nullptr,
                                  scores_of(size), user_scratchpad())),
      context_plan_(describe_matmul(device.engine, scores_of(size, size.operand),
                                    row_major(size.heads, size.keys, size.value_dim, size.operand),
                                    nullptr, context_of(size), user_scratchpad())),
      softmax_plan_(describe_softmax(device.engine, scores_of(size), size.heads == 1 ? 1 : 2,
                                     user_scratchpad())),
      score_(make<dnnl::matmul>(score_plan_)),
      context_(make<dnnl::matmul>(context_plan_)),
      softmax_(make<dnnl::softmax_forward>(softmax_plan_)),
      round_(make_rounding(device, size)),
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
      weights_(p.context_plan_.src_desc(), engine, buffers.weights),
      values_(p.context_plan_.weights_desc(), engine, nullptr),
      context_(p.context_plan_.dst_desc(), engine, buffers.context),
      score_scratch_(p.score_plan_.scratchpad_desc(), engine, buffers.scratch),
      softmax_scratch_(p.softmax_plan_.scratchpad_desc(), engine, buffers.scratch),
      context_scratch_(p.context_plan_.scratchpad_desc(), engine, buffers.scratch) {}

void BlockPrimitives::score(Binding& b, const dnnl::stream& stream, void* keys) const {
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

void BlockPrimitives::weigh_values(Binding& b, const dnnl::stream& stream, void* values) const {
  if (size_.operand != Operand::f32) {
    execute(round_, stream,
            std::array{dnnl_exec_arg_t{DNNL_ARG_FROM, b.scores_.get()},
                       dnnl_exec_arg_t{DNNL_ARG_TO, b.weights_.get()}});
  }
  b.values_.set_data_handle(values);
  execute(context_, stream,
          std::array{dnnl_exec_arg_t{DNNL_ARG_SRC, b.weights_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_WEIGHTS, b.values_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_DST, b.context_.get()},
                     dnnl_exec_arg_t{DNNL_ARG_SCRATCHPAD, b.context_scratch_.get()}});
}

}  // namespace headroom::onednn
