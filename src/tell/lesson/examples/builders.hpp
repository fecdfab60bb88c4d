// One function per example; `examples.cpp` lists them.
#pragma once

#include <cstdint>

#include "lesson/lesson.hpp"
#include "lesson/subject.hpp"

namespace headroom::lesson {

/// What the textbook takes for `d_out`, or for the width of a wrapper's head; with a user's own
/// numbers a layer keeps their width.
inline constexpr std::int64_t kTextbookWidth = 2;
/// And for layers over tokens of six numbers.
inline constexpr std::int64_t kNotebookWidth = 6;

Lesson simplified(const Choices& choices);
Lesson self_attention(const Choices& choices);
Lesson causal(const Choices& choices);
Lesson dropout(const Choices& choices);
Lesson batch(const Choices& choices);
Lesson wrapper(const Choices& choices);
Lesson dream_lesson(const Choices& choices);
Lesson split(const Choices& choices);
/// The same with the weights of `choices.layer`.
Lesson trained_split(const Choices& choices);
Lesson heads_by_hand(const Choices& choices);
Lesson cat_sleeps_lesson(const Choices& choices);
Lesson kid_smiles_lesson(const Choices& choices);
Lesson six_bias(const Choices& choices);
Lesson qwen3_lesson(const Choices& choices);
Lesson gemma2_lesson(const Choices& choices);
Lesson gpt_oss_lesson(const Choices& choices);
Lesson deepseek_lesson(const Choices& choices);

}  // namespace headroom::lesson
