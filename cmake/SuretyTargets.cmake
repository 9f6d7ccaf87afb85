# Flags shared by every target of Surety, and the one way to add a library or a test.

set(CMAKE_CXX_EXTENSIONS OFF)
add_library(surety_flags INTERFACE)
target_compile_features(surety_flags INTERFACE cxx_std_20)
target_compile_options(surety_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
# Floating-point results are part of the contract: no fused operation that the source does not write.
target_compile_options(surety_flags INTERFACE -ffp-contract=off)
if(SURETY_WARNINGS_AS_ERRORS)
  target_compile_options(surety_flags INTERFACE -Werror)
endif()
if(SURETY_SANITIZE)
  target_compile_options(surety_flags INTERFACE -fsanitize=${SURETY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # A null dereference ends in a report anyway, there are no class hierarchies, and the sizes that are known here are those that the address
  # sanitizer checks; without these checks a third of the compile time is saved.
  target_compile_options(surety_flags INTERFACE -fno-sanitize=null,vptr,object-size)
  target_compile_definitions(surety_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(surety_flags INTERFACE -fsanitize=${SURETY_SANITIZE})
endif()

# surety_library(<folder> SOURCES <file>... PUBLIC <target>... PRIVATE <target>...)
#
# A library named surety::<folder>. Its headers are seen through a folder of links that holds this library's headers alone,
# as <surety/<folder>/...>, so a header of a folder that is not linked cannot be included: the arrows between the folders are
# enforced by the compiler.
function(surety_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(headers ${PROJECT_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${headers}/surety)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${headers}/surety/${folder} SYMBOLIC)

  add_library(surety_${folder} STATIC ${arg_SOURCES})
  add_library(surety::${folder} ALIAS surety_${folder})
  set_target_properties(surety_${folder} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(surety_${folder} PUBLIC cxx_std_20)
  target_include_directories(surety_${folder} PUBLIC $<BUILD_INTERFACE:${headers}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(surety_${folder} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:surety_flags>)
  surety_harden(surety_${folder})
  set_property(GLOBAL APPEND PROPERTY SURETY_LIBRARIES surety_${folder})
endfunction()
