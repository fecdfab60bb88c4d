// A projection whose products share nothing but their input.
#pragma once

#include <utility>
#include <vector>

#include "backends/backend.hpp"

namespace headroom {

/// Those of several products together; who computes the first one names them all.
template <class Product>
OperationCosts costs_of(const std::vector<Product>& products) {
  OperationCosts sum = products.front().costs();
  for (std::size_t i = 1; i < products.size(); ++i) {
    const OperationCosts more = products[i].costs();
    sum.packed_bytes += more.packed_bytes;
    sum.workspace_bytes += more.workspace_bytes;
  }
  return sum;
}

/// Of floats. @tparam Product has `run(ConstMatrixView, const BlockedView&)` and `costs()`
template <class Product>
class OneByOne final : public Projection {
 public:
  explicit OneByOne(std::vector<Product> products) : products_(std::move(products)) {}

  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) override {
    for (std::size_t i = 0; i < products_.size(); ++i) products_[i].run(floats(x), y[i].floats());
  }
  OperationCosts costs() const override { return costs_of(products_); }

 private:
  std::vector<Product> products_;
};

/// @param make_product makes one from its specification
template <class MakeProduct>
std::unique_ptr<Projection> one_by_one(const ProjectionSpec& spec, MakeProduct&& make_product) {
  std::vector<decltype(make_product(spec.products.front()))> products;
  products.reserve(spec.products.size());
  for (const ProductSpec& product : spec.products) products.push_back(make_product(product));
  return std::make_unique<OneByOne<typename decltype(products)::value_type>>(std::move(products));
}

}  // namespace headroom
