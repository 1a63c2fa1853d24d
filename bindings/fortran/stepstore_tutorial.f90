! The calls of EPCC's tutorial "DAOS Fortran interfacing", with its names and in its order of arguments, over
! the module `stepstore`. They write and read one block-decomposed array of doubles per configuration.
!
! Arguments, as in the tutorial:
!   pool_name       the location, such as '/data/pool' or 'daos://POOL/CONTAINER'
!   ndim            number of dimensions, 1 to 7
!   arraysize       this rank's part with its halo: only compared with arraysubsize
!   arraygsize      the whole array
!   arraysubsize    this rank's part: so many elements lie together in out_data or read_data
!   arraystart      where it begins in the whole array, from 0
!   object_class    'S1', 'SX' ...; blank: the default. To read, it is not needed
!   blocksize       bytes that lie on one target (chunk_size of `stepstore`); 0: the default
!   check_data      1: the data are stored with checksums, read back and compared
!   daosconfig      a number N: the name of the array is 'array-N' or 'object-N'
!   communicator    that of daos_initialise
! A text may end with a zero byte, as the tutorial's do. Two arguments follow that the tutorial has not: ierr
! and message, as in `stepstore`.
module stepstore_tutorial
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_int, c_loc, c_long, c_null_char, c_ptr, &
    c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use stepstore
  implicit none
  private
  public :: daos_initialise, daos_write_array, daos_write_object, daos_read_array, daos_read_object
  public :: daos_finish

  type(stepstore_arrays), save :: store
  integer(c_int), save :: opened_with = 0

  ! What the calls say of a rank's part.
  type :: part
    character(len=32) :: name = ''
    integer(int64), allocatable :: count(:)
    type(stepstore_block) :: block
    character(len=:), allocatable :: wrong ! empty: nothing
  end type part

