// What the lesson says at the steps of every layer. Short, plain, in our own words.
#pragma once

#include "lesson/lesson.hpp"

namespace headroom::lesson::texts {

inline constexpr Text kInput{
    "Input",
    "One row of numbers per token, its embedding. Tokens that mean similar things should lie near "
    "each other."};

inline constexpr Text kWeights{
    "Weights of query, key and value",
    "Three trainable matrices of d_in x d_out, not trained here but drawn, so that everybody gets "
    "the same numbers. A product is x W; nn.Linear stores the transpose of W."};

inline constexpr Text kTrainedWeights{
    "Weights of query, key and value",
    "Three matrices as training left them, read from a file, one row per input. A product is x W; "
    "nn.Linear stores the transpose of W."};

inline constexpr Text kProject{"Project every token",
                               "Each token gets a query (what it looks for), a key (what it offers "
                               "to be found by) and a value "
                               "(what it hands over): x W_query, x W_key and x W_value."};

inline constexpr Text kScores{"Scores",
                              "Row i, column j: the dot product of query i with key j, all at once "
                              "as query key^T. The larger, "
                              "the more token i will listen to token j."};

inline constexpr Text kScaledSoftmax{
    "Scale, then softmax",
    "Scores grow with the width of a key, and softmax of large scores is nearly all on one token, "
    "where gradients vanish. So scores are divided by the square root of the key's width. Softmax "
    "makes each row positive with the sum 1."};

inline constexpr Text kContext{"Context",
                               "Each token's new vector is the sum of all values, weighted with "
                               "its row of attention weights."};

inline constexpr Text kUnroll{
    "Unroll the last axis into heads",
    "No number moves. Columns 0 to head_dim - 1 are read as those of head 1, the next ones as "
    "those "
    "of head 2. That is the weight split: one wide product, whose columns belong to the heads."};

inline constexpr Text kGroup{"Group by heads",
                             "Axes T and H change places, so that each head has its tokens "
                             "together and works like a layer of "
                             "its own."};

inline constexpr Text kHeadScores{
    "Scores of every head",
    "query key^T in each head by itself: (T, head_dim) times (head_dim, T) gives (T, T). Heads do "
    "not see each other."};

inline constexpr Text kMask{"Mask the future",
                            "Above the diagonal lie tokens that come later. Their scores become "
                            "-inf, and exp(-inf) is 0, so "
                            "softmax gives them no weight and the others still sum to 1."};

inline constexpr Text kHeadSoftmax{
    "Scale, then softmax",
    "Divided by the square root of head_dim, the width of one head's key, not of the whole layer."};

inline constexpr Text kHeadContext{"Context of every head",
                                   "Attention weights times values, in each head by itself."};

inline constexpr Text kRegroup{"Regroup by tokens",
                               "T and H change places again, so that a token's heads lie side by "
                               "side. Now numbers really move."};

inline constexpr Text kFlatten{
    "Flatten the heads",
    "H and head_dim become one axis of d_out. A token's row is its head 1, then its head 2, and so "
    "on."};

inline constexpr Text kFlattenValues{
    "Flatten the heads",
    "H and value_dim become one axis. A token's row is its head 1, then its head 2, and so on."};

inline constexpr Text kOutput{"Output projection",
                              "One more product mixes what the heads found: context W_out + b_out. "
                              "Up to here no head knew of "
                              "another."};

inline constexpr Text kSideBySide{
    "Wrapper and split side by side",
    "Both do the same multiply-adds and give the same rows. The wrapper does them as narrow "
    "products, three for each head; the split as three wide ones, however many heads there are. "
    "With one head there is no difference. What many narrow products cost depends on the backend. "
    "One that computes each by itself pays for every call, has few columns to work on at a time, "
    "and reads x again for every head. One that packs the matrices of all heads over one input "
    "together multiplies them as if they were one wide matrix."};

inline constexpr Text kAnswer{"What the library computes",
                              "The values above are the oracle's, in double precision. This is the "
                              "same layer on the library's "
                              "own backends in float, each checked against the oracle. The bound "
                              "is what rounding in float can "
                              "explain for that element."};

}  // namespace headroom::lesson::texts
