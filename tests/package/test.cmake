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

run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${folder}/consumer -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_PREFIX_PATH=${folder}/installed)
run(${CMAKE_COMMAND} --build ${folder}/consumer --parallel 1)
run(${folder}/consumer/plan)
run(${folder}/consumer/release)
run(${folder}/consumer/train)

# The example of an embedded sampler: a project of its own, whose program needs nothing of the ledger, of data sets or of files.
run(${CMAKE_COMMAND} -G Ninja -S ${source}/examples/embed_sampler -B ${folder}/embed_sampler -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_PREFIX_PATH=${folder}/installed -D "CMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror")
run(${CMAKE_COMMAND} --build ${folder}/embed_sampler --parallel 1)
execute_process(COMMAND ${folder}/embed_sampler/embed_sampler OUTPUT_VARIABLE noise COMMAND_ERROR_IS_FATAL ANY)
if(NOT noise MATCHES "^(-?[0-9]+\n)+$")
  message(FATAL_ERROR "embed_sampler printed no integers but: ${noise}")
endif()
execute_process(COMMAND readelf --dynamic ${folder}/embed_sampler/embed_sampler OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
if(NOT needed MATCHES "libmpfr" OR needed MATCHES "libsqlite3|libz[.]")
  message(FATAL_ERROR "embed_sampler needs other libraries than the sampler's: ${needed}")
endif()
run(${folder}/installed/bin/surety --version)
