// Export of columns through the Arrow C interfaces: each exported struct owns what it points to.
#include "tables/arrow.hpp"


#include <cerrno>
#include <cstring>

#include "bytes/names.hpp"
#include "bytes/utf8.hpp"

namespace tbq {
namespace {

struct SchemaHold {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
  auto* hold = static_cast<SchemaHold*>(schema->private_data);
  for (ArrowSchema& child : hold->children) {
    if (child.release) child.release(&child);
  }
  if (hold->dictionary.release) hold->dictionary.release(&hold->dictionary);
  delete hold;
  schema->release = nullptr;
}

void fill_schema(const std::string& name, const std::string& format, const std::vector<Column>& children,
                 const Column* dictionary, ArrowSchema* out) {
  auto* hold = new SchemaHold;
  hold->format = format;
  hold->name = name;
  hold->children.resize(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    const Column& child = children[i];
    fill_schema(child.name, child.format, child.children, child.dictionary.get(), &hold->children[i]);
  }
  for (ArrowSchema& child : hold->children) hold->pointers.push_back(&child);
  if (dictionary) fill_schema("", dictionary->format, {}, nullptr, &hold->dictionary);
  *out = {};
  out->format = hold->format.c_str();
  out->name = hold->name.c_str();
  out->flags = ARROW_FLAG_NULLABLE;
  out->n_children = static_cast<int64_t>(hold->children.size());
  out->children = hold->pointers.data();
  out->dictionary = dictionary ? &hold->dictionary : nullptr;
  out->release = release_schema;
  out->private_data = hold;
}

struct ArrayHold {
  std::vector<Buffer> buffers;
  std::vector<const void*> data;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

void release_array(ArrowArray* array) {
  auto* hold = static_cast<ArrayHold*>(array->private_data);
  for (ArrowArray& child : hold->children) {
    if (child.release) child.release(&child);
  }
  if (hold->dictionary.release) hold->dictionary.release(&hold->dictionary);
  delete hold;
  array->release = nullptr;
}

void fill_array(int64_t length, int64_t nulls, std::vector<Buffer> buffers, std::vector<Column> children,
                const Column* dictionary, ArrowArray* out) {
  auto* hold = new ArrayHold;
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
  *out = {};
  out->length = length;
  out->null_count = nulls;
  out->n_buffers = static_cast<int64_t>(hold->data.size());
  out->buffers = hold->data.data();
  out->n_children = static_cast<int64_t>(hold->children.size());
  out->children = hold->pointers.data();
  out->dictionary = dictionary ? &hold->dictionary : nullptr;
  out->release = release_array;
  out->private_data = hold;
}

struct StreamHold {
  Batch schema;
  std::vector<Batch> batches;
  size_t next = 0;
};

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto* hold = static_cast<StreamHold*>(stream->private_data);
  fill_schema("", "+s", hold->schema.columns, nullptr, out);
  return 0;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* hold = static_cast<StreamHold*>(stream->private_data);
  *out = {};
  if (hold->next == hold->batches.size()) return 0;
  Batch batch = std::move(hold->batches[hold->next++]);
  fill_array(batch.length, 0, {Buffer{}}, std::move(batch.columns), nullptr, out);
  return 0;
}

const char* stream_error(ArrowArrayStream*) { return nullptr; }

struct LazyHold {
  Batch schema;
  std::function<bool(Batch&)> next;
  const char* error = nullptr;
};

int lazy_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto* hold = static_cast<LazyHold*>(stream->private_data);
  fill_schema("", "+s", hold->schema.columns, nullptr, out);
  return 0;
}

int lazy_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* hold = static_cast<LazyHold*>(stream->private_data);
  *out = {};
  try {
    Batch batch;
    if (!hold->next(batch)) return 0;
    fill_array(batch.length, 0, {Buffer{}}, std::move(batch.columns), nullptr, out);
  } catch (const std::bad_alloc&) {
    hold->error = "out of memory";
    return ENOMEM;
  }
  return 0;
}

const char* lazy_error(ArrowArrayStream* stream) {
  return static_cast<LazyHold*>(stream->private_data)->error;
}

void release_lazy(ArrowArrayStream* stream) {
  delete static_cast<LazyHold*>(stream->private_data);
  stream->release = nullptr;
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamHold*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_stream(Batch schema, std::vector<Batch> batches, ArrowArrayStream* out) {
  *out = {};
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = release_stream;
  out->private_data = new StreamHold{std::move(schema), std::move(batches)};
}

void export_lazy(Batch schema, std::function<bool(Batch&)> next, ArrowArrayStream* out) {
  *out = {};
  out->get_schema = lazy_schema;
  out->get_next = lazy_next;
  out->get_last_error = lazy_error;
  out->release = release_lazy;
  out->private_data = new LazyHold{std::move(schema), std::move(next)};
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

}  // namespace tbq
