// A temporary file that is removed at the end of its test.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

class TestFile {
 public:
  explicit TestFile(const std::string& content)
      : path_(
            (std::filesystem::temp_directory_path() / ("tbq_test_" + std::to_string(std::random_device{}())))
                .string()) {
    write(content);
  }
  ~TestFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  void write(const std::string& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
