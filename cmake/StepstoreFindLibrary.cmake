# What the modules share that find one library of the distribution.
include(FindPackageHandleStandardArgs)

# stepstore_find_library(NAME TARGET HEADER LIBRARY PACKAGES [FILE MACROS]): makes TARGET, or says that
# PACKAGES are missing. The version consists of the numbers that FILE defines as MACROS, a regular expression.
macro(stepstore_find_library name target header library packages)
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY ${library})
  if(${ARGC} GREATER 5 AND EXISTS "${${name}_INCLUDE_DIR}/${ARGV5}")
    file(STRINGS "${${name}_INCLUDE_DIR}/${ARGV5}" parts REGEX "#define[ \t]+(${ARGV6})[ \t]+[0-9]+")
    list(TRANSFORM parts REPLACE "^.*[ \t]([0-9]+)[ \t]*$" "\\1")
    list(JOIN parts "." ${name}_VERSION)
  endif()
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
    VERSION_VAR ${name}_VERSION REASON_FAILURE_MESSAGE "install ${packages}")
  if(${name}_FOUND AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${name}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
  endif()
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
endmacro()
