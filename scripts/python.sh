# python.sh - finds a Python that can read results and draw, for scripts to read with ". scripts/python.sh".
# shellcheck shell=sh

# Prints the first of $PYTHON, python3 and the system's python3 that has numpy, h5py and matplotlib.
python_with_libraries() {
    for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
        if "$candidate" -c 'import numpy, h5py, matplotlib' >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}
