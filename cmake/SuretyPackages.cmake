# What is missing on the machine is said at once and in one line, by the names that Debian has for it (scripts/packages.txt).

# surety_needs(<Debian's name> <package> [arguments of find_package]...): looks for it, and goes on where it is not there.
set(surety_missing "")
macro(surety_needs debian package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    list(APPEND surety_missing ${debian})
  endif()
endmacro()

# Ends here where something was not there.
macro(surety_require_found)
  if(surety_missing)
    list(JOIN surety_missing " " surety_missing)
    # A line that begins with a blank is not wrapped.
    message(FATAL_ERROR "\n Surety needs what is not installed; on Debian: apt install ${surety_missing}\n")
  endif()
endmacro()
