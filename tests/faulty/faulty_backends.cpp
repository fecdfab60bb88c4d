// Backends that end their process, each in its own way, beside the real `naive`.
// Linked into headroom-faulty, which must survive them.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "backends/backend.hpp"
#include "program/exit_code.hpp"

namespace {

using namespace headroom;

// What happens at the n-th pass of a layer.
using Fault = void (*)(int pass, const BlockedView& out);

class FaultyAttention final : public HeadAttention {
 public:
  FaultyAttention(std::unique_ptr<HeadAttention> real, Fault fault, std::size_t held)
      : real_(std::move(real)), fault_(fault), held_(held > 0 ? new char[held] : nullptr) {}
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences,
                                            std::int64_t capacity) override {
    return real_->make_store(sequences, capacity);
  }
  void run(const AttendCall& call) override {
    real_->run(call);
    if (!held_) fault_(++passes_, call.out.floats());
  }
  OperationCosts costs() const override { return real_->costs(); }

 private:
  std::unique_ptr<HeadAttention> real_;
  Fault fault_;
  std::unique_ptr<char[]> held_;  // more than it reports, as a library's own tables may be
  int passes_ = 0;
};

// The memory that a layer must hold; then it has no other fault.
std::size_t held() {
  const char* mebibytes = std::getenv("HEADROOM_TEST_HELD_MIB");
  return mebibytes == nullptr ? 0 : std::strtoull(mebibytes, nullptr, 10) << 20;
}

class Faulty final : public Backend {
 public:
  explicit Faulty(Fault fault) : real_(backend_entry("naive").make({})), fault_(fault) {}
  HeadLayout head_layout() const override { return real_->head_layout(); }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return real_->make_projection(spec);
  }
  std::unique_ptr<HeadAttention> make_attention(const Case& shape) override {
    return std::make_unique<FaultyAttention>(real_->make_attention(shape), fault_, held());
  }

 private:
  std::unique_ptr<Backend> real_;
  Fault fault_;
};

void die_at_once(int, const BlockedView&) { std::raise(SIGSEGV); }

// Where the compiler cannot see that nobody reads it; else it may leave the allocation out.
char* volatile latest = nullptr;

void allocate_without_end(int, const BlockedView&) {
  constexpr std::size_t kBytes = std::size_t{1} << 26;
  for (;;) {
    latest = new char[kBytes];
    std::memset(latest, 1, kBytes);
  }
}

void be_wrong(int, const BlockedView& out) { *out.at(0, 0) += 1; }

// Which of the processes that measure one after the other this one is: each leaves a byte in a
// file.
int process_number(const char* file) {
  static const long number = [file] {
    std::FILE* launches = std::fopen(file, "a");
    std::fputc('.', launches);
    const long size = std::ftell(launches);
    std::fclose(launches);
    return size;
  }();
  return static_cast<int>(number);
}

// Checking takes six passes, so that the stopwatch is running by then.
void die_while_timed(int pass, const BlockedView&) {
  if (const char* launches = std::getenv("HEADROOM_TEST_DIES_IN_THIRD")) {
    if (process_number(launches) == 3) std::raise(SIGSEGV);
    return;
  }
  if (const char* milliseconds = std::getenv("HEADROOM_TEST_SLOW_MS")) {
    usleep(1000 * static_cast<useconds_t>(std::strtoul(milliseconds, nullptr, 10)));
    return;  // slow, and nothing else is wrong with it
  }
  if (pass <= 10) return;
  if (std::getenv("HEADROOM_TEST_HANG") == nullptr) std::raise(SIGSEGV);
  for (;;) pause();
}

template <const char* kName>
BackendInfo describe() {
  BackendInfo info;
  info.name = kName;
  info.description = "faulty on purpose";
  info.available = true;
  return info;
}

const BackendFacts& facts() {
  static const BackendFacts facts;
  return facts;
}

std::optional<std::string> declines(const Case&) { return std::nullopt; }

template <Fault kFault>
std::unique_ptr<Backend> make(const BackendConfig&) {
  if (std::getenv("HEADROOM_TEST_REFUSED") != nullptr) {
    throw ResourceError("the system starts no more threads");
  }
  return std::make_unique<Faulty>(kFault);
}

constexpr char kAutovec[] = "autovec";
constexpr char kXsimd[] = "xsimd";
constexpr char kOnednn[] = "onednn";
constexpr char kTbb[] = "tbb";

}  // namespace

HEADROOM_DEFINE_BACKEND(autovec) = {describe<kAutovec>, facts, declines, make<die_at_once>};
HEADROOM_DEFINE_BACKEND(xsimd) = {describe<kXsimd>, facts, declines, make<allocate_without_end>};
HEADROOM_DEFINE_BACKEND(onednn) = {describe<kOnednn>, facts, declines, make<be_wrong>};
HEADROOM_DEFINE_BACKEND(tbb) = {describe<kTbb>, facts, declines, make<die_while_timed>};
