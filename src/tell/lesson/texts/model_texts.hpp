// What the lesson says at steps that models of today add to the textbook's layer.
#pragma once

#include "lesson/lesson.hpp"

namespace headroom::lesson::texts {

inline constexpr Text kSmallWeights{
    "Weights of the layer",
    "Matrices, and biases where the model has them, drawn and not trained. Key and value are "
    "narrower than the query where several query heads share one key head."};

inline constexpr Text kUnrollGrouped{
    "Unroll the last axis into heads",
    "No number moves. Columns 0 to head_dim - 1 are head 1, the next ones head 2. Key and value "
    "have fewer heads than the query: each serves a group of query heads. A model keeps key and "
    "value of every token that it has seen, so that cache shrinks by the size of a group, while "
    "each query head still looks for something of its own."};

inline constexpr Text kNormOfHeads{
    "Norm of each query and key head",
    "Each head's vector is divided by its root mean square, then multiplied by trained weights g, "
    "the same for every head. Long queries and keys would make scores so large that softmax gives "
    "all weight to one token, and training becomes unstable; after the norm only directions and g "
    "decide."};
inline constexpr Text kNormOfWidth{
    "Norm of query and key",
    "A token's query, all heads together, is divided by its root mean square, and so is its key; "
    "then each number is multiplied by a trained weight g. That keeps scores from growing so large "
    "that softmax gives all weight to one token and training becomes unstable."};

inline constexpr Text kTurnHalves{
    "Turn query and key to their positions",
    "A dot product does not know where tokens stand. So pairs of numbers of a head, one from its "
    "first half and one from its second, are turned like the hands of a clock, by an angle that is "
    "the token's position times a speed of the pair's own: the first pair is the fastest. A score "
    "then depends on how far apart two tokens are, and not on where they stand. Values stay as "
    "they "
    "are."};
inline constexpr Text kTurnNeighbours{
    "Turn query and key to their positions",
    "A dot product does not know where tokens stand. So pairs of neighbouring numbers of a head "
    "are "
    "turned like the hands of a clock, by an angle that is the token's position times a speed of "
    "the pair's own: the first pair is the fastest. A score then depends on how far apart two "
    "tokens are, and not on where they stand. Values stay as they are."};
inline constexpr Text kStretched{
    "Stretched positions",
    "The angles above are already divided by these numbers, one for each pair. A model that was "
    "trained on short texts would see angles in long ones that it has never seen. So slow pairs, "
    "which did not even turn once in training, are slowed down further, and fast ones, which tell "
    "neighbours apart, stay. The amplitude multiplies the turned numbers, which makes up for "
    "softmax being flatter over more tokens."};

inline constexpr Text kScale{
    "Scale",
    "Scores are divided by the square root of head_dim, the width of one head's key: sums of more "
    "products are larger, and softmax of large scores is nearly all on one token."};
inline constexpr Text kOwnScale{
    "Scale, by a number of the model's own",
    "Scores are usually divided by the square root of head_dim. This model has a number of its own "
    "instead, such as one that uses the model's width per head, which need not be head_dim."};
inline constexpr Text kStretchedScale{
    "Scale, with the stretch of positions",
    "Scores are divided by the square root of head_dim, the width of one head's key, and "
    "multiplied "
    "by a number above 1: stretched positions reach over more tokens, and softmax over more tokens "
    "is flatter."};
inline constexpr Text kCap{
    "Cap the scores",
    "Each score s becomes c tanh(s / c). Small scores hardly change, and none can leave -c to c. "
    "So "
    "no single pair of tokens can grow without a limit and drown all others, and unlike a hard cut "
    "a gradient is left at every score. Masks come afterwards: a cap would turn -inf into -c."};
inline constexpr Text kWindow{
    "Keep to the window",
    "A token sees itself and only a few tokens before it; scores of those further back become -inf "
    "too. Most of what matters is near, a key that has left the window need not be kept, and long "
    "texts cost as much per token as short ones. Other layers of the model see everything, and "
    "what "
    "they find is carried on."};

inline constexpr Text kSoftmax{"Softmax",
                               "The exponential of each score over the sum of its row. Tokens that "
                               "are not seen get 0, the others sum to 1."};
inline constexpr Text kSinks{
    "Softmax with a sink",
    "Each head has one more score, trained and the same for every token, that takes part in the "
    "sum "
    "and has no value. Softmax alone has to give a whole 1 away even if nothing is worth listening "
    "to, and models then dump it on the first tokens. The sink takes that share: a row's weights "
    "sum to less than 1, and the head may stay quiet."};

}  // namespace headroom::lesson::texts
