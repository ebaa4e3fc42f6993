// Tests tensors and the tables of every kind.
#include "tables/kinds.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>

#include "decode/decode.hpp"
#include "event/tensor.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string held(uint32_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string shape(std::initializer_list<uint64_t> dims) {
  std::string out;
  for (const uint64_t size : dims) out += held(2, number(1, size));
  return held(2, out);
}
tbq::TensorError decode(const std::string& proto, tbq::GrowableBuffer<char>& out) {
  tbq::RepeatBudget budget;
  return tbq::copy_numbers(tbq::read_tensor(bytes::view(proto)), budget, out);
}

}  // namespace

TEST(tensor_lists_repeat_and_content_must_fit) {
  tbq::GrowableBuffer<char> out;
  CHECK(decode(number(1, 3) + shape({3}) + number(7, 5) + number(7, 7), out) == tbq::TensorError::none);
  CHECK(out.size() == 12 && out[0] == 5 && out[4] == 7 && out[8] == 7);
  out.clear();
  CHECK(decode(number(1, 4) + shape({2, 2}) + held(4, "abcd"), out) == tbq::TensorError::none);
  CHECK(out.size() == 4 && out[3] == 'd');
  out.clear();
  CHECK(decode(number(1, 4) + shape({2, 3}) + held(4, "abcd"), out) == tbq::TensorError::mismatch);
  CHECK(decode(number(1, 4) + shape({1}) + number(7, 1) + number(7, 2), out) == tbq::TensorError::mismatch);
  CHECK(out.empty());
}

TEST(tensor_claims_allocate_nothing) {
  tbq::GrowableBuffer<char> out;
  const std::string zeros = number(1, 1);
  CHECK(decode(zeros + shape({uint64_t{1} << 60}), out) == tbq::TensorError::too_large);
  CHECK(decode(zeros + shape({uint64_t{1} << 40, uint64_t{1} << 40}), out) == tbq::TensorError::overflow);
  CHECK(decode(zeros + shape({uint64_t{1} << 40, uint64_t{1} << 40, 0}), out) == tbq::TensorError::none);
  CHECK(decode(zeros + shape({~uint64_t{0}}), out) == tbq::TensorError::shape);
  CHECK(decode(zeros + held(2, number(3, 1)), out) == tbq::TensorError::shape);
  CHECK(decode(number(1, 20) + shape({}), out) == tbq::TensorError::dtype);
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += held(2, number(1, 1));
  CHECK(decode(zeros + held(2, deep), out) == tbq::TensorError::shape);
  CHECK(out.empty());
}

TEST(tensor_budget_is_shared_by_all_of_a_table) {
  tbq::RepeatBudget budget;
  const std::string proto = number(1, 4) + shape({16 << 20});
  tbq::GrowableBuffer<char> out;
  int decoded = 0;
  while (decoded < 100 &&
         tbq::copy_numbers(tbq::read_tensor(bytes::view(proto)), budget, out) == tbq::TensorError::none) {
    ++decoded;
    out.clear();
  }
  CHECK(decoded == 16);
}

TEST(tensor_strings_from_lists_and_from_content) {
  tbq::RepeatBudget budget;
  std::vector<tbq::Bytes> texts;
  const std::string listed = number(1, 7) + shape({2}) + held(8, "ab") + held(8, "");
  CHECK(tbq::copy_strings(tbq::read_tensor(bytes::view(listed)), budget, texts) == tbq::TensorError::none);
  CHECK(texts.size() == 2 && tbq::as_text(texts[0]) == "ab" && texts[1].empty());
  const std::string packed = number(1, 7) + shape({2}) + held(4, std::string("\x02\x01", 2) + "abc");
  CHECK(tbq::copy_strings(tbq::read_tensor(bytes::view(packed)), budget, texts) == tbq::TensorError::none);
  CHECK(texts.size() == 2 && tbq::as_text(texts[1]) == "c");
  const std::string short_of = number(1, 7) + shape({2}) + held(4, std::string("\x02\x05", 2) + "abc");
  CHECK(tbq::copy_strings(tbq::read_tensor(bytes::view(short_of)), budget, texts) ==
        tbq::TensorError::mismatch);
}

