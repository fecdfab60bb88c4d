#include "weights/tensor_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::weights {

void fail_tensor(const ByteSource& bytes, const Tensor& tensor, const std::string& found) {
  StoredTensor{tensor, {&bytes, [](const ByteSource*) {}}}.fail(found, kGetFile);
}

void sort_by_name(const ByteSource& bytes, std::vector<Tensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(),
                         [](const Tensor& a, const Tensor& b) { return a.name == b.name; });
  if (twice != tensors.end()) fail_tensor(bytes, *twice, "two tensors have this name");
}

void require_no_gaps(const ByteSource& bytes, const std::vector<Tensor>& tensors,
                     std::int64_t first, std::int64_t alignment) {
  std::vector<const Tensor*> order;
  order.reserve(tensors.size());
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  std::int64_t end = first;
  for (const Tensor* tensor : order) {
    if (tensor->offset < end) fail_tensor(bytes, *tensor, "it overlaps the tensor before it");
    if (tensor->offset - end >= alignment) {
      fail_tensor(bytes, *tensor,
                  fmt::format("{} bytes before it belong to no tensor", tensor->offset - end));
    }
    end = tensor->offset + tensor->bytes;
  }
  if (bytes.size() - end >= alignment) {
    bytes.fail(end, fmt::format("{} bytes at the end belong to no tensor", bytes.size() - end),
               kGetFile);
  }
}

}  // namespace headroom::weights
