// The two backend operations on SIMD kernels, for any executor. The executor is the only difference
// between xsimd and tbb.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "core/executor.hpp"

namespace headroom::simd {

/// A backend whose operations run the kernels of a level as tasks of `executor`.
std::unique_ptr<Backend> make_simd_backend(const BackendConfig& config,
                                           std::unique_ptr<Executor> executor);

/// As `BackendFacts::computes`.
Arithmetic computes(const Numbers& numbers, const Target& target);

/// As `BackendFacts::kernel_variants`.
std::vector<std::string> kernel_variants(Isa isa);

/// Bytes that the kernels' `attend` needs: keys and values packed again.
double attend_bytes(const Case& shape);

}  // namespace headroom::simd
