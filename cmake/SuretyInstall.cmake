# cmake --install: headers under include/surety, static libraries, the command, and a package configuration, so that another
# project says find_package(surety) and links surety::accounting, surety::ledger, surety::mechanisms, surety::data, surety::statistics, surety::optimizers or surety::jobs.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY SURETY_LIBRARIES)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
install(TARGETS ${libraries} EXPORT surety-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT surety-targets NAMESPACE surety:: DESTINATION ${package_dir})
# Headers: those of public-headers.txt, and what they need.
install(CODE "
  execute_process(COMMAND \"${CMAKE_COMMAND}\" -D \"source=${PROJECT_SOURCE_DIR}\" -D \"folder=${PROJECT_BINARY_DIR}/installed_headers\"
                          -P \"${PROJECT_SOURCE_DIR}/cmake/SuretyHeaders.cmake\" COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL \"${PROJECT_BINARY_DIR}/installed_headers/surety\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")")

configure_package_config_file(cmake/surety-config.cmake.in surety-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake cmake/FindMPFR.cmake cmake/FindZstd.cmake
        DESTINATION ${package_dir})
