#include "weights/tensor_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/text/shown.hpp"
#include "weights/gguf/gguf.hpp"
#include "weights/npy.hpp"
#include "weights/safetensors.hpp"
#include "weights/safetensors_index.hpp"

namespace headroom::weights {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndexEnding = ".safetensors.index.json";

[[noreturn]] void fail(const fs::path& path, const std::string& found, const std::string& next) {
  throw FileError(fmt::format("cannot read {}: {}; {}", shown_path(path), found, next));
}

// The files of a folder that hold weights, each kind in the order of its names.
struct Contents {
  std::vector<fs::path> indices, files, ggufs, arrays;
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    if (name.ends_with(kIndexEnding)) contents.indices.push_back(path);
    if (name.ends_with(".safetensors")) contents.files.push_back(path);
    if (name.ends_with(".gguf")) contents.ggufs.push_back(path);
    if (name.ends_with(".npy")) contents.arrays.push_back(path);
    if (contents.arrays.size() > kMaxTensors) {
      fail(folder, fmt::format("it has more than {} arrays", kMaxTensors), "name a smaller folder");
    }
  }
  if (error) fail(folder, error.message(), "check the path and its permissions");
  for (auto* paths : {&contents.indices, &contents.files, &contents.ggufs, &contents.arrays}) {
    std::sort(paths->begin(), paths->end());
  }
  return contents;
}

const Tensor* find_in(const std::vector<Tensor>& tensors, std::string_view name) {
  const auto place =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const Tensor& tensor, std::string_view n) { return tensor.name < n; });
  return place != tensors.end() && place->name == name ? &*place : nullptr;
}

}  // namespace

TensorSet::TensorSet(const fs::path& path) : path_(path), folder_(path.parent_path()) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    folder_ = path;
    open_folder();
  } else if (path.extension() == ".json") {
    open_index(path);
  } else {
    add_file(path);
  }
}

TensorSet::TensorSet(std::shared_ptr<const ByteSource> file)
    : path_(file->path()), folder_(path_.parent_path()) {
  add(std::move(file));
}

void TensorSet::open_folder() {
  Contents contents = contents_of(path_);
  const auto whole = std::find(contents.files.begin(), contents.files.end(), path_ / kWhole);
  const std::size_t others = contents.files.size() + contents.indices.size() - 1;
  if (whole != contents.files.end() && others > 0) {
    add_file(*whole);
    note_ = fmt::format("{} is read, as transformers does, and no other file of {}", kWhole,
                        shown_path(path_));
  } else if (contents.indices.size() == 1) {
    open_index(contents.indices.front());
  } else if (contents.files.size() == 1 && contents.indices.empty()) {
    add_file(contents.files.front());
  } else if (!contents.files.empty() || !contents.indices.empty()) {
    fail(path_,
         fmt::format("it has {} safetensors files and {} indices", contents.files.size(),
                     contents.indices.size()),
         fmt::format("name one of them, such as {}",
                     shown_path((contents.indices.empty() ? contents.files : contents.indices)
                                    .front()
                                    .filename())));
  } else if (contents.ggufs.size() == 1) {
    add_file(contents.ggufs.front());
  } else if (!contents.ggufs.empty()) {
    fail(path_, fmt::format("it has {} GGUF files", contents.ggufs.size()),
         fmt::format("name one of them, such as {}", shown_path(contents.ggufs[0].filename())));
  } else if (!contents.arrays.empty()) {
    open_arrays(std::move(contents.arrays));
  } else {
    fail(path_, "it has neither safetensors nor GGUF nor .npy files", "name a folder with weights");
  }
}

void TensorSet::add_file(const fs::path& path) { add(std::make_shared<FileBytes>(path)); }

void TensorSet::add(std::shared_ptr<const ByteSource> file) {
  std::vector<Tensor> tensors = read_header(*file);
  for (const Tensor& tensor : tensors) names_.push_back(tensor.name);
  places_.assign(names_.size(), 0);
  const fs::path& path = file->path();
  files_.push_back({path, std::move(file), std::move(tensors)});
}

std::vector<Tensor> TensorSet::read_header(const ByteSource& bytes) {
  if (!is_gguf(bytes)) return read_safetensors_header(bytes);
  GgufHeader header = read_gguf_header(bytes);
  const auto parts = header.metadata.find("split.count");
  if (parts != header.metadata.end() && parts->is_number() && *parts > 1) {
    fail(bytes.path(), fmt::format("it is one of {} parts", parts->dump()),
         "put them together first: llama-gguf-split --merge");
  }
  metadata_ = std::make_shared<const nlohmann::json>(std::move(header.metadata));
  return std::move(header.tensors);
}

void TensorSet::open_index(const fs::path& path) {
  SafetensorsIndex index = read_safetensors_index(FileBytes(path));
  for (const std::string& name : index.files) files_.push_back({folder_ / name, nullptr, {}});
  for (SafetensorsIndex::Entry& entry : index.entries) {
    names_.push_back(std::move(entry.tensor));
    places_.push_back(entry.file);
  }
}

void TensorSet::open_arrays(std::vector<fs::path> paths) {
  for (fs::path& path : paths) {
    names_.push_back(path.stem().string());
    files_.push_back({std::move(path), nullptr, {}});
  }
  // In the order of the names: `a.npy` stands behind `a-b.npy` among the files.
  std::sort(names_.begin(), names_.end());
}

std::string TensorSet::kind() const {
  if (places_.empty() && !names_.empty()) return "a folder of .npy files";
  if (metadata_ != nullptr) return "gguf";
  return files_.size() == 1 ? "safetensors" : fmt::format("safetensors, {} files", files_.size());
}

bool TensorSet::has(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name, std::less<>());
}

StoredTensor TensorSet::open_array(const fs::path& path, std::string_view name) {
  const auto bytes = std::make_shared<FileBytes>(path);
  const NpyHeader header = read_npy_header(*bytes);
  Tensor tensor;
  tensor.name = name;
  tensor.type = header.type;
  tensor.dtype = to_string(header.type);
  tensor.dims = header.dims;
  tensor.fortran = header.fortran;
  tensor.offset = header.offset;
  tensor.bytes = bytes->size() - header.offset;
  return {std::move(tensor), bytes};
}

StoredTensor TensorSet::find(std::string_view name) {
  if (places_.empty()) return open_array(folder_ / (std::string(name) + ".npy"), name);
  const auto place = std::lower_bound(names_.begin(), names_.end(), name);
  File& file = files_[places_[static_cast<std::size_t>(place - names_.begin())]];
  if (file.bytes == nullptr) {
    const auto bytes = std::make_shared<FileBytes>(file.path);
    file.tensors = read_safetensors_header(*bytes);
    file.bytes = bytes;
  }
  const Tensor* tensor = find_in(file.tensors, name);
  if (tensor == nullptr) {
    fail(file.path,
         fmt::format("it has no tensor '{}', although the index says so", shown_name(name)),
         "get the index and its files again");
  }
  return {*tensor, file.bytes};
}

}  // namespace headroom::weights
