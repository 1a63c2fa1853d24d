include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(zstd zstd::zstd zstd.h zstd libzstd-dev zstd.h "ZSTD_VERSION_(MAJOR|MINOR|RELEASE)")
