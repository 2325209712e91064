! A Fortran program that knows nothing of connectors: creates a file and writes to it.
!   write_domain FILE
program write_domain
  use hdf5
  use h5lt
  implicit none
  character(len=1024) :: name
  integer :: error, i, j
  integer(hid_t) :: file, group, dset, space, plist, attr, mem
  integer(hsize_t) :: dims(2) = (/ 7, 9 /), maxdims(2), chunk(2) = (/ 3, 4 /), one(1) = (/ 1 /), more(2) = (/ 7, 12 /)
  integer(hsize_t) :: start(2) = (/ 0, 9 /), counts(2) = (/ 7, 3 /)
  integer :: grid(7, 9), added(7, 3)
  real(8) :: line(5) = (/ 1.5d0, 2.5d0, 3.5d0, 4.5d0, 5.5d0 /)

  call get_command_argument(1, name)
  call h5open_f(error)
  call h5fcreate_f(trim(name), H5F_ACC_TRUNC_F, file, error)
  if (error < 0) stop 1
  call h5gcreate_f(file, "grids", group, error)
  maxdims = (/ 7_hsize_t, H5S_UNLIMITED_F /)
  call h5screate_simple_f(2, dims, space, error, maxdims)
  call h5pcreate_f(H5P_DATASET_CREATE_F, plist, error)
  call h5pset_chunk_f(plist, 2, chunk, error)
  call h5pset_deflate_f(plist, 6, error)
  call h5dcreate_f(group, "d2_edge", H5T_STD_I32LE, space, dset, error, plist)
  if (error < 0) stop 2
  do j = 1, 9
     do i = 1, 7
        grid(i, j) = 100 * i + j
     end do
  end do
  call h5dwrite_f(dset, H5T_NATIVE_INTEGER, grid, dims, error)
  if (error < 0) stop 3
  call h5sclose_f(space, error)
  call h5dset_extent_f(dset, more, error)
  if (error < 0) stop 4
  call h5dget_space_f(dset, space, error)
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, counts, error)
  call h5screate_simple_f(2, counts, mem, error)
  added = -1
  call h5dwrite_f(dset, H5T_NATIVE_INTEGER, added, counts, error, mem, space)
  if (error < 0) stop 5
  call h5screate_f(H5S_SCALAR_F, mem, error)
  call h5acreate_f(dset, "answer", H5T_STD_I64BE, mem, attr, error)
  call h5awrite_f(attr, H5T_NATIVE_INTEGER, 42, one, error)
  if (error < 0) stop 6
  call h5aclose_f(attr, error)
  call h5dclose_f(dset, error)
  call h5ltmake_dataset_double_f(file, "line", 1, (/ 5_hsize_t /), line, error)
  if (error < 0) stop 7
  call h5ltset_attribute_string_f(file, "line", "units", "metres", error)
  if (error < 0) stop 8
  call h5lcreate_soft_f("/grids/d2_edge", file, "short", error)
  call h5gclose_f(group, error)
  call h5pclose_f(plist, error)
  call h5sclose_f(space, error)
  call h5fclose_f(file, error)
  if (error < 0) stop 9
  call h5close_f(error)
end program
