include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(xxHash xxHash::xxHash xxhash.h xxhash libxxhash-dev
  xxhash.h "XXH_VERSION_(MAJOR|MINOR|RELEASE)")
