// headroom run, and --weights of the other commands.
#include <sys/resource.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/safetensors_text.hpp"
#include "weights/npy.hpp"

namespace headroom::test::run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Run : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    fs::copy(fs::path(HEADROOM_TEST_DATA) / "weights", path_ / "models",
             fs::copy_options::recursive);
  }

  void write_npy(const std::string& name, const std::vector<std::int64_t>& dims,
                 const std::vector<float>& values) const {
    write(name, weights::npy_header(dims) + bytes_of(values));
  }

  json json_of(const std::string& line, int code = 0) const {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, code) << outcome.errors;
    return json::parse(outcome.output);
  }
};

TEST_F(Run, WritesWhatPyTorchComputed) {
  for (const std::string model : {"gpt2 --layer 1", "llama", "torch --heads 3"}) {
    const std::string name = model.substr(0, model.find(' '));
    expect("$headroom run --weights models/" + model + " --input models/" + name +
               "/x.npy --output y.npy --check --repetitions 1",
           0, {"wrote y.npy", "of its bound", "fused: auto is "});
    const weights::NpyArray found = weights::read_npy(path_ / "y.npy");
    const weights::NpyArray wanted = weights::read_npy(path_ / "models" / name / "y.npy");
    EXPECT_EQ(found.dims, wanted.dims);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
      const double difference = double{found.values[i]} - double{wanted.values[i]};
      error += difference * difference;
      size += double{wanted.values[i]} * double{wanted.values[i]};
    }
    EXPECT_LE(error, 25e-12 * size) << name;  // nrmse 5e-6
  }
}

TEST_F(Run, TakesGgufFiles) {
  const std::string file = std::string(HEADROOM_TEST_DATA) + "/gguf/gpt_oss.gguf";
  expect("$headroom run --weights " + file + " --list", 0,
         {"gpt_oss.gguf: gguf, 10 tensors", "gguf       blk.1", "Q8_0  (4, 32)"});
  expect("$headroom run --weights " + file + " --layer 1 --tokens 8 --check --repetitions 1", 0,
         {"of its bound"});
  expect("$headroom verify --weights " + file + " --layer 1 --tokens 8 --backend naive", 0,
         {"0 failed"});
  expect("$headroom run --weights " + std::string(HEADROOM_TEST_DATA) +
             "/gguf/qwen3_packed.gguf --layer 1 --tokens 8 --check --repetitions 1",
         0, {"of its bound"});
  expect("$headroom run --weights " + file + " --layer 7", 2, {"--layer: '7' is not there"});
}

TEST_F(Run, TakesEveryBackendAndFormulation) {
  const json all = json_of(
      "$headroom run --weights models/gpt2 --input models/gpt2/x.npy --output y.npy --check "
      "--backend all --repetitions 2 --json");
  EXPECT_EQ(all["schema"], "headroom.run/2");
  EXPECT_EQ(all["weights"]["layout"], "gpt2");
  EXPECT_EQ(all["weights"]["layer"], "h.0.attn");
  EXPECT_EQ(all["shape"]["batch"], 2);
  ASSERT_EQ(all["rivals"].size(), 15U);
  for (const json& rival : all["rivals"]) {
    if (rival["status"] == "unsupported") continue;  // a build without this backend
    EXPECT_EQ(rival["status"], "ok") << rival;
    EXPECT_LT(rival["error"]["bound_ratio"], 1) << rival;
    EXPECT_EQ(rival["time_s"]["samples"].size(), 2U);
    EXPECT_EQ(rival["time_s"]["processes"], (std::vector<int>{0, 1}))
        << "a time comes from processes of its own";
    EXPECT_EQ(rival["control"]["gflops"].size(), 2U) << "with the control beside every sample";
    EXPECT_GT(rival["packed_bytes"], 0);
    EXPECT_EQ(rival["is_output"], rival == all["rivals"][0]) << "the first one's is written";
  }
}

TEST_F(Run, WithoutACheckNothingIsTimed) {
  const json found = json_of(
      "$headroom run --weights models/gpt2 --tokens 5 --backend naive,xsimd --formulation split "
      "--output y.npy --json");
  ASSERT_EQ(found["rivals"].size(), 2U);
  for (const json& rival : found["rivals"]) {
    EXPECT_EQ(rival["status"], "ok") << rival;
    EXPECT_FALSE(rival.contains("time_s")) << rival;
    EXPECT_FALSE(rival.contains("error")) << rival;
    EXPECT_GT(rival["packed_bytes"], 0);
    EXPECT_EQ(rival["is_output"], rival["backend"] == "naive");
  }
  const Outcome text = run("$headroom run --weights models/gpt2 --tokens 5 --backend naive");
  EXPECT_NE(text.output.find("packed, not checked"), std::string::npos) << text.output;
  EXPECT_EQ(text.output.find("GFLOP/s"), std::string::npos) << text.output;
  expect("$headroom run --weights models/gpt2 --tokens 5 --repetitions 3", 2,
         {"--repetitions: without --check nothing is timed"});
}

