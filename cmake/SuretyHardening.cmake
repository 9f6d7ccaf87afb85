# Flags for what users run, so that a defect in reading a hostile file is an end of the process and no more. Not where sanitizers
# look, who look closer. tests/package/hardened.cmake holds the results to it.

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckPIESupported)
include(CMakePushCheckState)
check_pie_supported(LANGUAGES CXX)

# Level 3 knows sizes that level 2 does not: those of memory that was allocated at run time. Where compiler and library have no level 3, they warn of it.
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("#include <cstdlib>
#if __USE_FORTIFY_LEVEL < 3
#error
#endif
int main() {}" SURETY_HAS_FORTIFY_3)
cmake_pop_check_state()
# Indirect jumps reach the beginning of a function alone, where the processor knows that (x86).
check_cxx_compiler_flag(-fcf-protection=full SURETY_HAS_CF_PROTECTION)

# surety_harden(<target>): a canary on the stack of functions with arrays, checked forms of memcpy and the like wherever there is optimisation;
# for executables and modules a place in memory that changes from run to run, symbols that are bound at the start and read-only from then on,
# and a stack that is not executable.
function(surety_harden target)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(SURETY_SANITIZE AND NOT surety_plain_flags IN_LIST libraries)
    return()
  endif()
  set(fortify $<IF:$<BOOL:${SURETY_HAS_FORTIFY_3}>,3,2>)
  target_compile_options(${target} PRIVATE -fstack-protector-strong $<$<BOOL:${SURETY_HAS_CF_PROTECTION}>:-fcf-protection=full>
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL STATIC_LIBRARY)
    target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  endif()
endfunction()
