# SimGrid::simgrid, from the distribution's package (libsimgrid-dev).
find_path(SimGrid_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SimGrid_LIBRARY simgrid)
if(SimGrid_INCLUDE_DIR)
  file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/version.h lines
    REGEX "#define[ \t]+SIMGRID_VERSION_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  set(parts "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+$" part "${line}")
    list(APPEND parts ${part})
  endforeach()
  list(JOIN parts "." SimGrid_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR
  VERSION_VAR SimGrid_VERSION
  REASON_FAILURE_MESSAGE "install libsimgrid-dev")
if(SimGrid_FOUND AND NOT TARGET SimGrid::simgrid)
  add_library(SimGrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::simgrid PROPERTIES IMPORTED_LOCATION "${SimGrid_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SimGrid_INCLUDE_DIR}")
endif()
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)
