// Prints which accountant has a theorem for which event under which adjacency, or (`rows`) what each rests on, for docs/reference/accountants.md.
#include <cstdio>
#include <string_view>

#include <support/accountant_matrix.h>

int main(int count, char** arguments) {
  using namespace surety::accounting;
  const bool rows = count > 1 && std::string_view{arguments[1]} == "rows";
  std::fputs((rows ? matrix::rows_markdown() : matrix::markdown()).c_str(), stdout);
}
