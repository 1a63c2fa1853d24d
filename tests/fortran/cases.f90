! The Fortran interface on real ranks: cases CASE LOCATION.
program cases
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_double, c_long, c_null_char, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int16, int32, int64, real32, real64
  use mpi_f08
  use checks
  use kinds_test
  use stepstore
  use stepstore_tutorial
  implicit none

  character(len=512) :: location
  character(len=32) :: name

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, name)
  call get_command_argument(2, location)
  select case (name)
  case ('kinds')
    call open_all()
    call test_kinds()
    call close_all()
  case ('attributes')
    call test_attributes()
  case ('growing')
    call test_growing()
  case ('requests')
    call test_requests()
  case ('handles')
    call test_handles()
  case ('errors')
    call test_errors()
  case ('one_rank')
    call test_one_rank_is_wrong()
  case ('tutorial')
    call test_tutorial()
  case ('tutorial_errors')
    call test_tutorial_errors()
  case ('alone')
    call test_alone()
  case default
    call expect(.false., 'there is no case '//name)
  end select
  call finish_checks()

contains

  subroutine open_all()
    call store%open(location, STEPSTORE_WRITE, MPI_COMM_WORLD, ierr=ierr, message=message)
    call expect_success('open')
  end subroutine open_all

  subroutine close_all()
    call store%close(ierr, message)
    call expect_success('close')
  end subroutine close_all

  ! Each rank has three rows of four columns of 0, 1, 2, ...
  subroutine write_table(name)
    character(len=*), intent(in) :: name
    integer(int32) :: table(4, 3)
    integer :: i
    table = reshape([(12*rank + i, i=0, 11)], [4, 3])
    call store%write(name, table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    call expect_success('write the table '//name)
  end subroutine write_table

  subroutine test_attributes()
    integer(int8) :: small
    real(real64), allocatable :: reals(:)
    complex(real32) :: complex_number
    integer(int64), allocatable :: none(:)
    logical, allocatable :: flags(:)
    character(len=:), allocatable :: text, texts(:), names(:)
    call open_all()
    call write_table('table')
    call store%set_attribute('table', 'small', -7_int8, ierr, message)
    call expect_success('set small')
    call store%set_attribute('table', 'reals', [0.5_real64, -2.25_real64, huge(1.0_real64)], ierr, message)
    call expect_success('set reals')
    call store%set_attribute('table', 'complex', (1.5, -2.5), ierr, message)
    call expect_success('set complex')
    call store%set_attribute('table', 'none', [integer(int64) ::], ierr, message)
    call expect_success('set none')
    call store%set_attribute('table', 'flags', [.true., .false., .true.], ierr, message)
    call expect_success('set flags')
    call store%set_attribute('table', 'unit', 'degree Celsius', ierr, message)
    call expect_success('set unit')
    call store%set_attribute('table', 'empty', '', ierr, message)
    call expect_success('set empty')
    call store%set_attribute('', 'axes', ['x   ', 'time'], ierr, message)
    call expect_success('set axes of the location')

    call store%get_attribute('table', 'small', small, ierr, message)
    call expect_success('get small')
    call expect(small == -7, 'small')
    call store%get_attribute('table', 'reals', reals, ierr, message)
    call expect_success('get reals')
    call expect(size(reals) == 3, 'three reals')
    call expect(all(abs(reals - [0.5_real64, -2.25_real64, huge(1.0_real64)]) <= 0), 'reals')
    call store%get_attribute('table', 'complex', complex_number, ierr, message)
    call expect_success('get complex')
    call expect(abs(complex_number - (1.5, -2.5)) <= 0, 'complex')
    call store%get_attribute('table', 'none', none, ierr, message)
    call expect_success('get none')
    call expect(size(none) == 0, 'none')
    call store%get_attribute('table', 'flags', flags, ierr, message)
    call expect_success('get flags')
    call expect(size(flags) == 3, 'three flags')
    call expect(all(flags .eqv. [.true., .false., .true.]), 'flags')
    call store%get_attribute('table', 'unit', text, ierr, message)
    call expect_success('get unit')
    call expect(text == 'degree Celsius' .and. len(text) == 14, 'unit')
    call store%get_attribute('table', 'empty', text, ierr, message)
    call expect_success('get empty')
    call expect(len(text) == 0, 'empty')
    call store%get_attribute('', 'axes', texts, ierr, message)
    call expect_success('get axes')
    call expect(size(texts) == 2 .and. len(texts) == 4, 'two axes')
    call expect(texts(1) == 'x' .and. texts(2) == 'time', 'axes')

    call store%list_attributes('table', names, ierr, message)
    call expect_success('list')
    call expect(size(names) == 7, 'seven attributes')
    call expect(names(1) == 'complex' .and. names(7) == 'unit', 'their names')
    call store%remove_attribute('table', 'unit', ierr, message)
    call expect_success('remove')
    call store%get_attribute('table', 'unit', text, ierr, message)
    call expect_error(-DER_NONEXIST, 'unit')
    call store%get_attribute('table', 'reals', small, ierr, message)
    call expect_error(-DER_MISMATCH, 'reals')
    call expect(small == -7, 'an error leaves the value as it is')
    call store%get_attribute('table', 'small', text, ierr, message)
    call expect_error(-DER_MISMATCH, 'small')
    call store%get_attribute('', 'axes', text, ierr, message)
    call expect_error(-DER_MISMATCH, 'axes')
    call close_all()
  end subroutine test_attributes

  subroutine test_growing()
    type(stepstore_array_info) :: info
    character(len=:), allocatable :: names(:)
    real(real32) :: slab(5, 2), one(5), all_(5, 2*ranks)
    integer :: time
    call open_all()
    do time = 1, 3
      slab = real(10*time + rank, real32)
      call store%write('growing', slab, stepstore_block([0, 2*rank, 0], [5, 2*ranks, 1]), append=3, &
                       options=stepstore_array_options(object_class='S2', chunk_size=4096_int64, &
                                                       checksum=.true., object_per_block=mod(time, 2) == 0), &
                       ierr=ierr, message=message)
      call expect_success('append')
    end do
    call store%inquire('growing', info, ierr, message)
    call expect_success('inquire')
    call expect(size(info%shape) == 3, 'three dimensions')
    call expect(all(info%shape == [5, 2*ranks, 3]), 'shape')
    call expect(info%type == STEPSTORE_REAL32 .and. info%element_size == 4, 'type')
    call expect(info%append_dimension == 3, 'it grows along its third dimension')
    call expect(info%checksum .and. info%column_major, 'it has checksums, and is of Fortran')
    call expect(info%chunk_size == 4096 .and. info%object_class == 'S2', 'class and chunk size')
    call expect(info%blocks == 3*ranks, 'a block per rank and time')
    ! A vector out of the middle, and one time on all ranks.
    call store%read('growing', one, stepstore_block([0, 2*ranks - 1, 1]), ierr=ierr, message=message)
    call expect_success('read a vector')
    call expect(all(nint(one) == 20 + ranks - 1), 'a vector')
    call store%read('growing', all_, stepstore_block([0, 0, 2]), ierr=ierr, message=message)
    call expect_success('read one time')
    call expect(nint(all_(5, 1)) == 30 .and. nint(all_(1, 2*ranks)) == 30 + ranks - 1, 'one time')

    call write_table('table')
    call store%list(names, ierr, message)
    call expect_success('list')
    call expect(size(names) == 2, 'two names')
    call expect(names(1) == 'growing' .and. names(2) == 'table', 'names')
    call store%remove('table', ierr, message)
    call expect_success('remove')
    call store%inquire('table', info, ierr, message)
    call expect_error(-DER_NONEXIST, 'table')
    call store%sync(ierr, message)
    call expect_success('sync')
    call close_all()
  end subroutine test_growing

  subroutine test_requests()
    type(stepstore_request) :: requests(2)
    integer(int16), asynchronous :: numbers(6, 4), back(6, 4)
    complex(real64), asynchronous :: field(3)
    logical :: done
    integer :: i
    call open_all()
    numbers = int(reshape([(24*rank + i, i=1, 24)], [6, 4]), int16)
    field = cmplx(rank, -rank, real64)
    call store%write('numbers', numbers(1:6:2, :), stepstore_block([0, 4*rank], [3, 4*ranks]), &
                     request=requests(1), ierr=ierr, message=message)
    call expect_success('start to write numbers')
    call store%write('field', field, stepstore_block([3*rank], [3*ranks]), request=requests(2), ierr=ierr, &
                     message=message)
    call expect_success('start to write a field')
    do i = 1, 2
      call requests(i)%wait(ierr, message)
      call expect_success('wait')
      call requests(i)%wait(ierr, message)
      call expect_success('a second wait has nothing to do')
    end do
    back = -1
    call store%read('numbers', back(2:6:2, :), stepstore_block([0, 4*rank]), request=requests(1), ierr=ierr, &
                    message=message)
    call expect_success('start to read')
    call requests(1)%test(done, ierr, message)
    call expect_success('test')
    call requests(1)%wait(ierr, message)
    call expect_success('wait for the read')
    call expect(all(back(2:6:2, :) == numbers(1:6:2, :)), 'numbers')
    call expect(all(back(1:6:2, :) == -1), 'nothing else is written')
    call store%write('numbers', numbers(6:1:-1, :), stepstore_block([0, 4*rank], [6, 4*ranks]), &
                     request=requests(1), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'falling order')
    call close_all()
  end subroutine test_requests

  subroutine test_handles()
    type(stepstore_arrays) :: other
    integer :: my_rank, all_, table(4, 3), i
    integer(int16) :: bits(2)
    type(stepstore_array_info) :: info
    call other%open('/no/such/place', STEPSTORE_READ, MPI_COMM_WORLD, ierr=ierr, message=message)
    call expect_error(-DER_NONEXIST, '/no/such/place')
    call other%sync(ierr, message)
    call expect_error(-DER_NO_HDL, '')
    ! Without ierr: the text goes to the standard error output, and the program goes on.
    call other%sync()
    ! The communicator as an integer.
    call store%open(location, STEPSTORE_WRITE, MPI_COMM_WORLD%mpi_val, ierr=ierr, message=message)
    call expect_success('open with an integer')
    call store%group(my_rank, all_, ierr, message)
    call expect_success('group')
    call expect(my_rank == rank .and. all_ == ranks, 'rank and ranks')
    call write_table('table')
    ! C's unsigned numbers.
    bits = [-1_int16, 7_int16]
    call store%write('unsigned', bits, stepstore_block([2*rank], [2*ranks]), unsigned=.true., ierr=ierr, &
                     message=message)
    call expect_success('write unsigned')
    call store%inquire('unsigned', info, ierr, message)
    call expect_success('inquire unsigned')
    call expect(info%type == STEPSTORE_UINT16, 'unsigned')
    call store%read('unsigned', bits, stepstore_block([0]), ierr=ierr, message=message)
    call expect_error(-DER_MISMATCH, 'unsigned')
    call store%read('unsigned', bits, stepstore_block([0]), unsigned=.true., ierr=ierr, message=message)
    call expect_success('read unsigned')
    call close_all()
    ! Another decomposition, by a reader.
    call store%open(location, STEPSTORE_READ, MPI_COMM_WORLD, &
                    options=stepstore_open_options(unverified=1, transfer_size=65536_int64), ierr=ierr, &
                    message=message)
    call expect_success('open to read')
    table = -1
    call store%read('table', table, stepstore_block([0, 3*mod(rank + 1, ranks)]), ierr=ierr, message=message)
    call expect_success('read the table of another rank')
    call expect(all(table == reshape([(12*mod(rank + 1, ranks) + i, i=0, 11)], [4, 3])), 'table')
    call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    call expect_error(-DER_NO_PERM, 'table')
    call close_all()
  end subroutine test_handles

  subroutine test_errors()
    integer(int64) :: wrong_kind(4, 3)
    integer(int32) :: table(4, 3), cube(4, 3, 1)
    character(len=8) :: short
    call open_all()
    call write_table('table')
    wrong_kind = 0
    table = 0
    cube = 0
    call store%read('table', wrong_kind, stepstore_block([0, 0]), ierr=ierr, message=message)
    call expect_error(-DER_MISMATCH, 'table')
    call store%read('table', cube, stepstore_block([0, 0, 0]), ierr=ierr, message=message)
    call expect_error(-DER_MISMATCH, 'table')
    call store%read('table', table, stepstore_block([0, 0], [4, 3*ranks + 1]), ierr=ierr, message=message)
    call expect_error(-DER_MISMATCH, 'table')
    call store%read('table', table, stepstore_block([1, 0]), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'table')
    call store%read('no table', table, stepstore_block([0, 0]), ierr=ierr, message=message)
    call expect_error(-DER_NONEXIST, 'no table')
    ! Fewer dimensions in the block than in the data; shape and start that differ; no shape.
    call store%read('table', table, stepstore_block([0]), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'the start of the block has 1 dimensions, the data has 2')
    call store%write('table', table, stepstore_block([0, 0], [4]), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'the shape of the block has 1 dimensions, the start has 2')
    call store%write('table', table, stepstore_block([0, 0]), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'no shape')
    call store%write('table', table, stepstore_block([0, 0, 0, 0, 0, 0, 0, 0], [4, 3, 1, 1, 1, 1, 1, 1]), &
                     ierr=ierr, message=message)
    call expect_error(-DER_INVAL, '8 dimensions')
    ! Blocks that overlap, and blocks that leave a gap.
    if (ranks > 1) then
      call store%write('table', table, stepstore_block([0, 0], [4, 3*ranks]), ierr=ierr, message=message)
      call expect_error(-DER_INVAL, 'table')
    end if
    call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks + 1]), ierr=ierr, &
                     message=message)
    call expect_error(-DER_INVAL, 'table')
    call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), append=4, ierr=ierr, &
                     message=message)
    call expect_error(-DER_INVAL, 'dimension')
    call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), &
                     options=stepstore_array_options(object_class='NO'), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'NO')
    call store%write('', table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    call expect_error(-DER_INVAL, 'name')
    ! A text that is too short for the message is filled.
    short = ''
    call store%read('no table', table, stepstore_block([0, 0]), ierr=ierr, message=short)
    call expect(ierr == -DER_NONEXIST .and. len_trim(short) > 0, 'a short message')
    ! What was there is there still.
    call store%read('table', table, stepstore_block([0, 3*rank]), ierr=ierr, message=message)
    call expect_success('read after the errors')
    call expect(table(4, 3) == 12*rank + 11, 'the table is as it was')
    call close_all()
  end subroutine test_errors

  ! One rank's arguments are wrong: no rank waits, all get the code, and the rank itself knows why.
  subroutine test_one_rank_is_wrong()
    integer(int32) :: table(4, 3)
    real(real32) :: reals(4, 3)
    logical :: mine
    call open_all()
    call write_table('table')
    mine = rank == ranks - 1
    table = 0
    reals = 0
    if (mine) then
      call store%write('table', table, stepstore_block([3*rank], [4]), ierr=ierr, message=message)
      call expect_error(-DER_INVAL, 'the start of the block has 1 dimensions')
    else
      call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
      call expect_failure('table')
    end if
    if (mine) then
      call store%write('table', reals, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    else
      call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    end if
    call expect_error(-DER_MISMATCH, 'table')
    if (mine) then
      call store%read('table', table, stepstore_block([0, 3*rank]), ierr=ierr, message=message)
    else
      call store%write('table', table, stepstore_block([0, 3*rank], [4, 3*ranks]), ierr=ierr, message=message)
    end if
    call expect_error(-DER_MISMATCH, '')
    call store%read('table', table, stepstore_block([0, 3*rank]), ierr=ierr, message=message)
    call expect_success('read after the errors')
    call expect(table(1, 1) == 12*rank, 'the table is as it was')
    call close_all()
  end subroutine test_one_rank_is_wrong

  subroutine test_tutorial()
    integer, parameter :: ndim = 3
    integer(c_long) :: arraysize(ndim), arraygsize(ndim), arraysubsize(ndim), arraystart(ndim)
    real(c_double) :: out_data(4, 3, 2), read_data(4, 3, 2)
    integer :: comm, i
    comm = MPI_COMM_WORLD%mpi_val
    arraysubsize = [4, 3, 2]
    arraysize = arraysubsize + 2
    arraygsize = [4, 3, 2*ranks]
    arraystart = [0, 0, 2*rank]
    out_data = reshape([(real(100*rank + i, c_double), i=1, 24)], [4, 3, 2])
    call daos_initialise(trim(location)//c_null_char, comm, ierr, message)
    call expect_success('daos_initialise')
    call daos_write_array(ndim, arraysize, arraygsize, arraysubsize, arraystart, out_data, &
                          'SX'//c_null_char, 1048576_c_size_t, 1, 1, comm, ierr, message)
    call expect_success('daos_write_array')
    read_data = 0
    call daos_read_array(ndim, arraysize, arraygsize, arraysubsize, arraystart, read_data, &
                         'SX'//c_null_char, 1, comm, ierr, message)
    call expect_success('daos_read_array')
    call expect(all(abs(read_data - out_data) <= 0), 'what daos_write_array wrote')
    out_data = -out_data
    call daos_write_object(ndim, arraysize, arraygsize, arraysubsize, arraystart, out_data, 'S1', &
                           65536_c_size_t, 0, 4, comm, ierr, message)
    call expect_success('daos_write_object')
    call daos_read_object(ndim, arraysize, arraygsize, arraysubsize, arraystart, read_data, 'S1', 4, comm, &
                          ierr, message)
    call expect_success('daos_read_object')
    call expect(all(abs(read_data - out_data) <= 0), 'what daos_write_object wrote')
    call daos_finish(comm, ierr, message)
    call expect_success('daos_finish')
    ! The modern interface reads it.
    call open_all()
    call store%read('object-4', read_data, stepstore_block([0, 0, 2*rank]), ierr=ierr, message=message)
    call expect_success('read object-4')
    call expect(all(abs(read_data - out_data) <= 0), 'object-4')
    call close_all()
  end subroutine test_tutorial

  subroutine test_tutorial_errors()
    integer(c_long) :: subsize(1), globe(1), start(1)
    real(c_double) :: data(5)
    integer :: comm
    comm = MPI_COMM_WORLD%mpi_val
    subsize = 5
    globe = 5*ranks
    start = 5*rank
    data = 1
    call daos_initialise(location, comm, ierr, message)
    call expect_success('daos_initialise')
    call daos_read_array(1, subsize, globe, subsize, start, data, '', 0, comm, ierr, message)
    call expect_error(-DER_NONEXIST, 'array-0')
    call daos_write_array(9, subsize, globe, subsize, start, data, '', 0_c_size_t, 0, 0, comm, ierr, message)
    call expect_error(-DER_INVAL, 'ndim is not 1 to 7')
    call daos_write_array(1, subsize - 1, globe, subsize, start, data, '', 0_c_size_t, 0, 0, comm, ierr, &
                          message)
    call expect_error(-DER_INVAL, 'arraysize')
    call daos_write_array(1, subsize, globe, subsize, start, data, '', 0_c_size_t, 0, 0, &
                          MPI_COMM_SELF%mpi_val, ierr, message)
    call expect_error(-DER_INVAL, 'daos_initialise')
    call daos_write_array(1, subsize, globe + 1, subsize, start, data, '', 0_c_size_t, 0, 0, comm, ierr, &
                          message)
    call expect_error(-DER_INVAL, 'array-0')
    call daos_finish(comm, ierr, message)
    call expect_success('daos_finish')
    call daos_write_array(1, subsize, globe, subsize, start, data, '', 0_c_size_t, 0, 0, comm, ierr, message)
    call expect_error(-DER_NO_HDL, '')
  end subroutine test_tutorial_errors

  ! Without a communicator: each rank by itself, here in one container each.
  subroutine test_alone()
    real(real64) :: field(3, 2), back(3, 2)
    character(len=4) :: words(2), read_words(2)
    character(len=600) :: my_location
    write (my_location, '(2a, i0)') trim(location), '/rank', rank
    call store%open(my_location, STEPSTORE_WRITE, ierr=ierr, message=message)
    call expect_success('open alone')
    field = rank
    words = ['one ', 'four']
    ! Without a block: the whole array.
    call store%write('field', field, ierr=ierr, message=message)
    call expect_success('write')
    call store%write('words', words, ierr=ierr, message=message)
    call expect_success('write words')
    call store%read('field', back, ierr=ierr, message=message)
    call expect_success('read')
    call expect(all(nint(back) == rank), 'field')
    call store%read('words', read_words, ierr=ierr, message=message)
    call expect_success('read words')
    call expect(all(read_words == words), 'words')
    call store%read('field', back(1:2, :), ierr=ierr, message=message)
    call expect_error(-DER_MISMATCH, 'field')
    ! A table without rows, which grows.
    call store%write('table', field(:, 1:0), ierr=ierr, message=message)
    call expect_success('write no rows')
    call store%read('table', back(:, 1:0), ierr=ierr, message=message)
    call expect_success('read no rows')
    call store%write('table', field, append=2, ierr=ierr, message=message)
    call expect_success('append to no rows')
    back = -1
    call store%read('table', back, ierr=ierr, message=message)
    call expect_success('read the rows')
    call expect(all(nint(back) == rank), 'rows')
    call close_all()
  end subroutine test_alone
end program cases
