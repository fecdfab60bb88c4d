// weights <backend>: a layer whose weights come from a file that this program has written.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <headroom/headroom.hpp>
#include <string>
#include <vector>

namespace {

// One head of width 1: the query is 0, so that a row is the mean of the values up to it.
std::string safetensors() {
  std::string header = "{";
  std::vector<float> data;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    const std::size_t begin = data.size() * sizeof(float);
    data.push_back(name[0] == 'q' ? 0.0F : 2.0F);
    header += (begin == 0 ? "\"" : ",\"") + std::string("layers.0.attn.") + name +
              ".weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[" +
              std::to_string(begin) + "," + std::to_string(begin + sizeof(float)) + "]}";
  }
  header += "}";
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xffU);
  return text + header +
         std::string(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
}

bool is_refused(const char* path) {
  try {
    headroom::load_weights(path);
  } catch (const headroom::FileError& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 1;
  std::ofstream("model.safetensors", std::ios::binary) << safetensors();
  headroom::WeightsOptions options;
  options.heads = 1;
  const headroom::LayerWeights loaded = headroom::load_weights("model.safetensors", options);
  headroom::Attention layer =
      headroom::make_attention(arguments[1], loaded.config, {.tokens = 3}, loaded.weights);
  const std::vector<float> x{1, 3, 8};
  std::vector<float> y(3);
  layer.forward({x.data(), 3, 1, 1}, {y.data(), 3, 1, 1});
  std::printf("%s: %g %g %g\n", loaded.layout.c_str(), y[0], y[1], y[2]);
  const bool good = y == std::vector<float>{4, 8, 16};
  std::ofstream("empty.safetensors").close();
  return good && is_refused("missing.safetensors") && is_refused("empty.safetensors") ? 0 : 1;
}
