/* dataset_atoms.c - reads the true particle of simulated frames. */
#include "io/dataset_atoms.h"

#include <string.h>

#include "io/h5.h"

int dataset_has_atoms(const char *path)
{
    hid_t file = H5_NONE;
    if (!h5_is_hdf5(path) || h5_open(&file, path) != MTIP_OK) {
        return 0;
    }
    const int found = h5_has_group(file, "particle") && h5_has_dataset(file, "particle/atoms");
    h5_close(file);
    return found;
}

/* Values [n] of an optional dataset, `fallback` where the file has none. */
static enum mtip_status read_optional(double *values, int64_t n, double fallback, hid_t file,
                                      const char *name, const char *path)
{
    if (h5_has_dataset(file, name)) {
        return h5_read(values, H5T_NATIVE_DOUBLE, n, file, name, path);
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = fallback;
    }
    return MTIP_OK;
}

enum mtip_status dataset_read_atoms(struct atoms *atoms, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t file = H5_NONE, dataset = H5_NONE;
    struct h5_shape shape;
    char text[200];

    memset(atoms, 0, sizeof *atoms);
    MTIP_TRY(h5_open(&file, path));
    MTIP_TRY(h5_dataset_open(&dataset, &shape, file, "particle/atoms", path));
    if (shape.rank != 2 || shape.dims[0] < 1 || shape.dims[1] != 3) {
        h5_shape_text(text, sizeof text, &shape);
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: particle/atoms has the shape %s; [n][3] is right", path,
                  text);
    }
    MTIP_TRY(h5_check_storage(dataset, &shape, "particle/atoms", path));
    const int64_t n = shape.dims[0];
    MTIP_TRY(atoms_alloc(atoms, n));
    MTIP_TRY(h5_read(atoms->xyz, H5T_NATIVE_DOUBLE, 3 * n, file, "particle/atoms", path));
    MTIP_TRY(h5_read(atoms->element, H5T_NATIVE_INT, n, file, "particle/element", path));
    MTIP_TRY(read_optional(atoms->occupancy, n, 1.0, file, "particle/occupancy", path));
    MTIP_TRY(read_optional(atoms->b_factor, n, 20.0, file, "particle/b_factor", path));

cleanup:
    h5_close(dataset);
    h5_close(file);
    if (status != MTIP_OK) {
        atoms_release(atoms);
    }
    return status;
}