contains

  subroutine daos_initialise(pool_name, communicator, ierr, message)
    character(len=*), intent(in) :: pool_name
    integer(c_int), intent(in) :: communicator
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    opened_with = communicator
    call store%open(until_zero(pool_name), STEPSTORE_WRITE, int(communicator), ierr=ierr, message=message)
  end subroutine daos_initialise

  ! One array object, in which each rank's part has its place.
  subroutine daos_write_array(ndim, arraysize, arraygsize, arraysubsize, arraystart, out_data, object_class, &
                              blocksize, check_data, daosconfig, communicator, ierr, message)
    integer(c_int), intent(in) :: ndim, check_data, daosconfig, communicator
    integer(c_long), intent(in) :: arraysize(*), arraygsize(*), arraysubsize(*), arraystart(*)
    real(c_double), intent(in), target :: out_data(*)
    character(len=*), intent(in) :: object_class
    integer(c_size_t), intent(in) :: blocksize
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    type(stepstore_array_options) :: options
    type(part) :: mine
    mine = part_of('array', ndim, arraysize, arraygsize, arraysubsize, arraystart, daosconfig, &
                   communicator)
    options = stepstore_array_options(until_zero(object_class), int(blocksize, int64), check_data == 1, &
                                      .false.)
    call transfer_part(mine, c_loc(out_data), options, ierr, message)
  end subroutine daos_write_array

  ! An array object for each rank's part, and a key-value that assembles them.
  subroutine daos_write_object(ndim, arraysize, arraygsize, arraysubsize, arraystart, out_data, &
                               object_class, blocksize, check_data, daosconfig, communicator, ierr, message)
    integer(c_int), intent(in) :: ndim, check_data, daosconfig, communicator
    integer(c_long), intent(in) :: arraysize(*), arraygsize(*), arraysubsize(*), arraystart(*)
    real(c_double), intent(in), target :: out_data(*)
    character(len=*), intent(in) :: object_class
    integer(c_size_t), intent(in) :: blocksize
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    type(stepstore_array_options) :: options
    type(part) :: mine
    mine = part_of('object', ndim, arraysize, arraygsize, arraysubsize, arraystart, daosconfig, &
                   communicator)
    options = stepstore_array_options(until_zero(object_class), int(blocksize, int64), check_data == 1, &
                                      .true.)
    call transfer_part(mine, c_loc(out_data), options, ierr, message)
  end subroutine daos_write_object

  subroutine daos_read_array(ndim, arraysize, arraygsize, arraysubsize, arraystart, read_data, object_class, &
                             daosconfig, communicator, ierr, message)
    integer(c_int), intent(in) :: ndim, daosconfig, communicator
    integer(c_long), intent(in) :: arraysize(*), arraygsize(*), arraysubsize(*), arraystart(*)
    real(c_double), intent(inout), target :: read_data(*)
    character(len=*), intent(in) :: object_class
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    type(part) :: mine
    mine = part_of('array', ndim, arraysize, arraygsize, arraysubsize, arraystart, daosconfig, &
                   communicator)
    call transfer_part(mine, c_loc(read_data), ierr=ierr, message=message)
  end subroutine daos_read_array

  subroutine daos_read_object(ndim, arraysize, arraygsize, arraysubsize, arraystart, read_data, &
                               object_class, daosconfig, communicator, ierr, message)
    integer(c_int), intent(in) :: ndim, daosconfig, communicator
    integer(c_long), intent(in) :: arraysize(*), arraygsize(*), arraysubsize(*), arraystart(*)
    real(c_double), intent(inout), target :: read_data(*)
    character(len=*), intent(in) :: object_class
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    type(part) :: mine
    mine = part_of('object', ndim, arraysize, arraygsize, arraysubsize, arraystart, daosconfig, &
                   communicator)
    call transfer_part(mine, c_loc(read_data), ierr=ierr, message=message)
  end subroutine daos_read_object

  subroutine daos_finish(communicator, ierr, message)
    integer(c_int), intent(in) :: communicator
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    call store%close(ierr, message)
  end subroutine daos_finish

  pure function until_zero(text) result(before)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: before
    integer :: zero
    zero = index(text, c_null_char)
    before = text
    if (zero > 0) before = text(:zero - 1)
  end function until_zero

  function part_of(kind, ndim, arraysize, arraygsize, arraysubsize, arraystart, daosconfig, &
                   communicator) result(mine)
    character(len=*), intent(in) :: kind
    integer(c_int), intent(in) :: ndim, daosconfig, communicator
    integer(c_long), intent(in) :: arraysize(*), arraygsize(*), arraysubsize(*), arraystart(*)
    type(part) :: mine
    write (mine%name, '(2a, i0)') kind, '-', daosconfig
    ! Any other number of dimensions: a block that cannot be, which every rank is told of.
    mine%count = [0_int64]
    mine%block = stepstore_block([-1], [1])
    mine%wrong = ''
    if (ndim < 1 .or. ndim > 7) then
      mine%wrong = 'ndim is not 1 to 7'
      return
    end if
    mine%count = arraysubsize(1:ndim)
    mine%block = stepstore_block(int(arraystart(1:ndim), int64), int(arraygsize(1:ndim), int64))
    if (communicator /= opened_with) then
      mine%wrong = 'the communicator is not the one of daos_initialise'
    else if (any(arraysize(1:ndim) < arraysubsize(1:ndim))) then
      mine%wrong = 'arraysize, which has the halo, is smaller than arraysubsize'
    end if
    if (mine%wrong /= '') mine%block%start(1) = -1
  end function part_of

  ! Writes, where there are options, or reads.
  subroutine transfer_part(mine, data, options, ierr, message)
    type(part), intent(in) :: mine
    type(c_ptr), intent(in) :: data
    type(stepstore_array_options), intent(in), optional :: options
    integer, intent(out), optional :: ierr
    character(len=*), intent(inout), optional :: message
    integer :: code
    character(len=1024) :: text
    text = ''
    call call_store(mine, data, options, code, text)
    if (code == -DER_INVAL .and. mine%wrong /= '') text = trim(mine%name)//': '//mine%wrong
    if (code == 0 .and. present(options)) then
      if (options%checksum) call read_back(mine, data, code, text)
    end if
    if (present(ierr)) ierr = code
    if (code == 0) return
    if (present(message)) message = text
    if (.not. present(ierr)) write (error_unit, '(2a)') 'stepstore: ', trim(text)
  end subroutine transfer_part

  ! Compares bits: a number that is none equals itself.
  subroutine read_back(mine, data, code, text)
    type(part), intent(in) :: mine
    type(c_ptr), intent(in) :: data
    integer, intent(out) :: code
    character(len=*), intent(inout) :: text
    integer(int64), allocatable, target :: stored(:)
    integer(int64), pointer :: given(:)
    allocate (stored(product(mine%count) + 1))
    call c_f_pointer(data, given, [product(mine%count)])
    call call_store(mine, c_loc(stored), code=code, text=text)
    if (code /= 0) return
    if (all(stored(1:size(given)) == given)) return
    code = -DER_CSUM
    text = trim(mine%name)//': what was read back is not what was written'
  end subroutine read_back

  subroutine call_store(mine, data, options, code, text)
    type(part), intent(in) :: mine
    type(c_ptr), intent(in) :: data
    type(stepstore_array_options), intent(in), optional :: options
    integer, intent(out) :: code
    character(len=*), intent(inout) :: text
    real(c_double), pointer :: of_1(:)
    real(c_double), pointer :: of_2(:, :)
    real(c_double), pointer :: of_3(:, :, :)
    real(c_double), pointer :: of_4(:, :, :, :)
    real(c_double), pointer :: of_5(:, :, :, :, :)
    real(c_double), pointer :: of_6(:, :, :, :, :, :)
    real(c_double), pointer :: of_7(:, :, :, :, :, :, :)
    select case (size(mine%count))
    case (2)
      call c_f_pointer(data, of_2, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_2, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_2, mine%block, ierr=code, message=text)
      end if
    case (3)
      call c_f_pointer(data, of_3, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_3, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_3, mine%block, ierr=code, message=text)
      end if
    case (4)
      call c_f_pointer(data, of_4, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_4, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_4, mine%block, ierr=code, message=text)
      end if
    case (5)
      call c_f_pointer(data, of_5, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_5, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_5, mine%block, ierr=code, message=text)
      end if
    case (6)
      call c_f_pointer(data, of_6, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_6, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_6, mine%block, ierr=code, message=text)
      end if
    case (7)
      call c_f_pointer(data, of_7, mine%count)
      if (present(options)) then
        call store%write(mine%name, of_7, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_7, mine%block, ierr=code, message=text)
      end if
    case default
      call c_f_pointer(data, of_1, [product(mine%count)])
      if (present(options)) then
        call store%write(mine%name, of_1, mine%block, options=options, ierr=code, message=text)
      else
        call store%read(mine%name, of_1, mine%block, ierr=code, message=text)
      end if
    end select
  end subroutine call_store
end module stepstore_tutorial