TEST(tensor_half_bits_of_torch) {
  tbq::GrowableBuffer<char> out;
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const std::string proto = number(1, 19) + shape({4}) + number(13, bits(1.5F)) + number(13, 0x3e00) +
                            number(13, bits(65504.0F)) + number(13, bits(5.9604645e-8F));
  CHECK(decode(proto, out) == tbq::TensorError::none);
  const auto at = [&](size_t i) {
    return tbq::load_le<uint16_t>(reinterpret_cast<const uint8_t*>(out.data()) + 2 * i);
  };
  CHECK(at(0) == 0x3e00 && at(1) == 0x3e00 && at(2) == 0x7bff && at(3) == 0x0001);
}

TEST(each_table_has_a_maker) {
  for (const std::string& name : tbq::table_names()) {
    tbq::Result result;
    ArrowArrayStream stream{};
    tbq::export_table(result, *tbq::table_kind(name), {}, nullptr, nullptr,
                      std::make_shared<tbq::ValueProblems>(), &stream);
    ArrowSchema schema{};
    CHECK(stream.get_schema(&stream, &schema) == 0);
    CHECK(schema.n_children > 4);
    schema.release(&schema);
    ArrowArray array{};
    CHECK(stream.get_next(&stream, &array) == 0 && !array.release);
    stream.release(&stream);
  }
  CHECK(tbq::table_kind("scalars") == nullptr);
}

