# Of util-linux.
include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(UUID UUID::UUID uuid/uuid.h uuid uuid-dev)
