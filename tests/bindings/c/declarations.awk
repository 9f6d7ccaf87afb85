# What surety.h declares, one a line, without comments and names of arguments: "code surety_delta(const surety_event*, double, ...)", "enum NAME = VALUE",
# "struct NAME { type field; ... }". With -v kinds=1, as machines see it: "surety_delta pdddp -> i", where p is a pointer, d a double, i and u
# integers of 32 bits, l of 64, s a size_t, v nothing, and {...} a struct by value: what other languages' declarations are compared with.
function trim(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }
# Without the name of an argument or a field.
function type_of(declaration) {
  declaration = trim(declaration)
  gsub(/ *\* */, "*", declaration)
  gsub(/\*/, "* ", declaration)
  gsub(/\* \*/, "**", declaration)
  sub(/ [A-Za-z_0-9]+$/, "", declaration)
  return trim(declaration)
}
function kind_of(type) {
  if (type ~ /\*/ || type ~ /\(/ || type ~ /^surety_(called_off|prediction|draw)$/) return "p"
  if (type == "double") return "d"
  if (type == "void") return "v"
  if (type == "size_t") return "s"
  if (type ~ /^u?int64_t$/) return "l"
  if (type ~ /^(int|int32_t|uint32_t|surety_code|surety_adjacency|surety_question|surety_norm)$/) return "i"
  if (type in fields) return "{" fields[type] "}"
  print "declarations: no kind for " type > "/dev/stderr"
  exit 1
}
function arguments(list, many, parts, i, text) {
  if (trim(list) == "void" || trim(list) == "") return ""
  many = split(list, parts, ",")
  text = ""
  for (i = 1; i <= many; ++i) {
    if (kinds) text = text kind_of(type_of(parts[i]))
    else text = text (i > 1 ? ", " : "") type_of(parts[i])
  }
  return text
}
{ whole = whole " " $0 }
/^#/ { sub(/ #.*$/, "", whole); if ($1 == "#define" && NF == 3) values[++defined] = $2 " = " $3 }
END {
  while (match(whole, /\/\*([^*]|\*+[^*\/])*\*+\//)) whole = substr(whole, 1, RSTART - 1) " " substr(whole, RSTART + RLENGTH)
  gsub(/[ \t]+/, " ", whole)
  sub(/extern "C" \{/, "", whole)
  # Structs have semicolons inside: the semicolon that ends a declaration stands outside of braces.
  rest = whole
  while (rest != "") {
    depth = 0
    for (i = 1; i <= length(rest); ++i) {
      letter = substr(rest, i, 1)
      if (letter == "{") ++depth
      else if (letter == "}") --depth
      else if (letter == ";" && depth <= 0) break
    }
    part = trim(substr(rest, 1, i - 1))
    rest = substr(rest, i + 1)
    if (part ~ /^enum / && !kinds) {
      sub(/^[^{]*\{/, "", part); sub(/\}.*/, "", part)
      many = split(part, names, ",")
      for (j = 1; j <= many; ++j) if (trim(names[j]) != "") print "enum " trim(names[j])
    } else if (part ~ /^typedef struct [a-z_]+ \{/) {
      split(part, words, " ")
      name = words[3]
      body = part
      sub(/^[^{]*\{/, "", body); sub(/\}[^}]*$/, "", body)
      many = split(body, members, ";")
      line = ""
      found = ""
      for (j = 1; j <= many; ++j) {
        if (trim(members[j]) == "") continue
        line = line " " trim(members[j]) ";"
        found = found kind_of(members[j] ~ /\(/ ? "(" : type_of(members[j]))
      }
      fields[name] = found
      print kinds ? name " {" found "}" : "struct " name " {" line " }"
    } else if (part ~ /^SURETY_API /) {
      sub(/^SURETY_API /, "", part)
      open = index(part, "(")
      head = substr(part, 1, open - 1)
      inside = substr(part, open + 1)
      sub(/\)[^)]*$/, "", inside)
      match(head, /[a-z_0-9]+$/)
      name = substr(head, RSTART)
      result = trim(substr(head, 1, RSTART - 1))
      if (kinds) print name " " arguments(inside) " -> " kind_of(result)
      else print result " " name "(" arguments(inside) ")"
    }
  }
  if (!kinds) for (i = 1; i <= defined; ++i) if (values[i] !~ /^SURETY_(H|API) /) print "define " values[i]
}
