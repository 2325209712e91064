! A Fortran program that knows nothing of connectors: opens a file read-only, walks, reads and prints.
!   read_domain FILE
program read_domain
  use hdf5
  implicit none
  character(len=1024) :: name
  integer :: error, i, rank, members, kind_of
  integer(hid_t) :: file, dset, space, attr
  integer(hsize_t) :: dims(2), maxdims(2), adims(1)
  integer, allocatable :: grid(:,:)
  real(8), allocatable :: line(:)
  integer(hsize_t) :: start(2), counts(2)
  integer(hid_t) :: mem
  character(len=256) :: member
  logical :: there

  call get_command_argument(1, name)
  call h5open_f(error)
  call h5fopen_f(trim(name), H5F_ACC_RDONLY_F, file, error)
  if (error < 0) stop 1
  call h5gn_members_f(file, "/", members, error)
  print '(a,i0)', "members ", members
  do i = 0, members - 1
     call h5gget_obj_info_idx_f(file, "/", i, member, kind_of, error)
     print '(a,1x,i0)', trim(member), kind_of
  end do
  call h5dopen_f(file, "/d2_edge", dset, error)
  if (error < 0) stop 2
  call h5dget_space_f(dset, space, error)
  call h5sget_simple_extent_ndims_f(space, rank, error)
  call h5sget_simple_extent_dims_f(space, dims, maxdims, error)
  print '(a,i0,2(1x,i0))', "rank ", rank, dims
  allocate(grid(dims(1), dims(2)))
  call h5dread_f(dset, H5T_NATIVE_INTEGER, grid, dims, error)
  if (error < 0) stop 3
  print '(10(1x,i0))', grid(1:10, 1), sum(grid)
  start = [2, 3]
  counts = [4, 5]
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, counts, error)
  call h5screate_simple_f(2, counts, mem, error)
  allocate(line(20))
  call h5dread_f(dset, H5T_NATIVE_DOUBLE, line, counts, error, mem, space)
  if (error < 0) stop 4
  print '(20(1x,f0.1))', line
  call h5lexists_f(file, "/none", there, error)
  print '(l1)', there
  call h5aget_num_attrs_f(dset, i, error)
  print '(a,i0)', "attributes ", i
  adims = 0
  attr = 0
  call h5sclose_f(mem, error)
  call h5sclose_f(space, error)
  call h5dclose_f(dset, error)
  call h5fclose_f(file, error)
  call h5close_f(error)
end program read_domain
