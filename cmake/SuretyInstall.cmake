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

# What people read: licence, documents, examples; with the command its manual pages and completions.
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN target EXCLUDE PATTERN __pycache__ EXCLUDE)
if(SURETY_BUILD_COMMAND)
  set(generated_dir ${PROJECT_BINARY_DIR}/generated)
  set(generated_files)
  # surety_generate(<file> <folder of the installation> <words of surety --generate>...)
  function(surety_generate file destination)
    add_custom_command(OUTPUT ${generated_dir}/${file} COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_dir}
                       COMMAND surety --generate ${ARGN} > ${generated_dir}/${file} DEPENDS surety VERBATIM)
    install(FILES ${generated_dir}/${file} DESTINATION ${destination})
    set(generated_files ${generated_files} ${generated_dir}/${file} PARENT_SCOPE)
  endfunction()
  surety_generate(surety.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
  foreach(name IN ITEMS account audit calibrate convert curve noise predict release report schema show simulate train)
    surety_generate(surety-${name}.1 ${CMAKE_INSTALL_MANDIR}/man1 man ${name})
  endforeach()
  foreach(name IN ITEMS create list show)
    surety_generate(surety-ledger-${name}.1 ${CMAKE_INSTALL_MANDIR}/man1 man ledger ${name})
  endforeach()
  surety_generate(surety ${CMAKE_INSTALL_DATADIR}/bash-completion/completions bash)
  surety_generate(_surety ${CMAKE_INSTALL_DATADIR}/zsh/site-functions zsh)
  surety_generate(surety.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d fish)
  add_custom_target(surety_pages ALL DEPENDS ${generated_files})
endif()

configure_package_config_file(cmake/surety-config.cmake.in surety-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(surety-config-version.cmake COMPATIBILITY SameMinorVersion)
set(config_files ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake)
install(FILES ${config_files} cmake/FindMPFR.cmake cmake/FindZstd.cmake DESTINATION ${package_dir})
# The C library may be installed without the rest.
install(FILES ${config_files} DESTINATION ${package_dir} COMPONENT c EXCLUDE_FROM_ALL)
