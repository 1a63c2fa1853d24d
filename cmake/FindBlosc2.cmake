# Blosc2::blosc2: C-Blosc2 2.0 or later, from the first of
#   - the system or CMAKE_PREFIX_PATH (libblosc2-dev), or
#   - the Python package blosc2 of the interpreter that builds. Its library is static, so the package is
#     not needed later.
find_path(Blosc2_INCLUDE_DIR blosc2.h)
find_library(Blosc2_LIBRARY blosc2)
if(NOT Blosc2_INCLUDE_DIR OR NOT Blosc2_LIBRARY)
  foreach(python IN ITEMS "${Python_EXECUTABLE}" "${STEPSTORE_ADIOS2_PYTHON}" python3)
    if(NOT python)
      continue()
    endif()
    execute_process(COMMAND ${python} -c
      "import importlib.util, os
found = importlib.util.find_spec('blosc2')
print(os.path.dirname(found.origin) if found else '')"
      OUTPUT_VARIABLE package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(package AND EXISTS ${package}/lib/libblosc2.a)
      set(Blosc2_INCLUDE_DIR ${package}/include CACHE PATH "" FORCE)
      set(Blosc2_LIBRARY ${package}/lib/libblosc2.a CACHE FILEPATH "" FORCE)
      break()
    endif()
  endforeach()
endif()
if(Blosc2_INCLUDE_DIR)
  file(STRINGS ${Blosc2_INCLUDE_DIR}/blosc2.h line REGEX "#define[ \t]+BLOSC2_VERSION_STRING[ \t]+\"")
  string(REGEX REPLACE ".*\"([0-9.]+).*\".*" "\\1" Blosc2_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Blosc2 REQUIRED_VARS Blosc2_LIBRARY Blosc2_INCLUDE_DIR
  VERSION_VAR Blosc2_VERSION REASON_FAILURE_MESSAGE "install libblosc2-dev, or the Python package blosc2")
if(Blosc2_FOUND AND NOT TARGET Blosc2::blosc2)
  add_library(Blosc2::blosc2 UNKNOWN IMPORTED)
  set_target_properties(Blosc2::blosc2 PROPERTIES IMPORTED_LOCATION ${Blosc2_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Blosc2_INCLUDE_DIR})
  if(Blosc2_LIBRARY MATCHES "\\.a$")
    find_package(Threads REQUIRED)
    # What is linked in stays inside: a program may have a blosc of its own.
    set_target_properties(Blosc2::blosc2 PROPERTIES
      INTERFACE_LINK_LIBRARIES "Threads::Threads;m;${CMAKE_DL_LIBS}"
      INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,libblosc2.a")
  endif()
endif()
mark_as_advanced(Blosc2_INCLUDE_DIR Blosc2_LIBRARY)
