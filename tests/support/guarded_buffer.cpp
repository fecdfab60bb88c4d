#include "support/guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace headroom::test {

GuardedBuffer::GuardedBuffer(std::int64_t count, Side side)
    : count_(static_cast<std::size_t>(count)) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = count_ * sizeof(float);
  const std::size_t usable = (bytes + page - 1) / page * page;
  mapped_bytes_ = usable + 2 * page;
  mapping_ = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  char* first = static_cast<char*>(mapping_) + page;
  if (usable > 0 && mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping_, mapped_bytes_);
    throw std::system_error(errno, std::generic_category(), "mprotect");
  }
  data_ = reinterpret_cast<float*>(side == Side::at_start ? first : first + usable - bytes);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, mapped_bytes_); }

}  // namespace headroom::test
