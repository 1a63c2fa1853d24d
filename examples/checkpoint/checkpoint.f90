! A wave in a box with walls, divided in slabs among the ranks. It is stored half-way, and a second program
! with another number of ranks goes on from there.
!
! mpirun -n 4 checkpoint LOCATION run      computes 20 steps; stores a checkpoint after 10, and the end
! mpirun -n 3 checkpoint LOCATION restart  goes on from the checkpoint, and compares its end with the other
!
! A checkpoint is three arrays. It is valid when the location's attribute `last_checkpoint` names it. This
! is set last, so a program that dies before leaves the previous checkpoint. The example in C stores the same.
program checkpoint
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use stepstore
  implicit none

  integer, parameter :: nx = 18, ny = 14, nz = 24, half = 10, end_ = 20

  type :: box
    ! With a halo of zeroes: (0:nx + 1, 0:ny + 1, 0:planes + 1).
    real(real64), allocatable :: previous(:, :, :), current(:, :, :)
    logical(c_bool), allocatable :: wall(:, :, :)
  end type box

  type(box), asynchronous :: mine
  type(stepstore_arrays) :: store
  type(stepstore_block) :: slab
  character(len=512) :: location, word, message
  integer :: rank, ranks, planes, ierr, first, status

  call MPI_Init()
  word = ''
  if (command_argument_count() == 2) call get_command_argument(2, word)
  if (word /= 'run' .and. word /= 'restart') then
    write (error_unit, '(a)') 'usage: checkpoint LOCATION run|restart'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end if
  call get_command_argument(1, location)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  first = nz*rank/ranks
  planes = nz*(rank + 1)/ranks - first
  slab = stepstore_block([0, 0, first], [nx, ny, nz])
  mine = empty_box()

  call store%open(location, merge(STEPSTORE_WRITE, STEPSTORE_READ, word == 'run'), MPI_COMM_WORLD, &
                  ierr=ierr, message=message)
  call check('open')
  status = 0
  if (word == 'run') then
    call run()
  else
    call restart(status)
  end if
  call store%close(ierr, message)
  call check('close')
  call MPI_Finalize()
  if (status /= 0) stop 1

contains

  function empty_box() result(empty)
    type(box) :: empty
    allocate (empty%previous(0:nx + 1, 0:ny + 1, 0:planes + 1), source=0.0_real64)
    allocate (empty%current, source=empty%previous)
    allocate (empty%wall(nx, ny, planes))
  end function empty_box

  subroutine begin()
    integer :: x, y, z, plane
    do z = 1, planes
      plane = first + z - 1
      do y = 1, ny
        do x = 1, nx
          mine%wall(x, y, z) = mod(7*(x - 1) + 3*(y - 1) + plane, 11) == 0
          if (mine%wall(x, y, z)) cycle
          mine%current(x, y, z) = real(x*(nx - x + 1)*y*(ny - y + 1)*(plane + 1), real64)/1000
        end do
      end do
    end do
    mine%previous = mine%current
  end subroutine begin

  ! Planes at the edges of the slab go to the neighbours.
  subroutine exchange()
    integer :: below, above, plane
    below = merge(MPI_PROC_NULL, rank - 1, rank == 0)
    above = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
    plane = (nx + 2)*(ny + 2)
    call MPI_Sendrecv(mine%current(0, 0, 1), plane, MPI_DOUBLE_PRECISION, below, 0, &
                      mine%current(0, 0, planes + 1), plane, MPI_DOUBLE_PRECISION, above, 0, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(mine%current(0, 0, planes), plane, MPI_DOUBLE_PRECISION, above, 1, &
                      mine%current(0, 0, 0), plane, MPI_DOUBLE_PRECISION, below, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine exchange

  subroutine advance()
    real(real64), allocatable :: next(:, :, :)
    real(real64) :: around
    integer :: x, y, z
    call exchange()
    allocate (next, mold=mine%current)
    next = 0
    associate (u => mine%current)
      do z = 1, planes
        do y = 1, ny
          do x = 1, nx
            if (mine%wall(x, y, z)) cycle
            around = u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) + u(x, y, z - 1) + &
                     u(x, y, z + 1)
            next(x, y, z) = 2*u(x, y, z) - mine%previous(x, y, z) + 0.1_real64*(around - 6*u(x, y, z))
          end do
        end do
      end do
    end associate
    call move_alloc(mine%current, mine%previous)
    call move_alloc(next, mine%current)
  end subroutine advance

  ! The array NAME-STEP of three that make a state.
  function array_name(name, step) result(text)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: step
    character(len=64) :: text
    write (text, '(2a, i0)') name, '-', step
  end function array_name

  ! The transfers run side by side; each array appears when its request is complete.
  subroutine store_state(step)
    integer(int64), intent(in) :: step
    type(stepstore_request) :: requests(3)
    integer :: i
    call store%write(array_name('previous', step), mine%previous(1:nx, 1:ny, 1:planes), slab, &
                     request=requests(1), ierr=ierr, message=message)
    call check('write')
    call store%write(array_name('current', step), mine%current(1:nx, 1:ny, 1:planes), slab, &
                     request=requests(2), ierr=ierr, message=message)
    call check('write')
    call store%write(array_name('wall', step), mine%wall, slab, request=requests(3), &
                     options=stepstore_array_options(object_per_block=.true.), ierr=ierr, message=message)
    call check('write')
    do i = 1, 3
      call requests(i)%wait(ierr, message)
      call check('wait')
    end do
  end subroutine store_state

  subroutine load_state(into, step)
    type(box), intent(inout) :: into
    integer(int64), intent(in) :: step
    call store%read(array_name('previous', step), into%previous(1:nx, 1:ny, 1:planes), slab, ierr=ierr, &
                    message=message)
    call check('read')
    call store%read(array_name('current', step), into%current(1:nx, 1:ny, 1:planes), slab, ierr=ierr, &
                    message=message)
    call check('read')
    call store%read(array_name('wall', step), into%wall, slab, ierr=ierr, message=message)
    call check('read')
  end subroutine load_state

  subroutine run()
    integer(int64) :: step
    call begin()
    do step = 1, end_
      call advance()
      if (step /= half .and. step /= end_) cycle
      call store_state(step)
      if (step == half) then
        call store%set_attribute('', 'last_checkpoint', step, ierr, message)
        call check('set last_checkpoint')
      end if
    end do
    if (rank == 0) print '(2(a, i0))', 'stored a checkpoint after ', half, ' steps, and the end after ', end_
  end subroutine run

  subroutine restart(differs)
    integer, intent(out) :: differs
    type(box) :: other
    integer(int64) :: step, from
    integer :: my_differs
    call store%get_attribute('', 'last_checkpoint', from, ierr, message)
    call check('get last_checkpoint')
    call load_state(mine, from)
    do step = from + 1, end_
      call advance()
    end do
    other = empty_box()
    call load_state(other, int(end_, int64))
    my_differs = count(transfer(mine%current(1:nx, 1:ny, 1:planes), [0_int64]) /= &
                       transfer(other%current(1:nx, 1:ny, 1:planes), [0_int64]))
    call MPI_Allreduce(my_differs, differs, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, a, i0, 2a)', 'from step ', from, ' on ', ranks, ' ranks: ', &
      trim(merge('the same end, bit for bit', 'the end is another one   ', differs == 0))
  end subroutine restart

  subroutine check(what)
    character(len=*), intent(in) :: what
    if (ierr == 0) return
    if (rank == 0) write (error_unit, '(4a)') 'checkpoint: ', what, ': ', trim(message)
    call MPI_Finalize()
    stop 1
  end subroutine check
end program checkpoint
