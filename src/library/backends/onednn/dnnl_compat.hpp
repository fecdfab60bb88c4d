// All API differences between oneDNN 2.x and 3.x. Version 3.0 removed operation descriptors.
#pragma once

#include <dnnl.hpp>

namespace headroom::onednn {

/// The value that means no instruction-set limit.
#if DNNL_VERSION_MAJOR >= 3
inline constexpr dnnl::cpu_isa kNoIsaLimit = dnnl::cpu_isa::isa_default;
#else
inline constexpr dnnl::cpu_isa kNoIsaLimit = dnnl::cpu_isa::all;
#endif

/// `dst = src * weights (+ bias)`; `bias` may be null.
inline dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine,
                                                    const dnnl::memory::desc& src,
                                                    const dnnl::memory::desc& weights,
                                                    const dnnl::memory::desc* bias,
                                                    const dnnl::memory::desc& dst,
                                                    const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr) return {engine, src, weights, *bias, dst, attributes};
  return {engine, src, weights, dst, attributes};
#else
  if (bias != nullptr) {
    return {dnnl::matmul::desc(src, weights, *bias, dst), attributes, engine};
  }
  return {dnnl::matmul::desc(src, weights, dst), attributes, engine};
#endif
}

/// Softmax along `axis`; source and destination have the same layout.
inline dnnl::softmax_forward::primitive_desc describe_softmax(
    const dnnl::engine& engine, const dnnl::memory::desc& data, int axis,
    const dnnl::primitive_attr& attributes) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kInference, dnnl::algorithm::softmax_accurate, data, data, axis, attributes};
#else
  return {dnnl::softmax_forward::desc(kInference, data, axis), attributes, engine};
#endif
}

}  // namespace headroom::onednn
