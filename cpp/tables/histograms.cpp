// The table `histograms`: TF2's [k, 3] tensors and the older HistogramProto.
#include <cstring>
#include <iterator>

#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

// The doubles of a repeated field, packed or not.
bool push_doubles(const Field& field, GrowableBuffer<double>& out) {
  if (field.wire == Wire::fixed64) {
    out.push(field.as_double());
    return true;
  }
  if (field.wire != Wire::bytes || field.bytes.size() % sizeof(double) != 0) return false;
  const size_t count = field.bytes.size() / sizeof(double);
  if (count > 0) std::memcpy(out.extend(count), field.bytes.data(), field.bytes.size());
  return true;
}

class Histograms final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    if (value.row->field == ValueField::histo) {
      append_v1(value);
    } else {
      append_v2(value);
    }
  }
  void reserve(uint64_t bytes, uint64_t values) override {
    reserve_keys(values);
    for (auto* column : {&left_, &right_, &count_}) column->values().reserve(static_cast<size_t>(bytes / 24));
  }
  void adopt(std::span<const BlobRow> rows, const std::shared_ptr<const void>& owner) override {
    FixedBuilder<double> none;
    none.append_nulls(rows.size());
    const Column nulls = none.finish("");
    for (const char* name : {"min", "max", "num", "sum", "sum_squares"}) {
      adopted_.push_back(nulls);
      adopted_.back().name = name;
    }
    GrowableBuffer<int32_t> ends;
    ends.reserve(rows.size() + 1);
    int32_t end = 0;
    ends.push(end);
    for (const BlobRow& row : rows) ends.push(end += static_cast<int32_t>(row.bins));
    const Buffer offsets = Buffer::of(std::move(ends));
    const auto* values = reinterpret_cast<const double*>(rows[0].payload);
    for (const char* name : {"left", "right", "count"}) {
      adopted_.push_back(ListBuilder<double>::over(name, offsets, static_cast<int64_t>(rows.size()),
                                                   Buffer{owner, values}, end));
      values += rows[0].stride;
    }
  }
  void finish(Batch& batch) override {
    if (adopted_.empty()) return Expander::finish(batch);
    std::move(adopted_.begin(), adopted_.end(), std::back_inserter(batch.columns));
    adopted_.clear();
  }

 private:
  bool lists() const { return wants("left") || wants("right") || wants("count"); }

  void append_v2(const Value& value) {
    if (!lists()) return;
    if (value.row->field != ValueField::tensor) return refuse(value, "a histogram without a value");
    if (value.row->bins > 0) return append_columns(*value.row);
    const TensorView tensor = read_tensor(value.payload);
    if (!tensor.ok()) return refuse(value, tensor_error_text(tensor.error));
    if (tensor.count > 0 && (tensor.rank != 2 || tensor.dims[1] != 3)) {
      return refuse(value, "a histogram's tensor must have the shape [k, 3]");
    }
    if (tensor.dtype == Dtype::float64 && tensor.content.size() / sizeof(double) == tensor.count &&
        tensor.content.size() % sizeof(double) == 0 && !tensor.content.empty()) {
      return append_rows(tensor.content.data(), static_cast<size_t>(tensor.count / 3));
    }
    const TensorError error = copy_doubles(tensor, budget_, numbers_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    append_rows(reinterpret_cast<const uint8_t*>(numbers_.data()), numbers_.size() / 3);
  }

  void append_columns(const BlobRow& row) {
    const auto* values = reinterpret_cast<const double*>(row.payload);
    for (auto* column : {&left_, &right_, &count_}) {
      column->values().append(values, row.bins);
      column->close();
      values += row.stride;
    }
  }

  // Appends `rows` bins of left, right, count.
  void append_rows(const uint8_t* from, size_t rows) {
    double* left = left_.values().extend(rows);
    double* right = right_.values().extend(rows);
    double* count = count_.values().extend(rows);
    for (size_t i = 0; i < rows; ++i) {
      left[i] = load_le<double>(from + 24 * i);
      right[i] = load_le<double>(from + 24 * i + 8);
      count[i] = load_le<double>(from + 24 * i + 16);
    }
    left_.close();
    right_.close();
    count_.close();
  }

  void append_v1(const Value& value) {
    double statistics[schema::Histogram::sum_squares + 1] = {};  // by field number
    limits_.clear();
    numbers_.clear();
    Cursor cursor(value.payload);
    Field field;
    bool good = true;  // of the lists; the other fields can be read even if the lists are bad
    while (!cursor.empty()) {
      if (!cursor.field(field)) {
        good = false;
        break;
      }
      if (field.wire == Wire::fixed64 && field.number >= schema::Histogram::min &&
          field.number <= schema::Histogram::sum_squares) {
        statistics[field.number] = field.as_double();
      } else if (!lists()) {
        continue;
      } else if (field.number == schema::Histogram::bucket_limit) {
        good = push_doubles(field, limits_) && good;
      } else if (field.number == schema::Histogram::bucket) {
        good = push_doubles(field, numbers_) && good;
      }
    }
    min_.append(statistics[schema::Histogram::min]);
    max_.append(statistics[schema::Histogram::max]);
    num_.append(statistics[schema::Histogram::num]);
    sum_.append(statistics[schema::Histogram::sum]);
    sum_squares_.append(statistics[schema::Histogram::sum_squares]);
    if (!lists()) return;
    if (!good) return refuse(value, "the histogram's protobuf cannot be read");
    if (limits_.size() != numbers_.size())
      return refuse(value, "the histogram has unequal numbers of limits and buckets");
    append_edges(statistics[schema::Histogram::min], statistics[schema::Histogram::max]);
  }

  // TensorBoard's rule: drop empty buckets at both ends; min and max are the outer edges of the rest.
  void append_edges(double min, double max) {
    size_t begin = 0;
    size_t end = numbers_.size();
    while (begin < end && !(numbers_[begin] > 0)) ++begin;
    while (end > begin && !(numbers_[end - 1] > 0)) --end;
    const size_t rows = end - begin;
    if (rows > 0) {
      double* left = left_.values().extend(rows);
      double* right = right_.values().extend(rows);
      left[0] = min;
      std::memcpy(left + 1, limits_.data() + begin, (rows - 1) * sizeof(double));
      std::memcpy(right, limits_.data() + begin, (rows - 1) * sizeof(double));
      right[rows - 1] = max;
      count_.values().append(numbers_.data() + begin, rows);
    }
    left_.close();
    right_.close();
    count_.close();
  }

  void refuse(const Value& value, const char* why) { report(value, "bad_histogram", why); }

  using ListColumn = Named<ListBuilder<double>>;
  NumberColumn min_{*this, "min"}, max_{*this, "max"}, num_{*this, "num"}, sum_{*this, "sum"};
  NumberColumn sum_squares_{*this, "sum_squares"};
  ListColumn left_{*this, "left"}, right_{*this, "right"}, count_{*this, "count"};
  GrowableBuffer<double> limits_, numbers_;
  std::vector<Column> adopted_;
};

}  // namespace

std::unique_ptr<Expander> make_histograms(ValueProblems& problems) {
  return std::make_unique<Histograms>(problems);
}

}  // namespace tbq
