// Why something that the kernel may count is not there: what people need in order to change it.
#pragma once

#include <filesystem>
#include <string>

namespace headroom::machine {

/// Such as `"/sys/class/powercap: No such file or directory"`, or that it `has no` such thing.
std::string why_nothing_in(const std::filesystem::path& folder, const std::string& thing);

/// Why the file does not tell a whole number of 0 and above; empty if it does. Where it may not be
/// read, what allows it.
std::string why_no_number(const std::filesystem::path& file);

/// `"; this is a virtual machine, and few of them show it"`, or nothing.
/// @param root stands for `/`
std::string if_virtual(const std::filesystem::path& root);

}  // namespace headroom::machine
