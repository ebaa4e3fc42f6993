// The tables of every kind but scalars.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tables/expander.hpp"

namespace tbq {

// A table of values: the kind whose values it is made of, and how.
struct TableKind {
  const char* name;
  Kind kind;
  std::unique_ptr<Expander> (*make)(ValueProblems&);
};
const TableKind* table_kind(std::string_view name);
std::vector<std::string> table_names();

// The values of a result, as rows of the table `name`: those of `rows` (indices into its kind's values), or
// all. Deferred values are read and verified when their batch is asked for, whichever of `columns` (null:
// all) are made of them.
void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out);

// How values of any kind but scalars and histograms are given as they were logged: the columns of `others`.
TableKind as_logged(Kind kind);

// How many blobs TensorBoard makes of each value of a kind; -1 if that cannot be read. Of a deferred value
// only the head is read, since all of it was verified before.
std::vector<int64_t> blob_lengths(const Result& result, Kind kind);

// Where the values of a kind are: run, tag, step, wall_time, bytes.
void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out);

// One maker for each table, in the file of its kind.
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
