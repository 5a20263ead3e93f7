#!/bin/sh
# e2e_readme.sh - the Python example of README.md writes a frames file that the program reads.
set -u
. tests/lib_e2e.sh
. scripts/python.sh

if ! python=$(python_with_libraries); then
    echo "skip - README: no Python with numpy and h5py"
    exit 0
fi
sed -n '/^```python$/,/^```$/p' README.md | sed '/^```/d' >"$work/example.py"
cat >>"$work/example.py" <<'END'

rng = np.random.default_rng(1)
mask = np.ones((20, 24), bool)
mask[8:12, 10:14] = False
write_frames("FOLDER/frames.h5", rng.poisson(2.0, (7, 20, 24)), 1.5e-10, 0.2, 1e-3, mask)
END
sed -i "s|FOLDER|$work|" "$work/example.py"
check "the example runs" "$python" "$work/example.py"

# 7 frames of 20 x 24 pixels, 16 masked; the corner pixel is 14.92 mm off the axis at 200 mm: d = 20.15 A.
reads() {
    "$mtip" info "$work/frames.h5" --json >"$work/info.json" || return 1
    cat "$work/info.json"
    finest=$(json_value "$work/info.json" finest_resolution_A)
    [ "$(json_value "$work/info.json" frames)" = 7 ] &&
        [ "$(json_value "$work/info.json" pixels)" = 480 ] &&
        [ "$(json_value "$work/info.json" pixels_used)" = 464 ] &&
        at_least "$finest" 20.14 && at_most "$finest" 20.16
}
check "mtip info reads it" reads
exit $status
