# cmake --install: headers under include/surety, static libraries, the command, and a package configuration, so that another
# project says find_package(surety) and links surety::accounting, surety::ledger, surety::mechanisms, surety::data, surety::statistics, surety::optimizers or surety::jobs.
# cmake --install ... --component testing adds surety::testing, whose doors are NOT private, and its headers: nothing else installs them.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY SURETY_LIBRARIES)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
install(TARGETS ${libraries} EXPORT surety-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT surety-targets NAMESPACE surety:: DESTINATION ${package_dir})
get_property(apart GLOBAL PROPERTY SURETY_LIBRARIES_APART)
foreach(name IN LISTS apart)
  install(TARGETS surety_${name} EXPORT surety-${name}-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name} EXCLUDE_FROM_ALL)
  install(EXPORT surety-${name}-targets NAMESPACE surety:: DESTINATION ${package_dir} COMPONENT ${name} EXCLUDE_FROM_ALL)
endforeach()
# Headers: those of public-headers.txt, and what they need.
function(surety_install_headers folder)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" -D \"source=${PROJECT_SOURCE_DIR}\" -D \"folder=${PROJECT_BINARY_DIR}/installed_headers\"
                            -D \"apart=${PROJECT_BINARY_DIR}/installed_apart\" -P \"${PROJECT_SOURCE_DIR}/cmake/SuretyHeaders.cmake\" COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"${PROJECT_BINARY_DIR}/${folder}/surety\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")" ${ARGN})
endfunction()
surety_install_headers(installed_headers)
foreach(name IN LISTS apart)
  surety_install_headers(installed_apart COMPONENT ${name} EXCLUDE_FROM_ALL)
endforeach()

configure_package_config_file(cmake/surety-config.cmake.in surety-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake cmake/FindMPFR.cmake cmake/FindZstd.cmake
        DESTINATION ${package_dir})
