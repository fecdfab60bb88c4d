#include "report/page/assets.hpp"

#include "page/embedded.hpp"

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
