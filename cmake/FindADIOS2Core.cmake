# stepstore_adios2_core(INCLUDE RESULT): the folder with the headers of the core of an ADIOS2. INCLUDE has its
# public headers. Empty: there are none, and ${RESULT}_WHY says why. Installations before 2.12 have them.
# Those of later ones come from the source distribution on PyPI, which pip fetches once into the user's cache.
# STEPSTORE_ADIOS2_CORE_HEADERS names a directory of them instead (`source` of ADIOS2's sources); OFF does
# without.
set(STEPSTORE_ADIOS2_CORE_HEADERS "" CACHE STRING
  "ADIOS2's source directory, for the native engine (default: fetched from PyPI into the cache; OFF: none)")
set(STEPSTORE_FETCH_ADIOS2_HEADERS ${CMAKE_CURRENT_LIST_DIR}/fetch_adios2_headers.py)

function(stepstore_adios2_core include result)
  set(root "")
  set(why "")
  if(STEPSTORE_ADIOS2_CORE_HEADERS)
    set(root ${STEPSTORE_ADIOS2_CORE_HEADERS})
  elseif(NOT STEPSTORE_ADIOS2_CORE_HEADERS STREQUAL "")
    set(why "STEPSTORE_ADIOS2_CORE_HEADERS is ${STEPSTORE_ADIOS2_CORE_HEADERS}")
  elseif(EXISTS ${include}/adios2/core/Engine.h AND EXISTS ${include}/adios2/operator/OperatorFactory.h)
    set(root ${include})
  elseif(NOT ADIOS2Wheel_PYTHON)
    set(why "there is no Python to fetch them with: set STEPSTORE_ADIOS2_PYTHON")
  else()
    set(cache $ENV{STEPSTORE_CACHE})
    if(NOT cache AND DEFINED ENV{XDG_CACHE_HOME})
      set(cache $ENV{XDG_CACHE_HOME}/stepstore)
    elseif(NOT cache)
      set(cache $ENV{HOME}/.cache/stepstore)
    endif()
    file(STRINGS ${include}/adios2/common/ADIOSConfig.h line REGEX "define ADIOS2_VERSION_STR ")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${line}")
    execute_process(COMMAND ${ADIOS2Wheel_PYTHON} ${STEPSTORE_FETCH_ADIOS2_HEADERS} ${version} ${cache}
      RESULT_VARIABLE failed OUTPUT_VARIABLE root ERROR_VARIABLE why
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(failed)
      set(root "")
    endif()
  endif()
  if(root AND NOT EXISTS ${root}/adios2/core/Engine.h)
    set(why "${root} has no adios2/core/Engine.h")
    set(root "")
  endif()
  set(${result} "${root}" PARENT_SCOPE)
  set(${result}_WHY "${why}" PARENT_SCOPE)
endfunction()
