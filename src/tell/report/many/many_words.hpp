// What a report of several machines and versions says in words.
#pragma once

#include <string>
#include <vector>

#include "across/overview.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// What the shapes of one answer have in common.
std::string demand_words(Demand demand);

/// What to link everywhere, in one line.
Prose many_headline(const across::Overview& overview);

/// How sure that is, and what it costs at worst.
std::vector<Prose> many_sentences(const across::Overview& overview);

/// What a reader must know first: folders with cells that are not verified, programs that differ,
/// machines whose noise is unknown, what was left out.
std::vector<Prose> many_remarks(const across::Overview& overview);

/// How it was judged.
std::vector<Prose> many_method(const across::Overview& overview);

/// How many machines, versions and cells.
std::string many_subtitle(const across::Overview& overview);

}  // namespace headroom::report
