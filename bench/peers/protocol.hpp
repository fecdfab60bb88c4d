// What bench/peers/measure.py asks of a process: one line of JSON, answered by one line of JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "json/json_fields.hpp"

namespace headroom::peers {

/// Answers by the request's field `do`.
using Answer = std::function<nlohmann::ordered_json(const JsonFields& request)>;
using Answers = std::map<std::string, Answer>;

/// Answers the lines of standard input until it ends or one says `end`. What an answer throws is
/// sent as `{"error": ...}`, and the next line is read.
void serve(const Answers& answers);

/// The texts of a list. @throws InvalidArgument if there is none or one of them is no text.
std::vector<std::string> texts(const JsonFields& request, const char* key);

/// The values of a file of 32-bit floats in the machine's order.
/// @throws std::runtime_error if it does not hold exactly that many.
std::vector<float> read_floats(const std::filesystem::path& path, std::int64_t count);

/// @throws std::runtime_error if the file cannot be written.
void write_floats(const std::filesystem::path& path, const std::vector<float>& values);

/// The file of an input within the folder of a problem.
std::filesystem::path input_file(const std::filesystem::path& folder, std::int64_t input);

}  // namespace headroom::peers