// Of the input that was given, not of a drawn one: its error of storing is another.
TEST_F(Run, WhatIsMeasuredIsTheInputThatWasGiven) {
  std::vector<float> input(72);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 2);
  write_npy("x.npy", {3, 24}, input);
  const std::string line =
      "$headroom run --weights models/gpt2 --backend xsimd --formulation split --dtype bf16 "
      "--check --repetitions 1 --json ";
  const json given = json_of(line + "--input x.npy");
  const json drawn = json_of(line + "--tokens 3");
  EXPECT_NE(given["rivals"][0]["storage_nrmse"], drawn["rivals"][0]["storage_nrmse"]);
}

TEST_F(Run, SaysThatTheInputIsRandom) {
  expect("$headroom run --weights models/gpt2 --tokens 5 --batch 2 --output y.npy", 0,
         {"input: random, seed 1", "B2_T5_D24_H3_bias"});
  EXPECT_EQ(weights::read_npy(path_ / "y.npy").dims, (std::vector<std::int64_t>{2, 5, 24}));
  expect("$headroom run --weights models/gpt2 --tokens 0 --check --output y.npy", 0,
         {"B1_T0_D24_H3_bias", "wrote y.npy"});
}

// Each with what is its own: norms, a gate, sinks and a window, a bias by position.
TEST_F(Run, TakesAConfigurationWithoutWeights) {
  const auto run_layer = [&](const std::string& family, int layer, const std::string& id) {
    write("config.json",
          read_all(fs::path(HEADROOM_TEST_DATA) / "models" / family / "config.json"));
    expect("$headroom run --config config.json --tokens 20 --check --repetitions 1 --layer " +
               std::to_string(layer),
           0, {"weights: random, seed 1", id, "5e-06"});
  };
  run_layer("qwen3", 0, "_norm");
  run_layer("qwen3_next", 1, "_gate");
  run_layer("gpt_oss", 0, "_W5_");
  run_layer("gpt_oss", 1, "_sinks");
  run_layer("bloom", 0, "_alibi");
  run_layer("deepseek_v3", 1, "_latent");
  expect("$headroom run --config config.json --layer query", 2, {"--layer"});
  write("config.json", R"({"model_type": "mamba", "num_attention_heads": 4})");
  expect("$headroom run --config config.json", 5, {"'mamba' is not a family that headroom knows"});
}

TEST_F(Run, TakesSequencesOfSeveralLengths) {
  write_npy("x.npy", {9, 24}, std::vector<float>(216, 0.5F));
  expect(
      "$headroom run --weights models/gpt2 --input x.npy --lengths 4,5 --check --repetitions 1 "
      "--output y.npy",
      0, {"L4-5", "wrote"});
  expect("$headroom run --weights models/gpt2 --input x.npy --lengths 4,4", 2,
         {"--lengths: they are 8 tokens together, and x.npy has 9"});
}

TEST_F(Run, ListShowsLayersAndTensors) {
  expect("$headroom run --weights models/gpt2 --list", 0,
         {"models/gpt2: safetensors, 10 tensors", "gpt2       h.1.attn",
          "the first one: 24 to 3 heads of 8 to 24, with biases, causal",
          "h.0.attn.c_attn.weight  F16   (24, 72)", "h.0.attn.bias           U8"});
  expect("$headroom run --weights models/llama --list", 0,
         {"safetensors, 2 files, 4 tensors", "6 heads of 4 with 2 key heads"});
  expect("$headroom run --weights models/bert --list", 0,
         {"a folder of .npy files", "--heads: no file says how many heads"});
  const json all = json_of("$headroom run --weights models/torch --list --json");
  EXPECT_EQ(all["layers"][0]["layout"], "torch");
  EXPECT_EQ(all["tensors"].size(), 4U);
  write("odd.safetensors", SafetensorsText().add("w", {1}, {1}).text());
  expect("$headroom run --weights odd.safetensors --list", 0,
         {"no attention layer is recognised; known are gpt2 (c_attn and c_proj of GPT-2"});
}

