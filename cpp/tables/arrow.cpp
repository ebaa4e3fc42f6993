// Exports columns through the Arrow C interfaces: each exported struct owns the memory it points to.
#include "tables/arrow.hpp"

#include <cerrno>
#include <cstring>
#include <exception>

#include "bytes/names.hpp"
#include "bytes/utf8.hpp"

namespace tbq {
namespace {

// The memory of an exported schema. A consumer may have moved children out of it; release() frees the rest.
struct SchemaHold {
  SchemaHold() = default;
  ~SchemaHold() {
    for (ArrowSchema& child : children) {
      if (child.release) child.release(&child);
    }
    if (dictionary.release) dictionary.release(&dictionary);
  }
  SchemaHold(const SchemaHold&) = delete;
  SchemaHold& operator=(const SchemaHold&) = delete;

  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) noexcept {
  delete static_cast<SchemaHold*>(schema->private_data);
  schema->release = nullptr;
}

// Leaves `out` released if it throws.
void fill_schema(const std::string& name, const std::string& format, const std::vector<Column>& children,
                 const Column* dictionary, ArrowSchema* out) {
  *out = {};
  auto hold = std::make_unique<SchemaHold>();
  hold->format = format;
  hold->name = name;
  hold->children.resize(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    const Column& child = children[i];
    fill_schema(child.name, child.format, child.children, child.dictionary.get(), &hold->children[i]);
  }
  for (ArrowSchema& child : hold->children) hold->pointers.push_back(&child);
  if (dictionary) fill_schema("", dictionary->format, {}, nullptr, &hold->dictionary);
  out->format = hold->format.c_str();
  out->name = hold->name.c_str();
  out->flags = ARROW_FLAG_NULLABLE;
  out->n_children = static_cast<int64_t>(hold->children.size());
  out->children = hold->pointers.data();
  out->dictionary = dictionary ? &hold->dictionary : nullptr;
  out->release = release_schema;
  out->private_data = hold.release();
}

// The memory of an exported array.
struct ArrayHold {
  ArrayHold() = default;
  ~ArrayHold() {
    for (ArrowArray& child : children) {
      if (child.release) child.release(&child);
    }
    if (dictionary.release) dictionary.release(&dictionary);
  }
  ArrayHold(const ArrayHold&) = delete;
  ArrayHold& operator=(const ArrayHold&) = delete;

  std::vector<Buffer> buffers;
  std::vector<const void*> data;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

void release_array(ArrowArray* array) noexcept {
  delete static_cast<ArrayHold*>(array->private_data);
  array->release = nullptr;
}

// Leaves `out` released if it throws.
void fill_array(int64_t length, int64_t nulls, std::vector<Buffer> buffers, std::vector<Column> children,
                const Column* dictionary, ArrowArray* out) {
  *out = {};
  auto hold = std::make_unique<ArrayHold>();
  hold->buffers = std::move(buffers);
  for (const Buffer& buffer : hold->buffers) hold->data.push_back(buffer.data);
  hold->children.resize(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    Column& child = children[i];
    fill_array(child.length, child.null_count, std::move(child.buffers), std::move(child.children),
               child.dictionary.get(), &hold->children[i]);
  }
  for (ArrowArray& child : hold->children) hold->pointers.push_back(&child);
  if (dictionary) {
    fill_array(dictionary->length, dictionary->null_count, dictionary->buffers, {}, nullptr,
               &hold->dictionary);
  }
  out->length = length;
  out->null_count = nulls;
  out->n_buffers = static_cast<int64_t>(hold->data.size());
  out->buffers = hold->data.data();
  out->n_children = static_cast<int64_t>(hold->children.size());
  out->children = hold->pointers.data();
  out->dictionary = dictionary ? &hold->dictionary : nullptr;
  out->release = release_array;
  out->private_data = hold.release();
}

struct StreamHold {
  Batch schema;
  std::function<bool(Batch&)> next;
  int failed = 0;        // the errno of the failed batch; the stream ends there
  char error[256] = "";  // not a std::string: reporting a lack of memory must not need memory

