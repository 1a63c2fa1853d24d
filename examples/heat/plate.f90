! A square plate whose left edge is hot, divided in blocks among the ranks: the numerics of the example. It
! knows nothing of storage. C's rows x columns are (column, row) here: the same place in memory.
module plate_module
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  implicit none
  private
  public :: plate, field_marks, divide

  real(real64), parameter :: diffusion = 0.2_real64, cold = 20, hot = 100

  type :: plate
    type(MPI_Comm) :: comm ! the ranks as a grid
    integer :: rank = 0, ranks = 1
    integer(int64) :: shape(2) = 0, start(2) = 0, count(2) = 0 ! columns, rows; start counts from 0
    real(real64), allocatable :: now(:, :) ! with a halo of one cell all around: the block is (1:, 1:)
  contains
    procedure :: make
    procedure :: advance
    procedure, private :: exchange
  end type plate

contains

  ! The part of `shape` that rank `rank` of `ranks` has, in a grid of ranks that is like C's.
  subroutine divide(shape, rank, ranks, start, count)
    integer(int64), intent(in) :: shape(2)
    integer, intent(in) :: rank, ranks
    integer(int64), intent(out) :: start(2), count(2)
    integer :: grid(2), place(2)
    grid = 0
    call MPI_Dims_create(ranks, 2, grid)
    place = [mod(rank, grid(2)), rank/grid(2)]
    grid = grid(2:1:-1)
    start = shape*place/grid
    count = shape*(place + 1)/grid - start
  end subroutine divide

  subroutine make(self, world, columns, rows)
    class(plate), intent(inout) :: self
    type(MPI_Comm), intent(in) :: world
    integer, intent(in) :: columns, rows
    integer :: grid(2)
    call MPI_Comm_size(world, self%ranks)
    grid = 0
    call MPI_Dims_create(self%ranks, 2, grid)
    call MPI_Cart_create(world, 2, grid, [.false., .false.], .false., self%comm)
    call MPI_Comm_rank(self%comm, self%rank)
    self%shape = [columns, rows]
    call divide(self%shape, self%rank, self%ranks, self%start, self%count)
    allocate (self%now(0:self%count(1) + 1, 0:self%count(2) + 1), source=cold)
    if (self%start(1) == 0) self%now(0, :) = hot
  end subroutine make

  subroutine advance(self, updates)
    class(plate), intent(inout) :: self
    integer, intent(in) :: updates
    real(real64), allocatable :: next(:, :)
    integer :: i
    integer(int64) :: x, y
    allocate (next(self%count(1), self%count(2)))
    do i = 1, updates
      call self%exchange()
      do y = 1, self%count(2)
        do x = 1, self%count(1)
          next(x, y) = self%now(x, y) + diffusion*(self%now(x - 1, y) + self%now(x + 1, y) + &
                                                   self%now(x, y - 1) + self%now(x, y + 1) - 4*self%now(x, y))
        end do
      end do
      self%now(1:self%count(1), 1:self%count(2)) = next
    end do
  end subroutine advance

  ! The edges of the block go into the halos of the neighbours. Halos at the edge of the plate stay.
  subroutine exchange(self)
    class(plate), intent(inout) :: self
    integer :: above, below, left, right
    integer(int64) :: nx, ny
    nx = self%count(1)
    ny = self%count(2)
    call MPI_Cart_shift(self%comm, 0, 1, above, below)
    call MPI_Cart_shift(self%comm, 1, 1, left, right)
    call swap(self%now(1:nx, 1), above, self%now(1:nx, ny + 1), below)
    call swap(self%now(1:nx, ny), below, self%now(1:nx, 0), above)
    call swap(self%now(1, 1:ny), left, self%now(nx + 1, 1:ny), right)
    call swap(self%now(nx, 1:ny), right, self%now(0, 1:ny), left)
  contains
    subroutine swap(edge, to, halo, from)
      real(real64), intent(in) :: edge(:)
      integer, intent(in) :: to, from
      real(real64), intent(inout) :: halo(:)
      real(real64) :: sent(size(edge)), received(size(halo))
      sent = edge
      received = halo
      call MPI_Sendrecv(sent, size(sent), MPI_DOUBLE_PRECISION, to, 0, &
                        received, size(received), MPI_DOUBLE_PRECISION, from, 0, self%comm, MPI_STATUS_IGNORE)
      halo = received
    end subroutine swap
  end subroutine exchange

  ! Two numbers that a field has in any decomposition: its largest element, and a mark of all bits and places.
  subroutine field_marks(block, shape, start, comm, largest, mark)
    real(real64), intent(in) :: block(:, :)
    integer(int64), intent(in) :: shape(2), start(2)
    type(MPI_Comm), intent(in) :: comm
    real(real64), intent(out) :: largest
    integer(int64), intent(out) :: mark
    real(real64) :: my_largest
    integer(int64) :: my_mark, bits
    integer :: x, y, turn
    my_mark = 0
    do y = 1, size(block, 2)
      do x = 1, size(block, 1)
        turn = int(mod((start(2) + y - 1)*shape(1) + start(1) + x - 1, 64_int64))
        bits = transfer(block(x, y), bits)
        my_mark = ieor(my_mark, ishftc(bits, turn))
      end do
    end do
    my_largest = max(-1e300_real64, maxval(block))
    call MPI_Allreduce(my_largest, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm)
    call MPI_Allreduce(my_mark, mark, 1, MPI_INTEGER8, MPI_BXOR, comm)
  end subroutine field_marks
end module plate_module
