# What an interface of JNA declares of surety.h, as tests/bindings/c/declarations.awk prints it with kinds=1.
function kind_of(type) {
  if (type == "double") return "d"
  if (type == "SizeT") return "s"
  if (type == "long") return "l"
  if (type == "int") return "i"
  if (type == "void") return "v"
  if (type ~ /^(Pointer|PointerByReference|String|byte\[\]|double\[\]|float\[\]|long\[\])$/) return "p"
  if (type in fields) return "p"
  print "java: no kind for " type > "/dev/stderr"
  exit 1
}
!/^[ \t]*\/\// { whole = whole " " $0 }
END {
  gsub(/[ \t]+/, " ", whole)
  while (match(whole, /(class surety_[a-z_]+ extends Structure \{[^}]*\}|(int|long|double|void|Pointer) surety_[a-z_0-9]+\([^)]*\);)/)) {
    part = substr(whole, RSTART, RLENGTH)
    if (part ~ /^class/) order = substr(whole, 1, RSTART - 1)
    whole = substr(whole, RSTART + RLENGTH)
    split(part, words, /[ (]/)
    name = words[2]
    if (part ~ /^class/) {
      # JNA lays fields out in the order of the annotation.
      sub(/.*@FieldOrder\(\{/, "", order); sub(/\}\).*/, "", order); gsub(/[" ]/, "", order)
      found = ""
      names = ""
      sub(/^[^{]*\{/, "", part)
      many = split(part, members, ";")
      for (i = 1; i <= many; ++i) {
        if (members[i] !~ /^ public [A-Za-z_]+ [a-z_]+( = .*)?$/) continue
        split(members[i], words, " ")
        names = names (names == "" ? "" : ",") words[3]
        found = found (words[2] in fields ? "{" fields[words[2]] "}" : kind_of(words[2]))
      }
      if (names != order) { print "java: the fields of " name " are not in the order " order > "/dev/stderr"; exit 1 }
      fields[name] = found
      print name " {" found "}"
    } else {
      list = part
      sub(/^[^(]*\(/, "", list); sub(/\).*/, "", list)
      many = split(list, arguments, ",")
      found = ""
      for (i = 1; i <= many; ++i) {
        if (arguments[i] !~ /[a-z]/) continue
        split(arguments[i], words, " ")
        found = found kind_of(words[1])
      }
      split(part, words, " ")
      print name " " found " -> " kind_of(words[1])
    }
  }
}
