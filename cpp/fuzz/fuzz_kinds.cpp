// Fuzzes the table of each kind with arbitrary bytes as a value: tensors, protobufs of plugins, images,
// audio. The requested columns must not change the content of a column. An input selects the table and the
// form of the value; the next byte states which share of the remaining bytes, in 256ths, is the metadata; the
// rest is the value.
#include <vector>

#include "event/metadata.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tables.hpp"
#include "tables/kinds.hpp"

namespace {

using tbq::BlobRow;
using tbq::BlobTable;
using tbq::Kind;
using tbq::ValueField;

// The forms in which values of a kind occur.
std::vector<ValueField> fields_of(Kind kind) {
  switch (kind) {
    case Kind::images:
      return {ValueField::tensor, ValueField::none, ValueField::image};
    case Kind::audio:
      return {ValueField::tensor, ValueField::none, ValueField::audio};
    case Kind::histograms:
      return {ValueField::tensor, ValueField::none, ValueField::histo};
    case Kind::graphs:
      return {ValueField::tensor, ValueField::none, ValueField::graph_def, ValueField::meta_graph_def};
    case Kind::run_metadata:
      return {ValueField::tensor, ValueField::none, ValueField::run_metadata};
    case Kind::logs:
      return {ValueField::log_message, ValueField::session_log};
    case Kind::others:
      return {ValueField::tensor, ValueField::none, ValueField::old_histogram};
    default:
      return {ValueField::tensor, ValueField::none};
  }
}

constexpr size_t kTables = 16;

std::string seed(size_t table, size_t form, const std::string& metadata, const std::string& value) {
  const size_t size = metadata.size() + value.size();
  const size_t share = size == 0 ? 0 : (metadata.size() * 256 + size - 1) / size;
  return std::string{static_cast<char>(table + kTables * form),
                     static_cast<char>(share > 255 ? 255 : share)} +
         metadata + value;
}

const bool added = [] {
  using namespace bytes;
  const auto dims = [](std::initializer_list<uint64_t> sizes) {
    std::string out;
    for (const uint64_t size : sizes) out += message(2, number(1, size));
    return message(2, out);
  };
  const auto strings = [&](std::initializer_list<std::string> texts) {
    std::string out = number(1, 7) + dims({texts.size()});
    for (const std::string& text : texts) out += message(8, text);
    return out;
  };
  std::vector<std::string> values;
  const std::string wav = "RIFF____WAVEfmt " + of(uint32_t{16}) + of(uint16_t{1}) + of(uint16_t{1}) +
                          of(uint32_t{8000}) + of(uint32_t{16000}) + of(uint16_t{2}) + of(uint16_t{16}) +
                          "data" + of(uint32_t{4}) + "abcd";
  const std::string png = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05", 24);
  const std::string jpeg = std::string("\xff\xd8\xff\xe0\0\x04__\xff\xc0\0\x11\x08\0\x05\0\x07", 18);
  for (const auto& [dtype, list] :
       {std::pair{1, 5}, {2, 6}, {3, 7}, {8, 9}, {9, 10}, {10, 11}, {14, 13}, {30, 7}}) {
    values.push_back(number(1, static_cast<uint64_t>(dtype)) + dims({2, 3}) +
                     message(static_cast<uint32_t>(list), std::string(24, '\1')));
  }
  values.push_back(number(1, 2) + dims({2, 3}) + message(4, std::string(48, '\2')));
  values.push_back(number(1, 2) + dims({6, 2}) + message(4, std::string(96, '\2')));
  values.push_back(number(1, 7) + dims({2}) + message(4, "\1\2abc"));
  values.push_back(strings({"7", "5", png, jpeg, "GIF89a____", "RIFF____WEBPVP8 ________________"}));
  values.push_back(strings({wav, "label"}));
  values.push_back(number(1, 3) + number(2, 4) + number(3, 3) + message(4, png));
  values.push_back(fixed(1, 8000.0F) + number(2, 1) + number(3, 2) + message(4, wav) + message(5, "a"));
  values.push_back(fixed(1, 1.0) + fixed(2, 2.0) + message(6, of(1.0) + of(2.0)) +
                   message(7, of(0.0) + of(1.0)));
  const std::string node = message(1, "x") + message(2, "Add") + message(3, "y") + message(4, "/cpu:0");
  const std::string library = message(1, message(1, message(1, "f")) + message(3, node));
  values.push_back(message(1, node) + message(2, library));
  values.push_back(message(2, message(1, node)));
  values.push_back(strings({message(1, node)}));
  const std::string chart =
      message(1, "t") + message(2, message(1, "a")) + message(3, message(1, message(2, "l")));
  values.push_back(strings({message(2, message(1, "c") + message(2, chart))}));
  values.push_back(number(1, 20) + message(2, "words"));
  for (size_t i = 0; i < values.size(); ++i) {
    // These include each value in its own table, and some values in other tables.
    for (size_t table = i % 3; table < kTables; table += 3)
      seeds().push_back(seed(table, i % 4, "", values[i]));
  }
  const auto plugin = [](const std::string& content) {
    return message(1, message(1, "hparams") + message(2, content));
  };
  const std::string list = message(6, message(1, fixed(2, 1.5)) + message(1, message(3, "s")));
  const std::string entries = message(1, message(1, "lr") + message(2, fixed(2, 0.5))) +
                              message(1, message(1, "l") + message(2, list)) +
                              message(1, message(1, "b") + message(2, number(4, 1)));
  for (const size_t table : {5, 6, 7, 14}) {
    seeds().push_back(seed(table, 0, plugin(message(3, entries + message(4, "group"))), ""));
    seeds().push_back(seed(table, 0, plugin(message(4, number(1, 1))), ""));
    seeds().push_back(seed(table, 0,
                           plugin(message(2, message(4, message(1, "lr") + message(6, fixed(1, 0.1))) +
                                                 message(5, message(1, message(2, "loss"))))),
                           ""));
  }
  seeds().push_back(seed(9, 0, message(1, message(1, "mesh") + message(2, message(2, "m") + number(3, 2))),
                         number(1, 1) + dims({1, 3}) + message(4, of(1.0F) + of(2.0F) + of(3.0F))));
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  static const std::vector<std::string> names = tbq::table_names();
  const uint8_t which = input.byte();
  const tbq::TableKind& table = *tbq::table_kind(names[which % names.size()]);
  const size_t metadata = input.byte() * input.size() / 256;
  tbq::Result result;
  result.series.emplace_back();
  result.series[0].tag = "tag";
  result.series[0].kind = table.kind;
  tbq::parse_metadata({input.data(), metadata}, result.series[0].metadata);
  result.files.emplace_back();
  auto rows = std::make_shared<BlobTable>();
  const std::vector<ValueField> fields = fields_of(table.kind);
  BlobRow row;
  row.field = fields[which / kTables % fields.size()];
  row.metadata = input.data();
  row.metadata_length = static_cast<uint32_t>(metadata);
  row.payload = input.data() + metadata;
  row.payload_length = static_cast<uint32_t>(input.size() - metadata);
  rows->push_back(row);
  row.field = fields[0];
  rows->push_back(row);
  result.blobs[static_cast<size_t>(table.kind)] = rows;
  const Table all_columns = table_of(result, table);
  static const std::vector<std::vector<std::string>> some = {
      {"run", "step"},
      {"tag", "dtype", "shape", "index", "format", "min", "frames", "name", "type", "nodes", "message"},
      {"data", "text", "left", "count", "string", "domain", "inputs", "content", "pattern"}};
  const Table part = table_of(result, table, &some[size % some.size()]);
  REQUIRE(part.columns.empty() || part.rows == all_columns.rows);
  for (const auto& [name, column] : part.columns) REQUIRE(column == *all_columns.column(name));
  return 0;
}
