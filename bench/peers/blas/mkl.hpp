// Intel MKL, from its dynamic library alone: nothing of it is there when this is built.
#pragma once

#include <cstddef>
#include <string>

#include "blas.hpp"

namespace headroom::peers {

/// Its functions, declared from its documented C interface with 32-bit integers. Where C's names
/// differ from Fortran's by capitals alone, those of C are taken.
struct MklCalls {
  /// What `MKL_Get_Version` fills in.
  struct Version {
    int major, minor, update;
    char* status;
    char* build;
    char* processor;
    char* platform;
  };

  void (*sgemm)(int layout, int a_form, int b_form, int rows, int cols, int depth, float alpha,
                const float* a, int a_stride, const float* b, int b_stride, float beta, float* c,
                int c_stride);
  void (*sgemv)(int layout, int form, int rows, int cols, float alpha, const float* matrix,
                int stride, const float* x, int x_step, float beta, float* y, int y_step);
  std::size_t (*pack_get_size)(int which, int rows, int cols, int depth);
  void (*pack)(int layout, int which, int form, int rows, int cols, int depth, float alpha,
               const float* from, int stride, float* to);
  void (*compute)(int layout, int a_form, int b_form, int rows, int cols, int depth, const float* a,
                  int a_stride, const float* b, int b_stride, float beta, float* c, int c_stride);
  int (*set_interface_layer)(int layer);
  int (*set_threading_layer)(int layer);
  void (*set_num_threads)(int threads);
  int (*get_max_threads)();
  void (*get_version)(Version* version);
  void (*get_version_string)(char* text, int length);
};

class Mkl : public Blas {
 public:
  /// @param path of `libmkl_rt`, beside which MKL's other libraries are
  /// @throws std::runtime_error if it cannot be opened, or is another library
  explicit Mkl(const std::string& path);

  void multiply(const Product& product) const override;
  void multiply_row(const Product& product) const override;
  bool packs() const override { return true; }
  std::size_t packed_bytes(const Product& product) const override;
  void pack(const Product& product, float* to) const override;
  void multiply_packed(const Product& product) const override;
  void set_threads(int threads) const override { calls_.set_num_threads(threads); }
  int threads() const override { return calls_.get_max_threads(); }
  std::string kernels() const override;
  std::string threads_of_library() const override { return "GNU OpenMP, with ours"; }
  std::string version() const override;
  nlohmann::ordered_json settings() const override;

 private:
  std::string library_text() const;

  MklCalls calls_ = {};
};

}  // namespace headroom::peers
