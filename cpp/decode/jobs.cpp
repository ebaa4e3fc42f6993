// Splits large files into several jobs and combines small runs into one.
#include "decode/jobs.hpp"

#include <algorithm>

namespace tbq {
namespace {

// Combines consecutive small runs into one job, so that their rows are packed together: a few jobs per
// thread.
std::vector<Job> group_small_runs(std::vector<Job> jobs, unsigned threads) {
  if (jobs.size() <= threads) return jobs;
  const size_t most = std::max<size_t>(1, jobs.size() / (threads == 1 ? 1 : threads * 8));
  std::vector<Job> grouped;
  for (const Job& job : jobs) {
    if (!grouped.empty() && !job.split && !grouped.back().split &&
        grouped.back().last_run - grouped.back().first_run < most) {
      grouped.back().last_run = job.last_run;
    } else {
      grouped.push_back(job);
    }
  }
  return grouped;
}

// Tells the split jobs of one run about each other.
void link_split_jobs(std::vector<Job>& jobs) {
  for (size_t first = 0; first < jobs.size();) {
    size_t last = first + 1;
    while (last < jobs.size() && jobs[first].split && jobs[last].split &&
           jobs[last].first_run == jobs[first].first_run) {
      ++last;
    }
    for (size_t i = first; i < last; ++i) {
      jobs[i].first_job = first;
      jobs[i].last_job = last;
    }
    first = last;
  }
}

}  // namespace

// Asks for file sizes only if a split could pay off; otherwise each file is opened once, when it is read.
Plan plan_jobs(const std::vector<FileSpec>& files, const DecodeOptions& options) {
  Plan plan;
  for (size_t i = 0; i < files.size(); ++i) {
    if (i == 0 || files[i].run != files[i - 1].run) plan.runs.push_back(i);
  }
  plan.runs.push_back(files.size());
  const bool may_split = options.threads > 1 && files.size() <= 64;
  for (size_t run = 0; run + 1 < plan.runs.size(); ++run) {
    const size_t first = plan.runs[run];
    const size_t last = plan.runs[run + 1];
    uint64_t bytes = 0;
    std::vector<uint64_t> sizes;
    for (size_t i = first; (may_split || options.count_bytes) && i < last; ++i) {
      File file;
      sizes.push_back(file.open(files[i].path) == 0 ? file.size() : 0);
      bytes += sizes.back();
    }
    plan.total_bytes += bytes;
    const auto index = static_cast<uint32_t>(run);
    const bool is_whole = std::all_of(files.begin() + static_cast<std::ptrdiff_t>(first),
                                      files.begin() + static_cast<std::ptrdiff_t>(last),
                                      [](const FileSpec& file) { return file.is_whole(); });
    if (!may_split || !is_whole || bytes < 2 * options.split) {
      plan.jobs.push_back({index, index + 1});
      continue;
    }
    for (size_t i = first; i < last; ++i) {
      const uint64_t size = sizes[i - first];
      const uint64_t parts = std::clamp<uint64_t>(size / options.split, 1, options.threads);
      for (uint64_t k = 0; k < parts; ++k) {
        plan.jobs.push_back({index, index + 1, true, static_cast<uint32_t>(i), size / parts * k,
                             k + 1 == parts ? UINT64_MAX : size / parts * (k + 1)});
      }
    }
  }
  plan.jobs = group_small_runs(std::move(plan.jobs), options.threads);
  link_split_jobs(plan.jobs);
  return plan;
}

}  // namespace tbq
