include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(LMDB LMDB::LMDB lmdb.h lmdb liblmdb-dev lmdb.h "MDB_VERSION_(MAJOR|MINOR|PATCH)")
