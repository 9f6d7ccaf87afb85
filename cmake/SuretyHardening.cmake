# Flags for what users run, so that a defect in reading a hostile file is an end of the process and no more. Not where sanitizers
# look, who look closer. tests/package/hardened.cmake holds the results to it.

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# surety_harden(<target>): a canary on the stack of functions with arrays, checked forms of memcpy and the like wherever there is optimisation;
# for executables and modules a place in memory that changes from run to run, symbols that are bound at the start and read-only from then on,
# and a stack that is not executable.
function(surety_harden target)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(SURETY_SANITIZE AND NOT surety_plain_flags IN_LIST libraries)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-protector-strong $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL STATIC_LIBRARY)
    target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  endif()
endfunction()