TEST_F(Run, WrongUsageIsRefusedWithTheWayOut) {
  const struct {
    const char* options;
    const char* part;
  } table[] = {
      {"", "run needs weights: --weights FILE"},
      {"--weights models/bert", "give --heads N"},
      {"--weights models/gpt2 --heads 4",
       "--heads: 4 was given, but models/gpt2/config.json says 3"},
      {"--weights models/gpt2 --heads 3,4", "--heads: '3,4' are 2 values"},
      {"--weights models/gpt2 --d-model 32",
       "--d-model: 32 was given, but the layer of --weights has 24"},
      {"--weights models/gpt2 --d-in 5", "--d-in: 5 was given"},
      {"--weights models/gpt2 --model gpt2", "--model: the sizes are those of --weights"},
      {"--weights models/gpt2 --layer 7", "the file has h.0.attn, h.1.attn"},
      {"--weights models/gpt2 --tensor query", "--tensor: 'query' is not PART=NAME"},
      {"--weights models/gpt2 --tensor qkv=a --tensor qkv=b", "'qkv' is named twice"},
      {"--weights models/gpt2 --stored rows", "--stored: unknown order 'rows'"},
      {"--weights models/gpt2 --causal --no-causal", "contradict each other"},
      {"--weights models/llama --qkv-bias",
       "--qkv-bias: the layer of --weights has no such biases"},
      {"--weights models/gpt2 --tokens 1,2", "these axes give 2"},
      {"--weights models/gpt2 --check --repetitions 10001", "the limit is 10000"},
      {"--weights models/gpt2 --input models/gpt2/x.npy --tokens 6", "models/gpt2/x.npy has 7"},
      {"--weights models/gpt2 --input models/gpt2/x.npy --past 6", "what came before is not in"},
  };
  for (const auto& row : table) expect(std::string("$headroom run ") + row.options, 2, {row.part});
  for (const char* option :
       {"--layer 1", "--tensor a=b", "--stored in-out", "--causal", "--strict"}) {
    expect(std::string("$headroom verify ") + option, 2, {"add --weights FILE"});
  }
}

TEST_F(Run, BadFilesAreNamed) {
  write("empty.safetensors", "");
  write("torn.safetensors", read_all(path_ / "models/gpt2/model.safetensors").substr(0, 5000));
  write("more.safetensors", read_all(path_ / "models/gpt2/model.safetensors") + "x");
  write("x.npy", "");
  write_npy("narrow.npy", {3, 23}, std::vector<float>(69));
  write_npy("vector.npy", {24}, std::vector<float>(24));
  expect("mkfifo fifo.safetensors fifo.npy", 0, {});
  const struct {
    const char* options;
    const char* part;
  } table[] = {
      {"--weights missing.safetensors", "missing.safetensors: No such file"},
      {"--weights fifo.safetensors", "it is a FIFO"},
      {"--weights empty.safetensors", "empty.safetensors: byte 0: the file ends here"},
      {"--weights torn.safetensors", "torn.safetensors: tensor '"},
      {"--weights more.safetensors", "1 bytes at the end belong to no tensor"},
      {"--weights models", "neither safetensors nor GGUF nor .npy files"},
      {"--weights models/gpt2/x.npy", "this is a .npy file"},
      {"--weights models/gpt2 --input missing.npy", "missing.npy: No such file"},
      {"--weights models/gpt2 --input fifo.npy", "it is a FIFO"},
      {"--weights models/gpt2 --input x.npy", "x.npy: byte 0"},
      {"--weights models/gpt2 --input models", "it is a directory"},
      {"--weights models/gpt2 --input narrow.npy", "the input is 23 wide, and the layer takes 24"},
      {"--weights models/gpt2 --input vector.npy", "the input has 1 dimensions"},
      {"--weights models/gpt2 --tensor qkv=nothing --heads 3", "there is no tensor 'nothing'"},
  };
  for (const auto& row : table) expect(std::string("$headroom run ") + row.options, 3, {row.part});
  expect(
      "chmod 0 empty.safetensors; [ \"$(id -u)\" = 0 ] && exit 3; $headroom run --weights "
      "empty.safetensors",
      3, {});
}

TEST_F(Run, ResourcesThatAreMissingAreNamedBeforeAnythingIsComputed) {
  expect("$headroom run --weights models/gpt2 --max-memory 10KiB", 4,
         {"needs about", "--max-memory"});
  expect("$headroom run --weights models/gpt2 --output missing/y.npy", 4,
         {"cannot write ", "missing/y.npy: No such file"});
  expect("mkdir folder && $headroom run --weights models/gpt2 --output folder", 4,
         {"it exists and is not a regular file"});
  expect("$headroom run --weights models/gpt2 --output /dev/full", 4, {"is not a regular file"});
}

// A gibibyte that takes no room on the disk, because nothing is written but the header.
TEST_F(Run, AnInputBeyondTheMemoryIsRefusedBeforeItIsRead) {
  constexpr std::int64_t kRows = (std::int64_t{1} << 30) / (24 * sizeof(float));
  const std::string header = weights::npy_header(std::vector<std::int64_t>{kRows, 24});
  write("x.npy", header);
  fs::resize_file(path_ / "x.npy", header.size() + kRows * 24 * sizeof(float));
  expect("$headroom run --weights models/gpt2 --input x.npy --max-memory 64MiB", 4,
         {"needs about", "only 64.0 MiB may be used; raise --max-memory"});
  rusage used{};
  ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &used), 0);
  EXPECT_LT(used.ru_maxrss, 512 << 10) << "KiB";
}

