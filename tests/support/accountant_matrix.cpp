// Prints which accountant has a theorem for which event under which adjacency, for docs/reference/accountants.md.
#include <cstdio>

#include <support/accountant_matrix.h>

int main() { std::fputs(surety::accounting::matrix::markdown().c_str(), stdout); }
