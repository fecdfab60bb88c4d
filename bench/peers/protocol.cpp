#include "protocol.hpp"

#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/json_text.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;

ordered_json answer_to(const ordered_json& request, const Answers& answers) {
  const JsonFields fields(request, "");
  const auto found = answers.find(fields.text("do"));
  if (found == answers.end()) {
    std::string known = "end";
    for (const auto& [name, _] : answers) known += ", " + name;
    fields.fail("do", known);
  }
  return found->second(fields);
}

}  // namespace

void serve(const Answers& answers) {
  for (std::string line; std::getline(std::cin, line);) {
    ordered_json reply;
    try {
      const ordered_json request = ordered_json::parse(line);
      if (request.is_object() && request.value("do", ordered_json()) == "end") return;
      reply = answer_to(request, answers);
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << to_text(reply) << std::endl;
  }
}

std::vector<std::string> texts(const JsonFields& request, const char* key) {
  const ordered_json& list = request.at(key);
  if (!list.is_array()) request.fail(key, "a list of texts");
  std::vector<std::string> found;
  for (const ordered_json& text : list) {
    if (!text.is_string()) request.fail(key, "a list of texts");
    found.push_back(text.get<std::string>());
  }
  return found;
}

std::vector<float> read_floats(const std::filesystem::path& path, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const std::uintmax_t bytes = values.size() * sizeof(float);
  std::error_code error;
  const std::uintmax_t found = std::filesystem::file_size(path, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", shown_path(path), error.message()));
  if (found != bytes) {
    throw std::runtime_error(
        fmt::format("{} holds {} bytes; {} floats have {}", shown_path(path), found, count, bytes));
  }
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(bytes));
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", shown_path(path)));
  return values;
}

void write_floats(const std::filesystem::path& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written", shown_path(path)));
}

std::filesystem::path input_file(const std::filesystem::path& folder, std::int64_t input) {
  return folder / fmt::format("x{}.f32", input);
}

}  // namespace headroom::peers