TEST_F(Run, ARefusedRunLeavesTheOutputAsItWas) {
  write("y.npy", "before");
  expect("$headroom run --weights models/gpt2 --output y.npy --heads 5", 2, {});
  EXPECT_EQ(read_all(path_ / "y.npy"), "before");
  for (const auto& entry : fs::directory_iterator(path_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

TEST_F(Run, NumbersThatAreNoneAreWarnedOfOrRefused) {
  SafetensorsText text;
  std::vector<float> values(16, 0.5F);
  for (const char* name : {"q", "k"}) text.add(name, {4, 4}, values);
  values[6] = std::numeric_limits<float>::quiet_NaN();
  text.add("v", {4, 4}, values);
  write("m.safetensors", text.text());
  const std::string run =
      "$headroom run --weights m.safetensors --tensor query=q --tensor key=k --tensor value=v "
      "--heads 2 --tokens 3 --check --repetitions 1 --output y.npy";
  expect(run, 0, {"warning: m.safetensors: tensor 'v': the value at (1, 2) is NaN"});
  expect(run + " --strict", 3, {"the value at (1, 2) is NaN; --strict refuses it"});
  std::vector<float> input(48, 1);
  input[30] = std::numeric_limits<float>::infinity();
  write_npy("x.npy", {2, 24}, input);
  const std::string odd = "$headroom run --weights models/gpt2 --input x.npy";
  expect(odd, 0, {"x.npy: 1 values are not finite, the first at (1, 6)"});
  expect(odd + " --strict", 3, {"--strict refuses it"});
}

TEST_F(Run, AWrongBackendIsCaught) {
  expect("$broken run --weights models/gpt2 --tokens 4 --backend naive --check", 1,
         {"failed: wrong result"});
}

TEST_F(Run, WhatTheModelDoesOtherwiseIsAnError) {
  write("models/gpt2/config.json",
        R"({"model_type": "gpt2", "n_head": 3, "scale_attn_by_inverse_layer_idx": true})");
  expect("$headroom run --weights models/gpt2", 5,
         {"scale_attn_by_inverse_layer_idx is true, which headroom does not compute"});
}

constexpr const char* kSweep =
    "$headroom sweep --weights models/gpt2 --backend naive --formulation split,fused --tokens 2,5 "
    "--repetitions 2 --processes 1 --min-time 0.001 --out results";

TEST_F(Run, SweepMeasuresTheFilesLayer) {
  expect(kSweep, 0, {"4 ok", "note: weights of models/gpt2, layer h.0.attn: layout gpt2"});
  const auto lines = results();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["shape"]["heads"], 3);
  EXPECT_EQ(lines[0]["shape"]["qkv_bias"], true);
  const json environment = json::parse(read_all(path_ / "results/environment.json"));
  EXPECT_EQ(environment["sweep"]["weights"]["file"], "models/gpt2");
  EXPECT_EQ(environment["sweep"]["weights"]["input"], "random");
  EXPECT_EQ(environment["sweep"]["identity"]["axes"]["weights"], "models/gpt2");
  expect(std::string(kSweep) + " --resume", 0, {"4 cells are already done"});
}

TEST_F(Run, OtherWeightsAreAnotherSweep) {
  expect(kSweep, 0, {});
  std::string text = read_all(path_ / "models/gpt2/model.safetensors");
  const std::size_t header_size =
      static_cast<unsigned char>(text[0]) + std::size_t{256} * static_cast<unsigned char>(text[1]);
  const json header = json::parse(text.substr(8, header_size));
  const auto first = header["h.0.attn.c_attn.weight"]["data_offsets"][0].get<std::size_t>();
  text[8 + header_size + first] ^= 1;
  write("models/gpt2/model.safetensors", text);
  expect(std::string(kSweep) + " --resume", 2, {"the fingerprint of the weights is '"});
  const std::string again = kSweep;
  expect(again.substr(0, again.find(" --out")) + " --out other", 0, {});
  expect("$headroom compare results other", 0, {"different fingerprint of the weights"});
}

TEST_F(Run, VerifyAndPickTakeTheFilesLayer) {
  expect("$headroom verify --weights models/llama --tokens 9 --past 0,20", 0, {" 0 failed"});
  expect(
      "$headroom pick --weights models/gpt2 --tokens 4 --backend naive --formulation split "
      "--budget 20s",
      0, {"headroom::naive", "B1_T4_D24_H3_bias"});
  expect("$headroom pick --weights models/gpt2 --d-in 7 --budget 1s", 2, {"--d-in: 7"});
}

}  // namespace
}  // namespace headroom::test::run_test
