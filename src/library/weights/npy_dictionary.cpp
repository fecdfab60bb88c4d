#include "weights/npy_dictionary.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "weights/tensor.hpp"

namespace headroom::weights {
namespace {

constexpr std::string_view kSaveAgain =
    "write the array again with numpy.save(path, array.astype('float32'))";

class Parser {
 public:
  Parser(const ByteSource& bytes, std::string_view text, std::int64_t offset)
      : bytes_(bytes), text_(text), offset_(offset) {}

  NpyDictionary parse() {
    expect('{');
    while (!take('}')) {
      field();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ < text_.size()) fail("the header goes on after its dictionary");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      fail("the header lacks one of 'descr', 'fortran_order' and 'shape'");
    }
    return std::move(found_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    bytes_.fail(offset_ + static_cast<std::int64_t>(at_), what, kSaveAgain);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("the header has no '{}' here", wanted));
  }

  std::string_view quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') {
      fail("the header has no text in quotes here; an array of objects or of records is no matrix");
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the header's text in quotes does not end");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  void once(bool& seen, std::string_view key) {
    if (seen) fail(fmt::format("the header has '{}' twice", key));
    seen = true;
  }

  void field() {
    const std::string_view key = quoted();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      found_.descr = quoted();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      found_.fortran_order = truth();
    } else if (key == "shape") {
      once(has_shape_, key);
      shape();
    } else {
      fail("the header has a key other than 'descr', 'fortran_order' and 'shape'");
    }
  }

  bool truth() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    fail("the header has neither True nor False here");
  }

  void shape() {
    expect('(');
    while (!take(')')) {
      if (found_.shape.size() == kMostDims) {
        fail(fmt::format("the array has more than {} dimensions", kMostDims));
      }
      found_.shape.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::int64_t number() {
    skip_blanks();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) {
      fail("the header has no size from 0 to 2^63 - 1 here");
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  const ByteSource& bytes_;
  std::string_view text_;
  std::int64_t offset_;
  std::size_t at_ = 0;
  NpyDictionary found_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

NpyDictionary parse_npy_dictionary(const ByteSource& bytes, std::string_view text,
                                   std::int64_t offset) {
  return Parser(bytes, text, offset).parse();
}

}  // namespace headroom::weights