  void say(const char* why) noexcept {
    std::strncpy(error, why, sizeof(error) - 1);
    error[sizeof(error) - 1] = 0;
  }
};

StreamHold& hold_of(ArrowArrayStream* stream) { return *static_cast<StreamHold*>(stream->private_data); }

// Runs the body of a C callback, which no exception may leave. Returns 0 or an errno and puts the reason into
// the hold.
template <class Work>
int guarded(StreamHold& hold, Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    hold.say("out of memory");
    return ENOMEM;
  } catch (const std::exception& failure) {
    hold.say(failure.what());
    return EIO;
  } catch (...) {
    hold.say("unknown failure");
    return EIO;
  }
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  StreamHold& hold = hold_of(stream);
  *out = {};
  return guarded(hold, [&] { fill_schema("", "+s", hold.schema.columns, nullptr, out); });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  StreamHold& hold = hold_of(stream);
  *out = {};
  if (hold.failed == 0) {
    hold.failed = guarded(hold, [&] {
      Batch batch;
      if (!hold.next(batch)) return;
      fill_array(batch.length, 0, {Buffer{}}, std::move(batch.columns), nullptr, out);
    });
  }
  return hold.failed;
}

const char* stream_error(ArrowArrayStream* stream) noexcept {
  const StreamHold& hold = hold_of(stream);
  return hold.error[0] != 0 ? hold.error : nullptr;
}

void release_stream(ArrowArrayStream* stream) noexcept {
  delete &hold_of(stream);
  stream->release = nullptr;
}

}  // namespace

void export_stream(Batch schema, std::vector<Batch> batches, ArrowArrayStream* out) {
  auto held = std::make_shared<std::vector<Batch>>(std::move(batches));
  const auto next = [held, at = size_t{0}](Batch& batch) mutable {
    if (at == held->size()) return false;
    batch = std::move((*held)[at++]);
    return true;
  };
  export_lazy(std::move(schema), next, out);
}

void export_lazy(Batch schema, std::function<bool(Batch&)> next, ArrowArrayStream* out) {
  *out = {};
  auto hold = std::make_unique<StreamHold>();
  hold->schema = std::move(schema);
  hold->next = std::move(next);
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = release_stream;
  out->private_data = hold.release();
}

Column dictionary_column(std::string name, Buffer codes, int64_t length,
                         std::shared_ptr<const Column> values) {
  Column column;
  column.name = std::move(name);
  column.format = std::string("i");
  column.length = length;
  column.buffers = {Buffer{}, std::move(codes)};
  column.dictionary = std::move(values);
  return column;
}

std::shared_ptr<const Column> string_dictionary(const std::vector<std::string>& values, size_t limit) {
  std::vector<int64_t> offsets{0};
  std::vector<char> data;
  for (const std::string& value : values) {
    const std::string text = valid_utf8(value);
    data.insert(data.end(), text.begin(), text.end());
    offsets.push_back(static_cast<int64_t>(data.size()));
  }
  auto column = std::make_shared<Column>();
  const bool large = data.size() > limit;
  column->format = std::string(large ? "U" : "u");
  column->length = static_cast<int64_t>(values.size());
  Buffer places = large ? Buffer::of(std::move(offsets))
                        : Buffer::of(std::vector<int32_t>(offsets.begin(), offsets.end()));
  column->buffers = {Buffer{}, std::move(places), Buffer::of(std::move(data))};
  return column;
}

std::shared_ptr<const Column> tag_dictionary(const std::vector<std::string>& tags) {
  std::vector<std::string> names;
  names.reserve(tags.size());
  for (const std::string& tag : tags) names.push_back(display_name(tag));
  return string_dictionary(names);
}

void export_batch(Batch batch, ArrowArrayStream* out) {
  Batch schema = batch;
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  export_stream(std::move(schema), std::move(batches), out);
}

}  // namespace tbq
