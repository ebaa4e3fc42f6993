// Paths and times as Windows has them.
#include "io/windows_rules.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "tests/check.hpp"

using tbq::nanoseconds_of_filetime;
using tbq::windows_path;

namespace {

const std::u16string kLong(300, u'x');
const std::string kLongBytes(300, 'x');

}  // namespace

TEST(windows_path_keeps_short_paths) {
  CHECK(windows_path("", u"C:\\") == u"");
  CHECK(windows_path("runs/a", u"C:\\") == u"runs\\a");
  CHECK(windows_path("../r\xc3\xa9sum\xc3\xa9", u"C:\\") == u"..\\r\u00e9sum\u00e9");
  CHECK(windows_path("\xf0\x9f\x98\x80", u"C:\\") == u"\U0001f600");
  CHECK(windows_path("\xed\xa0\x80", u"C:\\") == std::u16string(1, char16_t{0xd800}));  // a lone surrogate
}

TEST(windows_path_lifts_the_limit_of_long_paths) {
  CHECK(windows_path("C:/a/./b/../" + kLongBytes, u"D:\\") == u"\\\\?\\C:\\a\\" + kLong);
  CHECK(windows_path("C:/../../" + kLongBytes, u"D:\\") == u"\\\\?\\C:\\" + kLong);
  CHECK(windows_path("//host/share/../" + kLongBytes, u"D:\\") == u"\\\\?\\UNC\\host\\share\\" + kLong);
  CHECK(windows_path("a/../" + kLongBytes, u"D:\\here") == u"\\\\?\\D:\\here\\" + kLong);
  CHECK(windows_path(kLongBytes, u"D:\\") == u"\\\\?\\D:\\" + kLong);
  CHECK(windows_path(kLongBytes, u"\\\\host\\share") == u"\\\\?\\UNC\\host\\share\\" + kLong);
  CHECK(windows_path(kLongBytes, u"\\\\?\\D:\\deep") == u"\\\\?\\D:\\deep\\" + kLong);
  CHECK(windows_path("/" + kLongBytes, u"D:\\here") == u"\\\\?\\D:\\" + kLong);
  CHECK(windows_path("\\\\?\\C:\\.\\" + kLongBytes, u"D:\\") == u"\\\\?\\C:\\.\\" + kLong);
  CHECK(windows_path("short", u"D:\\" + kLong) == u"\\\\?\\D:\\" + kLong + u"\\short");
}

TEST(windows_path_refuses_what_is_no_text) {
  for (const std::string& wrong :
       {std::string("a\0b", 3), std::string("\xff"), std::string("\xc0\xaf"), std::string("\xe2\x82"),
        std::string("\xe0\x80\x80"), std::string("\xf4\x90\x80\x80"), std::string("a\x80")}) {
    CHECK(!windows_path(wrong, u"C:\\"));
  }
}

TEST(filetimes_become_nanoseconds) {
  CHECK(nanoseconds_of_filetime(116'444'736'000'000'000) == 0);
  CHECK(nanoseconds_of_filetime(116'444'736'000'000'001) == 100);
  CHECK(nanoseconds_of_filetime(116'444'735'999'999'999) == -100);
  CHECK(nanoseconds_of_filetime(133'801'632'001'234'567) == 1'735'689'600'123'456'700);  // 2025-01-01
  CHECK(nanoseconds_of_filetime(std::numeric_limits<uint64_t>::max()) == std::numeric_limits<int64_t>::max());
  CHECK(nanoseconds_of_filetime(0) == std::numeric_limits<int64_t>::min());
}
