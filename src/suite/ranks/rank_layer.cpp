#include "ranks/rank_layer.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/text/fingerprint.hpp"
#include "distributed/agreement.hpp"
#include "distributed/communicator.hpp"
#include "measure/group/past_chunks.hpp"
#include "plan/shapes/layer_shape.hpp"

namespace headroom::ranks {
namespace {

using distributed::check_mpi;

constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 28;  // MPI counts with int

void send_to_all(MPI_Comm ranks, Matrix& matrix) {
  const auto size = static_cast<std::int64_t>(matrix.values.size());
  for (std::int64_t done = 0; done < size; done += kMostAtOnce) {
    check_mpi(MPI_Bcast(matrix.values.data() + done,
                        static_cast<int>(std::min(kMostAtOnce, size - done)), MPI_FLOAT, 0, ranks),
              "MPI_Bcast");
  }
}

int rank_of(MPI_Comm ranks) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank");
  return rank;
}

}  // namespace

RankLayer::RankLayer(MPI_Comm ranks, const Order& order, const measure::Problem* problem)
    : ranks_(ranks), shape_(order.shape) {
  const Case whole = plan::layer_shape(shape_);
  Matrix past;
  distributed::agree(ranks, distributed::said_by(rank_of(ranks), [&] {
                       x_ = problem != nullptr ? problem->x : Matrix(shape_.rows(), shape_.d_in);
                       y_ = Matrix(shape_.rows(), shape_.output_width());
                       const std::int64_t before = shape_.batch * shape_.past;
                       past = problem != nullptr ? problem->past : Matrix(before, shape_.d_in);
                       memory_ = problem != nullptr ? problem->memory
                                                    : Matrix(shape_.memory_rows(), shape_.d_memory);
                     }));
  for (Matrix* matrix : {&x_, &past, &memory_}) send_to_all(ranks, *matrix);
  DistributedOptions distributed;
  distributed.patience = order.patience;
  attention_.emplace(
      ranks, whole, whole,
      scatter_weights(ranks, whole, problem != nullptr ? &problem->weights : nullptr),
      order.options, distributed);
  if (shape_.past == 0 || shape_.batch == 0) return;
  cache_.emplace(*attention_, CacheSize{shape_.batch, shape_.context()});
  fill(past, order.fill_tokens);
}

void RankLayer::fill(const Matrix& past, std::int64_t fill_tokens) {
  const auto start = std::chrono::steady_clock::now();
  measure::for_each_chunk_of_past(
      shape_, fill_tokens, [&](std::int64_t first, std::int64_t count, const Call& call) {
        attention_->append(past.view().slice(first, count), call, *cache_);
      });
  fill_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void RankLayer::pass(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  Call call;
  call.times = times;
  call.lengths = shape_.lengths;
  call.context = shape_.context();
  if (shape_.d_memory > 0) call.memory = memory_.view();
  if (cache_) {
    for (std::int64_t i = 0; i < shape_.batch; ++i) cache_->truncate({i, shape_.past});
  }
  attention_->forward(x, y, call, cache_ ? &*cache_ : nullptr);
}

std::optional<int> RankLayer::other_bits(ConstMatrixView y) const {
  Fingerprint print;
  for (std::int64_t row = 0; row < y.rows; ++row) {
    print.add({reinterpret_cast<const char*>(y.row(row)),
               static_cast<std::size_t>(y.cols) * sizeof(float)});
  }
  const std::uint64_t own = print.value();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(attention_->ranks()));
  check_mpi(MPI_Gather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, ranks_),
            "MPI_Gather");
  if (attention_->rank() > 0) return std::nullopt;
  const auto other = std::find_if(all.begin(), all.end(), [&](auto bits) { return bits != own; });
  if (other == all.end()) return std::nullopt;
  return static_cast<int>(other - all.begin());
}

}  // namespace headroom::ranks
