#include "weights/stored_layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/nearest.hpp"
#include "headroom/error.hpp"

namespace headroom::weights {
namespace {

constexpr std::size_t kMostCandidates = 12;

// Names for a message: the first of them.
std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMostCandidates) break;
    shown.push_back(shown_name(name));
  }
  const std::size_t more = names.size() - shown.size();
  return more == 0 ? fmt::format("{}", fmt::join(shown, ", "))
                   : fmt::format("{} and {} more", fmt::join(shown, ", "), more);
}

[[noreturn]] void fail_missing(const TensorSet& set, const std::string& name) {
  const std::string start = name.substr(0, name.rfind('.') + 1);
  std::vector<std::string> near;
  for (const std::string& other : set.names()) {
    if (other.starts_with(start.substr(0, start.find_last_of('.', start.size() - 2) + 1))) {
      near.push_back(other);
    }
  }
  throw FileError(fmt::format(
      "{}: there is no tensor '{}', which the layer needs; candidates: {}; name it with --tensor",
      set.path().string(), shown_name(name), some_of(near.empty() ? set.names() : near)));
}

StoredTensor find_values(TensorSet& set, const std::string& name, std::size_t dims) {
  if (!set.has(name)) fail_missing(set, name);
  StoredTensor tensor = set.find(name);
  if (!tensor.tensor.type) {
    tensor.fail(
        fmt::format("its values are {}; allowed are F32, F16, BF16 and F64", tensor.tensor.dtype),
        "name another tensor, or convert it");
  }
  if (tensor.tensor.dims.size() != dims || count_of(tensor.tensor.dims) == 0) {
    tensor.fail(fmt::format("its shape is {}", shown_dims(tensor.tensor.dims)),
                dims == 2 ? "a matrix is expected" : "a bias, a list of numbers, is expected");
  }
  return tensor;
}

StoredMatrix find_matrix(TensorSet& set, const std::string& name, Stored stored) {
  StoredMatrix matrix{find_values(set, name, 2), stored, 0, 0, {}};
  const std::vector<std::int64_t>& dims = matrix.tensor.tensor.dims;
  const bool rows_are_outputs = stored == Stored::out_in;
  matrix.outputs = dims[rows_are_outputs ? 0 : 1];
  matrix.inputs = dims[rows_are_outputs ? 1 : 0];
  return matrix;
}

