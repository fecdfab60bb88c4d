// From a file to a packed layer: memory for the file's tensors and for what is packed, and no copy
// beside them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/regular_file.hpp"
#include "headroom/headroom.hpp"
#include "support/child.hpp"
#include "support/safetensors_text.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::peak_memory_test {
namespace {

constexpr std::int64_t kWidth = 4096;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The most memory that this process has had since the last reset; 0 where the kernel does not say.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    long long kibibytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lld kB", &kibibytes) == 1) return kibibytes * 1024;
  }
  return 0;
}

bool reset_peak() {
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  return reset.good();
}

// As llama.cpp's and transformers' models have them: four square matrices of bf16, without biases.
void write_model(const std::filesystem::path& path) {
  const std::string matrix(static_cast<std::size_t>(kWidth * kWidth * 2), '\0');
  test::SafetensorsText text;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    text.add(std::string("model.layers.0.self_attn.") + name + ".weight", "BF16", {kWidth, kWidth},
             matrix);
  }
  std::ofstream file(path, std::ios::binary);
  file << text.text();
}

class PeakMemory : public test::TemporaryFolder, public testing::WithParamInterface<Dtype> {};

TEST_P(PeakMemory, IsThatOfTheTensorsAndThePackedCopy) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  write_model(path_ / "model.safetensors");
  std::ofstream(path_ / "config.json") << R"({"model_type": "llama", "num_attention_heads": 32,
    "hidden_size": 4096, "rope_theta": 10000})";
  const std::string found = test::in_child([&]() -> std::string {
    if (!reset_peak()) return "cannot reset";
    const std::int64_t before = peak_bytes();
    AttentionOptions options;
    options.backend = "xsimd";
    options.threads = 1;
    options.dtype = GetParam();
    const LayerWeights loaded = load_weights(path_ / "model.safetensors");
    const Attention layer(loaded.config, {.tokens = 1}, loaded.weights, options);
    const std::int64_t tensors = 4 * kWidth * kWidth * 2;
    const std::int64_t needed =
        tensors + layer.costs().packed_bytes + layer.costs().workspace_bytes;
    const std::int64_t used = peak_bytes() - before;
    if (used < needed / 2) return "the peak says nothing";
    if (used <= needed + 6 * kMiB) return "enough";
    return std::to_string(used / kMiB) + " MiB for " + std::to_string(needed / kMiB);
  });
  if (found == "cannot reset" || found == "the peak says nothing") {
    GTEST_SKIP() << "this kernel does not report the peak of a part of a process: " << found;
  }
  EXPECT_EQ(found, "enough");
}

using SparseFiles = test::TemporaryFolder;

// Such a file costs nothing to make, and must cost nothing to refuse.
TEST_F(SparseFiles, AreRefusedBeforeTheyAreRead) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  std::ofstream(path_ / "large") << "{";
  std::error_code error;
  std::filesystem::resize_file(path_ / "large", std::uintmax_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no such file can be made here: " << error.message();
  const std::string found = test::in_child([&]() -> std::string {
    if (!reset_peak()) return "cannot reset";
    const std::int64_t before = peak_bytes();
    try {
      read_regular_file(path_ / "large", 1024 * kMiB);
    } catch (const FileError& refused) {
      const std::int64_t used = peak_bytes() - before;
      return used > 6 * kMiB ? std::to_string(used / kMiB) + " MiB" : refused.what();
    }
    return "taken";
  });
  if (found == "cannot reset") GTEST_SKIP() << "this kernel does not report the peak of a part";
  EXPECT_NE(found.find("large: it is larger than 1073741824 bytes"), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(Dtypes, PeakMemory, testing::Values(Dtype::f32, Dtype::bf16),
                         [](const auto& param) { return std::string(to_string(param.param)); });

}  // namespace
}  // namespace headroom::peak_memory_test
