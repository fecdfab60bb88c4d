#include "distributed/communicator.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "headroom/error.hpp"

namespace headroom::distributed {
namespace {

bool is_finalised() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  return finalised != 0;
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw ResourceError(fmt::format("{} failed: {}", call,
                                  std::string_view(text.data(), static_cast<std::size_t>(length))));
}

Communicator::Communicator(MPI_Comm own) : communicator_(own) {
  check_mpi(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(own, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(own, &size_), "MPI_Comm_size");
}

Communicator Communicator::copy_of(MPI_Comm communicator) {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised == 0 || is_finalised()) {
    throw InvalidArgument(
        "distributed: MPI is not running; call MPI_Init before the first layer is made, and "
        "MPI_Finalize after the last one is destroyed");
  }
  if (communicator == MPI_COMM_NULL) {
    throw InvalidArgument("distributed: the communicator is MPI_COMM_NULL; give one with ranks");
  }
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &own), "MPI_Comm_dup");
  return Communicator(own);
}

Communicator::~Communicator() {
  if (communicator_ != MPI_COMM_NULL && !is_finalised()) MPI_Comm_free(&communicator_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : communicator_(std::exchange(other.communicator_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(communicator_, other.communicator_);
  rank_ = other.rank_;
  size_ = other.size_;
  return *this;
}

Communicator Communicator::on_this_machine() const {
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &own),
            "MPI_Comm_split_type");
  return Communicator(own);
}

Communicator Communicator::of_colour(int colour) const {
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(communicator_, colour, rank_, &own), "MPI_Comm_split");
  return Communicator(own);
}

}  // namespace headroom::distributed
