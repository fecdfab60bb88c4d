// Shared by choosing a backend and making a layer.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// The number of threads that threaded backends run with.
/// @throws InvalidArgument for a negative one, or one above `kMaxThreads`.
int wanted_threads(const AttentionOptions& options);

/// The options as they take effect: backend, formulation, threads, level and unit filled in.
AttentionOptions resolve(const AttentionOptions& options, const Choice& choice);

/// Makes the backend of a choice, and completes the choice by what that says of its kernels.
/// @param options as `resolve` gives them
std::unique_ptr<Backend> make_backend(const AttentionOptions& options, Choice& choice);

/// What a choice computes with, and why.
void set_arithmetic(const Arithmetic& does, Choice& choice);

}  // namespace headroom
