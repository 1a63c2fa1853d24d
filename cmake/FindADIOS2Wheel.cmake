# ADIOS2's public C++ interface for the plugin, as the target ADIOS2::plugin_api, and its C interface, as
# ADIOS2::c, from the first of   ADIOS2_DIR / CMAKE_PREFIX_PATH (an installation's CMake package), or
#   the adios2 wheel of the Python interpreter in STEPSTORE_ADIOS2_PYTHON (default: python3 on the PATH).
# The plugin interface has no C++ ABI of MPI's in it, so a plugin built against either loads in both.
set(STEPSTORE_ADIOS2_PYTHON "" CACHE
  FILEPATH "Python interpreter whose adios2 wheel the plugin is built against")
set(_python ${STEPSTORE_ADIOS2_PYTHON})
if(NOT _python AND Python_EXECUTABLE)
  set(_python ${Python_EXECUTABLE})
endif()
if(NOT _python)
  find_program(STEPSTORE_PYTHON3 python3)
  mark_as_advanced(STEPSTORE_PYTHON3)
  set(_python ${STEPSTORE_PYTHON3})
endif()
if(_python)
  execute_process(COMMAND ${_python} -c
    "import importlib.util as u, os; s = u.find_spec('adios2'); print(os.path.dirname(s.origin) if s else '')"
    OUTPUT_VARIABLE ADIOS2Wheel_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(ADIOS2Wheel_PYTHON "${_python}")
find_path(ADIOS2Wheel_INCLUDE_DIR adios2/common/ADIOSConfig.h
  HINTS ${ADIOS2_DIR} ${ADIOS2_DIR}/../../../include ${ADIOS2Wheel_ROOT}/include)
find_library(ADIOS2Wheel_CXX_LIBRARY NAMES adios2_cxx adios2_cxx11
  HINTS ${ADIOS2_DIR}/../.. ${ADIOS2Wheel_ROOT} ${ADIOS2Wheel_ROOT}/lib PATH_SUFFIXES lib lib64)
find_library(ADIOS2Wheel_CORE_LIBRARY adios2_core
  HINTS ${ADIOS2_DIR}/../.. ${ADIOS2Wheel_ROOT} ${ADIOS2Wheel_ROOT}/lib PATH_SUFFIXES lib lib64)
mark_as_advanced(ADIOS2Wheel_INCLUDE_DIR ADIOS2Wheel_CXX_LIBRARY ADIOS2Wheel_CORE_LIBRARY)
if(ADIOS2Wheel_INCLUDE_DIR)
  file(STRINGS ${ADIOS2Wheel_INCLUDE_DIR}/adios2/common/ADIOSConfig.h _line REGEX "ADIOS2_VERSION_STR ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" ADIOS2Wheel_VERSION "${_line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ADIOS2Wheel
  REQUIRED_VARS ADIOS2Wheel_INCLUDE_DIR ADIOS2Wheel_CXX_LIBRARY ADIOS2Wheel_CORE_LIBRARY
  VERSION_VAR ADIOS2Wheel_VERSION)
if(ADIOS2Wheel_FOUND AND NOT TARGET ADIOS2::plugin_api)
  add_library(ADIOS2::plugin_api INTERFACE IMPORTED)
  target_include_directories(ADIOS2::plugin_api SYSTEM INTERFACE ${ADIOS2Wheel_INCLUDE_DIR})
  target_link_libraries(ADIOS2::plugin_api INTERFACE ${ADIOS2Wheel_CXX_LIBRARY} ${ADIOS2Wheel_CORE_LIBRARY})
endif()
get_filename_component(_folder "${ADIOS2Wheel_CXX_LIBRARY}" DIRECTORY)
find_library(ADIOS2Wheel_C_LIBRARY adios2_c PATHS "${_folder}" NO_DEFAULT_PATH)
mark_as_advanced(ADIOS2Wheel_C_LIBRARY)
if(ADIOS2Wheel_FOUND AND ADIOS2Wheel_C_LIBRARY AND NOT TARGET ADIOS2::c)
  add_library(ADIOS2::c INTERFACE IMPORTED)
  target_include_directories(ADIOS2::c SYSTEM INTERFACE ${ADIOS2Wheel_INCLUDE_DIR})
  target_link_libraries(ADIOS2::c INTERFACE ${ADIOS2Wheel_C_LIBRARY})
endif()
