// What the lesson says of keys and values that are made of a latent.
#pragma once

#include "lesson/lesson.hpp"

namespace headroom::lesson::texts {

inline constexpr Text kLatentWeights{
    "Weights of the layer",
    "Drawn and not trained. W_latent and W_query_latent make narrow vectors of a token, the "
    "latents; W_query, W_key and W_value make of these what each head works with. They are shown "
    "head by head: side by side they are one wide matrix each, as in the example 'split'."};
inline constexpr Text kTrainedLatents{
    "Weights of the layer",
    "As training left them, read from a file. W_latent, and W_query_latent if there is one, make "
    "narrow vectors of a token, the latents; W_query, W_key and W_value make what each head works "
    "with. They are shown head by head: side by side they are one wide matrix each, as in the "
    "example 'split'."};

inline constexpr Text kToLatent{
    "Project every token to a latent",
    "One product, x W_latent, gives each token a vector of rank numbers, of which every head will "
    "make its own key and value, and beside it a few more numbers of a key that all heads share. "
    "Both together are all that a model keeps of a token that it has seen."};
inline constexpr Text kLatentNorm{
    "Norm of the latent",
    "A token's latent is divided by its root mean square, and each number multiplied by a trained "
    "weight g. It is narrow, and everything that heads see comes through it, so its size must not "
    "drift while the model is trained. The shared part of the key has no norm."};
inline constexpr Text kQueryLatent{
    "Latent of the query, and its norm",
    "Queries go through a narrow vector of their own, which saves weights: two thin matrices in "
    "place of a large one. Nothing of it is kept, as no later token asks for an earlier one's "
    "query."};
inline constexpr Text kLatentQueries{
    "Queries of every head",
    "The first numbers of a head's query meet the head's own part of a key, and say what it looks "
    "for. The last ones, as many as the shared part has, meet that, and will say where it looks."};
inline constexpr Text kExpand{
    "Keys and values of every head, from the latent",
    "latent W_key and latent W_value, with matrices of each head's own. Heads that share one key "
    "head all look at the same keys; here each has keys and values of its own, and still nothing "
    "but the latent has to be kept: they can be made again at any time."};
inline constexpr Text kTurnShared{
    "Turn the shared part to its position",
    "A dot product does not know where tokens stand. So pairs of numbers of the shared key, and of "
    "the last part of each query, are turned like the hands of a clock, by an angle that is the "
    "token's position times a speed of the pair's own. What the heads make of the latent is not "
    "turned: the turn would stand between query and W_key, another one for each pair of tokens, "
    "and the shorter way below would be barred. That is why positions have a key of their own."};
inline constexpr Text kJoinKeys{
    "Key of every head",
    "A head's own key, and behind it the turned shared part, the same for all heads. From here on "
    "the layer is like any other."};

inline constexpr Text kAbsorbedScores{
    "The last token's scores without keys",
    "A model that writes one token after the other would have to make the keys of all tokens again "
    "for each new one. But a product can be bracketed in two ways: q (latent W_key)^T is "
    "(q W_key^T) latent^T. So the new token's query takes its head's W_key in once, and meets the "
    "latents as they are kept; no key is ever made. Below are all its scores in both orders, "
    "without what the shared part adds, which is the same in both."};
inline constexpr Text kAbsorbedContext{
    "And its context without values",
    "The sum of weights times (latent W_value) is (the sum of weights times latents) W_value. So "
    "latents are summed first, and each head's W_value comes once, at the end: no value is ever "
    "made either. Below is the last token's context in both orders."};
inline constexpr Text kCacheOfLatents{
    "What a cache keeps of a token",
    "This is what the latent is for. Each step of a model that writes reads its whole cache, and "
    "memory is what such a step waits for: with fewer numbers a token, texts may be longer, more "
    "of them fit side by side, and each step is faster. Heads that share keys shrink the cache as "
    "well, but then see the same keys; here every head keeps its own view."};
inline constexpr Text kTwoOrders{
    "What each order multiplies",
    "A step in the expanded order makes keys and values of all tokens before it; in the absorbed "
    "order it makes none, and its products with latents are wider. For a prompt it is the "
    "other way round: keys and values are made once for all of its rows, and narrow products are "
    "less work. So the library expands prompts, and absorbs in steps."};

}  // namespace headroom::lesson::texts
