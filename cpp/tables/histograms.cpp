// histograms: TF2's [k, 3] tensors and the older HistogramProto as one table; PR curves beside them.
#include "tables/expand.hpp"

namespace tbq {
namespace {

// The doubles of a repeated field, packed or not.
bool push_doubles(const Field& field, Grow<double>& out) {
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
    if (value.row->form == Form::histo) {
      append_v1(value);
    } else {
      append_v2(value);
    }
  }
  void reserve(uint64_t bytes, uint64_t values) override {
    reserve_keys(bytes, values);
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
    Grow<int32_t> ends;
    ends.reserve(rows.size() + 1);
    int32_t end = 0;
    ends.push(end);
    for (const BlobRow& row : rows) ends.push(end += static_cast<int32_t>(row.triples));
    const Buffer offsets = Buffer::of(std::move(ends));
    const auto* values = reinterpret_cast<const double*>(rows[0].payload);
    for (const char* name : {"left", "right", "count"}) {
      adopted_.push_back(ListBuilder<double>::over(name, offsets, static_cast<int64_t>(rows.size()),
                                                   Buffer{owner, values}, end));
      values += rows[0].apart;
    }
  }
  void finish(Batch& batch) override {
    if (!adopted_.empty()) {
      std::move(adopted_.begin(), adopted_.end(), std::back_inserter(batch.columns));
      adopted_.clear();
      return;
    }
    batch.columns.push_back(min_.finish("min"));
    batch.columns.push_back(max_.finish("max"));
    batch.columns.push_back(num_.finish("num"));
    batch.columns.push_back(sum_.finish("sum"));
    batch.columns.push_back(sum_squares_.finish("sum_squares"));
    batch.columns.push_back(left_.finish("left"));
    batch.columns.push_back(right_.finish("right"));
    batch.columns.push_back(count_.finish("count"));
  }

 private:
  bool lists() const { return wants("left") || wants("right") || wants("count"); }

  void append_v2(const Value& value) {
    for (auto* column : {&min_, &max_, &num_, &sum_, &sum_squares_}) column->append_null();
    if (!lists()) return;
    if (value.row->form != Form::tensor) return refuse(value, "a histogram without a value");
    if (value.row->triples > 0) return append_triples(*value.row);
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

  void append_triples(const BlobRow& row) {
    const auto* values = reinterpret_cast<const double*>(row.payload);
    for (auto* column : {&left_, &right_, &count_}) {
      column->values().append(values, row.triples);
      column->close();
      values += row.apart;
    }
  }

  // `rows` triples of left, right, count.
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
    double statistics[6] = {};
    limits_.clear();
    numbers_.clear();
    Cursor cursor(value.payload);
    Field field;
    bool good = true;
    while (good && !cursor.empty()) {
      good = cursor.field(field);
      if (!good) break;
      if (field.wire == Wire::fixed64 && field.number >= 1 && field.number <= 5) {
        statistics[field.number] = field.as_double();
      } else if (!lists()) {
        continue;
      } else if (field.number == 6) {
        good = push_doubles(field, limits_);
      } else if (field.number == 7) {
        good = push_doubles(field, numbers_);
      }
    }
    min_.append(statistics[1]);
    max_.append(statistics[2]);
    num_.append(statistics[3]);
    sum_.append(statistics[4]);
    sum_squares_.append(statistics[5]);
    if (!lists()) return;
    if (!good) return refuse(value, "the histogram's protobuf cannot be read");
    if (limits_.size() != numbers_.size())
      return refuse(value, "a histogram with unlike numbers of limits and buckets");
    append_edges(statistics[1], statistics[2]);
  }

  // TensorBoard's rule: empty buckets at both ends go, and min and max are the outer edges of what is left.
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

  void refuse(const Value& value, const char* why) {
    report(value, "bad_histogram", why);
    left_.append_null();
    right_.append_null();
    count_.append_null();
  }

  FixedBuilder<double> min_, max_, num_, sum_, sum_squares_;
  ListBuilder<double> left_, right_, count_;
  RepeatBudget budget_;
  Grow<double> limits_, numbers_;
  std::vector<Column> adopted_;
};

class PrCurves final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    const TensorView tensor = read_tensor(value.payload);
    TensorError error = value.row->form == Form::tensor ? TensorError::none : TensorError::dtype;
    if (error == TensorError::none) error = copy_doubles(tensor, budget_, numbers_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    if (tensor.rank != 2 || tensor.dims[0] != 6)
      return refuse(value, "a PR curve's tensor must have the shape [6, n]");
    const auto rows = static_cast<size_t>(tensor.dims[1]);
    add_keys(value, rows);
    for (size_t i = 0; i < rows; ++i) {
      // As NumPy computes linspace(0, 1, n).
      threshold_.append(i > 0 && i + 1 == rows ? 1.0
                        : i == 0               ? 0.0
                                 : static_cast<double>(i) * (1.0 / static_cast<double>(rows - 1)));
    }
    for (size_t row = 0; row < 6; ++row) columns_[row].append(numbers_.data() + row * rows, rows);
  }
  void finish(Batch& batch) override {
    static constexpr const char* names[] = {"true_pos",  "false_pos", "true_neg",
                                            "false_neg", "precision", "recall"};
    batch.columns.push_back(threshold_.finish("threshold"));
    for (size_t i = 0; i < 6; ++i) batch.columns.push_back(columns_[i].finish(names[i]));
  }

 private:
  // The row stays, empty: that there was a curve at this step is known.
  void refuse(const Value& value, const char* why) {
    report(value, "bad_pr_curve", why);
    add_keys(value);
    threshold_.append_null();
    for (auto& column : columns_) column.append_null();
  }

  FixedBuilder<double> threshold_;
  FixedBuilder<double> columns_[6];
  RepeatBudget budget_;
  Grow<double> numbers_;
};

}  // namespace

std::unique_ptr<Expander> make_histograms(ValueProblems& problems) {
  return std::make_unique<Histograms>(problems);
}
std::unique_ptr<Expander> make_pr_curves(ValueProblems& problems) {
  return std::make_unique<PrCurves>(problems);
}

}  // namespace tbq
