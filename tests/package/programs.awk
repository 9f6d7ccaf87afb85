# awk -v folder=FOLDER -f programs.awk PAGE.md: the C++ programs that a page shows, as FOLDER/guide_1.cpp, guide_2.cpp, ...
/^```cpp$/ { inside = 1; number++; next }
/^```/ { inside = 0 }
inside { print > (folder "/guide_" number ".cpp") }
