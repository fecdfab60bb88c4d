// The tensors of a safetensors file, of several with an index, of a GGUF file, or of a folder of
// .npy files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "weights/tensor.hpp"

namespace headroom::weights {

class HEADROOM_API TensorSet {
 public:
  /// @param path a safetensors file, the index of several, a GGUF file, or a folder: with
  ///        `model.safetensors`, an index, one safetensors file, one GGUF file, or .npy files,
  ///        whose names without the ending are the tensors'
  /// @throws FileError if it is none of these, or the header of a file that was read is bad.
  explicit TensorSet(const std::filesystem::path& path);
  /// One file, or memory that stands for it.
  explicit TensorSet(std::shared_ptr<const ByteSource> file);

  const std::filesystem::path& path() const { return path_; }
  /// Where `config.json` would be.
  const std::filesystem::path& folder() const { return folder_; }
  /// What a GGUF file says beside its tensors, as `read_gguf_metadata` gives it; null for others.
  const nlohmann::json* metadata() const { return metadata_.get(); }
  /// Which file of several was taken; empty where there is no other.
  const std::string& note() const { return note_; }
  /// Such as `safetensors, 3 files`.
  std::string kind() const;
  /// Sorted.
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;

  /// Opens the tensor's file if that is not open yet.
  /// @pre there is such a tensor
  /// @throws FileError if its file is bad, or lacks what the index says.
  StoredTensor find(std::string_view name);

 private:
  struct File {
    std::filesystem::path path;
    std::shared_ptr<const ByteSource> bytes;  // empty until it is needed
    std::vector<Tensor> tensors;              // by name
  };

  void add_file(const std::filesystem::path& path);
  void add(std::shared_ptr<const ByteSource> file);
  std::vector<Tensor> read_header(const ByteSource& bytes);
  void open_folder();
  void open_index(const std::filesystem::path& path);
  void open_arrays(std::vector<std::filesystem::path> paths);
  static StoredTensor open_array(const std::filesystem::path& path, std::string_view name);

  std::filesystem::path path_, folder_;
  std::string note_;
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;  // of each name in `files_`; empty for a folder of arrays
  std::vector<File> files_;
  std::shared_ptr<const nlohmann::json> metadata_;
};

}  // namespace headroom::weights
