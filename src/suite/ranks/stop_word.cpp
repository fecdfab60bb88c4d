#include "ranks/stop_word.hpp"

#include <csignal>

#include "distributed/communicator.hpp"
#include "program/signals.hpp"

namespace headroom::ranks {
namespace {

using distributed::check_mpi;

volatile std::sig_atomic_t received = 0;

void remember(int signal) { received = signal; }

}  // namespace

StopWord::StopWord() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

void StopWord::say() {
  if (!said_ && received != 0) send(received);
}

void StopWord::end() {
  if (!said_) send(received);
  check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
}

void StopWord::send(int signal) {
  said_ = true;
  sent_ = signal;
  check_mpi(MPI_Isend(&sent_, 1, MPI_INT, 0, kStopTag, MPI_COMM_WORLD, &request_), "MPI_Isend");
}

void StopWords::hear() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kStopTag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there == 0) return;
    receive(status.MPI_SOURCE);
  }
}

void StopWords::hear_all(int ranks) {
  while (heard_ < ranks) receive(MPI_ANY_SOURCE);
}

void StopWords::receive(int rank) {
  int signal = 0;
  check_mpi(MPI_Recv(&signal, 1, MPI_INT, rank, kStopTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
  ++heard_;
  // A second one would end this process at once, and launchers send one to every rank.
  if (signal != 0 && stop_signal() == 0) std::raise(signal);
}

}  // namespace headroom::ranks
