# Flags shared by every target of Surety, and the one way to add a library or a test.

set(CMAKE_CXX_EXTENSIONS OFF)
# Nothing is seen from outside a shared library that Surety is linked into, but for what is marked: the error type, and what another language calls.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
foreach(flags IN ITEMS surety_plain_flags surety_flags)
  add_library(${flags} INTERFACE)
  target_compile_features(${flags} INTERFACE cxx_std_20)
  target_compile_options(${flags} INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  # Floating-point results are part of the contract: no fused operation that the source does not write.
  target_compile_options(${flags} INTERFACE -ffp-contract=off)
  # What a sanitizer adds makes the compiler warn of what is not there.
  if(SURETY_WARNINGS_AS_ERRORS AND NOT (SURETY_SANITIZE AND flags STREQUAL surety_flags))
    target_compile_options(${flags} INTERFACE -Werror)
  endif()
endforeach()

# Of these surety_flags are for what sanitizers see.
if(SURETY_SANITIZE)
  target_compile_options(surety_flags INTERFACE -fsanitize=${SURETY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # A null dereference ends in a report anyway, casts from an interface to what implements it are dynamic ones, which look themselves, and the
  # sizes that are known here are those that the address sanitizer checks; without these checks a third of the compile time is saved.
  target_compile_options(surety_flags INTERFACE -fno-sanitize=null,vptr,object-size)
  target_compile_definitions(surety_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(surety_flags INTERFACE -fsanitize=${SURETY_SANITIZE})
  # The address sanitizer wants the program as it was written.
  if(SURETY_SANITIZE MATCHES "address")
    target_compile_options(surety_flags INTERFACE -Og)
  endif()
endif()

# surety_precompile(<target> <flags>): headers that most sources include are compiled once for all targets of the same flags. Each source includes them
# itself, too, which scripts/test alone checks.
function(surety_precompile target flags)
  if(NOT TARGET ${flags}_precompiled)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
    add_library(${flags}_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(${flags}_precompiled PRIVATE fmt::fmt ${flags})
    surety_harden(${flags}_precompiled)
    set_target_properties(${flags}_precompiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # Headers by name: the path of a header of this tree would keep ccache from sharing objects with the wheel, whose sources are a copy elsewhere.
    target_precompile_headers(${flags}_precompiled PRIVATE <algorithm> <array> <cmath> <functional> <limits> <map> <memory> <numeric> <optional> <span> <string>
      <tuple> <variant> <vector> <fmt/format.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${flags}_precompiled)
endfunction()

# surety_room(<folder> SOURCES <file>... USES <room>... PRIVATE <target>...)
#
# One folder with one subject, as accounting/events. It is compiled with the headers of the rooms that it uses in sight, and of those that they
# use, and no others: each room's headers are seen as <surety/<folder>/...> through a folder of links that holds nothing else, so the arrows
# between rooms are enforced by the compiler. Without sources it is a room of headers.
function(surety_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;PRIVATE")
  string(REPLACE "/" "_" name ${room})
  set(headers ${PROJECT_BINARY_DIR}/include/${name})
  cmake_path(GET room PARENT_PATH parent)
  file(MAKE_DIRECTORY ${headers}/surety/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${room} ${headers}/surety/${room} SYMBOLIC)

  list(TRANSFORM arg_USES REPLACE "/" "_")
  list(TRANSFORM arg_USES PREPEND room_)
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${room}/)
    add_library(room_${name} OBJECT ${arg_SOURCES})
    target_include_directories(room_${name} PUBLIC ${headers})
    set(flags surety_flags)
    if(SURETY_NOT_SANITIZED AND room MATCHES "^(${SURETY_NOT_SANITIZED})$")
      set(flags surety_plain_flags)
    endif()
    target_link_libraries(room_${name} PUBLIC ${arg_USES} PRIVATE ${arg_PRIVATE} fmt::fmt MPFR::MPFR ${flags})
    surety_harden(room_${name})
    set_target_properties(room_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    surety_precompile(room_${name} ${flags})
  else()
    add_library(room_${name} INTERFACE)
    target_include_directories(room_${name} INTERFACE ${headers})
    target_link_libraries(room_${name} INTERFACE ${arg_USES})
  endif()
endfunction()

# surety_library(<name> ROOMS <room>... PUBLIC <target>... PRIVATE <target>... [NOT_INSTALLED | INSTALLED_APART])
#
# The library surety::<name>: the rooms of one folder. One that is installed apart is installed by those who ask for its component, <name>, alone.
function(surety_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_INSTALLED;INSTALLED_APART" "" "ROOMS;PUBLIC;PRIVATE")
  add_library(surety_${name} STATIC)
  add_library(surety::${name} ALIAS surety_${name})
  set_target_properties(surety_${name} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  target_compile_features(surety_${name} PUBLIC cxx_std_20)
  foreach(room IN LISTS arg_ROOMS)
    string(REPLACE "/" "_" room ${room})
    get_target_property(type room_${room} TYPE)
    if(type STREQUAL OBJECT_LIBRARY)
      target_sources(surety_${name} PRIVATE $<TARGET_OBJECTS:room_${room}>)
      get_target_property(sources room_${room} SOURCES)
      set_property(TARGET surety_${name} APPEND PROPERTY SURETY_SOURCES ${sources})
    endif()
    target_include_directories(surety_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/${room}>)
  endforeach()
  target_include_directories(surety_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(surety_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_INSTALLED_APART)
    set_property(GLOBAL APPEND PROPERTY SURETY_LIBRARIES_APART ${name})
  elseif(NOT arg_NOT_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY SURETY_LIBRARIES surety_${name})
  endif()
endfunction()
