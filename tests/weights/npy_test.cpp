// .npy files: what is read, and what is refused.
#include "weights/npy.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace headroom::weights::npy_test {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string with_dictionary(const std::string& dictionary, int major = 1) {
  std::string text("\x93NUMPY");
  text += static_cast<char>(major);
  text += '\0';
  const std::size_t length = dictionary.size() + 1;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    text += static_cast<char>((length >> (8 * i)) & 0xffU);
  }
  return text + dictionary + "\n";
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape,
                   int major = 1) {
  return with_dictionary(
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }",
      major);
}

const std::vector<float> kValues{0, 1, 2, 3, 4, 5};
const std::string kSample = header("<f4", "False", "(2, 3)") + bytes_of(kValues);

NpyArray read(const std::string& text) { return read_npy(MemoryBytes("x.npy", text)); }

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  EXPECT_TRUE(error_of(text).starts_with("x.npy: byte ")) << error_of(text);
}

TEST(Npy, GivesBackTheValues) {
  for (const int major : {1, 2, 3}) {
    const NpyArray array = read(header("<f4", "False", "(2, 3)", major) + bytes_of(kValues));
    EXPECT_EQ(array.dims, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(array.values, kValues);
  }
  EXPECT_EQ(read(header("<f4", "False", "(6,)") + bytes_of(kValues)).dims,
            std::vector<std::int64_t>{6});
  EXPECT_TRUE(read(header("<f4", "False", "()") + bytes_of(std::vector<float>{7})).dims.empty());
  EXPECT_TRUE(read(header("<f4", "False", "(0, 4)")).values.empty());
}

TEST(Npy, ReadsWhatOurHeaderSays) {
  const std::vector<std::vector<std::int64_t>> shapes{{}, {6}, {2, 3}, {1, 2, 3}, {0, 5}};
  for (const auto& dims : shapes) {
    const std::string text = npy_header(dims);
    EXPECT_EQ(text.size() % 64, 0U);
    const std::size_t count = dims.empty() ? 1 : dims[0] == 0 ? 0 : 6;
    const NpyArray array = read(text + bytes_of(std::vector<float>(count, 1.5F)));
    EXPECT_EQ(array.dims, dims);
    EXPECT_EQ(array.values, std::vector<float>(count, 1.5F));
  }
}

TEST(Npy, Float64IsRounded) {
  const std::vector<double> values{1.0 / 3, -0.0,         std::numeric_limits<double>::infinity(),
                                   1e-310,  std::nan(""), 3.4e38};
  const NpyArray array = read(header("<f8", "False", "(2, 3)") + bytes_of(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 4) continue;
    EXPECT_EQ(array.values[i], static_cast<float>(values[i])) << i;
  }
  EXPECT_TRUE(std::signbit(array.values[1]));
  EXPECT_TRUE(std::isnan(array.values[4]));
  const std::string head = header("<f8", "False", "(2,)");
  expect_refused(head + bytes_of(std::vector<double>{1, -1e39}), "beyond the range of float32");
  expect_refused(head + bytes_of(std::vector<double>{1, -1e39}),
                 "byte " + std::to_string(head.size() + 8));
}

TEST(Npy, FortranOrderBecomesCOrder) {
  // Element (i, j, k) is 100 i + 10 j + k; the first index varies fastest.
  std::vector<float> file, wanted;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) file.push_back(static_cast<float>(100 * i + 10 * j + k));
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) wanted.push_back(static_cast<float>(100 * i + 10 * j + k));
    }
  }
  EXPECT_EQ(read(header("<f4", "True", "(2, 3, 4)") + bytes_of(file)).values, wanted);
  EXPECT_EQ(read(header("<f4", "True", "(24,)") + bytes_of(file)).values, file);
}

// More than one piece is converted, in either order.
TEST(Npy, LargeArraysAreReadWhole) {
  const std::int64_t rows = 700, cols = 300;
  std::vector<double> file;
  for (std::int64_t c = 0; c < cols; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) file.push_back(static_cast<double>(r * cols + c));
  }
  const NpyArray array = read(header("<f8", "True", "(700, 300)") + bytes_of(file));
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    ASSERT_EQ(array.values[i], static_cast<float>(i));
  }
}

TEST(Npy, EveryTornPieceIsRefused) {
  for (std::size_t length = 0; length < kSample.size(); ++length) {
    expect_refused(kSample.substr(0, length), "");
  }
  EXPECT_EQ(error_of(kSample), "no error");
  expect_refused(kSample + "x", "25 bytes follow; shape (2, 3) of '<f4' needs 24");
}

TEST(Npy, WhatIsNoArrayIsRefused) {
  expect_refused("PK\3\4 a zip archive", "byte 0: the file does not begin as a .npy file");
  expect_refused(std::string("\x93NUMPY\4\0", 8) + std::string(100, ' '), "version 4");
  expect_refused(std::string("\x93NUMPY\1\1", 8) + std::string(100, ' '), "version");
  // A header longer than the file, and one of more than 64 KiB.
  expect_refused(std::string("\x93NUMPY\1\0\xff\xff", 10) + "{", "the header has 65535 bytes");
  const std::string spaces(std::size_t{1} << 17, ' ');
  expect_refused(header("<f4", "False", "(2, 3)" + spaces, 2) + bytes_of(kValues),
                 "65536 are allowed");
  expect_refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12) + "{", "4294967295 bytes");
}

