#!/usr/bin/env python3
"""jumps.py LIBRARY: what valgrind cannot run. The loop of AVX-512 has the source of that of AVX2, which secret/trials finds without a jump that depends on
random words; here it has no more conditional jumps than that one, and no instruction of variable time or of an address from a vector."""
import re
import subprocess
import sys

text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", sys.argv[1]], check=True, capture_output=True, text=True).stdout
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
print(f"conditional jumps: {jumps}")
