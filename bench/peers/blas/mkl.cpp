#include "mkl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace headroom::peers {
namespace {

// As its C interface numbers them.
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112, kPacked = 151, kMatrixB = 162;
constexpr int kInts32 = 0, kGnuThreads = 3;

int as_int(std::int64_t value) { return static_cast<int>(value); }

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(fmt::format("no MKL: it has no {}", name));
}

}  // namespace

Mkl::Mkl(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(fmt::format("no MKL: {}", dlerror()));
  find(library, "cblas_sgemm", calls_.sgemm);
  find(library, "cblas_sgemv", calls_.sgemv);
  find(library, "cblas_sgemm_pack_get_size", calls_.pack_get_size);
  find(library, "cblas_sgemm_pack", calls_.pack);
  find(library, "cblas_sgemm_compute", calls_.compute);
  find(library, "MKL_Set_Interface_Layer", calls_.set_interface_layer);
  find(library, "MKL_Set_Threading_Layer", calls_.set_threading_layer);
  find(library, "MKL_Set_Num_Threads", calls_.set_num_threads);
  find(library, "MKL_Get_Max_Threads", calls_.get_max_threads);
  find(library, "MKL_Get_Version", calls_.get_version);
  find(library, "MKL_Get_Version_String", calls_.get_version_string);
  // Before any other call. On the OpenMP of this program the same threads share out products and
  // heads; Intel's would be a second team on the same cores, which spins while ours works.
  if (calls_.set_interface_layer(kInts32) != kInts32 ||
      calls_.set_threading_layer(kGnuThreads) != kGnuThreads) {
    throw std::runtime_error("this MKL has no 32-bit integers on GNU OpenMP");
  }
}

void Mkl::multiply(const Product& p) const {
  calls_.sgemm(kRowMajor, kPlain, p.b_transposed ? kTransposed : kPlain, as_int(p.rows),
               as_int(p.cols), as_int(p.depth), p.alpha, p.a, as_int(p.a_stride), p.b,
               as_int(p.b_stride), p.beta, p.c, as_int(p.c_stride));
}

void Mkl::multiply_row(const Product& p) const {
  calls_.sgemv(kRowMajor, kTransposed, as_int(p.depth), as_int(p.cols), p.alpha, p.b,
               as_int(p.b_stride), p.a, 1, p.beta, p.c, 1);
}

std::size_t Mkl::packed_bytes(const Product& p) const {
  return calls_.pack_get_size(kMatrixB, as_int(p.rows), as_int(p.cols), as_int(p.depth));
}

void Mkl::pack(const Product& p, float* to) const {
  calls_.pack(kRowMajor, kMatrixB, kPlain, as_int(p.rows), as_int(p.cols), as_int(p.depth), 1, p.b,
              as_int(p.b_stride), to);
}

void Mkl::multiply_packed(const Product& p) const {
  calls_.compute(kRowMajor, kPlain, kPacked, as_int(p.rows), as_int(p.cols), as_int(p.depth), p.a,
                 as_int(p.a_stride), p.b, as_int(p.b_stride), p.beta, p.c, as_int(p.c_stride));
}

// "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors" is AVX-512; on
// what it takes for no processor of Intel, the text has no such short name and stands as it is.
std::string Mkl::kernels() const {
  MklCalls::Version version = {};
  calls_.get_version(&version);
  std::string text = version.processor == nullptr ? "unknown" : version.processor;
  const std::string before = "(Intel(R) ";
  const std::size_t start = text.find(before);
  if (start == std::string::npos) return text;
  const std::size_t name = start + before.size(), end = text.find(')', name);
  return end == std::string::npos ? text : text.substr(name, end - name);
}

// "... Math Kernel Library Version 2026.2-Product Build 20260915 for ..."
std::string Mkl::version() const {
  const std::string text = library_text(), before = "Version ";
  const std::size_t start = text.find(before);
  if (start == std::string::npos) return "MKL";
  const std::size_t number = start + before.size();
  return "MKL " + text.substr(number, text.find_first_of("- ", number) - number);
}

nlohmann::ordered_json Mkl::settings() const { return {{"library", library_text()}}; }

std::string Mkl::library_text() const {
  std::array<char, 512> text = {};
  calls_.get_version_string(text.data(), static_cast<int>(text.size()) - 1);
  std::string found = text.data();
  while (!found.empty() && found.back() == ' ') found.pop_back();
  return found;
}

}  // namespace headroom::peers
