// What a layer composed of matrix products asks of a BLAS, whichever it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom::peers {

/// c = alpha a b + beta c. Strides are floats from one row to the next.
struct Product {
  std::int64_t rows = 0, cols = 0, depth = 0;  ///< of c, of c, and what is summed over
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  float alpha = 1, beta = 0;
  bool b_transposed = false;  ///< b is in memory as cols x depth
};

class Blas {
 public:
  virtual ~Blas() = default;

  virtual void multiply(const Product& product) const = 0;
  /// One row: a product of a matrix and a vector, which has a call of its own.
  virtual void multiply_row(const Product& product) const = 0;

  /// Whether it has the three calls below, for a `b` that is packed once.
  virtual bool packs() const { return false; }
  virtual std::size_t packed_bytes(const Product& product) const;
  /// Packs `b` for products of these sizes, to memory of its own on a cache line.
  virtual void pack(const Product& product, float* to) const;
  /// Where `b` is packed. Its stride and `alpha` have no meaning.
  virtual void multiply_packed(const Product& product) const;

  /// For the calls that follow.
  virtual void set_threads(int threads) const = 0;
  virtual int threads() const = 0;

  /// The kernels that it takes on this machine, as it names them.
  virtual std::string kernels() const = 0;
  /// Who makes its threads.
  virtual std::string threads_of_library() const = 0;
  virtual std::string version() const = 0;
  /// What else is recorded, by name.
  virtual nlohmann::ordered_json settings() const = 0;
};

}  // namespace headroom::peers
