// A projection whose products share nothing but their input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "backends/backend.hpp"

namespace headroom {

/// Where a product writes: all that a product of the specification fills, or one block of it.
struct Destination {
  std::size_t product = 0;
  std::int64_t block = -1;  ///< -1: all

  AnyBlockedView in(std::span<const AnyBlockedView> y) const {
    return block < 0 ? y[product] : y[product].slice(block);
  }
};

/// A product that is issued by itself: one of a specification, or one head's matrix of it.
struct SingleProduct {
  ProductSpec spec;
  Destination to;
};

/// In the order in which they are issued: head by head, like the textbook's list of heads, so
/// that a head's query, key and value follow each other. Products of whole matrices come last.
inline std::vector<SingleProduct> single_products(const ProjectionSpec& spec) {
  std::size_t groups = 0;  // of heads that share a key
  for (const ProductSpec& product : spec.products) {
    if (!product.per_head) continue;
    const std::size_t heads = product.weights.size();
    groups = groups == 0 ? heads : std::min(groups, heads);
  }
  std::vector<SingleProduct> singles;
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t of = 0; of < spec.products.size(); ++of) {
      const ProductSpec& product = spec.products[of];
      if (!product.per_head) continue;
      const std::size_t heads = product.weights.size();
      for (std::size_t h = group * heads / groups; h < (group + 1) * heads / groups; ++h) {
        ProductSpec own{{product.weights[h]}, {}, product.block_cols};
        if (!product.biases.empty()) own.biases = {product.biases[h]};
        singles.push_back({std::move(own), {of, static_cast<std::int64_t>(h)}});
      }
    }
  }
  for (std::size_t of = 0; of < spec.products.size(); ++of) {
    if (!spec.products[of].per_head) singles.push_back({spec.products[of], {of}});
  }
  return singles;
}

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
  void add(Product product, const Destination& to) {
    products_.push_back(std::move(product));
    to_.push_back(to);
  }

  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) override {
    for (std::size_t i = 0; i < products_.size(); ++i) {
      products_[i].run(floats(x), to_[i].in(y).floats());
    }
  }
  OperationCosts costs() const override { return costs_of(products_); }

 private:
  std::vector<Product> products_;
  std::vector<Destination> to_;
};

/// @param make_product makes one from its specification
template <class MakeProduct>
std::unique_ptr<Projection> one_by_one(const ProjectionSpec& spec, MakeProduct&& make_product) {
  auto all = std::make_unique<OneByOne<decltype(make_product(spec.products.front()))>>();
  for (const SingleProduct& single : single_products(spec)) {
    all->add(make_product(single.spec), single.to);
  }
  return all;
}

}  // namespace headroom
