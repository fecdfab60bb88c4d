// What every rank but the first does.
#pragma once

#include "ranks/session.hpp"

namespace headroom::ranks {

/// Does what the leader says, until it says that this is all. A signal to stop goes to the leader.
/// @throws RankLost
void follow(Session& session);

}  // namespace headroom::ranks
