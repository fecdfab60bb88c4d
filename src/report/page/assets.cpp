#include "report/page/assets.hpp"

// The assembler includes the files directly: as a C++ literal, a megabyte of script would take
// longer to compile than the rest of this room.
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

HEADROOM_ASSET(page, HEADROOM_ASSET_FOLDER "/page.html")
HEADROOM_ASSET(style, HEADROOM_ASSET_FOLDER "/page.css")
HEADROOM_ASSET(charts, HEADROOM_ASSET_FOLDER "/charts.js")
HEADROOM_ASSET(browser, HEADROOM_ASSET_FOLDER "/browser.js")
HEADROOM_ASSET(picture, HEADROOM_ASSET_FOLDER "/picture.js")
HEADROOM_ASSET(echarts, HEADROOM_ASSET_FOLDER "/echarts.js")

namespace headroom::report {

const Assets& assets() {
  static const Assets all{page_text(),    style_text(),   charts_text(),
                          browser_text(), picture_text(), echarts_text()};
  return all;
}

}  // namespace headroom::report
