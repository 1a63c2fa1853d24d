# What C and Fortran programs are built with by pkg-config: stepstore-c.pc and stepstore-fortran.pc, which
# find their files from their own place.

# stepstore_pkg_config(FOLDER): cmake/*.pc.in into FOLDER, by the caller's variables pc_prefix, pc_libdir,
# pc_includedir and pc_fortrandir. pc_run_path (with a space after it) is of places that no loader looks at.
function(stepstore_pkg_config folder)
  foreach(name stepstore-c stepstore-fortran)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${folder}/${name}.pc @ONLY)
  endforeach()
endfunction()

# The build tree has them too: build/lib/pkgconfig.
block()
  set(pc_prefix ${PROJECT_BINARY_DIR})
  set(pc_libdir ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  set(pc_includedir ${PROJECT_SOURCE_DIR}/include)
  set(pc_fortrandir ${PROJECT_BINARY_DIR}/fortran)
  set(pc_run_path "-Wl,-rpath,${pc_libdir} ")
  stepstore_pkg_config(${pc_libdir}/pkgconfig)
endblock()

# stepstore_install_pkg_config(DESTINATION [COMPONENT...]): all of it into one folder, as in the wheel: lib/,
# where the libraries are, lib/pkgconfig/, include/ and share/fortran/.
function(stepstore_install_pkg_config destination)
  set(pc_prefix "\${pcfiledir}/../..")
  set(pc_libdir "\${prefix}/lib")
  set(pc_includedir "\${prefix}/include")
  set(pc_fortrandir "\${prefix}/share/fortran")
  set(pc_run_path "-Wl,-rpath,\${libdir} ")
  set(made ${PROJECT_BINARY_DIR}/pkgconfig-in-one-folder)
  stepstore_pkg_config(${made})
  install(DIRECTORY ${made}/ DESTINATION ${destination}/lib/pkgconfig ${ARGN})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/stepstore DESTINATION ${destination}/include ${ARGN}
    FILES_MATCHING PATTERN "*.h")
  foreach(source stepstore.F90 stepstore_c.f90 stepstore_tutorial.f90)
    install(FILES ${PROJECT_BINARY_DIR}/fortran/${source} DESTINATION ${destination}/share/fortran ${ARGN})
  endforeach()
endfunction()