TEST(Npy, OtherTypesAreRefused) {
  for (const char* descr : {"|O", ">f4", ">f8", "<f2", "<i4", "<i8", "|u1", "|b1", "<c8", "<U5",
                            "f4", "", "<f16", "<M8[ns]"}) {
    expect_refused(header(descr, "False", "(1,)") + std::string(8, '\0'),
                   "allowed are '<f4' and '<f8'; write it again with numpy.save");
  }
  expect_refused(header(std::string(1000, '\t'), "False", "(1,)"),
                 R"('\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t...')");
  expect_refused(with_dictionary("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"),
                 "an array of objects or of records is no matrix");
}

TEST(Npy, AbsurdSizesAreRefused) {
  for (const char* shape :
       {"(4611686018427387904, 4)", "(4294967296, 4294967296)", "(9223372036854775807,)",
        "(9223372036854775807, 9223372036854775807, 0)", "(3,)", "(2, 3, 2)", "(1, 5)"}) {
    expect_refused(header("<f4", "False", shape) + bytes_of(kValues), "bytes follow; shape");
  }
  for (const char* shape : {"(-1,)", "(9223372036854775808,)", "(1.0,)", "(1e3,)", "(0x2,)", "(,)",
                            "(2 3)", "2", "[2]", "(2", "(True,)"}) {
    expect_refused(header("<f4", "False", shape) + bytes_of(kValues), "the header");
  }
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1, ";
  expect_refused(header("<f4", "False", many + ")"), "more than 32 dimensions");
}

TEST(Npy, NoPythonIsUnderstoodButTheDictionary) {
  const std::string values = bytes_of(kValues);
  for (const char* text :
       {"", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} + {}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2, 3)}",
        "{descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "__import__('os').system('true')"}) {
    expect_refused(with_dictionary(text) + values, "the header");
  }
  EXPECT_EQ(
      read(with_dictionary("{\"shape\": (2,3), 'fortran_order':False,\n'descr': '<f4' }") + values)
          .values,
      kValues)
      << "the order of the keys and the quotes are free";
}

class NpyFile : public test::TemporaryFolder {
 protected:
  std::string error_of(const std::string& name) const {
    try {
      read_npy(path_ / name);
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(NpyFile, IsReadFromADisk) {
  write("x.npy", kSample);
  EXPECT_EQ(read_npy(path_ / "x.npy").values, kValues);
}

TEST_F(NpyFile, WhatIsNoFileIsRefusedAtOnce) {
  EXPECT_NE(error_of("missing.npy").find("No such file"), std::string::npos);
  EXPECT_NE(error_of(".").find("it is a directory"), std::string::npos);
  ASSERT_EQ(mkfifo((path_ / "fifo.npy").c_str(), 0600), 0);
  EXPECT_NE(error_of("fifo.npy").find("it is a FIFO"), std::string::npos);
  write("empty.npy", "");
  EXPECT_NE(error_of("empty.npy").find("byte 0: the file ends here"), std::string::npos);
}

// The file that is open is cut behind the reader's back, as by a writer that starts again.
TEST_F(NpyFile, ShrinkingWhileItIsReadIsAnError) {
  write("x.npy", kSample);
  const FileBytes bytes(path_ / "x.npy");
  std::filesystem::resize_file(path_ / "x.npy", kSample.size() - 5);
  try {
    read_npy(bytes);
    FAIL() << "read";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("5 bytes too early"), std::string::npos)
        << error.what();
  }
}

TEST(Elements, HalvesAreTheNumbersThatTheirBitsSay) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    float found = 0;
    to_floats(Element::f16, {reinterpret_cast<const char*>(&half), 2}, {&found, 1});
    const auto exponent = static_cast<int>((bits >> 10U) & 31U);
    const auto fraction = static_cast<double>(bits & 1023U);
    if (exponent == 31 && fraction > 0) {
      EXPECT_TRUE(std::isnan(found)) << bits;
      continue;
    }
    double wanted =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) wanted = std::numeric_limits<double>::infinity();
    EXPECT_EQ(found, bits < 0x8000 ? wanted : -wanted) << bits;
    EXPECT_EQ(std::signbit(found), bits >= 0x8000) << bits;
  }
}

TEST(Elements, BfloatsAreTheUpperHalvesOfFloats) {
  for (const float value : {1.0F, -2.5F, 0.0F, 3.3895314e38F, 1e-40F}) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto upper = static_cast<std::uint16_t>(bits >> 16U);
    float found = 0;
    to_floats(Element::bf16, {reinterpret_cast<const char*>(&upper), 2}, {&found, 1});
    bits &= 0xffff0000U;
    float wanted = 0;
    std::memcpy(&wanted, &bits, sizeof wanted);
    EXPECT_EQ(found, wanted);
  }
}

}  // namespace
}  // namespace headroom::weights::npy_test
