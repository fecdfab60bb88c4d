// The tables of several machines and versions; the page, report.md and a terminal share them.
#pragma once

#include <string>

#include "across/overview.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// Machines that are compared side by side in one table; more have no room on a screen.
inline constexpr std::size_t kMostColumns = 7;

/// Each folder: processor, version, roofs, noise floor, cells, price.
Table machine_table(const across::Overview& overview);

/// What differs between the folders, each value with those that have it.
Table difference_table(const across::Overview& overview);

/// What one backend gains and loses if it is linked everywhere.
Table lone_table(const across::Overview& overview, const across::LoneBackend& lone);

/// What each machine alone would link, and how sure that is.
Table own_table(const across::Overview& overview, const across::LoneBackend& lone);

/// For each shape whether one backend is to be linked on all machines, and the winner on each;
/// without rows where there are more machines than columns.
Table winner_table(const across::Overview& overview);

/// The same without the shapes that one machine alone has.
Table shared_winners(const across::Overview& overview);

/// The same shapes side by side, each with its time and beside the roof of its own machine.
Table side_by_side_table(const across::Overview& overview);

/// Rows and columns are machines; without rows where there are fewer than three or too many.
Table matrix_table(const across::Overview& overview, const across::Matrix& matrix);

/// Each pair of machines: first by the fastest cell of each, then cell by cell.
Table pair_table(const across::Overview& overview, const across::Matrix& matrix);

/// The newest version beside each older one: how many cells became what.
Table version_table(const across::Overview& overview);
Table change_table(const across::Overview& overview);

/// Cells on one thread and on more, shape by shape.
Table thread_table(const across::Overview& overview);

Table numbers_table(const across::Overview& overview);
Table cold_table(const across::Overview& overview);
Table value_table(const across::Overview& overview);

/// Cells that are not ranked because they are not verified, by reason.
Table unverified_table(const across::Overview& overview);

/// Name of a contest as people read it.
std::string name_of(const across::Contest& contest);

}  // namespace headroom::report
