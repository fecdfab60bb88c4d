#include "distributed/machine_sum.hpp"

#include <algorithm>

namespace headroom::distributed {
namespace {

// MPI counts with int.
constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 28;

std::size_t index(int value) { return static_cast<std::size_t>(value); }

}  // namespace

MachineSum::MachineSum(const Communicator& between, std::int64_t most) : between_(between) {
  const auto machines = index(between.size());
  for (auto* list : {&counts_, &offsets_, &own_counts_, &own_offsets_}) list->resize(machines);
  const std::int64_t block = std::min(most, kMostAtOnce);
  received_ = AlignedBuffer(block + between.size());
}

void MachineSum::add_up(float* values, std::int64_t count) {
  for (std::int64_t done = 0; done < count; done += kMostAtOnce) {
    add_block(values + done, std::min(kMostAtOnce, count - done));
  }
}

void MachineSum::add_block(float* values, std::int64_t count) {
  const int machines = between_.size();
  const auto begin = [&](int machine) { return static_cast<int>(count * machine / machines); };
  const int own_first = begin(between_.rank());
  const int own_count = begin(between_.rank() + 1) - own_first;
  for (int machine = 0; machine < machines; ++machine) {
    counts_[index(machine)] = begin(machine + 1) - begin(machine);
    offsets_[index(machine)] = begin(machine);
    own_counts_[index(machine)] = own_count;
    own_offsets_[index(machine)] = own_count * machine;
  }
  check_mpi(MPI_Alltoallv(values, counts_.data(), offsets_.data(), MPI_FLOAT, received_.data(),
                          own_counts_.data(), own_offsets_.data(), MPI_FLOAT, between_.get()),
            "MPI_Alltoallv");
  float* own = values + own_first;
  std::copy_n(received_.data(), own_count, own);
  for (int machine = 1; machine < machines; ++machine) {
    const float* other = received_.data() + std::int64_t{own_count} * machine;
    for (int i = 0; i < own_count; ++i) own[i] += other[i];
  }
  check_mpi(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts_.data(),
                           offsets_.data(), MPI_FLOAT, between_.get()),
            "MPI_Allgatherv");
}

}  // namespace headroom::distributed
