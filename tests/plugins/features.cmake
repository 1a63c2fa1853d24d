# The rows of the feature table in docs/adios2.md, random streams and bad input: included by CMakeLists.txt.
list(APPEND sources features.cc feature_arrays_cases.cc feature_operators_cases.cc feature_streams_cases.cc
  feature_structs_cases.cc c_bindings.c c_bindings_cases.cc random_cases.cc bad_input_cases.cc
  ../support/random_stream.cc)

# Written and read through BP5 and through Stepstore in one run, and compared.
set(compared feature_types feature_local_values feature_local_arrays feature_empty_blocks
  feature_joined_arrays
  feature_several_blocks feature_changing_shapes feature_coming_and_going feature_box_selections
  feature_block_selections feature_step_selections feature_selection_objects feature_blocks_info
  feature_late_attributes feature_many_attributes feature_defined_after_open feature_deferred_and_sync
  feature_two_streams feature_c_bindings feature_operators
  feature_shape_within_step feature_shape_after_put)

# BP5 of the serial build knows of no ranks: there the comparison runs on one.
function(feature_tests build)
  set(ranks 1)
  if(build STREQUAL "mpi")
    set(ranks 4)
    plugin_mpi_test(mpi feature_reader_counts Plugin 8)
  endif()
  foreach(case ${compared})
    plugin_mpi_test(${build} ${case} Plugin ${ranks})
    if(ADIOS2Core_FOUND)
      plugin_mpi_test(${build} ${case} Stepstore ${ranks})
    endif()
  endforeach()
  if(ADIOS2Core_FOUND)
    plugin_mpi_test(${build} feature_structs Stepstore ${ranks})
    plugin_mpi_test(${build} structs Stepstore ${ranks})
    foreach(engine Stepstore Plugin)
      plugin_mpi_test(${build} structs_beside_others ${engine} ${ranks})
    endforeach()
    plugin_mpi_test(${build} feature_block_selections Public ${ranks})
    foreach(engine Stepstore Public)
      plugin_mpi_test(${build} shape_after_put ${engine} ${ranks})
    endforeach()
  endif()
  foreach(case random_streams ranks_define_differently one_rank_leaves one_rank_leaves_reading
    one_rank_puts_wrongly one_rank_gets_wrongly shape_after_put no_space_left)
    plugin_mpi_test(${build} ${case} Plugin 4)
  endforeach()
endfunction()
