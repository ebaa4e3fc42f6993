// Drives a fuzz target without libFuzzer: runs its seeds and the files named on the command line (for a
// folder: all files in it), then, with -seconds, mutates them blindly for that time.
//   fuzz_X FILE…     fuzz_X -seconds=N [-seed=S] FOLDER…     fuzz_X -write=FOLDER (the seeds, for libFuzzer)
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "io/sanitizer.hpp"

namespace {

std::string current;

// If a sanitizer or REQUIRE ends the process, prints the input, so that it can be run again from a file.
void print_input() {
  std::fprintf(stderr, "\nthe input, %zu bytes (xxd -r -p makes a file of it):\n", current.size());
  for (const char byte : current)
    std::fprintf(stderr, "%02x", static_cast<unsigned>(static_cast<uint8_t>(byte)));
  std::fprintf(stderr, "\n");
}
void on_abort(int) {
  print_input();
  std::_Exit(1);
}

// The target gets a heap buffer of exactly the input's size, so that the sanitizer sees a read one byte past
// it.
void run(const std::string& input) {
  current = input;
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[input.size()]);
  std::memcpy(exact.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string next(const std::vector<std::string>& corpus) {
    std::string input = corpus[below(corpus.size())];
    for (size_t rounds = 1 + below(4); rounds > 0; --rounds) mutate(input, corpus[below(corpus.size())]);
    return input;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random_() % limit); }

  void mutate(std::string& input, const std::string& other) {
    const size_t at = below(input.size() + 1);
    const size_t span = 1 + below(below(4) == 0 ? 300 : 12);
    switch (below(9)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ 1 << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        break;
      case 2:
        input.erase(at, span);
        break;
      case 3:
        input.insert(at, span, static_cast<char>(below(2) == 0 ? 0 : random_()));
        break;
      case 4:  // copy a range to another position
        input.insert(at, input.substr(below(input.size() + 1), span * 4));
        break;
      case 5: {  // insert bytes of another input
        const size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, below(other.size() + 1)));
        break;
      }
      case 6: {  // numbers at the limits
        static constexpr uint64_t edges[] = {0,      1,          0x7f,       0x80,       0xfff,      0x1000,
                                             0x1001, 1ULL << 31, 1ULL << 32, 1ULL << 60, 1ULL << 63, ~0ULL};
        const std::string edge = bytes::of(edges[below(std::size(edges))]);
        input.replace(at, below(2) == 0 ? 8 : 0, edge);
        break;
      }
      case 7: {  // a varint at the limits
        input.replace(at, below(3), bytes::varint(~0ULL >> below(64)));
        break;
      }
      default:
        input.resize(at);
    }
    if (input.size() > (1U << 16)) input.resize(1U << 16);
  }

  std::mt19937_64 random_;
};

}  // namespace

#ifdef TBQ_ADDRESS_SANITIZER
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.string().c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_inputs(const std::filesystem::path& path, std::vector<std::string>& out) {
  if (!std::filesystem::is_directory(path)) {
    out.push_back(content_of(path));
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) out.push_back(content_of(file));
}

// Writes the seeds as files named by their numbers, and removes files of former seeds.
void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("seed-")) std::filesystem::remove(entry.path());
  }
  for (size_t i = 0; i < seeds().size(); ++i) {
    char name[32];
    std::snprintf(name, sizeof(name), "seed-%03zu", i);
    std::ofstream(folder / name, std::ios::binary)
        .write(seeds()[i].data(), static_cast<std::streamsize>(seeds()[i].size()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, on_abort);
#ifdef TBQ_ADDRESS_SANITIZER
  __sanitizer_set_death_callback(print_input);
#endif
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<std::string> corpus = seeds();
  corpus.emplace_back();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("-seconds=")) {
      seconds = std::strtod(argv[i] + 9, nullptr);
    } else if (argument.starts_with("-seed=")) {
      seed = std::strtoull(argv[i] + 6, nullptr, 10);
    } else if (argument.starts_with("-write=")) {
      write_seeds(argument.substr(7));
      return 0;
    } else {
      read_inputs(argument, corpus);
    }
  }
  for (const std::string& input : corpus) run(input);
  Mutator mutator(seed);
  size_t runs = corpus.size();
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (passed() < seconds) {
    const std::string input = mutator.next(corpus);
    run(input);
    ++runs;
    if (corpus.size() < 4096 && runs % 50 == 0) {
      corpus.push_back(input);  // further mutations start from mutations
    }
  }
  std::printf("%s: %zu inputs in %.1f s, seed %llu, no failure\n", argv[0], runs, passed(),
              static_cast<unsigned long long>(seed));
  return 0;
}
