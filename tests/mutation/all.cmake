# Every mutant that the rules of scripts/mutate make of optimizers/, in headers too, and the programs that see them: built by the target `mutation`
# alone, for scripts/test mutation.
set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants)
file(GLOB originals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/optimizers/*/*.cpp ${PROJECT_SOURCE_DIR}/optimizers/*/*.h)
list(FILTER originals EXCLUDE REGEX "/optimizers/models/")
set(copies ${originals})
list(TRANSFORM copies REPLACE "^${PROJECT_SOURCE_DIR}" "${tree}/surety")
add_custom_command(OUTPUT ${copies} ${tree}/mutants.json COMMAND ${Python3_EXECUTABLE} ${mutate} all ${tree}
                   DEPENDS ${originals} ${mutate} ${CMAKE_CURRENT_SOURCE_DIR}/mutation/is_mutant.h VERBATIM)
add_custom_target(mutants DEPENDS ${copies})
set(mutated_sources ${copies})
list(FILTER mutated_sources INCLUDE REGEX "\\.cpp$")

# What sees the mutated headers before the others. Mutants compare and divide what compilers warn of.
function(surety_mutated target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  target_include_directories(${target} BEFORE PRIVATE ${tree})
  target_compile_options(${target} PRIVATE -w)
  add_dependencies(${target} mutants)
endfunction()

add_library(surety_all_mutants OBJECT ${mutated_sources})
target_link_libraries(surety_all_mutants PUBLIC surety::optimizers PRIVATE surety_flags fmt::fmt nlohmann_json::nlohmann_json Eigen3::Eigen)
surety_mutated(surety_all_mutants)

get_target_property(cli_sources surety_cli SURETY_SOURCES)
set(cli_headers $<TARGET_PROPERTY:surety_cli,INTERFACE_INCLUDE_DIRECTORIES>)
# What is compiled for each loss is compiled where the jobs are.
get_target_property(jobs_sources surety_jobs SURETY_SOURCES)
# Tests stand in the place of this one: the property of jobs/CMakeLists.txt is of its folder.
set_source_files_properties(${PROJECT_SOURCE_DIR}/jobs/doors/releasers.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(surety_cli_of_mutants OBJECT ${cli_sources} ${jobs_sources})
target_link_libraries(surety_cli_of_mutants PUBLIC $<TARGET_PROPERTY:surety_cli,INTERFACE_LINK_LIBRARIES>)
target_link_libraries(surety_cli_of_mutants PRIVATE surety_flags nlohmann_json::nlohmann_json MPFR::MPFR CLI11::CLI11)
target_include_directories(surety_cli_of_mutants PRIVATE ${cli_headers})
foreach(room commands ranks)
  target_compile_definitions(surety_cli_of_mutants PRIVATE $<TARGET_PROPERTY:room_cli_${room},COMPILE_DEFINITIONS>)
endforeach()
surety_mutated(surety_cli_of_mutants)

set(command_sources support/command_in_process.cpp support/train_command.cpp support/watched_doors.cpp)
foreach(program IN ITEMS mutation_doors mutation_trace)
  set(program_sources $<IF:$<STREQUAL:${program},mutation_doors>,${CMAKE_CURRENT_SOURCE_DIR}/doors/train_test.cpp,${CMAKE_CURRENT_SOURCE_DIR}/mutation/trace.cpp>)
  add_executable(${program} ${program_sources} ${command_sources} $<TARGET_OBJECTS:surety_cli_of_mutants> $<TARGET_OBJECTS:surety_all_mutants>)
  target_link_libraries(${program} PRIVATE $<TARGET_PROPERTY:surety_cli,INTERFACE_LINK_LIBRARIES> surety_test_support nlohmann_json::nlohmann_json)
  target_include_directories(${program} PRIVATE ${cli_headers})
  target_link_options(${program} PRIVATE ${watched})
  surety_mutated(${program})
endforeach()

file(GLOB test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/optimizers/*/*_test.cpp)
add_executable(mutation_tests ${test_sources} $<TARGET_OBJECTS:surety_all_mutants>)
target_link_libraries(mutation_tests PRIVATE surety_test_optimizers surety::optimizers surety::simulations surety::statistics surety_test_support Eigen3::Eigen)
target_compile_definitions(mutation_tests PRIVATE SURETY_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/kept_files" SURETY_EXAMPLES="${PROJECT_SOURCE_DIR}/examples/data")
surety_mutated(mutation_tests)

add_custom_target(mutation DEPENDS mutation_doors mutation_trace mutation_tests)
