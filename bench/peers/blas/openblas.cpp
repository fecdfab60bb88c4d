// OpenBLAS as a peer, linked with this program.
#include <cblas.h>

#include <string>

#include "blas_rival.hpp"

namespace {

using namespace headroom;
using namespace headroom::peers;

blasint as_blas(std::int64_t value) { return static_cast<blasint>(value); }

// It packs no matrix ahead.
class OpenBlas : public Blas {
 public:
  void multiply(const Product& p) const override {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, p.b_transposed ? CblasTrans : CblasNoTrans,
                as_blas(p.rows), as_blas(p.cols), as_blas(p.depth), p.alpha, p.a,
                as_blas(p.a_stride), p.b, as_blas(p.b_stride), p.beta, p.c, as_blas(p.c_stride));
  }

  void multiply_row(const Product& p) const override {
    cblas_sgemv(CblasRowMajor, CblasTrans, as_blas(p.depth), as_blas(p.cols), p.alpha, p.b,
                as_blas(p.b_stride), p.a, 1, p.beta, p.c, 1);
  }

  void set_threads(int threads) const override { openblas_set_num_threads(threads); }
  int threads() const override { return openblas_get_num_threads(); }
  std::string kernels() const override { return openblas_get_corename(); }

  std::string threads_of_library() const override {
    switch (openblas_get_parallel()) {
      case OPENBLAS_OPENMP:
        return "OpenMP";
      case OPENBLAS_THREAD:
        return "its own";
      default:
        return "none";
    }
  }

  std::string version() const override {
    const std::string config = openblas_get_config();
    return config.substr(0, config.find(' ', config.find(' ') + 1));
  }

  nlohmann::ordered_json settings() const override { return {{"config", openblas_get_config()}}; }
};

}  // namespace

int main() { serve_blas(OpenBlas()); }
