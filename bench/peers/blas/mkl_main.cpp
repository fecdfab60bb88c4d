// Intel MKL as a peer: headroom-peer-mkl LIBRARY, the path of libmkl_rt.
#include <fmt/format.h>

#include <exception>

#include "blas_rival.hpp"
#include "mkl.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: headroom-peer-mkl LIBRARY, such as lib/libmkl_rt.so.3\n");
    return 2;
  }
  try {
    headroom::peers::serve_blas(headroom::peers::Mkl(arguments[1]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
