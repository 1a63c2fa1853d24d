# FDB5's C++ interface for the plugin, as the target FDB5::plugin_api, from the first of
#   - CMAKE_PREFIX_PATH / fdb5_DIR (an installation of FDB5, eckit and metkit), or
#   - the wheels fdb5lib, eckitlib and metkitlib of the Python interpreter in STEPSTORE_FDB5_PYTHON. Its
#     default is the interpreter of the ADIOS2 wheel, or python3.
set(STEPSTORE_FDB5_PYTHON "" CACHE
  FILEPATH "Python interpreter whose fdb5lib wheel the FDB plugin is built against")
set(_python ${STEPSTORE_FDB5_PYTHON})
foreach(_candidate "${STEPSTORE_ADIOS2_PYTHON}" "${Python_EXECUTABLE}")
  if(NOT _python AND _candidate)
    set(_python ${_candidate})
  endif()
endforeach()
if(NOT _python)
  find_program(STEPSTORE_PYTHON3 python3)
  mark_as_advanced(STEPSTORE_PYTHON3)
  set(_python ${STEPSTORE_PYTHON3})
endif()
set(FDB5Wheel_PYTHON ${_python})
set(_roots "")
if(_python)
  execute_process(COMMAND ${_python} -c
    "import importlib.util as u, os
for name in ('fdb5lib', 'eckitlib', 'metkitlib', 'eccodeslib'):
    s = u.find_spec(name); print(os.path.dirname(s.origin) if s else '', end=';')"
    OUTPUT_VARIABLE _roots OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(_required "")
set(_includes "")
set(_libraries "")
foreach(_part "fdb5|fdb5/database/Catalogue.h" "eckit|eckit/system/Plugin.h"
  "metkit|metkit/mars/MarsRequest.h")
  string(REPLACE "|" ";" _part "${_part}")
  list(GET _part 0 _name)
  list(GET _part 1 _header)
  list(TRANSFORM _roots APPEND /include OUTPUT_VARIABLE _include_hints)
  find_path(FDB5Wheel_${_name}_INCLUDE_DIR ${_header} HINTS ${fdb5_DIR}/../../../include ${_include_hints})
  find_library(FDB5Wheel_${_name}_LIBRARY ${_name} HINTS ${fdb5_DIR}/../../../lib64 ${_roots}
    PATH_SUFFIXES lib64 lib)
  mark_as_advanced(FDB5Wheel_${_name}_INCLUDE_DIR FDB5Wheel_${_name}_LIBRARY)
  list(APPEND _required FDB5Wheel_${_name}_INCLUDE_DIR FDB5Wheel_${_name}_LIBRARY)
  list(APPEND _includes ${FDB5Wheel_${_name}_INCLUDE_DIR})
  list(APPEND _libraries ${FDB5Wheel_${_name}_LIBRARY})
endforeach()
# FDB's library needs ecCodes', which the plugin does not.
find_library(FDB5Wheel_eccodes_LIBRARY eccodes HINTS ${fdb5_DIR}/../../../lib64 ${_roots} PATH_SUFFIXES lib64
  lib)
mark_as_advanced(FDB5Wheel_eccodes_LIBRARY)
set(FDB5Wheel_LIBRARY_DIRS "") # all that a program needs to find which loads the plugin and has only eckit
foreach(_library ${_libraries} ${FDB5Wheel_eccodes_LIBRARY})
  if(EXISTS "${_library}")
    get_filename_component(_library "${_library}" REALPATH)
    get_filename_component(_library "${_library}" DIRECTORY)
    list(APPEND FDB5Wheel_LIBRARY_DIRS ${_library})
  endif()
endforeach()
list(REMOVE_DUPLICATES FDB5Wheel_LIBRARY_DIRS)
if(FDB5Wheel_fdb5_INCLUDE_DIR AND EXISTS ${FDB5Wheel_fdb5_INCLUDE_DIR}/fdb5/fdb5_version.h)
  file(STRINGS ${FDB5Wheel_fdb5_INCLUDE_DIR}/fdb5/fdb5_version.h _version REGEX "define fdb5_VERSION_STR ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" FDB5Wheel_VERSION "${_version}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FDB5Wheel REQUIRED_VARS ${_required} VERSION_VAR FDB5Wheel_VERSION)
if(FDB5Wheel_FOUND AND NOT TARGET FDB5::plugin_api)
  add_library(FDB5::plugin_api INTERFACE IMPORTED)
  target_include_directories(FDB5::plugin_api SYSTEM INTERFACE ${_includes})
  target_link_libraries(FDB5::plugin_api INTERFACE ${_libraries})
endif()
