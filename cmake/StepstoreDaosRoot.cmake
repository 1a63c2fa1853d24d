# stepstore_install_daos_root(DESTINATION [COMPONENT...]): the folder that programs written for DAOS know as
# DAOS_ROOT, of which src/daos makes ${STEPSTORE_DAOS_ROOT} in the build tree. It is on no default path, so
# that it never hides a real libdaos.
function(stepstore_install_daos_root destination)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/libdaos/ DESTINATION ${destination}/include ${ARGN}
    FILES_MATCHING PATTERN "*.h")
  install(DIRECTORY ${STEPSTORE_DAOS_ROOT}/lib64 DESTINATION ${destination} USE_SOURCE_PERMISSIONS ${ARGN})
endfunction()
