# stepstore_mpirun(OUT RANKS): the words that start a test on that many ranks of this machine, also with more
# ranks than cores, also as root.
function(stepstore_mpirun out ranks)
  set(words "")
  if(STEPSTORE_SANITIZE STREQUAL "address")
    set(words ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0) # MPI's own leaks are not ours
  endif()
  list(APPEND words ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks})
  if(NOT DEFINED STEPSTORE_MPIRUN_FLAGS)
    execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
    set(flags "")
    if(version MATCHES "Open MPI|OpenRTE|PRRTE")
      set(flags --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1
        --mca btl_vader_single_copy_mechanism none)
    endif()
    set(STEPSTORE_MPIRUN_FLAGS "${flags}" CACHE STRING "Flags of mpirun for the tests")
  endif()
  set(${out} ${words} ${STEPSTORE_MPIRUN_FLAGS} PARENT_SCOPE)
endfunction()

# stepstore_mpi_test(NAME RANKS COMMAND words...): a test on that many ranks. They give the cores away while
# they wait for each other, so ctest counts at most two.
function(stepstore_mpi_test name ranks)
  cmake_parse_arguments(arg "" "" "COMMAND" ${ARGN})
  stepstore_mpirun(start ${ranks})
  add_test(NAME ${name} COMMAND ${start} ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  if(ranks GREATER 1)
    stepstore_on_two_cores(${name})
  endif()
endfunction()
