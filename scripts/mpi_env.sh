# mpi_env.sh - settings for mpirun on one machine, for scripts to read with ". scripts/mpi_env.sh".
# Open MPI alone reads them; other launchers and batch jobs are not touched.
# shellcheck shell=sh

# Containers and CI run as root, which Open MPI refuses unless told twice.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# More ranks than cores are allowed and then give way while they wait (4.x, then 5.x names).
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_mpi_yield_when_idle=1
# A rank's threads may use every core; by default two ranks are bound to one core each.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# Shared memory by copying: the faster way needs a right that containers do not have.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
