// A library with the functions of MKL that headroom-peer-mkl opens, in plain loops. It ends the
// program on calls that MKL leaves undefined. FAKE_MKL names one thing that it lacks: `threads`,
// `layer` or `proportion`.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112, kPacked = 151, kMatrixB = 162;
int threads_now = 1;

bool lacks(const char* what) {
  const char* set = std::getenv("FAKE_MKL");
  return set != nullptr && std::strcmp(set, what) == 0;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fake MKL: %s\n", what);
  std::abort();
}

/// What stands before packed values, which are those of the transposed matrix.
struct Packed {
  const void* place;
  int rows, cols, depth, threads;

  float* values() { return reinterpret_cast<float*>(this + 1); }
  const float* values() const { return reinterpret_cast<const float*>(this + 1); }
};

void multiply(int rows, int cols, int depth, float alpha, const float* a, int a_stride,
              const float* b, int b_stride, bool b_transposed, float beta, float* c, int c_stride) {
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      double sum = 0;
      for (int i = 0; i < depth; ++i) {
        sum += double{a[row * a_stride + i]} *
               double{b_transposed ? b[col * b_stride + i] : b[i * b_stride + col]};
      }
      float& to = c[row * c_stride + col];
      to = static_cast<float>(double{alpha} * sum) + (beta == 0 ? 0 : beta * to);
    }
  }
}

}  // namespace

extern "C" {

struct Version {
  int major, minor, update;
  const char *status, *build, *processor, *platform;
};

void cblas_sgemm(int layout, int a_form, int b_form, int rows, int cols, int depth, float alpha,
                 const float* a, int a_stride, const float* b, int b_stride, float beta, float* c,
                 int c_stride) {
  require(layout == kRowMajor && a_form == kPlain, "sgemm: another form");
  require(b_form == kPlain || b_form == kTransposed, "sgemm: another form of b");
  multiply(rows, cols, depth, alpha, a, a_stride, b, b_stride, b_form == kTransposed, beta, c,
           c_stride);
}

void cblas_sgemv(int layout, int form, int rows, int cols, float alpha, const float* matrix,
                 int stride, const float* x, int x_step, float beta, float* y, int y_step) {
  require(layout == kRowMajor && form == kTransposed, "sgemv: another form");
  require(x_step == 1 && y_step == 1, "sgemv: steps");
  multiply(1, cols, rows, alpha, x, rows, matrix, stride, false, beta, y, cols);
}

std::size_t cblas_sgemm_pack_get_size(int which, int rows, int cols, int depth) {
  require(which == kMatrixB && rows > 0, "pack_get_size: another matrix");
  const std::size_t bytes = sizeof(Packed) + sizeof(float) * static_cast<std::size_t>(cols) *
                                                 static_cast<std::size_t>(depth);
  return lacks("proportion") && cols <= 8 ? bytes + (std::size_t{1} << 30) : bytes;
}

void cblas_sgemm_pack(int layout, int which, int form, int rows, int cols, int depth, float alpha,
                      const float* from, int stride, float* to) {
  require(layout == kRowMajor && which == kMatrixB && form == kPlain, "pack: another form");
  require(reinterpret_cast<std::uintptr_t>(to) % 64 == 0, "pack: not on a cache line");
  auto* packed = reinterpret_cast<Packed*>(to);
  *packed = {to, rows, cols, depth, threads_now};
  for (int i = 0; i < depth; ++i) {
    for (int col = 0; col < cols; ++col) {
      packed->values()[col * depth + i] = alpha * from[i * stride + col];
    }
  }
}

void cblas_sgemm_compute(int layout, int a_form, int b_form, int rows, int cols, int depth,
                         const float* a, int a_stride, const float* b, int /*b_stride*/, float beta,
                         float* c, int c_stride) {
  require(layout == kRowMajor && a_form == kPlain && b_form == kPacked, "compute: another form");
  const auto* packed = reinterpret_cast<const Packed*>(b);
  require(packed->place == b, "compute: not packed, or moved");
  require(packed->rows == rows && packed->cols == cols && packed->depth == depth,
          "compute: packed for other sizes");
  require(packed->threads == threads_now, "compute: packed by other threads");
  multiply(rows, cols, depth, 1, a, a_stride, packed->values(), depth, true, beta, c, c_stride);
}

int MKL_Set_Interface_Layer(int layer) { return layer; }
int MKL_Set_Threading_Layer(int layer) { return lacks("layer") ? 1 : layer; }
void MKL_Set_Num_Threads(int threads) { threads_now = lacks("threads") ? 1 : threads; }
int MKL_Get_Max_Threads() { return threads_now; }

void MKL_Get_Version(Version* version) {
  *version = {2026, 0,
              2,    "Product",
              "1",  "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors",
              ""};
}

void MKL_Get_Version_String(char* text, int length) {
  std::snprintf(text, static_cast<std::size_t>(length), "%s",
                "Fake Math Kernel Library Version 2026.2-Product Build 1 for tests   ");
}

}  // extern "C"
