// Many ways to write the path of one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Ways to write `here`/`folder`/`name` for a process that works in `here`, an absolute path in which there is a folder sub/deep. The file need
/// not exist. Makes the links that some of them need, whose names end in `tag`.
inline std::vector<std::string> path_spellings(const std::string& here, const std::string& folder, const std::string& name,
                                               const std::string& tag) {
  const std::string whole = here + "/" + folder + "/" + name;
  const auto link = [&](const std::string& of, const std::string& to) {
    std::filesystem::create_symlink(to, here + "/" + of + tag);
    return of + tag;
  };
  const auto folder_link = link("folder", here + "/" + folder);
  const auto file_link = link("file", whole);
  return {whole,
          folder + "/" + name,
          "./" + folder + "//" + name,
          folder + "/./" + name,
          "sub/deep/../../" + folder + "/" + name,
          folder_link + "/" + name,
          folder_link + "/../" + std::filesystem::path{folder}.filename().string() + "/" + name,
          link("relative_folder", folder) + "/" + name,
          link("folder_again", folder_link) + "/" + name,
          file_link,
          here + "/./" + file_link,
          link("file_again", file_link),
          link("through_folder", folder_link + "/" + name),
          link("sub/deep/relative", "../../" + folder + "/" + name),
          "/proc/self/cwd/" + folder + "/" + name};
}