[[noreturn]] void fail_shape(const StoredMatrix& matrix, const std::string& allowed) {
  matrix.tensor.fail(
      fmt::format("its shape {} means {} inputs and {} outputs; {}",
                  shown_dims(matrix.tensor.tensor.dims), matrix.inputs, matrix.outputs, allowed),
      "if it is stored the other way, give --stored");
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

// What the tensors are called, and the layout by which that is known, if it is.
struct Naming {
  std::optional<FoundLayer> found;
  LayerNames names;
  Stored stored = Stored::out_in;
};

Naming named(const WeightsOptions& options) {
  Naming naming;
  LayerNames& names = naming.names;
  const std::map<std::string, std::string*> roles{
      {"query", &names.query},       {"key", &names.key},
      {"value", &names.value},       {"qkv", &names.qkv},
      {"output", &names.output},     {"query_bias", &names.query_bias},
      {"key_bias", &names.key_bias}, {"value_bias", &names.value_bias},
      {"qkv_bias", &names.qkv_bias}, {"output_bias", &names.output_bias}};
  for (const auto& [role, name] : options.tensors) {
    const auto place = roles.find(role);
    if (place == roles.end()) {
      std::vector<std::string> known;
      for (const auto& [each, _] : roles) known.push_back(each);
      throw InvalidArgument(
          fmt::format("--tensor: unknown part '{}'; {}", role, suggest(role, known)));
    }
    *place->second = name;
  }
  const bool separate = !names.query.empty() && !names.key.empty() && !names.value.empty();
  const bool any = !names.query.empty() || !names.key.empty() || !names.value.empty();
  if (names.qkv.empty() ? !separate : any) {
    throw InvalidArgument(
        "--tensor: name either query, key and value, or qkv; and output, where there is one");
  }
  if (names.output.empty() && !names.output_bias.empty()) {
    throw InvalidArgument("--tensor: output_bias needs output; name both");
  }
  naming.stored = options.stored.value_or(Stored::out_in);
  return naming;
}

void add_biases(const TensorSet& set, const Layout& layout, LayerNames& names) {
  for (const auto& [matrix, bias] :
       {std::pair(&names.query, &names.query_bias), std::pair(&names.key, &names.key_bias),
        std::pair(&names.value, &names.value_bias), std::pair(&names.qkv, &names.qkv_bias),
        std::pair(&names.output, &names.output_bias)}) {
    if (matrix->empty()) continue;
    const std::string name = bias_of(*matrix);
    if (layout.biases == Biases::required || set.has(name)) *bias = name;
  }
}

Naming recognised(const TensorSet& set, const WeightsOptions& options) {
  const std::vector<FoundLayer> layers = find_layers(set.names());
  if (layers.empty()) {
    throw FileError(fmt::format(
        "{}: no tensor has a name of a known layout; the names begin with {}; name the layer's "
        "tensors with --tensor",
        set.path().string(), some_of(set.names())));
  }
  Naming naming;
  naming.found = choose_layer(layers, options.layer);
  const FoundLayer& layer = *naming.found;
  if (!layer.missing.empty()) fail_missing(set, layer.missing.front());
  const std::vector<std::string> foreign = foreign_tensors(layer, set.names());
  if (!foreign.empty()) {
    throw Unsupported(
        fmt::format("{}: the layer has {}, which headroom does not compute; to run it "
                    "without, name its tensors with --tensor",
                    set.path().string(), some_of(foreign)));
  }
  const Layout& layout = *layer.layout;
  const auto full = [&](std::string_view word) {
    return word.empty() ? std::string() : layer.prefix + std::string(word);
  };
  naming.names = {full(layout.query),
                  full(layout.key),
                  full(layout.value),
                  full(layout.qkv),
                  full(layout.output),
                  {},
                  {},
                  {},
                  {},
                  {}};
  add_biases(set, layout, naming.names);
  naming.stored = options.stored.value_or(layout.stored);
  return naming;
}

// Puts the stored matrices and biases together, once the shape is known.
class Assembly {
 public:
  Assembly(TensorSet& set, const Naming& naming) : set_(set), names_(naming.names) {
    for (const std::string* name : {&names_.query, &names_.key, &names_.value, &names_.qkv}) {
      if (!name->empty()) inputs_.push_back(find_matrix(set, *name, naming.stored));
    }
    if (!names_.output.empty()) output_ = find_matrix(set, names_.output, naming.stored);
    check();
  }

  Widths widths() const {
    Widths widths;
    widths.d_in = inputs_.front().inputs;
    for (const StoredMatrix& matrix : inputs_) widths.qkv_width += matrix.outputs;
    widths.heads_width = fused() ? (output_ ? output_->inputs : 0) : inputs_.front().outputs;
    widths.d_proj = output_ ? output_->outputs : 0;
    return widths;
  }

  void finish(StoredLayer& layer) {
    Shape& shape = layer.shape;
    const MatrixPart query{&SplitWeights::query, 0, shape.d_out};
    const MatrixPart key{&SplitWeights::key, fused() ? shape.d_out : 0, shape.kv_width()};
    const MatrixPart value{&SplitWeights::value, fused() ? shape.d_out + shape.kv_width() : 0,
                           shape.kv_width()};
    if (fused()) {
      inputs_[0].parts = {query, key, value};
    } else {
      inputs_[0].parts = {query};
      inputs_[1].parts = {key};
      inputs_[2].parts = {value};
    }
    if (output_) output_->parts = {{&SplitWeights::output, 0, shape.d_proj}};
    layer.matrices = std::move(inputs_);
    if (output_) layer.matrices.push_back(std::move(*output_));
    add_biases(layer);
  }

 private:
  bool fused() const { return inputs_.size() == 1; }

  void check() const {
    const StoredMatrix& first = inputs_.front();
    for (const StoredMatrix& matrix : inputs_) {
      if (matrix.inputs != first.inputs) {
        fail_shape(matrix, fmt::format("'{}' has {} inputs", shown_name(first.tensor.tensor.name),
                                       first.inputs));
      }
    }
    if (!fused() && inputs_[1].outputs != inputs_[2].outputs) {
      fail_shape(inputs_[2], fmt::format("the key has {} outputs", inputs_[1].outputs));
    }
    if (output_ && !fused() && output_->inputs != first.outputs) {
      fail_shape(*output_, fmt::format("the query has {} outputs", first.outputs));
    }
    if (fused() && output_ && first.outputs <= output_->inputs) {
      fail_shape(first, fmt::format("the output projection has {} inputs, which are to be the "
                                    "query's outputs alone",
                                    output_->inputs));
    }
  }

  void add_bias(StoredLayer& layer, const std::string& name, std::vector<BiasPart> parts) {
    if (name.empty()) return;
    StoredBias bias{find_values(set_, name, 1), std::move(parts)};
    const std::int64_t wanted = bias.parts.back().first + bias.parts.back().count;
    if (bias.tensor.tensor.dims[0] != wanted) {
      bias.tensor.fail(fmt::format("it has {} values", bias.tensor.tensor.dims[0]),
                       fmt::format("its matrix needs {}", wanted));
    }
    layer.biases.push_back(std::move(bias));
  }

  void add_biases(StoredLayer& layer) {
    Shape& shape = layer.shape;
    const std::int64_t d_out = shape.d_out, kv_width = shape.kv_width();
    add_bias(layer, names_.query_bias, {{&SplitWeights::query_bias, 0, d_out}});
    add_bias(layer, names_.key_bias, {{&SplitWeights::key_bias, 0, kv_width}});
    add_bias(layer, names_.value_bias, {{&SplitWeights::value_bias, 0, kv_width}});
    add_bias(layer, names_.qkv_bias,
             {{&SplitWeights::query_bias, 0, d_out},
              {&SplitWeights::key_bias, d_out, kv_width},
              {&SplitWeights::value_bias, d_out + kv_width, kv_width}});
    shape.qkv_bias = !layer.biases.empty();
    add_bias(layer, names_.output_bias, {{&SplitWeights::output_bias, 0, shape.d_proj}});
  }

  TensorSet& set_;
  const LayerNames& names_;
  std::vector<StoredMatrix> inputs_;  // query, key and value, or all of them in one
  std::optional<StoredMatrix> output_;
};

std::string layer_list(const std::vector<FoundLayer>& layers) {
  std::vector<std::string> names;
  for (const FoundLayer& layer : layers) names.push_back(layer.name());
  return some_of(names);
}

void note_or_refuse(const std::optional<ModelConfig>& config, bool recognised,
                    std::vector<std::string>& notes) {
  if (!config || config->foreign.empty()) return;
  const std::string what =
      fmt::format("{}: {}", config->path.string(), fmt::join(config->foreign, ", "));
  if (recognised) {
    throw Unsupported(what +
                      ", which headroom does not compute; to run the layer without, name "
                      "its tensors with --tensor");
  }
  notes.push_back(what + ", which is left out");
}

}  // namespace

