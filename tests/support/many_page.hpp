// The page of several machines, and its figures beside the records that they are made of.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "report/many/many_documents.hpp"
#include "report/many/pictures/many_pictures.hpp"
#include "support/sample_machines.hpp"

namespace headroom::test {

/// A mark of a picture, as the page has it.
struct Drawn {
  std::string series, cell, at;
  double value = 0;
};

class ManyPage : public Machines {
 protected:
  void look(const std::vector<across::Source>& sources,
            const std::vector<across::Price>& prices = {}) {
    collection_ = across::gather(sources, prices);
    overview_ = across::look_over(collection_);
    page_ = report::many_page(overview_, report::many_charts(overview_));
  }

  // The marks of a figure of the page.
  std::vector<Drawn> drawn(const std::string& figure) const {
    const std::size_t start = page_.find("<figure id=\"" + figure + "\">");
    if (start == std::string::npos) return {};
    const std::string text = page_.substr(start, page_.find("</figure>", start) - start);
    static const std::regex mark(
        "data-series=\"([^\"]*)\" data-cell=\"([^\"]*)\" data-at=\"([^\"]*)\" "
        "data-value=\"([^\"]*)\"");
    std::vector<Drawn> all;
    for (std::sregex_iterator i(text.begin(), text.end(), mark), end; i != end; ++i) {
      all.push_back({(*i)[1], (*i)[2], (*i)[3], std::stod((*i)[4])});
    }
    return all;
  }

  // A line of results.jsonl, as it stands in the file.
  nlohmann::json line(const std::string& folder, const std::string& id) const {
    std::ifstream file(path_ / folder / "results.jsonl");
    for (std::string text; std::getline(file, text);) {
      nlohmann::json line = nlohmann::json::parse(text);
      if (line.at("id") == id) return line;
    }
    ADD_FAILURE() << "no " << id << " in " << folder;
    return {};
  }
  double median(const std::string& folder, const std::string& id) const {
    return line(folder, id).at("time_s").at("median").get<double>();
  }

  // A picture says of which machine a mark is by the name of its series or of its row.
  static std::string folder_of(const Drawn& mark) {
    return (mark.series + mark.at).find("alpha") != std::string::npos ? "alpha" : "beta";
  }

  template <class Expected>
  void expect_recorded(const std::string& figure, Expected expected) const {
    const std::vector<Drawn> marks = drawn(figure);
    ASSERT_GE(marks.size(), 3U) << figure;
    std::set<std::string> folders;
    for (const Drawn& mark : marks) {
      folders.insert(folder_of(mark));
      const double value = expected(mark);
      EXPECT_NEAR(mark.value, value, 1e-9 * value) << figure << ": " << mark.cell;
    }
    EXPECT_EQ(folders.size(), 2U) << figure;
  }

  across::Collection collection_;
  across::Overview overview_;
  std::string page_;
};

}  // namespace headroom::test
