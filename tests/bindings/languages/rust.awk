# What a file of Rust declares of surety.h, as tests/bindings/c/declarations.awk prints it with kinds=1.
function kind_of(type) {
  gsub(/^[ \t]+|[ \t]+$/, "", type)
  if (type ~ /^\*(const|mut) / || type ~ /^surety_(fill|called_off|progress|prediction|draw)$/) return "p"
  if (type == "f64") return "d"
  if (type == "usize") return "s"
  if (type ~ /^[iu]64$/) return "l"
  if (type ~ /^(i32|u32|c_int|surety_code|surety_adjacency|surety_question|surety_norm)$/) return "i"
  if (type in fields) return "{" fields[type] "}"
  print "rust: no kind for " type > "/dev/stderr"
  exit 1
}
# Of "name: type, name: type,".
function kinds_of(list, many, parts, i, kinds) {
  many = split(list, parts, ",")
  for (i = 1; i <= many; ++i) {
    if (parts[i] !~ /:/) continue
    sub(/^[^:]*:/, "", parts[i])
    kinds = kinds kind_of(parts[i])
  }
  return kinds
}
!/^[ \t]*\/\// { sub(/^[ \t]*#\[.*\]$/, ""); whole = whole " " $0 }
END {
  gsub(/[ \t]+/, " ", whole)
  while (match(whole, /pub (struct [a-z_]+ \{[^}]*\}|fn [a-z_0-9]+\([^)]*\)[^;]*;)/)) {
    part = substr(whole, RSTART + 4, RLENGTH - 4)
    whole = substr(whole, RSTART + RLENGTH)
    split(part, words, /[ (]/)
    name = words[2]
    if (part ~ /^struct/) {
      if (part ~ /_private/) continue
      body = part
      sub(/^[^{]*\{/, "", body); sub(/\}$/, "", body)
      fields[name] = kinds_of(body)
      print name " {" fields[name] "}"
    } else {
      list = part
      sub(/^[^(]*\(/, "", list); sub(/\).*/, "", list)
      result = part
      print name " " kinds_of(list) " -> " (sub(/.*-> /, "", result) ? kind_of(substr(result, 1, length(result) - 1)) : "v")
    }
  }
}
