# The headers of ADIOS2's core, which its installations leave out: the target ADIOS2::core_headers. They come
# from the source distribution on PyPI of the release in ADIOS2Wheel_INCLUDE_DIR, which pip fetches once into
# the user's cache. STEPSTORE_ADIOS2_CORE_HEADERS names a directory of them instead (`source` of ADIOS2's
# sources); OFF does without.
set(STEPSTORE_ADIOS2_CORE_HEADERS "" CACHE STRING
  "ADIOS2's source directory, for the native engine (default: fetched from PyPI into the cache; OFF: none)")
file(STRINGS ${ADIOS2Wheel_INCLUDE_DIR}/adios2/common/ADIOSConfig.h _lines REGEX "define ADIOS2_VERSION_STR ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" _version "${_lines}")
set(_root ${STEPSTORE_ADIOS2_CORE_HEADERS})
set(ADIOS2Core_WHY "")
if(NOT _root)
  if(NOT STEPSTORE_ADIOS2_CORE_HEADERS STREQUAL "")
    set(ADIOS2Core_WHY "STEPSTORE_ADIOS2_CORE_HEADERS is ${STEPSTORE_ADIOS2_CORE_HEADERS}")
  elseif(NOT ADIOS2Wheel_PYTHON)
    set(ADIOS2Core_WHY "there is no Python to fetch them with: set STEPSTORE_ADIOS2_PYTHON")
  else()
    set(_cache $ENV{STEPSTORE_CACHE})
    if(NOT _cache AND DEFINED ENV{XDG_CACHE_HOME})
      set(_cache $ENV{XDG_CACHE_HOME}/stepstore)
    elseif(NOT _cache)
      set(_cache $ENV{HOME}/.cache/stepstore)
    endif()
    execute_process(COMMAND ${ADIOS2Wheel_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/fetch_adios2_headers.py
      ${_version} ${_cache} RESULT_VARIABLE _failed OUTPUT_VARIABLE _root ERROR_VARIABLE ADIOS2Core_WHY
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(_failed)
      set(_root "")
    endif()
  endif()
endif()
set(ADIOS2Core_FOUND FALSE)
if(_root AND EXISTS ${_root}/adios2/core/Engine.h)
  set(ADIOS2Core_FOUND TRUE)
  if(NOT TARGET ADIOS2::core_headers)
    add_library(ADIOS2::core_headers INTERFACE IMPORTED)
    # Before those of the installation, of which only ADIOSConfig.h is not there.
    target_include_directories(ADIOS2::core_headers SYSTEM BEFORE INTERFACE ${_root})
  endif()
elseif(_root)
  set(ADIOS2Core_WHY "${_root} has no adios2/core/Engine.h")
endif()
