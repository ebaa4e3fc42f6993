// Binds the text writer to Python. Arrow buffers are passed by address, as pyarrow reports it; the caller
// keeps them alive.

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bytes/number_text.hpp"
#include "text/text_rows.hpp"

namespace nb = nanobind;

namespace tbq {
namespace {

template <class T>
const T* at(uintptr_t address) {
  return reinterpret_cast<const T*>(address);
}

void fill_style(TextStyle* style, bool json, const std::string& separator, bool spreadsheet,
                std::vector<std::string> before, std::vector<std::string> ends,
                std::vector<std::string> specials, std::vector<std::string> list_specials) {
  style->quoting = json ? Quoting::json : Quoting::csv;
  style->separator = separator.empty() ? ',' : separator[0];
  style->spreadsheet = spreadsheet;
  style->before = std::move(before);
  style->between = ends.at(0);
  style->row_end = ends.at(1);
  style->null = specials.at(0);
  style->nan = specials.at(1);
  style->inf = specials.at(2);
  style->minus_inf = specials.at(3);
  style->list_nan = list_specials.at(0);
  style->list_inf = list_specials.at(1);
  style->list_minus_inf = list_specials.at(2);
}

// A writer for Python: one call at a time, because it runs without the GIL.
class Writer : public TextRows {
 public:
  using TextRows::TextRows;
  std::atomic<bool> writing = false;
};

// Text that a memoryview keeps alive.
struct TextBlock {
  std::shared_ptr<const void> held;
  std::string_view text;
};

int text_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  const auto* block = nb::inst_ptr<TextBlock>(self);
  return PyBuffer_FillInfo(view, self, const_cast<char*>(block->text.data()),
                           static_cast<Py_ssize_t>(block->text.size()), 1, flags);
}

PyType_Slot text_block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(text_buffer)}, {0, nullptr}};

nb::tuple write_rows(Writer& rows, const std::vector<TextColumn>& columns, size_t begin, size_t end,
                     size_t block) {
  if (columns.size() != rows.style().before.size()) throw nb::value_error("columns: want one per header");
  if (rows.writing.exchange(true)) throw std::runtime_error("another thread is writing with this TextRows");
  struct Done {
    Writer& rows;
    ~Done() { rows.writing = false; }
  } done{rows};
  size_t next;
  {
    const Unlocked unlocked;
    next = rows.write(columns, begin, end, block);
  }
  const nb::object text_block = nb::cast(TextBlock{rows.held(), rows.text()});
  PyObject* view = PyMemoryView_FromObject(text_block.ptr());
  if (view == nullptr) throw nb::python_error();
  return nb::make_tuple(next, nb::steal(view));
}

std::string float_text(double value, bool narrow) {
  char text[kNumberChars];
  return {text, write_float64(text, value, narrow)};
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::enum_<Cell>(m, "Cell", "The type of a column of the text writer.")
      .value("float64", Cell::float64)
      .value("int64", Cell::int64)
      .value("boolean", Cell::boolean)
      .value("timestamp", Cell::timestamp)
      .value("label", Cell::label)
      .value("text", Cell::text)
      .value("raw", Cell::raw)
      .value("list_float64", Cell::list_float64)
      .value("list_int64", Cell::list_int64);

  nb::class_<Labels>(m, "Labels", "The strings of a dictionary, quoted once.").def("__len__", &Labels::count);

  nb::class_<TextColumn>(m, "TextColumn", "An Arrow array by the addresses of its buffers.")
      .def(
          "__init__",
          [](TextColumn* self, Cell cell, size_t first, uintptr_t valid, uintptr_t values, uintptr_t offsets,
             bool large, bool narrow, const Labels* labels) {
            if (cell == Cell::label && labels == nullptr)
              throw nb::value_error("a label column needs its labels");
            new (self) TextColumn{
                cell, narrow, large, first, at<uint8_t>(valid), at<void>(values), at<void>(offsets), labels};
          },
          nb::arg("cell"), nb::arg("first"), nb::arg("valid"), nb::arg("values"), nb::arg("offsets") = 0,
          nb::arg("large") = false, nb::arg("narrow") = false, nb::arg("labels").none() = nb::none(),
          nb::keep_alive<1, 9>());

  nb::class_<TextBlock>(m, "TextBlock", nb::type_slots(text_block_slots), "Written text, as a buffer.");

  nb::class_<Writer>(m, "TextRows", "Writes rows of Arrow columns as CSV or JSON text, block by block.")
      .def(
          "__init__",
          [](Writer* self, bool json, const std::string& separator, bool spreadsheet,
             std::vector<std::string> before, std::vector<std::string> ends,
             std::vector<std::string> specials, std::vector<std::string> list_specials) {
            TextStyle style;
            fill_style(&style, json, separator, spreadsheet, std::move(before), std::move(ends),
                       std::move(specials), std::move(list_specials));
            new (self) Writer(std::move(style));
          },
          nb::arg("json"), nb::arg("separator"), nb::arg("spreadsheet"), nb::arg("before"), nb::arg("ends"),
          nb::arg("specials"), nb::arg("list_specials"),
          "ends: between rows, after a row. specials: absent, nan, inf, -inf. list_specials: nan, inf, -inf.")
      .def_prop_ro(
          "json", [](const Writer& self) { return self.style().quoting == Quoting::json; },
          "Whether rows are JSON objects.")
      .def(
          "labels",
          [](const Writer& self, uintptr_t bytes, uintptr_t offsets, size_t first, size_t count, bool large) {
            return large ? Labels(self.style(), at<char>(bytes), at<int64_t>(offsets) + first, count)
                         : Labels(self.style(), at<char>(bytes), at<int32_t>(offsets) + first, count);
          },
          nb::arg("bytes"), nb::arg("offsets"), nb::arg("first"), nb::arg("count"), nb::arg("large"),
          "The strings of a dictionary, ready for this style.")
      .def(
          "quoted",
          [](const Writer& self, const std::string& text) {
            std::string out;
            append_quoted(out, text, self.style());
            return nb::str(out.data(), out.size());
          },
          nb::arg("text"), "One string as this style writes it.")
      .def(
          "write", &write_rows,
          nb::sig("def write(self, columns: Sequence[TextColumn], begin: int, end: int, block: int) -> "
                  "tuple[int, memoryview]"),
          nb::arg("columns"), nb::arg("begin"), nb::arg("end"), nb::arg("block"),
          "Rows [begin, end) up to about `block` bytes: (first row not written, the text), which stays as it "
          "is for as long as it is held.");

  m.def(
      "float_text", &float_text, nb::arg("value"), nb::arg("narrow") = true,
      "A finite float in its shortest form; `narrow` prints a value that is exactly a float32 as a float32.");
}

}  // namespace tbq
