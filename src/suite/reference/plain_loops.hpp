// The loops of the oracle: sums in double, in an order that depends only on the sizes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace headroom::reference {

/// What is summed: the products, their absolute values, or their squares.
enum class Terms { signed_values, magnitudes, squares };

template <Terms kTerms, class A, class B>
double term(A a, B b) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  if (kTerms == Terms::squares) return product * product;
  return kTerms == Terms::magnitudes ? std::abs(product) : product;
}

/// Strided rows of a matrix, or of some of its columns.
template <class T>
struct Block {
  const T* data;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t stride;
};

/// `out += row * matrix`. Four matrix rows at a time, so that a sum is loaded and stored once per
/// four products.
template <Terms kTerms, class A, class B>
void add_product(const A* row, const Block<B>& matrix, double* out) {
  std::int64_t k = 0;
  for (; k + 4 <= matrix.rows; k += 4) {
    const B* b = matrix.data + k * matrix.stride;
    const B* b1 = b + matrix.stride;
    const B* b2 = b1 + matrix.stride;
    const B* b3 = b2 + matrix.stride;
    for (std::int64_t c = 0; c < matrix.cols; ++c) {
      out[c] += (term<kTerms>(row[k], b[c]) + term<kTerms>(row[k + 1], b1[c])) +
                (term<kTerms>(row[k + 2], b2[c]) + term<kTerms>(row[k + 3], b3[c]));
    }
  }
  for (; k < matrix.rows; ++k) {
    const B* b = matrix.data + k * matrix.stride;
    for (std::int64_t c = 0; c < matrix.cols; ++c) out[c] += term<kTerms>(row[k], b[c]);
  }
}

/// `out += row * matrix` and `sizes += |row| * |matrix|`, or the sum of squares of these products,
/// reading the matrix once for both.
template <Terms kSizes, class A, class B>
void add_products(const A* row, const Block<B>& matrix, double* out, double* sizes) {
  std::int64_t k = 0;
  for (; k + 4 <= matrix.rows; k += 4) {
    const B* b = matrix.data + k * matrix.stride;
    const B* b1 = b + matrix.stride;
    const B* b2 = b1 + matrix.stride;
    const B* b3 = b2 + matrix.stride;
    for (std::int64_t c = 0; c < matrix.cols; ++c) {
      const double p = term<Terms::signed_values>(row[k], b[c]);
      const double p1 = term<Terms::signed_values>(row[k + 1], b1[c]);
      const double p2 = term<Terms::signed_values>(row[k + 2], b2[c]);
      const double p3 = term<Terms::signed_values>(row[k + 3], b3[c]);
      out[c] += (p + p1) + (p2 + p3);
      sizes[c] +=
          (term<kSizes>(1, p) + term<kSizes>(1, p1)) + (term<kSizes>(1, p2) + term<kSizes>(1, p3));
    }
  }
  for (; k < matrix.rows; ++k) {
    const B* b = matrix.data + k * matrix.stride;
    for (std::int64_t c = 0; c < matrix.cols; ++c) {
      out[c] += term<Terms::signed_values>(row[k], b[c]);
      sizes[c] += term<kSizes>(row[k], b[c]);
    }
  }
}

/// Four running sums, because one alone would wait for each addition to finish.
template <Terms kTerms, class A, class B>
double dot(const A* a, const B* b, std::int64_t count) {
  double sums[4] = {};
  std::int64_t c = 0;
  for (; c + 4 <= count; c += 4) {
    for (int lane = 0; lane < 4; ++lane) sums[lane] += term<kTerms>(a[c + lane], b[c + lane]);
  }
  for (; c < count; ++c) sums[0] += term<kTerms>(a[c], b[c]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// A dot product, and how far the errors of its factors may change it.
struct SizedDot {
  double value = 0;  ///< a.b
  double size = 0;   ///< a_size.|b| + |a|.b_size
};

/// @pre the sizes are not negative.
template <class T>
SizedDot sized_dot(const T* a, const T* a_size, const T* b, const T* b_size, std::int64_t count) {
  double values[4] = {};
  double sizes[4] = {};
  std::int64_t c = 0;
  for (; c + 4 <= count; c += 4) {
    for (int lane = 0; lane < 4; ++lane) values[lane] += a[c + lane] * b[c + lane];
    for (int lane = 0; lane < 4; ++lane) sizes[lane] += a_size[c + lane] * std::abs(b[c + lane]);
    for (int lane = 0; lane < 4; ++lane) sizes[lane] += std::abs(a[c + lane]) * b_size[c + lane];
  }
  for (; c < count; ++c) {
    values[0] += a[c] * b[c];
    sizes[0] += a_size[c] * std::abs(b[c]) + std::abs(a[c]) * b_size[c];
  }
  return {(values[0] + values[1]) + (values[2] + values[3]),
          (sizes[0] + sizes[1]) + (sizes[2] + sizes[3])};
}

/// The same where the errors of all factors are independent: their sizes add as the root of
/// squares.
template <class T>
SizedDot independent_dot(const T* a, const T* a_size, const T* b, const T* b_size,
                         std::int64_t count) {
  SizedDot sum;
  for (std::int64_t c = 0; c < count; ++c) {
    sum.value += a[c] * b[c];
    sum.size += term<Terms::squares>(a_size[c], b[c]) + term<Terms::squares>(a[c], b_size[c]);
  }
  sum.size = std::sqrt(sum.size);
  return sum;
}

/// Calls `task(i)` for every `i` in `[0, count)` on up to `threads` threads. The first exception
/// of a thread is thrown again once all have stopped.
template <class Task>
void parallel_for(int threads, std::int64_t count, const Task& task) {
  std::atomic<std::int64_t> next{0};
  const auto workers =
      static_cast<std::size_t>(std::max<std::int64_t>(1, std::min<std::int64_t>(threads, count)));
  std::vector<std::exception_ptr> errors(workers);
  const auto work = [&](std::exception_ptr& error) {
    try {
      for (std::int64_t i = next++; i < count; i = next++) task(i);
    } catch (...) {
      error = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t w = 1; w < workers; ++w) {
      others.emplace_back([&work, &error = errors[w]] { work(error); });
    }
    work(errors[0]);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace headroom::reference
