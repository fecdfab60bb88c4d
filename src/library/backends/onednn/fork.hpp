// What a fork() leaves of OpenMP: the pool of threads of the thread that called it, without the
// threads. gcc's OpenMP waits for them for ever (LLVM's begins anew).
#pragma once

#include <functional>

namespace headroom::onednn {

/// To be called by a thread before it enters OpenMP, which then keeps a pool of threads for it.
void enter_openmp();

/// Whether the calling thread's pool was left behind by a fork().
bool has_lost_threads();

/// Runs `work` on a thread of its own, which has no pool yet, and waits for it. Its exceptions come
/// out here.
/// @throws ResourceError if the system refuses the thread
void on_new_thread(const std::function<void()>& work);

}  // namespace headroom::onednn
