// A library inside somebody's program starts no process: not to find out what the machine has, and
// not to compute. A filter of system calls kills who tries.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "headroom/headroom.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_processes_test {
namespace {

constexpr int kNoFilter = 77;

constexpr sock_filter load(std::size_t place) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<__u32>(place));
}
constexpr sock_filter answer(__u32 action) { return BPF_STMT(BPF_RET | BPF_K, action); }
constexpr sock_filter skip_unless(__u32 call, __u8 lines) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, lines);
}

// Threads are allowed. clone3 hides its flags in memory, so it is said not to exist, and the C
// library takes clone.
void forbid_processes() {
  constexpr __u32 kThread = 0x00010000;  // CLONE_THREAD
  std::array filter{
      load(offsetof(seccomp_data, nr)),
#ifdef SYS_fork
      skip_unless(SYS_fork, 1),
      answer(SECCOMP_RET_KILL_PROCESS),
      skip_unless(SYS_vfork, 1),
      answer(SECCOMP_RET_KILL_PROCESS),
#endif
      skip_unless(SYS_execve, 1),
      answer(SECCOMP_RET_KILL_PROCESS),
      skip_unless(SYS_clone3, 1),
      answer(SECCOMP_RET_ERRNO | ENOSYS),
      skip_unless(SYS_clone, 3),
      load(offsetof(seccomp_data, args)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kThread, 1, 0),
      answer(SECCOMP_RET_KILL_PROCESS),
      answer(SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(kNoFilter);
  }
}

[[noreturn]] void make_layers(const std::string& backend, void (*on_child)(int)) {
  std::signal(SIGCHLD, on_child);
  forbid_processes();
  const Layer layer = gaussian_layer(plain_shape(40, 16, 2, 8));
  for (const Precision precision : kAllPrecisions) {
    AttentionOptions options;
    options.backend = backend;
    options.threads = 2;
    options.precision = precision;
    const Target target = select_target();
    if (!arithmetic_of(backend, {precision, Dtype::f32}, target).precision) continue;
    Attention attention = layer_for(layer.shape, layer.weights, options);
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), y.view());
  }
  _exit(0);
}

class LayerProcesses : public testing::TestWithParam<std::string> {
 protected:
  // A process of its own each, which has found out nothing before.
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

bool done_or_no_filter(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoFilter);
}

TEST_P(LayerProcesses, ALayerStartsNone) {
  EXPECT_EXIT(make_layers(GetParam(), SIG_DFL), done_or_no_filter, "");
}

TEST_P(LayerProcesses, NorWhereChildrenAreIgnored) {
  EXPECT_EXIT(make_layers(GetParam(), SIG_IGN), done_or_no_filter, "");
}

TEST(LayerProcessesFilter, KillsWhoStartsAProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto killed = [](int status) {
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter);
  };
  EXPECT_EXIT(
      {
        forbid_processes();
        fork();
        _exit(0);
      },
      killed, "");
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendInfo& info : backends()) {
    if (info.available) names.push_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, LayerProcesses, testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace headroom::test::layer_processes_test
