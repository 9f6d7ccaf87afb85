# awk -v folder=FOLDER -v name=NAME -f steps.awk PAGE.md: the C++ that a page shows in steps with blank lines between them, as FOLDER/NAME_1.h, NAME_2.h, ...
/^```cpp$/ { inside = 1; number++; next }
/^```/ { inside = 0 }
inside && /^$/ { number++; next }
inside { print > (folder "/" name "_" number ".h") }
