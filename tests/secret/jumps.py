#!/usr/bin/env python3
"""jumps.py LIBRARY: what valgrind cannot see. No part of vector noise has an instruction of variable time, or calls a function that may have one. The loop of AVX-512 has the source of that of AVX2, which secret/trials finds without a jump that depends on
random words; here it has no more conditional jumps than that one, and no instruction of variable time or of an address from a vector."""
import re
import subprocess
import sys

text = subprocess.run(["objdump", "-dr", "-C", "--no-show-raw-insn", sys.argv[1]], check=True, capture_output=True, text=True).stdout
loops = {}
name = None
for line in text.splitlines():
    head = re.match(r"[0-9a-f]+ <.*\b(avx2|avx512)::(decide|gather)(\(|\.|>)", line)
    if re.match(r"[0-9a-f]+ <", line):
        name = head and (head[1], head[2])
    elif name and (instruction := re.match(r"\s+[0-9a-f]+:\s+(?:notrack )?(\w+)", line)):
        loops.setdefault(name, []).append(instruction[1])
expected = {(path, part) for path in ("avx2", "avx512") for part in ("decide", "gather")}
assert set(loops) == expected, f"the loops {sorted(loops)} are not {sorted(expected)}"
jumps = {name: sum(re.fullmatch(r"j(?!mp)\w+", i) is not None for i in loop) for name, loop in loops.items()}
for part in ("decide", "gather"):
    assert 0 < jumps["avx512", part] <= jumps["avx2", part], f"{part}: {jumps}"
variable = {i for loop in loops.values() for i in loop if re.match(r"v?(i?div|sqrt|p?gather|p?scatter|rep)", i)}
assert not variable, f"instructions of variable time or address: {variable}"

# Of vector noise, with all that is part of these functions. What they may call: each other, and what ends the program or is asked about sizes.
parts = ["IdealBlock::decide", "PowerTrial::decide", "PowerTrial::magnitude", "PowerTrial::times_r", "VectorRounding::round", "VectorRounding::factor",
         "fixed_point::exp", "rounded_product", "normalized<", "square_root<", "shifted_down<", "operator*(surety::mechanisms::WideFactor"]
allowed = ("surety::", "std::array<surety::mechanisms::FixedPoint", "__cxa_", "_Unwind_", "operator ", "std::__throw", "std::runtime_error", "std::__cxx11::basic_string", "__stack_chk", "memset", "memcpy", "abort", ".text", "typeinfo")
found, name, wrong = set(), None, []
for line in text.splitlines():
    if head := re.match(r"[0-9a-f]+ <(.*)>:", line):
        name = next((part for part in parts if f"surety::mechanisms::{part}" in head[1]), None)
        found |= {name} - {None}
    elif name and (called := re.match(r"\s+[0-9a-f]+: R_X86_64_PLT32\s+(.*?)(-0x4)?$", line)):
        if not called[1].startswith(allowed):
            wrong.append(f"{name} calls {called[1]}")
    elif name and (instruction := re.match(r"\s+[0-9a-f]+:\s+(?:notrack )?(\w+)", line)):
        if re.match(r"v?(i?div|sqrt|p?gather|p?scatter|rep)", instruction[1]) and not instruction[1].startswith("repz"):
            wrong.append(f"{name}: {instruction[1]}")
assert {"IdealBlock::decide", "PowerTrial::decide", "VectorRounding::round"} <= found, f"of vector noise only {sorted(found)} are functions"
assert not wrong, f"instructions of variable time, or calls: {sorted(set(wrong))}"
print(f"vector noise: {len(found)} functions")
print(f"conditional jumps: {jumps}")
