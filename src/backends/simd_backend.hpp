// The two backend operations on SIMD kernels, for any executor. The executor is the only difference
// between xsimd and tbb.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "core/executor.hpp"

namespace headroom::simd {

/// A backend whose operations run the kernels of `isa` as tasks of `executor`.
std::unique_ptr<Backend> make_simd_backend(Isa isa, std::unique_ptr<Executor> executor);

/// Bytes that the kernels' `attend` needs: keys and values packed again.
double attend_bytes(const Shape& shape);

}  // namespace headroom::simd