namespace {

// The number of rows that a table of the file has, with these columns.
int64_t rows_of(const TestFile& file, const char* name, const std::vector<std::string>* columns) {
  const tbq::TableKind& table = *tbq::table_kind(name);
  tbq::DecodeOptions options;
  options.kinds = tbq::bit(table.kind);
  options.defer = true;
  const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  ArrowArrayStream stream{};
  tbq::export_table(result, table, {"run"}, nullptr, columns, std::make_shared<tbq::ValueProblems>(),
                    &stream);
  int64_t rows = 0;
  for (;;) {
    ArrowArray array{};
    CHECK(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    CHECK(!columns || array.n_children == static_cast<int64_t>(columns->size()));
    rows += array.length;
    array.release(&array);
  }
  stream.release(&stream);
  return rows;
}

}  // namespace

TEST(a_damaged_value_is_lost_whatever_its_columns) {
  const std::string image =
      number(1, 5) + number(2, 7) + held(4, "\x89PNG\r\n\x1a\n" + std::string(50000, 'x'));
  std::string log = bytes::record(bytes::version(1));
  for (int step = 0; step < 4; ++step) {
    log += bytes::record(bytes::event(1, step, bytes::summary(held(1, "i") + held(4, image))));
  }
  log[log.size() - 100] ^= 1;
  const TestFile file(log);
  const std::vector<std::string> heads = {"step", "width", "format"};
  const std::vector<std::string> keys = {"run"};
  CHECK(rows_of(file, "images", nullptr) == 3);
  CHECK(rows_of(file, "images", &heads) == 3);
  CHECK(rows_of(file, "images", &keys) == 3);
}

TEST(rows_of_malformed_values_do_not_depend_on_the_columns) {
  std::mt19937 random(1);
  const std::string texts =
      number(1, 7) + shape({3}) + held(8, "1") + held(8, "2") + held(8, std::string(6000, 'x'));
  const std::string numbers = number(1, 2) + shape({700}) + held(6, std::string(5600, '\1'));
  const std::string image = number(1, 5) + number(2, 7) + held(4, std::string(6000, 'x'));
  const std::vector<std::string> heads = {"tag"};
  for (int round = 0; round < 300; ++round) {
    std::string log = bytes::record(bytes::version(1));
    const char* names[] = {"images", "images", "tensors", "audio"};
    const int which = round % 4;
    std::string value = which == 0 ? image : which == 2 ? numbers : texts;
    for (uint32_t i = random() % 4; i > 0; --i) {
      value[random() % (random() % 2 ? 20 : value.size())] = static_cast<char>(random());
    }
    const std::string plugin = which == 2 ? "" : bytes::metadata(names[which]);
    for (int step = 0; step < 2; ++step) {
      log += bytes::record(
          bytes::event(1, step, bytes::summary(held(1, "t") + held(which == 0 ? 4 : 8, value) + plugin)));
    }
    const TestFile file(log);
    CHECK(rows_of(file, names[which], &heads) == rows_of(file, names[which], nullptr));
  }
}

TEST(the_limit_of_a_text_tensor_holds_past_128_mib) {
  // 65,536 texts in 33 dimensions: 17 MB of indices, which a value of 128 MiB may well have.
  std::string dims = held(2, number(1, 65536));
  for (int i = 1; i < 33; ++i) dims += held(2, number(1, 1));
  std::string head = number(1, 7) + held(2, dims);
  for (int i = 0; i < 65535; ++i) head += held(8, "");
  const size_t size = size_t{1} << 27;
  const size_t filled = size - head.size() - 5;  // the last text fills the rest: key, four bytes of length
  head += varint(8 << 3 | 2) + varint(filled);
  CHECK(head.size() + filled == size);
  const std::unique_ptr<uint8_t, void (*)(void*)> payload(static_cast<uint8_t*>(std::calloc(size, 1)),
                                                          std::free);
  std::memcpy(payload.get(), head.data(), head.size());
  tbq::Result result;
  result.series.emplace_back();
  result.files.emplace_back();
  auto rows = std::make_shared<tbq::BlobTable>();
  tbq::BlobRow row;
  row.field = tbq::ValueField::tensor;
  row.payload = payload.get();
  row.payload_length = static_cast<uint32_t>(size);
  rows->push_back(row);
  result.blobs[static_cast<size_t>(tbq::Kind::texts)] = rows;
  const auto problems = std::make_shared<tbq::ValueProblems>();
  const std::vector<std::string> columns = {"index"};
  ArrowArrayStream stream{};
  tbq::export_table(result, *tbq::table_kind("texts"), {"run"}, nullptr, &columns, problems, &stream);
  ArrowArray array;
  CHECK(stream.get_next(&stream, &array) == 0 && array.length == 65536);
  array.release(&array);
  stream.release(&stream);
  uint64_t more = 0;
  CHECK(problems->drain(more).empty());
}

TEST(a_histograms_statistics_do_not_depend_on_the_columns_that_are_wanted) {
  // Limits that are not doubles, before a statistic.
  const std::string bad = held(6, "1234567") + varint(2 << 3 | 1) + std::string(8, '\x40');
  tbq::Result result;
  result.series.emplace_back();
  result.files.emplace_back();
  auto rows = std::make_shared<tbq::BlobTable>();
  tbq::BlobRow row;
  row.field = tbq::ValueField::histo;
  row.payload = bytes::view(bad).data();
  row.payload_length = static_cast<uint32_t>(bad.size());
  rows->push_back(row);
  result.blobs[static_cast<size_t>(tbq::Kind::histograms)] = rows;
  const std::vector<std::string> only = {"max"};
  for (const auto* columns : {static_cast<const std::vector<std::string>*>(nullptr), &only}) {
    ArrowArrayStream stream{};
    tbq::export_table(result, *tbq::table_kind("histograms"), {"run"}, nullptr, columns,
                      std::make_shared<tbq::ValueProblems>(), &stream);
    ArrowArray array;
    CHECK(stream.get_next(&stream, &array) == 0);
    const ArrowArray& max = *array.children[columns ? 0 : 5];
    CHECK(static_cast<const double*>(max.buffers[1])[0] == std::bit_cast<double>(0x4040404040404040));
    array.release(&array);
    stream.release(&stream);
  }
}
