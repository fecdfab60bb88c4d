#include "store/plain_words.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/environment_variable.hpp"
#include "core/nearest.hpp"

namespace headroom::store {
namespace {

constexpr std::size_t kLongestPlainName = 64;
constexpr std::string_view kPath = "[path]";
constexpr std::string_view kName = "[name]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_letter_or_digit(char c) { return is_digit(c) || is_letter(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

template <class Wanted>
bool all_of(std::string_view text, Wanted wanted) {
  return std::all_of(text.begin(), text.end(), wanted);
}

bool is_number(std::string_view text) { return !text.empty() && all_of(text, is_digit); }

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t count>
bool one_of(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Empty parts count, too.
std::vector<std::string_view> parted(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find_first_of(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// 10.1.2.3; a version has other numbers of parts.
bool is_address(const std::vector<std::string_view>& labels) {
  return labels.size() == 4 && std::all_of(labels.begin(), labels.end(), [](std::string_view one) {
           return is_number(one) && one.size() <= 3;
         });
}

// Of an Ethernet card, or of a host in the long form.
bool is_long_address(std::string_view word) {
  if (!all_of(word, [](char c) { return is_hex(c) || c == ':'; })) return false;
  return std::count(word.begin(), word.end(), ':') >= 4 || has(word, "::");
}

// Of a machine or a disk: 32 hexadecimal digits, with or without dashes.
bool is_machine_number(std::string_view word) {
  if (!all_of(word, [](char c) { return is_hex(c) || c == '-'; })) return false;
  return word.size() - static_cast<std::size_t>(std::count(word.begin(), word.end(), '-')) >= 32;
}

// Names that begin like Python's, which have the look of hosts.
constexpr std::array<std::string_view, 8> kModules{"torch", "nn",   "np",       "numpy",
                                                   "jax",   "onnx", "openvino", "glibc"};

// node1.cluster.example, model.safetensors; but not 2.13.0+cpu, sse4.2, v1.2.
bool is_dotted_name(std::string_view word) {
  const std::vector<std::string_view> labels = parted(word, ".");
  if (is_address(labels)) return true;
  if (labels.size() < 2 || labels.front().empty() || labels.back().empty()) return false;
  if (one_of(labels.front(), kModules) || word == "llama.cpp") return false;
  const bool numbered = std::all_of(labels.begin() + 1, labels.end(), [](std::string_view one) {
    return !one.empty() && is_digit(one.front());
  });
  const bool whole =
      std::none_of(labels.begin(), labels.end(), [](std::string_view one) { return one.empty(); });
  if (!whole || numbered) return false;
  const std::string_view last = labels.back();
  return is_letter(last.front()) && last.size() >= 2;
}

// node17, ip-10-0-0-7: what clusters and clouds call their hosts.
bool is_numbered_host(std::string_view word) {
  constexpr std::array<std::string_view, 14> kHosts{
      "node", "host",   "ip",     "compute", "login", "nid",     "cn",
      "srv",  "server", "worker", "laptop",  "vm",    "desktop", "macbook"};
  std::size_t end = word.find_first_of("0123456789-_");
  if (end == std::string_view::npos) return false;
  if (!one_of(lower_case(word.substr(0, end)), kHosts)) return false;
  return all_of(word.substr(end), [](char c) { return is_digit(c) || c == '-' || c == '_'; }) &&
         std::any_of(word.begin(), word.end(), is_digit);
}

bool is_host_or_file(std::string_view word) {
  return is_dotted_name(word) || is_numbered_host(word) || is_machine_number(word);
}

constexpr std::array<std::string_view, 9> kSystemFolders{
    "/sys/devices/system/", "/sys/class/powercap",    "/sys/class/hwmon",
    "/sys/class/thermal",   "/sys/bus/event_source",  "/sys/kernel/mm/",
    "/proc/cpuinfo",        "/proc/sys/kernel/perf_", "/proc/stat"};

// The same files on every machine.
bool is_system_file(std::string_view word) {
  return !has(word, "..") &&
         std::any_of(kSystemFolders.begin(), kSystemFolders.end(),
                     [&](std::string_view folder) { return word.starts_with(folder); });
}

// split/tbb/f32/t2/B1_T128_D768_H12
bool is_cell(const std::vector<std::string_view>& parts) {
  constexpr std::array<std::string_view, 4> kWays{"wrapper", "split", "fused", "attention"};
  return parts.size() == 5 && one_of(parts.front(), kWays) &&
         std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return is_plain_name(part); });
}

// Kernels of oneDNN and of ours: brg:avx512_core/softmax:jit:avx512_core.
bool is_kernel(std::string_view part) {
  constexpr std::array<std::string_view, 8> kBare{"softmax", "gemm",   "ref", "simple",
                                                  "matmul",  "brgemm", "any", "eltwise"};
  const std::vector<std::string_view> names = parted(part, ":");
  const bool plain = std::all_of(names.begin(), names.end(), [](std::string_view name) {
    return !name.empty() && all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_'; });
  });
  return plain && (names.size() > 1 || one_of(part, kBare));
}

// What may have a stroke: units, names of cells and of kernels. Everything else is taken for a
// path.
bool is_path(std::string_view word) {
  constexpr std::array<std::string_view, 9> kKnown{
      "scripts/peers", "and/or", "A/A", "GB/s", "GFLOP/s", "w/", "NEW/BASE", "tokens/s", "J/pass"};
  if (has(word, "\\") || word.starts_with("~")) return true;
  if (!has(word, "/") || one_of(word, kKnown) || is_system_file(word)) return false;
  if (word.starts_with("CACHE/")) return has(word, "..");
  const std::vector<std::string_view> parts = parted(word, "/");
  return !is_cell(parts) && !std::all_of(parts.begin(), parts.end(), is_kernel);
}

constexpr std::string_view kOpening = "'\"`(<[{";
constexpr std::string_view kClosing = "'\"`)>]},;:.!?";

// What a word becomes, without the signs around it.
std::string_view judged(std::string_view core) {
  if (is_path(core)) return kPath;
  const std::size_t at = core.find('@');
  const bool address = at != std::string_view::npos && at > 0 && at + 1 < core.size();
  if (address || is_long_address(core)) return kName;
  for (const std::string_view part : parted(core, "=:,;()[]{}'\"")) {
    if (is_host_or_file(part)) return kName;
  }
  return core;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestPlainName || !is_letter_or_digit(name.front()))
    return false;
  return all_of(name,
                [](char c) {
                  return is_letter_or_digit(c) || has("_+.-", {&c, 1});
                }) &&
         !is_host_or_file(name);
}

bool is_word(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  if (text == "headroom.environment/1") return true;
  if (text.size() > kLongest || is_dotted_name(text) || is_numbered_host(text)) return false;
  return all_of(text, [](char c) { return is_letter_or_digit(c) || has("_+.:-", {&c, 1}); });
}

PlainWords::PlainWords(const std::vector<std::string>& secrets) {
  constexpr std::array<std::string_view, 8> kEverybodys{"root",      "user",  "home",  "users",
                                                        "localhost", "admin", "build", "unknown"};
  for (const std::string& secret : secrets) {
    std::string word = lower_case(secret);
    if (word.size() >= 3 && !one_of(word, kEverybodys)) secrets_.push_back(std::move(word));
  }
}

// Where it stands for itself: "anna" stays in "susanna".
std::string PlainWords::secrets_out(std::string text) const {
  for (const std::string& secret : secrets_) {
    for (std::size_t at = 0;;) {
      at = lower_case(text).find(secret, at);
      if (at == std::string::npos) break;
      const std::size_t end = at + secret.size();
      const bool alone = (at == 0 || !is_letter_or_digit(text[at - 1])) &&
                         (end == text.size() || !is_letter_or_digit(text[end]));
      if (alone) text.replace(at, secret.size(), kName);
      at += alone ? kName.size() : 1;
    }
  }
  return text;
}

std::string PlainWords::operator()(std::string_view text) const {
  std::string left;
  bool after_path = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      left += text[at++];
      continue;
    }
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    const std::size_t begin = std::min(word.find_first_not_of(kOpening), word.size());
    std::string_view core = word.substr(begin);
    while (!core.empty() && has(kClosing, core.substr(core.size() - 1))) core.remove_suffix(1);
    std::string_view judgement = judged(core);
    // A folder's name may have blanks in it.
    if (after_path && has(core, "/")) judgement = kPath;
    after_path = judgement == kPath;
    if (after_path && begin > 0 && has("'\"`", word.substr(begin - 1, 1))) {
      const std::size_t close = text.find(word[begin - 1], at + begin);
      if (close != std::string_view::npos && close > end) {
        end = std::min(text.find(' ', close), text.size());
        word = text.substr(at, end - at);
        core = text.substr(at + begin, close - at - begin);
      }
    }
    left += word.substr(0, begin);
    left += judgement;
    left += word.substr(begin + core.size());
    at = end;
  }
  return secrets_out(std::move(left));
}

std::vector<std::string> names_of_here() {
  std::vector<std::string> names;
  for (const char* variable : {"USER", "LOGNAME", "HOSTNAME", "SLURMD_NODENAME"}) {
    names.push_back(environment(variable));
  }
  names.push_back(std::filesystem::path(environment("HOME")).filename().string());
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    names.emplace_back(host.data());
    names.push_back(names.back().substr(0, names.back().find('.')));
  }
  return names;
}

}  // namespace headroom::store
