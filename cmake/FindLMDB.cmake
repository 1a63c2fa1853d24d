# LMDB::LMDB, from the distribution's package (liblmdb-dev).
find_path(LMDB_INCLUDE_DIR lmdb.h)
find_library(LMDB_LIBRARY lmdb)
if(LMDB_INCLUDE_DIR)
  file(STRINGS ${LMDB_INCLUDE_DIR}/lmdb.h lines
    REGEX "#define[ \t]+MDB_VERSION_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  set(parts "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+$" part "${line}")
    list(APPEND parts ${part})
  endforeach()
  list(JOIN parts "." LMDB_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LMDB REQUIRED_VARS LMDB_LIBRARY LMDB_INCLUDE_DIR VERSION_VAR LMDB_VERSION
  REASON_FAILURE_MESSAGE "install liblmdb-dev")
if(LMDB_FOUND AND NOT TARGET LMDB::LMDB)
  add_library(LMDB::LMDB UNKNOWN IMPORTED)
  set_target_properties(LMDB::LMDB PROPERTIES IMPORTED_LOCATION ${LMDB_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LMDB_INCLUDE_DIR})
endif()
mark_as_advanced(LMDB_INCLUDE_DIR LMDB_LIBRARY)
