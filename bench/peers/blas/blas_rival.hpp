// Any BLAS as a rival.
#pragma once

#include "blas.hpp"

namespace headroom::peers {

/// Answers until standard input ends, with the layer composed of the products of this BLAS in all
/// ways that it has.
void serve_blas(const Blas& blas);

}  // namespace headroom::peers
