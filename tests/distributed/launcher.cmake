# What every test says to mpirun: more ranks than there are cores, as root, too. Open MPI is told by
# its environment what is no option of other launchers.
set(headroom_ranks_environment
  OMP_WAIT_POLICY=passive
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  # Ranks that wait give their core to the others: 8 on 2 cores take a tenth of the time.
  OMPI_MCA_mpi_yield_when_idle=1
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
