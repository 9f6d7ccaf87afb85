# What is installed, as others use it. Usage: cmake -D part=<part> -D build=<build folder> -D source=<checkout> -D compiler=<C++ compiler> -D folder=<scratch>
# -P test.cmake, where the part `installed` is first:
#   installed  installs the build, and moves the installed tree as a binary package would be moved
#   consumer   builds and runs the project in this folder against it
#   guide      the same with the programs that docs/guides/embedding.md shows
#   old_paths  what is promised is there, what is included is, and who includes what was promised before is told
#   embedded   the example of an embedded sampler, the command, and how they are hardened
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(part STREQUAL installed)
  file(REMOVE_RECURSE ${folder})
  file(MAKE_DIRECTORY ${folder})
  run(${CMAKE_COMMAND} --install ${build} --prefix ${folder}/first)
  file(RENAME ${folder}/first ${folder}/installed)
  file(GLOB_RECURSE configs ${folder}/installed/*.cmake)
  foreach(config IN LISTS configs)
    file(READ ${config} text)
    foreach(path IN ITEMS ${source} ${build} ${folder})
      string(FIND "${text}" "${path}/" position)
      if(NOT position EQUAL -1)
        message(FATAL_ERROR "${config} names ${path}, which another machine does not have")
      endif()
    endforeach()
  endforeach()

elseif(part STREQUAL consumer)
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${folder}/consumer -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${folder}/installed)
  run(${CMAKE_COMMAND} --build ${folder}/consumer --parallel 1)
  foreach(program IN ITEMS plan release train)
    run(${folder}/consumer/${program})
  endforeach()

elseif(part STREQUAL guide)
  run(awk -v folder=${folder} -f ${CMAKE_CURRENT_LIST_DIR}/programs.awk ${source}/docs/guides/embedding.md)
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/guide -B ${folder}/guide -D guide=${folder} -D CMAKE_CXX_COMPILER=${compiler}
      -D CMAKE_PREFIX_PATH=${folder}/installed)
  run(${CMAKE_COMMAND} --build ${folder}/guide --parallel 1)
  file(WRITE ${folder}/table.csv "age,smoker\n34,yes\n51,no\n27,yes\n")
  foreach(number RANGE 1 5)
    run(${folder}/guide/guide_${number})
  endforeach()

elseif(part STREQUAL old_paths)
  # What is installed includes nothing that is not, and what is promised is what public-headers.txt says.
  file(GLOB_RECURSE headers RELATIVE ${folder}/installed/include ${folder}/installed/include/surety/*.h)
  foreach(header IN LISTS headers)
    file(STRINGS ${folder}/installed/include/${header} lines REGEX "^ *# *include [<\"]surety/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*[<\"](surety/[^>\"]+)[>\"].*" "\\1" included "${line}")
      if(NOT included IN_LIST headers)
        message(FATAL_ERROR "${header} includes ${included}, which is not installed")
      endif()
    endforeach()
  endforeach()
  file(STRINGS ${source}/cmake/public-headers.txt public REGEX "^[a-z]")
  file(STRINGS ${source}/cmake/old-headers.txt old REGEX "^[a-z]")
  list(TRANSFORM old REPLACE " .*" "")
  set(promised ${headers})
  list(FILTER promised EXCLUDE REGEX "^surety/internal/")
  list(TRANSFORM promised REPLACE "^surety/" "")
  list(REMOVE_ITEM promised ${old})
  list(SORT public)
  list(SORT promised)
  if(NOT promised STREQUAL public)
    message(FATAL_ERROR "installed beside surety/internal are ${promised}, must be ${public}")
  endif()

  # Whoever still uses the old paths compiles, and is told. A header that is reached by two paths is one.
  set(every "#pragma once\n")
  foreach(header IN LISTS public old)
    string(APPEND every "#include <surety/${header}>\n")
  endforeach()
  file(WRITE ${folder}/every.h "${every}")
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/old_paths -B ${folder}/old_paths -D folder=${folder} -D CMAKE_CXX_COMPILER=${compiler}
      -D CMAKE_PREFIX_PATH=${folder}/installed)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}/old_paths --parallel 1 OUTPUT_VARIABLE said ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  foreach(header IN LISTS old)
    string(FIND "${said}" "<surety/${header}> is here until the next minor version" position)
    if(position EQUAL -1)
      message(FATAL_ERROR "nobody is told that <surety/${header}> is an old path")
    endif()
  endforeach()
  foreach(header IN LISTS public)
    string(FIND "${said}" "<surety/${header}> is here until" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "<surety/${header}> is promised, and said to be an old path")
    endif()
  endforeach()
  run(${folder}/old_paths/train)

elseif(part STREQUAL embedded)
  # The example of an embedded sampler: a project of its own, whose program needs nothing of the ledger, of data sets or of files.
  # It is configured where none of what only other libraries need can be found.
  run(${CMAKE_COMMAND} -G Ninja -S ${source}/examples/embed_sampler -B ${folder}/embed_sampler -D CMAKE_CXX_COMPILER=${compiler}
      -D CMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -D CMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
      -D CMAKE_DISABLE_FIND_PACKAGE_BZip2=ON -D CMAKE_DISABLE_FIND_PACKAGE_Zstd=ON
      -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON -D CMAKE_DISABLE_FIND_PACKAGE_Threads=ON -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
      -D CMAKE_PREFIX_PATH=${folder}/installed -D "CMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror")
  run(${CMAKE_COMMAND} --build ${folder}/embed_sampler --parallel 1)
  execute_process(COMMAND ninja -C ${folder}/embed_sampler -t deps OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "[^ \n]*(sqlite3|zlib|zstd|bzlib|nlohmann|boost|CLI)[^ \n]*[.]h[^ \n]*" unneeded "${headers}")
  if(unneeded OR NOT headers MATCHES "surety/mechanisms")
    message(FATAL_ERROR "embed_sampler includes ${unneeded}, which a sampler does not need")
  endif()
  execute_process(COMMAND ${folder}/embed_sampler/embed_sampler OUTPUT_VARIABLE noise COMMAND_ERROR_IS_FATAL ANY)
  if(NOT noise MATCHES "^(-?[0-9]+\n)+$")
    message(FATAL_ERROR "embed_sampler printed no integers but: ${noise}")
  endif()
  execute_process(COMMAND readelf --dynamic ${folder}/embed_sampler/embed_sampler OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT needed MATCHES "libmpfr" OR needed MATCHES "libsqlite3|libz[.]|libzstd|libbz2")
    message(FATAL_ERROR "embed_sampler needs other libraries than the sampler's: ${needed}")
  endif()
  run(${folder}/installed/bin/surety --version)
  file(GLOB_RECURSE files LIST_DIRECTORIES false ${folder}/installed/bin/* ${folder}/installed/*.so)
  foreach(file IN LISTS files)
    run(${CMAKE_COMMAND} -D files=${file} -D folder=${folder}/hardened -P ${CMAKE_CURRENT_LIST_DIR}/hardened.cmake)
  endforeach()

else()
  message(FATAL_ERROR "part is '${part}', must be installed, consumer, guide, old_paths or embedded")
endif()
