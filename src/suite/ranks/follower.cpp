#include "ranks/follower.hpp"

#include <unistd.h>

#include <map>
#include <memory>
#include <string>

#include "distributed/communicator.hpp"
#include "ranks/link_meter.hpp"
#include "ranks/order.hpp"
#include "ranks/rank_layer.hpp"
#include "ranks/stop_word.hpp"

namespace headroom::ranks {
namespace {

using distributed::check_mpi;

// Not MPI_Recv alone, which would keep a core busy while the leader measures something else.
Order wait_for_order(StopWord& stop) {
  constexpr useconds_t kSleep = 200;
  MPI_Status status;
  for (int there = 0; there == 0;) {
    check_mpi(MPI_Iprobe(0, kOrderTag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there != 0) break;
    stop.say();
    usleep(kSleep);
  }
  int size = 0;
  check_mpi(MPI_Get_count(&status, MPI_CHAR, &size), "MPI_Get_count");
  std::string text(static_cast<std::size_t>(size), '\0');
  check_mpi(MPI_Recv(text.data(), size, MPI_CHAR, 0, kOrderTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
  return order_from_text(text);
}

void pass(RankLayer& layer, const Order& order) {
  layer.meet();
  for (std::int64_t i = 0; i < order.passes; ++i) {
    layer.meet();
    layer.pass();
  }
  if (order.compare) layer.other_bits();
}

}  // namespace

void follow(Session& session) {
  StopWord stop;
  std::map<std::int64_t, std::unique_ptr<RankLayer>> layers;
  for (;;) {
    const Order order = wait_for_order(stop);
    try {
      switch (order.kind) {
        case Order::Kind::make:
          layers[order.layer] =
              std::make_unique<RankLayer>(session.first(order.ranks), order, nullptr);
          break;
        case Order::Kind::pass:
          pass(*layers.at(order.layer), order);
          break;
        case Order::Kind::drop:
          layers.erase(order.layer);
          break;
        case Order::Kind::measure_link:
          measure_link(session.first(session.size()));
          break;
        case Order::Kind::end:
          stop.end();
          return;
      }
    } catch (const RankLost&) {
      throw;
    } catch (const std::exception&) {
      // The ranks have agreed on it: the leader throws the same, and decides.
      if (order.kind == Order::Kind::make) layers.erase(order.layer);
    }
  }
}

}  // namespace headroom::ranks
