# Installs the build, moves the installed tree as a binary package would be moved, and builds and runs the project in this folder
# against it. Usage: cmake -D build=<build folder> -D source=<checkout> -D compiler=<C++ compiler> -D folder=<scratch> -P test.cmake
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

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

# The programs that the guide shows are built, too.
run(awk -v folder=${folder} -f ${CMAKE_CURRENT_LIST_DIR}/programs.awk ${source}/docs/guides/embedding.md)
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${folder}/consumer -D guide=${folder} -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_PREFIX_PATH=${folder}/installed)
run(${CMAKE_COMMAND} --build ${folder}/consumer --parallel 1)
run(${folder}/consumer/plan)
run(${folder}/consumer/release)
run(${folder}/consumer/train)
run(${folder}/consumer/guide_1)
run(${folder}/consumer/guide_2)
file(WRITE ${folder}/table.csv "age,smoker\n34,yes\n51,no\n27,yes\n")
run(${folder}/consumer/guide_3)
run(${folder}/consumer/guide_4)
run(${folder}/consumer/guide_5)

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
