// Tests the export of columns through the Arrow interfaces.
#include <cstring>

#include "bytes/utf8.hpp"
#include "tables/builders.hpp"
#include "tests/check.hpp"

TEST(a_stream_owns_what_it_hands_out) {
  tbq::FixedBuilder<int64_t> numbers;
  tbq::BytesBuilder words("U");
  tbq::ListBuilder<double> lists;
  tbq::BoolBuilder flags;
  for (int i = 0; i < 20; ++i) {
    if (i % 7 == 3) {
      numbers.append_null();
      words.append_null();
      lists.append_null();
      flags.append_null();
      continue;
    }
    numbers.append(i);
    words.append(std::string(static_cast<size_t>(i), 'w'));
    for (int k = 0; k < i; ++k) lists.values().push(k);
    lists.close();
    flags.append(i % 2 == 1);
  }
  tbq::Batch batch;
  batch.length = 20;
  batch.columns.push_back(numbers.finish("numbers"));
  batch.columns.push_back(words.finish("words"));
  batch.columns.push_back(lists.finish("lists"));
  batch.columns.push_back(flags.finish("flags"));
  batch.columns.push_back(tbq::dictionary_column("tag", tbq::Buffer::of(std::vector<int32_t>(20, 1)), 20,
                                                 tbq::string_dictionary({"a", "b\xff"})));
  ArrowArrayStream stream;
  tbq::export_batch(std::move(batch), &stream);

  ArrowSchema types;
  CHECK(stream.get_schema(&stream, &types) == 0);
  CHECK(types.n_children == 5 && std::strcmp(types.children[2]->format, "+l") == 0);
  CHECK(std::strcmp(types.children[4]->dictionary->format, "u") == 0);
  types.release(&types);
  ArrowArray array;
  CHECK(stream.get_next(&stream, &array) == 0);
  ArrowArray end;
  CHECK(stream.get_next(&stream, &end) == 0 && !end.release);
  stream.release(&stream);

  CHECK(array.length == 20 && array.n_children == 5);
  const ArrowArray& held = *array.children[0];
  CHECK(held.null_count == 3 && held.n_buffers == 2);
  const auto* valid = static_cast<const uint8_t*>(held.buffers[0]);
  const auto* values = static_cast<const int64_t*>(held.buffers[1]);
  for (int i = 0; i < 20; ++i) {
    CHECK((valid[i / 8] >> i % 8 & 1) == (i % 7 != 3));
    if (i % 7 != 3) CHECK(values[i] == i);
  }
  const auto* offsets = static_cast<const int64_t*>(array.children[1]->buffers[1]);
  CHECK(offsets[0] == 0 && offsets[1] == 0 && offsets[3] == 3 && offsets[4] == 3 && offsets[5] == 7);
  const auto* bits = static_cast<const uint8_t*>(array.children[3]->buffers[1]);
  CHECK((bits[0] & 3) == 2);
  const ArrowArray& names = *array.children[4]->dictionary;
  CHECK(names.length == 2 && static_cast<const int32_t*>(names.buffers[1])[2] == 5);  // a, b and U+FFFD
  // A child that its consumer moved out is not released twice.
  ArrowArray moved = *array.children[1];
  array.children[1]->release = nullptr;
  array.release(&array);
  moved.release(&moved);
}

TEST(text_that_is_not_utf8_is_replaced) {
  CHECK(tbq::valid_utf8("plain ascii text") == "plain ascii text");
  CHECK(tbq::valid_utf8("h\xc3\xa9") == "h\xc3\xa9");
  for (const char* wrong : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    CHECK(!tbq::is_valid_utf8(wrong) && tbq::is_valid_utf8(tbq::valid_utf8(wrong)));
    CHECK(tbq::valid_utf8(std::string("12345678") + wrong + "z").back() == 'z');
  }
}

TEST(names_past_the_limit_are_large_strings) {
  const auto small = tbq::string_dictionary({"ab", "c"}, 3);
  const auto large = tbq::string_dictionary({"ab", "c"}, 2);
  CHECK(std::string(small->format) == "u");
  CHECK(std::string(large->format) == "U");
  CHECK(static_cast<const int32_t*>(small->buffers[1].data)[2] == 3);
  CHECK(static_cast<const int64_t*>(large->buffers[1].data)[2] == 3);
}
