// Texts of a record without what points to a person or a host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::store {

/// A name of a backend, a cache or a variable: up to 64 letters, digits, `_`, `+`, `.` and `-` that
/// begin with a letter or a digit and have neither the look of a host nor that of a file.
bool is_plain_name(std::string_view name);

/// A word of the program's own, such as a level, a time of a build or a revision: up to 80 letters,
/// digits, `_`, `+`, `.`, `:` and `-` without the look of a host or a file; or the name of a
/// schema.
bool is_word(std::string_view text);

/// Rewrites texts. Paths become `[path]`; names of hosts, addresses, files and secrets `[name]`.
class PlainWords {
 public:
  /// @param secrets words that never stay, such as the name of a user; those of fewer than three
  ///        letters and names that everybody has (`root`) are no secrets
  explicit PlainWords(const std::vector<std::string>& secrets = {});

  /// What is left of a text, word by word. Numbers, versions, names of kernels and of cells stay,
  /// and so do the system's own files of processors (`/sys/devices/system/...`).
  std::string operator()(std::string_view text) const;

  /// Whether the text may stay as it is.
  bool fit(std::string_view text) const { return (*this)(text) == text; }

 private:
  std::string secrets_out(std::string text) const;

  std::vector<std::string> secrets_;  ///< in small letters
};

/// The user, the home folder and the host of this process.
std::vector<std::string> names_of_here();

}  // namespace headroom::store
