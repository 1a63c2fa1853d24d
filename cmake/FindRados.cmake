# librados with its C++ interface, since keys of an omap are bytes with zeros among them.
include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(Rados Rados::rados rados/librados.hpp rados "librados-dev and libradospp-dev"
  rados/librados.h "LIBRADOS_VER_(MAJOR|MINOR|EXTRA)")
