// Arbitrary bytes as the value of every kind: tensors, protobufs of plugins, images, audio, through every
// table. An input is a byte that says how many of the bytes behind it, in 256ths, are the metadata; the rest
// is the value.
#include <vector>

#include "fuzz/fuzz.hpp"
#include "tables/kinds.hpp"

namespace {

using tbq::BlobRow;
using tbq::BlobTable;
using tbq::Kind;
using tbq::ValueField;

// The forms in which values of a kind come.
std::vector<ValueField> forms_of(Kind kind) {
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

// Reads the stream to its end, as a consumer would.
void drain(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  schema.release(&schema);
  for (;;) {
    ArrowArray array{};
    REQUIRE(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    for (int64_t i = 0; i < array.n_children; ++i) {
      const ArrowArray& column = *array.children[i];
      REQUIRE(column.length == array.length);
      if (column.n_children == 1) {  // lists: the last offset is the child's length
        const auto* offsets = static_cast<const int32_t*>(column.buffers[1]);
        REQUIRE(offsets[column.length] == column.children[0]->length);
      }
    }
    array.release(&array);
  }
  stream.release(&stream);
}

std::string seed(const std::string& metadata, const std::string& value) {
  const size_t size = metadata.size() + value.size();
  size_t share = size == 0 ? 0 : (metadata.size() * 256 + size - 1) / size;
  return std::string(1, static_cast<char>(share > 255 ? 255 : share)) + metadata + value;
}

const bool added = [] {
  using namespace bytes;
  auto& all = seeds();
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
  const std::string wav = "RIFF____WAVEfmt " + of(uint32_t{16}) + of(uint16_t{1}) + of(uint16_t{1}) +
                          of(uint32_t{8000}) + of(uint32_t{16000}) + of(uint16_t{2}) + of(uint16_t{16}) +
                          "data" + of(uint32_t{4}) + "abcd";
  const std::string png = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05", 24);
  const std::string jpeg = std::string("\xff\xd8\xff\xe0\0\x04__\xff\xc0\0\x11\x08\0\x05\0\x07", 18);
  for (const uint64_t dtype : {1, 2, 3, 8, 9, 10, 14, 19, 25, 30}) {
    for (const uint32_t list : {5, 6, 7, 9, 10, 11, 13, 18}) {
      all.push_back(seed("", number(1, dtype) + dims({2, 3}) + message(list, std::string(24, '\1'))));
    }
  }
  all.push_back(seed("", number(1, 2) + dims({2, 3}) + message(4, std::string(48, '\2'))));
  all.push_back(seed("", number(1, 2) + dims({6, 2}) + message(4, std::string(96, '\2'))));
  all.push_back(seed("", number(1, 7) + dims({2}) + message(4, "\1\2abc")));
  all.push_back(seed("", strings({"7", "5", png, jpeg, "GIF89a____", "RIFF____WEBPVP8 ________________"})));
  all.push_back(seed("", strings({wav, "label"})));
  all.push_back(seed("", number(1, 3) + number(2, 4) + number(3, 3) + message(4, png)));
  all.push_back(
      seed("", fixed(1, 8000.0F) + number(2, 1) + number(3, 2) + message(4, wav) + message(5, "a")));
  all.push_back(seed(
      "", fixed(1, 1.0) + fixed(2, 2.0) + message(6, of(1.0) + of(2.0)) + message(7, of(0.0) + of(1.0))));
  const std::string node = message(1, "x") + message(2, "Add") + message(3, "y") + message(4, "/cpu:0");
  const std::string library = message(1, message(1, message(1, "f")) + message(3, node));
  all.push_back(seed("", message(1, node) + message(2, library)));
  all.push_back(seed("", message(2, message(1, node))));
  const std::string chart =
      message(1, "t") + message(2, message(1, "a")) + message(3, message(1, message(2, "l")));
  all.push_back(seed("", strings({message(2, message(1, "c") + message(2, chart))})));
  const auto plugin = [](const std::string& content) {
    return message(1, message(1, "hparams") + message(2, content));
  };
  const std::string list = message(6, message(1, fixed(2, 1.5)) + message(1, message(3, "s")));
  const std::string entries = message(1, message(1, "lr") + message(2, fixed(2, 0.5))) +
                              message(1, message(1, "l") + message(2, list)) + message(4, "group");
  all.push_back(seed(plugin(message(3, entries)), ""));
  all.push_back(seed(plugin(message(4, number(1, 1))), ""));
  const std::string domain = message(1, "lr") + number(4, 3) + message(5, message(1, message(3, "s"))) +
                             message(6, fixed(1, 0.1) + fixed(2, 2.0));
  const std::string metric = message(1, message(1, "g") + message(2, "t")) + number(5, 2);
  all.push_back(seed(plugin(message(2, message(4, domain) + message(5, metric))), ""));
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t metadata = data[0] * (size - 1) / 256;
  for (const std::string& name : tbq::table_names()) {
    const tbq::TableKind& table = *tbq::table_kind(name);
    tbq::Result result;
    result.series.emplace_back();
    result.series[0].tag.assign(reinterpret_cast<const char*>(data), size < 8 ? size : 8);
    result.series[0].kind = table.kind;
    tbq::parse_metadata({data + 1, metadata}, result.series[0].metadata);
    result.files.emplace_back();
    auto rows = std::make_shared<BlobTable>();
    for (const ValueField field : forms_of(table.kind)) {
      BlobRow row;
      row.field = field;
      row.metadata = data + 1;
      row.metadata_length = static_cast<uint32_t>(metadata);
      row.payload = data + 1 + metadata;
      row.payload_length = static_cast<uint32_t>(size - 1 - metadata);
      rows->push_back(row);
    }
    result.blobs[static_cast<size_t>(table.kind)] = rows;
    static const std::vector<std::string> keys = {"run", "step"};
    static const std::vector<std::string> heads = {"tag",    "dtype", "shape", "index",
                                                   "format", "min",   "frames"};
    for (const auto* columns :
         std::initializer_list<const std::vector<std::string>*>{nullptr, &keys, &heads}) {
      ArrowArrayStream stream{};
      tbq::export_table(result, table, {"run"}, nullptr, columns, std::make_shared<tbq::ValueProblems>(),
                        &stream);
      drain(stream);
    }
  }
  return 0;
}
