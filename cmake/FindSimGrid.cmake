include(${CMAKE_CURRENT_LIST_DIR}/StepstoreFindLibrary.cmake)
stepstore_find_library(SimGrid SimGrid::simgrid simgrid/s4u.hpp simgrid libsimgrid-dev
  simgrid/version.h "SIMGRID_VERSION_(MAJOR|MINOR|PATCH)")
