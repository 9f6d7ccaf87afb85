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
run(${folder}/installed/bin/surety --version)
