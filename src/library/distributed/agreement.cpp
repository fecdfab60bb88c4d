#include "distributed/agreement.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include "distributed/communicator.hpp"
#include "headroom/error.hpp"

namespace headroom::distributed {
namespace {

using Fault = Said::Fault;

// The ranks' memory ran out; callers that know std::bad_alloc need no other type.
class RankOutOfMemory : public std::bad_alloc {
 public:
  explicit RankOutOfMemory(const Said& said) : said_(said) {}
  const char* what() const noexcept override { return said_.text.data(); }

 private:
  Said said_;
};

Said describe(int rank, Fault fault, std::string_view what) {
  Said said;
  said.fault = fault;
  said.rank = rank;
  const std::string text = fmt::format("rank {}: {}", rank, what);
  std::size_t length = std::min(text.size(), said.text.size() - 1);
  if (length < text.size()) {  // not in the middle of a UTF-8 character
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }
  std::memcpy(said.text.data(), text.data(), length);
  said.text[length] = '\0';
  return said;
}

}  // namespace

Said said_by_exception(int rank) {
  try {
    throw;
  } catch (const InvalidArgument& error) {
    return describe(rank, Fault::invalid, error.what());
  } catch (const Unavailable& error) {
    return describe(rank, Fault::unavailable, error.what());
  } catch (const Unsupported& error) {
    return describe(rank, Fault::unsupported, error.what());
  } catch (const ResourceError& error) {
    return describe(rank, Fault::resource, error.what());
  } catch (const std::bad_alloc&) {
    return describe(rank, Fault::memory, "out of memory");
  } catch (const std::exception& error) {
    return describe(rank, Fault::other, error.what());
  } catch (...) {
    return describe(rank, Fault::other, "ended with something that is no std::exception");
  }
}

void raise(const Said& said) {
  const std::string text = said.text.data();
  switch (said.fault) {
    case Fault::invalid:
      throw InvalidArgument(text);
    case Fault::unavailable:
      throw Unavailable(text);
    case Fault::unsupported:
      throw Unsupported(text);
    case Fault::resource:
      throw ResourceError(text);
    case Fault::memory:
      throw RankOutOfMemory(said);
    case Fault::none:
    case Fault::other:
      break;
  }
  throw std::runtime_error(text);
}

void agree(MPI_Comm all, const Said& own) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  int first = own.refuses() ? own.rank : kNobody;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, all), "MPI_Allreduce");
  if (first == kNobody) return;
  Said said = own;
  check_mpi(MPI_Bcast(&said, sizeof said, MPI_BYTE, first, all), "MPI_Bcast");
  raise(said);
}

bool same_everywhere(MPI_Comm all, std::uint64_t value) {
  std::array<std::uint64_t, 2> ends{value, ~value};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_UINT64_T, MPI_MAX, all),
            "MPI_Allreduce");
  return ends[0] == ~ends[1];
}

}  // namespace headroom::distributed
