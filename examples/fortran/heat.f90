! The heat equation on a square plate whose left edge is hot, in Fortran with MPI and ADIOS2: a program that
! knows nothing of Stepstore. The engine in adios2.xml decides where its steps are stored.
!
! mpirun -n 4 heat [CONFIG [OUTPUTS]]
program heat
  use mpi
  use adios2
  implicit none

  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: rows = 40, columns_per_rank = 12, updates_per_output = 20
  real(dp), parameter :: diffusion = 0.2_dp

  type(adios2_adios) :: adios
  type(adios2_io) :: io
  type(adios2_variable) :: var_temperature, var_time, var_hottest
  type(adios2_attribute) :: unit
  type(adios2_engine) :: engine
  real(dp), allocatable :: temperature(:, :), next(:, :)
  character(len=256) :: config, word
  integer :: rank, ranks, ierr, output, outputs, update
  integer(kind=8), dimension(2) :: shape_dims, start_dims, count_dims

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  config = 'adios2.xml'
  outputs = 5
  if (command_argument_count() >= 1) call get_command_argument(1, config)
  if (command_argument_count() >= 2) then
    call get_command_argument(2, word)
    read (word, *) outputs
  end if

  ! Columns 0 and columns_per_rank + 1 belong to the neighbours.
  allocate (temperature(rows, 0:columns_per_rank + 1), next(rows, 0:columns_per_rank + 1))
  temperature = 20.0_dp
  if (rank == 0) temperature(:, 0) = 100.0_dp

  call adios2_init(adios, trim(config), MPI_COMM_WORLD, ierr)
  call check(ierr, 'adios2_init')
  call adios2_declare_io(io, adios, 'Heat', ierr)
  call check(ierr, 'adios2_declare_io')
  shape_dims = [int(rows, 8), int(columns_per_rank, 8)*ranks]
  start_dims = [0_8, int(columns_per_rank, 8)*rank]
  count_dims = [int(rows, 8), int(columns_per_rank, 8)]
  call adios2_define_variable(var_temperature, io, 'temperature', adios2_type_dp, 2, shape_dims, start_dims, &
                              count_dims, adios2_constant_dims, ierr)
  call check(ierr, 'adios2_define_variable temperature')
  call adios2_define_variable(var_time, io, 'update', adios2_type_integer4, ierr)
  call check(ierr, 'adios2_define_variable update')
  call adios2_define_variable(var_hottest, io, 'hottest', adios2_type_dp, 1, [int(ranks, 8)], &
                              [int(rank, 8)], [1_8], &
                              adios2_constant_dims, ierr)
  call check(ierr, 'adios2_define_variable hottest')
  call adios2_define_attribute(unit, io, 'temperature/unit', 'degree Celsius', ierr)
  call check(ierr, 'adios2_define_attribute')
  call adios2_open(engine, io, 'heat.bp', adios2_mode_write, ierr)
  call check(ierr, 'adios2_open')

  update = 0
  do output = 1, outputs
    call adios2_begin_step(engine, adios2_step_mode_append, ierr)
    call check(ierr, 'adios2_begin_step')
    ! Sync, since the compiler passes a temporary copy of the array section.
    call adios2_put(engine, var_temperature, temperature(:, 1:columns_per_rank), adios2_mode_sync, ierr)
    call check(ierr, 'adios2_put temperature')
    call adios2_put(engine, var_hottest, [maxval(temperature(:, 1:columns_per_rank))], adios2_mode_sync, ierr)
    call check(ierr, 'adios2_put hottest')
    if (rank == 0) then
      call adios2_put(engine, var_time, update, adios2_mode_sync, ierr)
      call check(ierr, 'adios2_put update')
    end if
    call adios2_end_step(engine, ierr)
    call check(ierr, 'adios2_end_step')
    if (output < outputs) call advance()
  end do
  call adios2_close(engine, ierr)
  call check(ierr, 'adios2_close')
  call adios2_finalize(adios, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine advance()
    integer :: i, row, column
    do i = 1, updates_per_output
      call exchange()
      next = temperature
      do column = 1, columns_per_rank
        do row = 2, rows - 1
          next(row, column) = temperature(row, column) + diffusion*( &
                              temperature(row - 1, column) + temperature(row + 1, column) + &
                              temperature(row, column - 1) + temperature(row, column + 1) - &
                              4*temperature(row, column))
        end do
      end do
      temperature(:, 1:columns_per_rank) = next(:, 1:columns_per_rank)
      update = update + 1
    end do
  end subroutine advance

  ! The edge columns go to the neighbours.
  subroutine exchange()
    integer :: left, right, status(MPI_STATUS_SIZE)
    left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
    right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
    call MPI_Sendrecv(temperature(:, 1), rows, MPI_DOUBLE_PRECISION, left, 0, &
                      temperature(:, columns_per_rank + 1), rows, MPI_DOUBLE_PRECISION, right, 0, &
                      MPI_COMM_WORLD, status, ierr)
    call MPI_Sendrecv(temperature(:, columns_per_rank), rows, MPI_DOUBLE_PRECISION, right, 1, &
                      temperature(:, 0), rows, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, status, ierr)
  end subroutine exchange

  subroutine check(status, what)
    integer, intent(in) :: status
    character(len=*), intent(in) :: what
    integer :: ignored
    if (status == 0) return
    write (0, '(a, i0, 2a)') 'heat: rank ', rank, ': error in ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine check
end program heat
