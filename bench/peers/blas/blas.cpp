#include "blas.hpp"

#include <stdexcept>

namespace headroom::peers {
namespace {

[[noreturn]] void refuse() { throw std::logic_error("this BLAS packs no matrices"); }

}  // namespace

std::size_t Blas::packed_bytes(const Product& /*product*/) const { refuse(); }
void Blas::pack(const Product& /*product*/, float* /*to*/) const { refuse(); }
void Blas::multiply_packed(const Product& /*product*/) const { refuse(); }

}  // namespace headroom::peers
