# What `cmake --install` puts where, and the package for find_package(stepstore): targets stepstore::client
# (C++), stepstore::daos (C, the libdaos API) and stepstore::c (C, arrays), which pkg-config knows as
# stepstore-c. stepstore::fortran is made by the package itself (bindings/fortran). A wheel has its own
# layout, which bindings/python describes.
if(SKBUILD)
  return()
endif()
include(CMakePackageConfigHelpers)
include(StepstoreDaosRoot)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepstore)
foreach(target stepstore_daos stepstore_dfs stepstore_client stepstore_c stepstore_mpi stepstore_rados
  stepstore_adios2)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endforeach()

install(TARGETS stepstore_libdaos_headers EXPORT stepstore)
foreach(part daos client c)
  set_target_properties(stepstore_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS stepstore_${part} EXPORT stepstore
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
foreach(module stepstore_dfs stepstore_mpi stepstore_rados stepstore_adios2)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
install(DIRECTORY include/stepstore DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
stepstore_install_daos_root(${STEPSTORE_INSTALL_DAOS_ROOT})

file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(pc_prefix "\${pcfiledir}/${to_prefix}")
set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
set(pc_fortrandir "\${prefix}/${STEPSTORE_INSTALL_FORTRAN}")
set(pc_run_path "")
stepstore_pkg_config(${PROJECT_BINARY_DIR})
install(FILES ${PROJECT_BINARY_DIR}/stepstore-c.pc ${PROJECT_BINARY_DIR}/stepstore-fortran.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

get_property(programs GLOBAL PROPERTY STEPSTORE_BENCHMARKS)
if(TARGET stepstore-mount)
  list(APPEND programs stepstore-mount)
endif()
foreach(program IN LISTS programs)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()

install(EXPORT stepstore NAMESPACE stepstore:: DESTINATION ${package_dir} FILE stepstoreTargets.cmake)
configure_package_config_file(cmake/stepstoreConfig.cmake.in ${PROJECT_BINARY_DIR}/stepstoreConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR STEPSTORE_INSTALL_DAOS_ROOT
  STEPSTORE_INSTALL_FORTRAN)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepstoreConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stepstoreConfig.cmake ${PROJECT_BINARY_DIR}/stepstoreConfigVersion.cmake
  DESTINATION ${package_dir})
