#include "lesson/lesson.hpp"

#include <utility>

namespace headroom::lesson {

Step make_step(const Text& text, std::vector<Value> values) {
  return {std::string(text.title), std::string(text.body), std::move(values)};
}

}  // namespace headroom::lesson
