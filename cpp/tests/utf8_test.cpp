// Tests text that should be UTF-8, and names that may be any bytes.
#include "bytes/utf8.hpp"

#include <map>
#include <random>

#include "bytes/names.hpp"
#include "tests/check.hpp"

namespace {

// Combines sequences that random bytes rarely contain.
std::string odd_name(std::mt19937& random) {
  static const char* const pieces[] = {"a",    "\\",   "x",    "8",    "f",        "\\xff",
                                       "\xff", "\xe2", "\x82", "\xac", "\xc3\xa9", "\xf0\x9f"};
  std::string name;
  for (auto i = random() % 7; i > 0; --i) name += pieces[random() % std::size(pieces)];
  return name;
}

}  // namespace

TEST(invalid_utf8_is_replaced_as_in_python) {
  const std::string sign = "\xef\xbf\xbd";
  // An incomplete character is one sign, whatever is left of it; a byte that starts no character is one sign.
  CHECK(tbq::valid_utf8("a\xe2\x82z") == "a" + sign + "z");
  CHECK(tbq::valid_utf8("\xf0\x9f\x98") == sign);
  CHECK(tbq::valid_utf8("\xff\xfe") == sign + sign);
  CHECK(tbq::valid_utf8("\xed\xa0\x80") == sign + sign + sign);             // a surrogate
  CHECK(tbq::valid_utf8("\xe0\x80\x80") == sign + sign + sign);             // overlong
  CHECK(tbq::valid_utf8("\xf4\x90\x80\x80") == sign + sign + sign + sign);  // beyond the last character
  CHECK(tbq::valid_utf8("\xc3\xa9") == "\xc3\xa9");
}

TEST(names_are_shown_as_they_are_or_escaped) {
  CHECK(tbq::display_name("train/loss") == "train/loss");
  CHECK(tbq::display_name("C:\\logs\\x1") == "C:\\logs\\x1");
  CHECK(tbq::display_name("h\xc3\xa9") == "h\xc3\xa9");
  CHECK(tbq::display_name("a\\b\xff") == "a\\\\b\\xff");
  CHECK(tbq::display_name("a\\xff") == "a\\\\xff");  // looks like an escape, but is not one
  CHECK(tbq::display_name(std::string_view("a\0b", 3)) == std::string("a\0b", 3));
}

TEST(two_names_are_never_shown_alike) {
  std::mt19937 random(1);
  std::map<std::string, std::string> shown;
  for (int i = 0; i < 200000; ++i) {
    const std::string name = odd_name(random);
    const std::string text = tbq::display_name(name);
    CHECK(tbq::is_valid_utf8(text));
    CHECK(tbq::raw_name(text) == name);
    CHECK(shown.emplace(text, name).first->second == name);
  }
}

TEST(a_text_that_is_no_display_name_stands_for_itself) {
  CHECK(tbq::raw_name("loss") == "loss");
  CHECK(tbq::raw_name("a\\xff\\") == "a\\xff\\");  // never the result of display_name
  CHECK(tbq::raw_name("\\x41") == "\\x41");
}
