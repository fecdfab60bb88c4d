// What the readers of JSON headers share: a handler for nlohmann's SAX parser, which keeps nothing,
// so that a file cannot make it allocate or recurse.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weights/byte_source.hpp"

namespace headroom::weights {

/// Every event fails until a reader overrides it.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// @param offset of the JSON in the file
  JsonEvents(const ByteSource& bytes, std::int64_t offset) : bytes_(bytes), offset_(offset) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  bool number_unsigned(std::uint64_t) override { return unexpected("a number"); }
  bool number_float(double, const std::string&) override {
    return unexpected("a number that is not whole, or too large");
  }
  bool string(std::string&) override { return unexpected("text"); }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("binary data"); }
  bool start_object(std::size_t) override { return unexpected("an object"); }
  bool key(std::string&) override { return unexpected("a key"); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return unexpected("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*error*/) override;

  /// Parses the text with this handler.
  /// @throws FileError where it is no JSON, and whatever the events throw.
  void parse(std::string_view text);

 protected:
  /// @param found such as `an object`. @throws FileError
  virtual bool unexpected(const char* found) = 0;
  const ByteSource& bytes() const { return bytes_; }

 private:
  const ByteSource& bytes_;
  std::int64_t offset_;
};

}  // namespace headroom::weights
