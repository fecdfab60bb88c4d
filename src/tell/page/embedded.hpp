// Files of a page that are built into the program.
#pragma once

#include <cstddef>
#include <string_view>

// HEADROOM_ASSET(name, path) defines name_text(), the bytes of a file. Names are unique in a
// program. The assembler includes the files directly: as a C++ literal, a megabyte of script would
// take longer to compile than the rest of a room.
#define HEADROOM_ASSET(name, path)                                                        \
  asm(".pushsection .rodata\n"                                                            \
      ".globl headroom_asset_" #name                                                      \
      "\n"                                                                                \
      ".hidden headroom_asset_" #name                                                     \
      "\n"                                                                                \
      ".globl headroom_asset_end_" #name                                                  \
      "\n"                                                                                \
      ".hidden headroom_asset_end_" #name                                                 \
      "\n"                                                                                \
      "headroom_asset_" #name                                                             \
      ":\n"                                                                               \
      ".incbin \"" path                                                                   \
      "\"\n"                                                                              \
      "headroom_asset_end_" #name                                                         \
      ":\n"                                                                               \
      ".byte 0\n"                                                                         \
      ".popsection\n");                                                                   \
  extern "C" const char headroom_asset_##name[];                                          \
  extern "C" const char headroom_asset_end_##name[];                                      \
  namespace {                                                                             \
  std::string_view name##_text() {                                                        \
    return {headroom_asset_##name,                                                        \
            static_cast<std::size_t>(headroom_asset_end_##name - headroom_asset_##name)}; \
  }                                                                                       \
  }
