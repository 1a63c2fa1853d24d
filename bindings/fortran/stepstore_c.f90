! The calls of stepstore/arrays.h as Fortran sees them. Programs use the module `stepstore`.
module stepstore_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! Options of stepstore_arrays%open: zero is the default.
  type, bind(C) :: stepstore_open_options
    integer(c_int32_t) :: order = 1 ! column-major, as Fortran's arrays lie
    integer(c_int32_t) :: targets = 0 ! of a pool that is made; 0: one per processor, 4 to 16
    integer(c_int32_t) :: power = 0 ! of a pool that is made: 1: what is stored survives a power failure
    integer(c_int32_t) :: unverified = 0 ! 1: reads do not compare data with checksums
    integer(c_int64_t) :: transfer_size = 0 ! bytes of one request; 0: 16 MiB
    integer(c_int64_t) :: snapshot = 0 ! to read: the epoch of a snapshot; 0: now
    real(c_double) :: timeout_seconds = 0 ! how long a rank waits for another one; 0: 300 s
    integer(c_int64_t), private :: reserved(4) = 0
  end type stepstore_open_options

  type, bind(C) :: c_array_options
    type(c_ptr) :: object_class = c_null_ptr
    integer(c_int64_t) :: chunk_size = 0
    integer(c_int32_t) :: checksum = 0, reserved_flags = 0
    integer(c_int64_t) :: reserved(4) = 0
  end type c_array_options

  type, bind(C) :: c_array_info
    integer(c_int64_t) :: type = 0
    integer(c_int32_t) :: ndim = 0, order = 0
    integer(c_int64_t) :: shape(7) = 0, element_size = 0, blocks = 0
    integer(c_int32_t) :: append_dimension = -1, checksum = 0
    integer(c_int64_t) :: chunk_size = 0, version = 0
    character(kind=c_char) :: object_class(32) = c_null_char
    integer(c_int64_t) :: reserved(4) = 0
  end type c_array_info

  interface
    function c_strlen(text) bind(C, name='strlen') result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen

    function c_message() bind(C, name='stepstore_arrays_message') result(text)
      import
      type(c_ptr) :: text
    end function c_message

    function c_open(location, mode, comm, options, store) bind(C, name='stepstore_arrays_open') result(rc)
      import
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int), value :: mode
      type(c_ptr), value :: comm
      type(stepstore_open_options), intent(in) :: options
      integer(c_int64_t), intent(out) :: store
      integer(c_int) :: rc
    end function c_open

    function c_open_fortran(location, mode, comm, options, store) &
      bind(C, name='stepstore_arrays_open_fortran') result(rc)
      import
      character(kind=c_char), intent(in) :: location(*)
      integer(c_int), value :: mode, comm
      type(stepstore_open_options), intent(in) :: options
      integer(c_int64_t), intent(out) :: store
      integer(c_int) :: rc
    end function c_open_fortran

    function c_close(store) bind(C, name='stepstore_arrays_close') result(rc)
      import
      integer(c_int64_t), intent(inout) :: store
      integer(c_int) :: rc
    end function c_close

    function c_sync(store) bind(C, name='stepstore_arrays_sync') result(rc)
      import
      integer(c_int64_t), value :: store
      integer(c_int) :: rc
    end function c_sync

    function c_group(store, rank, ranks) bind(C, name='stepstore_arrays_group') result(rc)
      import
      integer(c_int64_t), value :: store
      integer(c_int), intent(out) :: rank, ranks
      integer(c_int) :: rc
    end function c_group

    function c_write_array(store, name, type, ndim, shape, start, count, data, strides, options, request) &
      bind(C, name='stepstore_write_array') result(rc)
      import
      integer(c_int64_t), value :: store, type
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ndim
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), strides(*)
      type(c_ptr), value :: data, request
      type(c_array_options), intent(in) :: options
      integer(c_int) :: rc
    end function c_write_array

    function c_write_object(store, name, type, ndim, shape, start, count, data, strides, options, request) &
      bind(C, name='stepstore_write_object') result(rc)
      import
      integer(c_int64_t), value :: store, type
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ndim
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), strides(*)
      type(c_ptr), value :: data, request
      type(c_array_options), intent(in) :: options
      integer(c_int) :: rc
    end function c_write_object

    function c_append_array(store, name, dimension, type, ndim, shape, start, count, data, strides, options, &
                            request) bind(C, name='stepstore_append_array') result(rc)
      import
      integer(c_int64_t), value :: store, type
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimension, ndim
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), strides(*)
      type(c_ptr), value :: data, request
      type(c_array_options), intent(in) :: options
      integer(c_int) :: rc
    end function c_append_array

    function c_append_object(store, name, dimension, type, ndim, shape, start, count, data, strides, &
                             options, request) bind(C, name='stepstore_append_object') result(rc)
      import
      integer(c_int64_t), value :: store, type
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimension, ndim
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), strides(*)
      type(c_ptr), value :: data, request
      type(c_array_options), intent(in) :: options
      integer(c_int) :: rc
    end function c_append_object

    function c_read_array(store, name, type, ndim, shape, start, count, data, strides, request) &
      bind(C, name='stepstore_read_array') result(rc)
      import
      integer(c_int64_t), value :: store, type
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ndim
      type(c_ptr), value :: shape, data, request
      integer(c_int64_t), intent(in) :: start(*), count(*), strides(*)
      integer(c_int) :: rc
    end function c_read_array

    function c_wait(request) bind(C, name='stepstore_wait') result(rc)
      import
      integer(c_int64_t), intent(inout) :: request
      integer(c_int) :: rc
    end function c_wait

    function c_test(request, done) bind(C, name='stepstore_test') result(rc)
      import
      integer(c_int64_t), value :: request
      integer(c_int), intent(out) :: done
      integer(c_int) :: rc
    end function c_test

    function c_inquire(store, name, info) bind(C, name='stepstore_array_inquire') result(rc)
      import
      integer(c_int64_t), value :: store
      character(kind=c_char), intent(in) :: name(*)
      type(c_array_info), intent(inout) :: info
      integer(c_int) :: rc
    end function c_inquire

    function c_remove(store, name) bind(C, name='stepstore_array_remove') result(rc)
      import
      integer(c_int64_t), value :: store
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function c_remove

    function c_list(store, names) bind(C, name='stepstore_array_list') result(rc)
      import
      integer(c_int64_t), value :: store
      integer(c_int64_t), intent(out) :: names
      integer(c_int) :: rc
    end function c_list

    function c_attribute_set(store, name, attribute, type, count, values) &
      bind(C, name='stepstore_attribute_set') result(rc)
      import
      integer(c_int64_t), value :: store, type, count
      character(kind=c_char), intent(in) :: name(*), attribute(*)
      type(c_ptr), value :: values
      integer(c_int) :: rc
    end function c_attribute_set

    function c_attribute_get(store, name, attribute, type, count, values, bytes) &
      bind(C, name='stepstore_attribute_get') result(rc)
      import
      integer(c_int64_t), value :: store
      character(kind=c_char), intent(in) :: name(*), attribute(*)
      integer(c_int64_t), intent(out) :: type, count
      type(c_ptr), value :: values
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: rc
    end function c_attribute_get

    function c_attribute_remove(store, name, attribute) bind(C, name='stepstore_attribute_remove') result(rc)
      import
      integer(c_int64_t), value :: store
      character(kind=c_char), intent(in) :: name(*), attribute(*)
      integer(c_int) :: rc
    end function c_attribute_remove

    function c_attribute_list(store, name, names) bind(C, name='stepstore_attribute_list') result(rc)
      import
      integer(c_int64_t), value :: store
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: names
      integer(c_int) :: rc
    end function c_attribute_list

    function c_names_count(names, count) bind(C, name='stepstore_names_count') result(rc)
      import
      integer(c_int64_t), value :: names
      integer(c_int64_t), intent(out) :: count
      integer(c_int) :: rc
    end function c_names_count

    function c_names_get(names, index) bind(C, name='stepstore_names_get') result(text)
      import
      integer(c_int64_t), value :: names, index
      type(c_ptr) :: text
    end function c_names_get

    function c_names_free(names) bind(C, name='stepstore_names_free') result(rc)
      import
      integer(c_int64_t), intent(inout) :: names
      integer(c_int) :: rc
    end function c_names_free
  end interface
end module stepstore_c
