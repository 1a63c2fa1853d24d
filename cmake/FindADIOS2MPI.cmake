# An ADIOS2 that was built with MPI, as the targets ADIOS2::cxx_mpi, ADIOS2::c_mpi and, where it has Fortran,
# ADIOS2::fortran_mpi. It is the one at STEPSTORE_ADIOS2_MPI_PREFIX, or the one that scripts/adios2-mpi.sh
# built into the user's cache. Only tests and examples use it; the plugin needs no MPI build.
set(STEPSTORE_ADIOS2_MPI_PREFIX "" CACHE
  PATH "Where an ADIOS2 with MPI is installed (default: the one in the cache of scripts/adios2-mpi.sh)")
set(ADIOS2MPI_PREFIX ${STEPSTORE_ADIOS2_MPI_PREFIX})
if(NOT ADIOS2MPI_PREFIX)
  set(_cache $ENV{STEPSTORE_CACHE})
  if(NOT _cache)
    set(_cache $ENV{HOME}/.cache/stepstore)
  endif()
  file(GLOB _found ${_cache}/adios2-*-mpi-v*/.complete)
  if(_found)
    list(SORT _found COMPARE NATURAL ORDER DESCENDING)
    list(GET _found 0 _newest)
    get_filename_component(ADIOS2MPI_PREFIX ${_newest} DIRECTORY)
  endif()
endif()
set(_libraries "")
if(ADIOS2MPI_PREFIX AND MPI_CXX_FOUND)
  foreach(_part cxx_mpi cxx core_mpi core)
    unset(ADIOS2MPI_${_part}_LIBRARY CACHE) # of another prefix
    find_library(ADIOS2MPI_${_part}_LIBRARY adios2_${_part} PATHS ${ADIOS2MPI_PREFIX} PATH_SUFFIXES lib lib64
      NO_DEFAULT_PATH NO_CACHE)
    list(APPEND _libraries ${ADIOS2MPI_${_part}_LIBRARY})
  endforeach()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ADIOS2MPI REQUIRED_VARS ADIOS2MPI_cxx_mpi_LIBRARY ADIOS2MPI_core_LIBRARY
  ADIOS2MPI_PREFIX)
if(ADIOS2MPI_FOUND AND NOT TARGET ADIOS2::cxx_mpi)
  add_library(ADIOS2::cxx_mpi INTERFACE IMPORTED)
  target_include_directories(ADIOS2::cxx_mpi SYSTEM INTERFACE ${ADIOS2MPI_PREFIX}/include)
  target_compile_definitions(ADIOS2::cxx_mpi INTERFACE ADIOS2_USE_MPI=1 OMPI_SKIP_MPICXX=1
    MPICH_SKIP_MPICXX=1)
  target_link_libraries(ADIOS2::cxx_mpi INTERFACE ${_libraries} MPI::MPI_C)
endif()
foreach(_language c fortran)
  if(NOT ADIOS2MPI_FOUND OR TARGET ADIOS2::${_language}_mpi)
    continue()
  endif()
  foreach(_part ${_language}_mpi ${_language})
    unset(ADIOS2MPI_${_part}_LIBRARY CACHE) # of another prefix
    find_library(ADIOS2MPI_${_part}_LIBRARY adios2_${_part} PATHS ${ADIOS2MPI_PREFIX} PATH_SUFFIXES lib lib64
      NO_DEFAULT_PATH NO_CACHE)
  endforeach()
  if(ADIOS2MPI_${_language}_mpi_LIBRARY AND ADIOS2MPI_${_language}_LIBRARY)
    add_library(ADIOS2::${_language}_mpi INTERFACE IMPORTED)
    target_include_directories(ADIOS2::${_language}_mpi SYSTEM INTERFACE ${ADIOS2MPI_PREFIX}/include
      $<$<COMPILE_LANGUAGE:Fortran>:${ADIOS2MPI_PREFIX}/include/adios2/fortran>)
    target_link_libraries(ADIOS2::${_language}_mpi INTERFACE ${ADIOS2MPI_${_language}_mpi_LIBRARY}
      ${ADIOS2MPI_${_language}_LIBRARY})
  endif()
endforeach()
