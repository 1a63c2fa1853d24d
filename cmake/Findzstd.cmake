# zstd::zstd, from the distribution's package (libzstd-dev).
find_path(zstd_INCLUDE_DIR zstd.h)
find_library(zstd_LIBRARY zstd)
if(zstd_INCLUDE_DIR)
  file(STRINGS ${zstd_INCLUDE_DIR}/zstd.h lines
    REGEX "#define[ \t]+ZSTD_VERSION_(MAJOR|MINOR|RELEASE)[ \t]+[0-9]+")
  set(parts "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+[ \t]*$" part "${line}")
    string(STRIP "${part}" part)
    list(APPEND parts ${part})
  endforeach()
  list(JOIN parts "." zstd_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(zstd REQUIRED_VARS zstd_LIBRARY zstd_INCLUDE_DIR VERSION_VAR zstd_VERSION
  REASON_FAILURE_MESSAGE "install libzstd-dev")
if(zstd_FOUND AND NOT TARGET zstd::zstd)
  add_library(zstd::zstd UNKNOWN IMPORTED)
  set_target_properties(zstd::zstd PROPERTIES IMPORTED_LOCATION ${zstd_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${zstd_INCLUDE_DIR})
endif()
mark_as_advanced(zstd_INCLUDE_DIR zstd_LIBRARY)
