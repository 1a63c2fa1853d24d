# Rados::rados: librados with its C++ interface, from the distribution's packages (librados-dev and
# libradospp-dev). The C++ one, since keys of an omap are bytes with zeros among them.
find_path(Rados_INCLUDE_DIR rados/librados.hpp)
find_library(Rados_LIBRARY rados)
if(Rados_INCLUDE_DIR AND EXISTS ${Rados_INCLUDE_DIR}/rados/librados.h)
  file(STRINGS ${Rados_INCLUDE_DIR}/rados/librados.h lines
    REGEX "#define[ \t]+LIBRADOS_VER_(MAJOR|MINOR|EXTRA)[ \t]+[0-9]+")
  set(parts "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+$" part "${line}")
    list(APPEND parts ${part})
  endforeach()
  list(JOIN parts "." Rados_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Rados REQUIRED_VARS Rados_LIBRARY Rados_INCLUDE_DIR
  VERSION_VAR Rados_VERSION REASON_FAILURE_MESSAGE "install librados-dev and libradospp-dev")
if(Rados_FOUND AND NOT TARGET Rados::rados)
  add_library(Rados::rados UNKNOWN IMPORTED)
  set_target_properties(Rados::rados PROPERTIES IMPORTED_LOCATION ${Rados_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Rados_INCLUDE_DIR})
endif()
mark_as_advanced(Rados_INCLUDE_DIR Rados_LIBRARY)
