# libuuid, of util-linux: UUID::UUID.
find_path(UUID_INCLUDE_DIR uuid/uuid.h)
find_library(UUID_LIBRARY uuid)
mark_as_advanced(UUID_INCLUDE_DIR UUID_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(UUID REQUIRED_VARS UUID_LIBRARY UUID_INCLUDE_DIR)
if(UUID_FOUND AND NOT TARGET UUID::UUID)
  add_library(UUID::UUID UNKNOWN IMPORTED)
  set_target_properties(UUID::UUID PROPERTIES IMPORTED_LOCATION ${UUID_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${UUID_INCLUDE_DIR})
endif()
