#include <surety/jobs/report/file_checksum.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::jobs {
namespace {

void require_digest(int done) {
  if (done != 1) throw Error{ErrorCode::environment, "OpenSSL cannot compute SHA-256"};
}

/// A file that is open for reading.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : path_{path}, descriptor_{uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); })} {
    if (descriptor_ < 0) refuse();
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// 0 at the end.
  template <class Block>
  [[nodiscard]] std::size_t read(Block& block) const {
    const auto length = uninterrupted([&] { return ::read(descriptor_, block.data(), block.size()); });
    if (length < 0) refuse();
    return static_cast<std::size_t>(length);
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error{ErrorCode::environment,
                fmt::format("cannot read '{}': {}", one_line(path_.string()), std::generic_category().message(errno))};
  }

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

std::string sha256_of_file(const std::filesystem::path& path) {
  const OpenFile file{path};
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  require_digest(context ? EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) : 0);
  std::array<unsigned char, std::size_t{1} << 16> block{};
  while (const auto length = file.read(block)) require_digest(EVP_DigestUpdate(context.get(), block.data(), length));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  require_digest(EVP_DigestFinal_ex(context.get(), digest.data(), &length));
  std::string text;
  for (unsigned k = 0; k < length; ++k) text += fmt::format("{:02x}", digest[k]);
  return text;
}

}  // namespace surety::jobs
