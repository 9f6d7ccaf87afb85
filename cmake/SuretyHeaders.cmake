# Makes the tree of headers that is installed: cmake -D source=<checkout> -D folder=<where surety/ goes> [-D apart=<folder>] -P SuretyHeaders.cmake
#
#   surety/NAME           each header of public-headers.txt
#   surety/internal/NAME  whatever these and the old ones include; where one includes another, it does so by the path at which that is installed
#   surety/NAME           each header of old-headers.txt: it says so, which is no error anywhere, and forwards to where it is, so that a header is one
#                         file by whatever path it is reached
#
# Those of a library that is installed apart (testing.h, testing/) go below `apart` in the same way, which is `folder` where it is not given.
cmake_minimum_required(VERSION 3.25)
if(NOT apart)
  set(apart ${folder})
endif()
file(STRINGS ${source}/cmake/public-headers.txt public REGEX "^[a-z]")
file(STRINGS ${source}/cmake/old-headers.txt old REGEX "^[a-z]")

# Where a header is in the tree: those that gather others are in a folder of their own.
function(in_tree header result)
  if(header MATCHES "/")
    set(${result} ${source}/${header} PARENT_SCOPE)
  else()
    set(${result} ${source}/include/surety/${header} PARENT_SCOPE)
  endif()
endfunction()

# Where it is installed.
function(installed header result)
  if(header IN_LIST public)
    set(${result} surety/${header} PARENT_SCOPE)
  else()
    set(${result} surety/internal/${header} PARENT_SCOPE)
  endif()
endfunction()

# Installs `header` and what it includes, and notes in public_header_of_<header> that it is had by including `from`, unless there is one already.
function(add_header header from)
  get_property(known GLOBAL PROPERTY public_header_of_${header})
  if(known)
    return()
  endif()
  set_property(GLOBAL PROPERTY public_header_of_${header} ${from})
  in_tree(${header} path)
  file(READ ${path} text)
  string(REGEX MATCHALL "#include <surety/[^>]+>" lines "${text}")
  list(REMOVE_DUPLICATES lines)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#include <surety/(.+)>" "\\1" included "${line}")
    add_header(${included} ${from})
    installed(${included} place)
    string(REPLACE "${line}" "#include <${place}>" text "${text}")
  endforeach()
  installed(${header} place)
  if(header MATCHES "^testing[./]")
    file(WRITE ${apart}/${place} "${text}")
  else()
    file(WRITE ${folder}/${place} "${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${folder}/surety ${apart}/surety)
foreach(header IN LISTS public)
  add_header(${header} ${header})
endforeach()
foreach(line IN LISTS old)
  string(REPLACE " " ";" words "${line}")
  list(GET words 0 before)
  list(GET words -1 header)
  add_header(${header} none)
  get_property(from GLOBAL PROPERTY public_header_of_${header})
  set(advice "include <surety/${from}>")
  if(from STREQUAL "none")
    set(advice "nothing of it is promised any more")
  endif()
  installed(${header} place)
  set(told "<surety/${before}> is here until the next minor version: ${advice}")
  file(WRITE ${folder}/surety/${before} "#pragma once
#ifdef __clang__  // which tells nothing of a message in what the system has
#pragma clang diagnostic push
#pragma clang diagnostic ignored \"-Wpedantic\"
#pragma clang diagnostic warning \"-W#warnings\"
#warning \"${told}\"
#pragma clang diagnostic pop
#else
#pragma message(\"${told}\")
#endif
#include <${place}>
")
endforeach()
