# stepstore_add_fortran(LIBRARY DIRECTORY): the target stepstore_fortran, which compiles the modules in the
# directory with the Fortran compiler of the project that calls this. LIBRARY: the one with the C interface.
# Where an MPI for Fortran with the module mpi_f08 is found, communicators may have its type.
function(stepstore_add_fortran library directory)
  add_library(stepstore_fortran STATIC EXCLUDE_FROM_ALL
    ${directory}/stepstore_c.f90 ${directory}/stepstore.F90 ${directory}/stepstore_tutorial.f90)
  set(modules ${CMAKE_CURRENT_BINARY_DIR}/stepstore_modules)
  set_target_properties(stepstore_fortran PROPERTIES Fortran_MODULE_DIRECTORY ${modules}
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(stepstore_fortran INTERFACE ${modules})
  target_link_libraries(stepstore_fortran PUBLIC ${library})
  find_package(MPI QUIET COMPONENTS Fortran)
  if(MPI_Fortran_HAVE_F08_MODULE)
    target_compile_definitions(stepstore_fortran PRIVATE STEPSTORE_MPI_F08)
    target_link_libraries(stepstore_fortran PUBLIC MPI::MPI_Fortran)
  endif()
endfunction()
