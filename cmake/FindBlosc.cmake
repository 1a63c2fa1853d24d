# Blosc::Blosc, from the distribution's package (libblosc-dev).
find_path(Blosc_INCLUDE_DIR blosc.h)
find_library(Blosc_LIBRARY blosc)
if(Blosc_INCLUDE_DIR)
  file(STRINGS ${Blosc_INCLUDE_DIR}/blosc.h line REGEX "#define[ \t]+BLOSC_VERSION_STRING")
  string(REGEX REPLACE ".*\"([0-9.]+).*\".*" "\\1" Blosc_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Blosc REQUIRED_VARS Blosc_LIBRARY Blosc_INCLUDE_DIR VERSION_VAR Blosc_VERSION
  REASON_FAILURE_MESSAGE "install libblosc-dev")
if(Blosc_FOUND AND NOT TARGET Blosc::Blosc)
  add_library(Blosc::Blosc UNKNOWN IMPORTED)
  set_target_properties(Blosc::Blosc PROPERTIES IMPORTED_LOCATION ${Blosc_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Blosc_INCLUDE_DIR})
endif()
mark_as_advanced(Blosc_INCLUDE_DIR Blosc_LIBRARY)
