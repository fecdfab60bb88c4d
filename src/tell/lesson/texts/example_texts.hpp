// What the lesson says at steps that only some examples have.
#pragma once

#include "lesson/lesson.hpp"

namespace headroom::lesson::texts {

// ---- Attention without weights ----------------------------------------------------------------

inline constexpr Text kOneByOne{
    "Scores of one query, one dot product at a time",
    "One token asks: it is the query. Each row below is its product with one token, number by "
    "number; the row's sum is that token's score. Vectors that point the same way score high."};
inline constexpr Text kAllScores{
    "All scores as one product",
    "Each token takes its turn as the query. The same dot products, all of them, are x x^T."};
inline constexpr Text kSumNormalised{
    "Normalise by the sum",
    "The simplest way to weights that sum to 1 is to divide by the sum. It fails as soon as a "
    "score "
    "is negative: weights leave the range 0 to 1, and the sum may be 0."};
inline constexpr Text kNaiveSoftmax{
    "Softmax as it is written",
    "exp(s) over the sum of all exp(s) is positive for any score. But exp overflows a float above "
    "88, and inf / inf is NaN. Below are the same scores a hundred times as large."};
inline constexpr Text kStableSoftmax{
    "Softmax that does not overflow",
    "Subtracting the largest score first changes nothing, because the factor cancels, and the "
    "largest exponential is exp(0) = 1. The weights of every query follow; the query's row is the "
    "one "
    "from above."};
inline constexpr Text kOneContext{
    "Context of one query",
    "Each token times its weight; the sum of these rows is the query's new vector."};
inline constexpr Text kAllContexts{"Context of every query",
                                   "The same for all tokens as one product: weights x."};

// ---- Self-attention ---------------------------------------------------------------------------

inline constexpr Text kUniformWeights{"Weights drawn by torch.rand",
                                      "The first way: each number uniform from 0 to 1, in the "
                                      "order query, key, value. All weights are "
                                      "positive, which training would have to undo."};
inline constexpr Text kLinearWeights{
    "Weights drawn by nn.Linear",
    "The second way: uniform in +-1/sqrt(d_in), around zero and smaller the wider the input, which "
    "trains better. nn.Linear stores W transposed; here it is d_in x d_out. All that follows is as "
    "before."};
inline constexpr Text kOneQuery{
    "Scores of one query",
    "One token's query with each key. Queries and keys are now different views of a token, so a "
    "token need not score highest with itself."};

// ---- Causal masking and dropout ---------------------------------------------------------------

inline constexpr Text kUnmasked{
    "Attention weights without a mask",
    "Every token sees every other one, later ones too. A model that is to predict the next token "
    "must not."};
inline constexpr Text kMaskAfter{
    "First way: mask after softmax",
    "Multiplying with ones on and below the diagonal removes the future. The rows no longer sum to "
    "1, so each is divided by its sum."};
inline constexpr Text kMaskBefore{
    "Second way: -inf before softmax",
    "The scores of later tokens become -inf, whose exponential is 0. One softmax does the rest."};
inline constexpr Text kSameRows{
    "Both give the same rows",
    "Renormalising divides out the future's share of the softmax's sum, so nothing of it is left. "
    "The second way is shorter, and never computes what it then throws away."};
inline constexpr Text kToDrop{
    "Causal attention weights",
    "Scores, masked and scaled, after softmax, as in the example 'causal'. Each row sums to 1."};
inline constexpr Text kDropout{
    "Dropout",
    "While a model is trained, each attention weight is dropped with probability p, here one half. "
    "Those that stay are multiplied with 1 / (1 - p), here 2, so that a row keeps its sum on "
    "average. In use nothing is dropped. The pattern is that of PyTorch where it is built without "
    "Intel's MKL."};
inline constexpr Text kOwnDropout{"The library's pattern",
                                  "The library draws from a counter-based generator, "
                                  "Philox4x32-10: whether a weight stays depends "
                                  "on seed, sequence, head, row and column alone. So each backend "
                                  "and each number of threads drops "
                                  "the same ones. It is not PyTorch's pattern."};
inline constexpr Text kGivenDropout{"Dropout, by the notebook's pattern",
                                    "The notebook drops these weights with p = 0.5, without saying "
                                    "the seed. What stays is doubled. "
                                    "The next steps go on without dropout, as the notebook does."};
inline constexpr Text kStreamDropout{
    "Dropout with p = 0.1",
    "The pattern follows the three matrices in the same stream of draws. One weight in ten goes, "
    "the "
    "others are multiplied with 1 / 0.9. The next steps go on without dropout."};

// ---- Batches and the wrapper ------------------------------------------------------------------

inline constexpr Text kBatch{
    "A batch",
    "Sentences of a batch are computed together and do not see each other. The textbook's batch is "
    "the same sentence twice, so its results are the same twice."};
inline constexpr Text kHeadWeights{
    "Weights, head by head",
    "Each head is a causal layer of its own with three small matrices, drawn one head after the "
    "other."};
inline constexpr Text kHeadAlone{
    "Each head by itself",
    "Every head makes its own attention weights, so each may listen to something else, and its own "
    "context."};
inline constexpr Text kConcatenate{
    "Concatenate",
    "The heads' contexts stand side by side in each token's row: d_out is heads x head_dim."};
inline constexpr Text kWrapperAsSplit{
    "The same as a split",
    "The heads' matrices side by side are the wide matrices of a split layer. Its rows are the "
    "wrapper's."};

// ---- Given numbers ----------------------------------------------------------------------------

inline constexpr Text kGivenHeads{
    "Query, key and value of two heads",
    "The notebook writes these numbers down, already grouped by heads. They are random and do not "
    "follow from its input, so the lesson begins here."};
inline constexpr Text kGivenWeights{"Weights of query, key and value",
                                    "The notebook writes these matrices down, but then goes on "
                                    "with other random numbers. Here they "
                                    "are carried through to the end."};
inline constexpr Text kNormalWeights{
    "Weights drawn by torch.randn",
    "Gaussian with standard deviation 1, 36 numbers for each matrix. Scores become large, and "
    "softmax gives nearly all weight to one token: scaling by the width of a head is not enough."};

// ---- Where notebooks are wrong ----------------------------------------------------------------

inline constexpr Text kValuesForKeys{
    "Correction: queries times keys, not values",
    "A published notebook multiplies queries with values where keys belong. Nothing fails, because "
    "both have the same shape, and rows still sum to 1. But the keys are never used: the model "
    "looks "
    "for tokens by what they hand over. Its output is that of a layer whose W_key is W_value."};
inline constexpr Text kMaskDropped{
    "Correction: the mask has to stay",
    "A published notebook calls masked_fill, which returns a masked copy, and drops the copy; "
    "masked_fill_ with an underscore masks in place. So nothing is masked: its first row listens "
    "to "
    "tokens that come later, and what it prints is a layer without a mask."};
inline constexpr Text kMixedRows{
    "Correction: regroup before flattening",
    "A published notebook prints merged rows that mix tokens. It reads the numbers in the order of "
    "(H, T, head_dim) as rows of d_out: row 1 is head 1 of tokens 1 and 2, not heads 1 and 2 of "
    "token 1. The axes T and H have to change places first."};

}  // namespace headroom::lesson::texts
