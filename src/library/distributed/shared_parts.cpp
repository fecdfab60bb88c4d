#include "distributed/shared_parts.hpp"

#include <cstring>

namespace headroom::distributed {
namespace {

std::byte* aligned(void* address) {
  const auto past = reinterpret_cast<std::uintptr_t>(address) % SharedParts::kAlignment;
  return static_cast<std::byte*>(address) + (past == 0 ? 0 : SharedParts::kAlignment - past);
}

}  // namespace

SharedParts::SharedParts(const Communicator& machine, std::int64_t bytes)
    : machine_(machine), bytes_(bytes), parts_(static_cast<std::size_t>(machine.size())) {
  check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
  MPI_Info_set(info_, "alloc_shared_noncontig", "true");
}

void SharedParts::allocate() {
  void* own = nullptr;
  const auto with_room = static_cast<MPI_Aint>(bytes_ + std::int64_t{kAlignment});
  check_mpi(MPI_Win_allocate_shared(with_room, 1, info_, machine_.get(), &own, &window_),
            "MPI_Win_allocate_shared");
  // Loads and stores need no more: the ranks meet by atomic operations, and this machine's memory
  // is one.
  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  for (int rank = 0; rank < machine_.size(); ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    void* address = nullptr;
    check_mpi(MPI_Win_shared_query(window_, rank, &size, &unit, &address), "MPI_Win_shared_query");
    parts_[static_cast<std::size_t>(rank)] = aligned(address);
  }
  std::memset(part(machine_.rank()), 0, static_cast<std::size_t>(bytes_));
}

SharedParts::~SharedParts() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised != 0) return;
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

}  // namespace headroom::distributed
