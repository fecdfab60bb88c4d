// The names of planted faults, and where each can show.
#include <algorithm>
#include <array>
#include <utility>

#include "support/planted.hpp"

namespace headroom::test {
namespace {

constexpr std::array<std::pair<Fault, std::string_view>, 21> kNames{{
    {Fault::none, "none"},
    {Fault::all_zeros, "all zeros"},
    {Fault::one_nan, "one NaN"},
    {Fault::one_negative_value_doubled, "one negative value doubled"},
    {Fault::one_bad_element, "one bad element"},
    {Fault::swapped_heads, "swapped heads"},
    {Fault::scale_by_head_dim, "scale by head_dim"},
    {Fault::scale_five_percent_up, "scale 5 % up"},
    {Fault::mask_off_by_one, "mask off by one"},
    {Fault::dropout_not_rescaled, "dropout not rescaled"},
    {Fault::query_bias_left_out, "query bias left out"},
    {Fault::value_bias_left_out, "value bias left out"},
    {Fault::output_bias_left_out, "output bias left out"},
    {Fault::value_of_another_token, "value of another token"},
    {Fault::window_one_key_more, "window one key more"},
    {Fault::window_one_key_fewer, "window one key fewer"},
    {Fault::key_head_of_another_group, "another group's key head"},
    {Fault::rotary_other_pairs, "rotary: the other pairs"},
    {Fault::rotary_from_the_call, "rotary: past not counted"},
    {Fault::past_off_by_one, "past off by one"},
    {Fault::sequences_leak, "sequences leak"},
}};

// The faults of what a call may bring.
bool shows_in_call(const Case& shape, Fault fault) {
  const bool has_rotary = shape.rotary.pairs != Rotary::Pairs::none;
  switch (fault) {
    case Fault::window_one_key_more:
      return shape.window > 0 && shape.window < shape.context();
    case Fault::window_one_key_fewer:
      return shape.window > 1 && shape.window <= shape.context();
    case Fault::key_head_of_another_group:
      return shape.key_heads() > 1 && shape.key_heads() < shape.heads;
    case Fault::rotary_other_pairs:
      return has_rotary && shape.head_dim() > 2 && shape.context() > 1;
    case Fault::rotary_from_the_call:
      return has_rotary && shape.past > 0;
    case Fault::past_off_by_one:
      return shape.causal && shape.past > 0 && shape.window != 1;
    case Fault::sequences_leak:
      return shape.batch > 1;
    default:
      return true;
  }
}

}  // namespace

std::string_view to_string(Fault fault) {
  for (const auto& [named, name] : kNames) {
    if (named == fault) return name;
  }
  return "unknown";
}

std::vector<Fault> faults_of(const Case& shape) {
  const std::int64_t most_keys =
      shape.window > 0 ? std::min(shape.window, shape.context()) : shape.context();
  std::vector<Fault> faults;
  for (const auto& [fault, name] : kNames) {
    const bool shows = [&, each = fault] {
      switch (each) {
        case Fault::none:
          return false;
        case Fault::swapped_heads:
          return shape.heads > 1;
        case Fault::scale_by_head_dim:
          return shape.head_dim() > 1 && most_keys > 1;
        case Fault::scale_five_percent_up:
          return most_keys > 1;
        case Fault::mask_off_by_one:
          return shape.causal ? shape.tokens > 1 : most_keys > 1;
        case Fault::value_of_another_token:
          return shape.context() > 1;
        case Fault::dropout_not_rescaled:
          return shape.dropout > 0;
        case Fault::query_bias_left_out:
          return shape.qkv_bias && most_keys > 1;
        case Fault::value_bias_left_out:
          return shape.qkv_bias;
        case Fault::output_bias_left_out:
          return shape.d_proj > 0;
        default:
          return shows_in_call(shape, each);
      }
    }();
    if (shows) faults.push_back(fault);
  }
  return faults;
}

}  // namespace headroom::test
