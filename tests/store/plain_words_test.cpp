#include "store/plain_words.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace headroom::store::plain_words_test {
namespace {

TEST(PlainWords, KeepWhatMeasurementsSay) {
  const PlainWords plain({"root", "ann"});
  for (const char* text : {
           "",
           "AMD Ryzen 5 PRO 4650G w/ Radeon Graphics",
           "Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz",
           "would take about 14 s, and the whole budget is 12 m 00 s",
           "onednn computes bf16x6 as f32: oneDNN has no products of bf16 parts",
           "brg:avx512_core/softmax:jit:avx512_core",
           "gemm:jit/softmax:jit:avx2",
           "simd:amx:bf16x6",
           "nn.MultiheadAttention, SDPA inside",
           "torch.inference_mode, modules built outside it",
           "compiled SDPA, freezing=True, options={'cpp_wrapper': True}",
           "pytorch 2.13.0+cpu, numpy 2.4.6, OpenBLAS 0.3.21, sse4.2",
           "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184",
           "llama.cpp: not available: PyPI has no wheel of its Python packages",
           "CACHE/inductor-1",
           "a rival, split/tbb/f32/t2/B1_T128_D768_H12, took 3.4 GB/s",
           "-O3 -DNDEBUG -march=x86-64-v3",
           "not available: /sys/devices/system/cpu/online: No such file or directory",
           "the hypervisor gave 1.0 % of the processors' time to other machines",
           "susanna and hannah",
       }) {
    EXPECT_EQ(plain(text), text);
  }
}

TEST(PlainWords, LoseWhatPointsToAPersonOrAHost) {
  const PlainWords plain({"ann", "Big-Box"});
  const std::pair<const char*, const char*> rewritten[] = {
      {"cannot read /home/ann/models/secret.gguf: it is short", "cannot read [path]: it is short"},
      {"cannot read '/home/ann b/my model/x.gguf', byte 7", "cannot read '[path]', byte 7"},
      {"cannot read /home/x y/z: gone", "cannot read [path] [path]: gone"},
      {"see build-peers/logs/onnxruntime.log.", "see [path]."},
      {"-O3 -I/opt/ann/include -fdebug-prefix-map=/home/ann=.", "-O3 [path] [path]."},
      {"C:\\Users\\ann\\x", "[path]"},
      {"~/x and ../y and runs/z", "[path] and [path] and [path]"},
      {"/sys/devices/system/../../home/ann", "[path]"},
      {"https://ann@git.example.org/x", "[path]"},
      {"ann@example.org wrote it", "[name] wrote it"},
      {"on node1.cluster.example:", "on [name]:"},
      {"on (node17), ip-10-0-0-7", "on ([name]), [name]"},
      {"10.1.2.3 and fe80::1 and 52:54:00:12:34:56", "[name] and [name] and [name]"},
      {"machine 0123456789abcdef0123456789abcdef", "machine [name]"},
      {"of private-model.safetensors", "of [name]"},
      {"measured by Ann on big-box", "measured by [name] on [name]"},
      {"host=big-box;", "host=[name];"},
  };
  for (const auto& [text, expected] : rewritten) EXPECT_EQ(plain(text), expected) << text;
}

TEST(PlainWords, NothingChangesByReadingTwice) {
  const PlainWords plain;
  const std::string once = plain("at /home/x/y on node1.cluster.example, 10.0.0.1");
  EXPECT_EQ(plain(once), once);
}

TEST(PlainWords, PlainNamesAreNamesOfOurs) {
  for (const char* name : {"tbb", "pytorch-sdpa-bf16", "OMP_NUM_THREADS", "amx", "2", "avx512"}) {
    EXPECT_TRUE(is_plain_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("-x"), std::string(".x"),
        std::string("node1.cluster.example"), std::string("node17"), std::string("a\nb"),
        std::string(65, 'a')}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
  EXPECT_TRUE(is_word("e181bf591749-dirty+933c9d2a79017812"));
  EXPECT_TRUE(is_word("0123456789012345678901234567890123456789"));  // a revision in full
  EXPECT_FALSE(is_word("node1.cluster.example"));
  EXPECT_FALSE(is_word("two words"));
}

TEST(PlainWords, KnowWhoseProcessItIs) {
  setenv("LOGNAME", "somebody", 1);
  setenv("HOME", "/home/somebodys-home", 1);
  const PlainWords plain(names_of_here());
  EXPECT_EQ(plain("by somebody in somebodys-home"), "by [name] in [name]");
}

}  // namespace
}  // namespace headroom::store::plain_words_test