const FoundLayer& choose_layer(const std::vector<FoundLayer>& layers, const std::string& wanted) {
  for (const FoundLayer& layer : layers) {
    if (!wanted.empty() && layer.name() == wanted) return layer;
  }
  std::optional<std::int64_t> number = layers.front().number;
  for (const FoundLayer& layer : layers) {
    if (layer.number && (!number || *layer.number < *number)) number = layer.number;
  }
  if (!wanted.empty()) number = number_of(wanted);
  std::vector<const FoundLayer*> matches;
  for (const FoundLayer& layer : layers) {
    if (layer.number == number) matches.push_back(&layer);
  }
  // A layer alone in its file need not have a number.
  const bool alone = layers.size() == 1 && !layers.front().number;
  if (alone && (wanted.empty() || wanted == "0")) return layers.front();
  if (matches.size() == 1) return *matches.front();
  throw InvalidArgument(fmt::format(
      "--layer: {} {}; the file has {}; give one of their numbers or names",
      wanted.empty() ? fmt::format("{}", number.value_or(0)) : "'" + shown_name(wanted) + "'",
      matches.empty() ? "is not there" : "fits more than one layer", layer_list(layers)));
}

StoredLayer find_stored_layer(TensorSet& set, const WeightsOptions& options) {
  const Naming naming = options.tensors.empty() ? recognised(set, options) : named(options);
  if (!options.tensors.empty() && !options.layer.empty()) {
    throw InvalidArgument("--layer: the tensors are named with --tensor; leave one of them out");
  }
  const FoundLayer* found = naming.found ? &*naming.found : nullptr;
  const auto number = found != nullptr ? found->number : std::nullopt;
  const std::optional<ModelConfig> config = read_config(set.folder(), number);
  StoredLayer layer;
  layer.layout = found != nullptr ? std::string(found->layout->name) : kNamedLayout;
  layer.layer = found != nullptr ? found->name() : "";
  note_or_refuse(config, found != nullptr, layer.notes);
  Assembly assembly(set, naming);
  layer.shape = shape_of_layer(assembly.widths(), options, config, found, layer.notes);
  assembly.finish(layer);
  return layer;
}

}  // namespace headroom::weights
