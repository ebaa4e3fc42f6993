// The tables of every kind except scalars.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tables/expander.hpp"

namespace tbq {

// A table of values: the kind of its values, and the function that makes its expander.
struct TableKind {
  const char* name;
  Kind kind;
  std::unique_ptr<Expander> (*make)(ValueProblems&);
};
const TableKind* table_kind(std::string_view name);
std::vector<std::string> table_names();

// Exports the values of a result as rows of a table: those in `rows` (indices into its kind's values), or
// all. Deferred values are read and verified when their batch is requested, whichever of `columns` (null:
// all) need them.
void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out);

// A table of any kind except scalars and histograms that returns values as logged: with the columns of
// `others`.
TableKind as_logged(Kind kind);

// The number of blobs that TensorBoard makes of each value of a kind; -1 if it cannot be read. Reads only the
// head of a deferred value, because the value was verified before.
std::vector<int64_t> blob_lengths(const Result& result, Kind kind);

// Exports the keys of a kind's values: run, tag, step, wall_time, bytes.
void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out);

// The makers, one per table; each is in the file of its kind.
std::unique_ptr<Expander> make_tensors(ValueProblems& problems);
std::unique_ptr<Expander> make_histograms(ValueProblems& problems);
std::unique_ptr<Expander> make_images(ValueProblems& problems);
std::unique_ptr<Expander> make_audio(ValueProblems& problems);
std::unique_ptr<Expander> make_texts(ValueProblems& problems);
std::unique_ptr<Expander> make_hparams(ValueProblems& problems);
std::unique_ptr<Expander> make_hparam_metrics(ValueProblems& problems);
std::unique_ptr<Expander> make_hparam_domains(ValueProblems& problems);
std::unique_ptr<Expander> make_pr_curves(ValueProblems& problems);
std::unique_ptr<Expander> make_meshes(ValueProblems& problems);
std::unique_ptr<Expander> make_graphs(ValueProblems& problems);
std::unique_ptr<Expander> make_nodes(ValueProblems& problems);
std::unique_ptr<Expander> make_run_metadata(ValueProblems& problems);
std::unique_ptr<Expander> make_custom_scalars(ValueProblems& problems);
std::unique_ptr<Expander> make_others(ValueProblems& problems);
std::unique_ptr<Expander> make_logs(ValueProblems& problems);

}  // namespace tbq
