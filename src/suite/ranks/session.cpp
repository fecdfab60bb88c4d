#include "ranks/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "core/text/fingerprint.hpp"
#include "distributed/communicator.hpp"
#include "headroom/error.hpp"
#include "processor/cores.hpp"
#include "processor/text_file.hpp"
#include "program/program_fingerprint.hpp"

namespace headroom::ranks {
namespace {

using distributed::check_mpi;

// What a rank says of itself. Of one layout in all builds, so that others can be recognised.
struct Introduction {
  std::array<char, 32> program{};
  std::array<char, 32> arguments{};
  std::array<char, 64> machine{};
  RankProcess process{};
  std::int32_t cores = 1;
  std::int32_t processors = 1;
};

template <std::size_t Size>
void copy(std::string_view text, std::array<char, Size>& to) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), Size - 1));
}

// All but the program's own name, which may be another path on another machine.
std::string fingerprint_of_arguments() {
  const std::string all = processor::read_text("/proc/self/cmdline").value_or("");
  Fingerprint print;
  print.add(std::string_view(all).substr(std::min(all.find('\0'), all.size())));
  return print.text();
}

Introduction introduce_this(int rank) {
  Introduction own;
  copy(fingerprint_of_program(), own.program);
  copy(fingerprint_of_arguments(), own.arguments);
  std::array<char, 64> name{};
  gethostname(name.data(), name.size() - 1);
  copy(name.data(), own.machine);
  own.process = {rank, distributed::this_process()};
  own.cores = allowed_cores();
  own.processors = static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return own;
}

void require_same(const std::vector<Introduction>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].program != all[0].program) {
      throw ResourceError(
          fmt::format("rank {} on {} runs another program than rank 0 on {} (fingerprints {} and "
                      "{}); start the "
                      "same build on all ranks",
                      rank, all[rank].machine.data(), all[0].machine.data(),
                      all[rank].program.data(), all[0].program.data()));
    }
    if (all[rank].arguments != all[0].arguments) {
      throw InvalidArgument(fmt::format(
          "rank {} on {} was started with other arguments than rank 0; give the same to all ranks",
          rank, all[rank].machine.data()));
    }
  }
}

}  // namespace

Session::Session() {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  introduce();
}

void Session::introduce() {
  int size = 1;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  std::vector<Introduction> all(static_cast<std::size_t>(size));
  const Introduction own = introduce_this(rank_);
  check_mpi(
      MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD),
      "MPI_Allgather");
  for (const Introduction& each : all) {
    places_.push_back({each.machine.data(), each.cores, each.processors});
    processes_.push_back(each.process);
  }
  try {
    require_same(all);
  } catch (...) {
    MPI_Finalize();
    throw;
  }
}

Session::~Session() {
  if (lost_) return;
  for (auto& [ranks, communicator] : first_) MPI_Comm_free(&communicator);
  MPI_Finalize();
}

MPI_Comm Session::first(int ranks) {
  const auto known = first_.find(ranks);
  if (known != first_.end()) return known->second;
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  int range[1][3] = {{0, ranks - 1, 1}};
  check_mpi(MPI_Group_range_incl(world, 1, range, &group), "MPI_Group_range_incl");
  MPI_Comm communicator = MPI_COMM_NULL;
  const int code = MPI_Comm_create_group(MPI_COMM_WORLD, group, ranks, &communicator);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  check_mpi(code, "MPI_Comm_create_group");
  first_[ranks] = communicator;
  return communicator;
}

}  // namespace headroom::ranks
