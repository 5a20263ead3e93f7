#!/bin/sh
# e2e_errors.sh - bad input ends every rank within seconds, with one message that names the culprit.
set -u
. tests/lib_e2e.sh

frames=$work/frames.h5
"$mtip" simulate --set simulate.output="$frames" --set simulate.frames=5 --set simulate.pixels=8 \
    >"$work/log" 2>&1 || { echo "not ok - frames to try are simulated"; cat "$work/log"; exit 1; }

out=$work/result
reconstruct() { # FILE: the arguments of a reconstruction of it
    echo "reconstruct --set input.file=$1 --set run.output=$out --set particle.diameter=60 --set run.generations=2 --set orientation.references=50 --set orientation.references_min=50 --set resolution.limit=14"
}

: >"$work/empty.h5"
echo "this is no HDF5" >"$work/text.h5"
head -c 2000 "$frames" >"$work/truncated.h5"

for ranks in 0 1 2 3; do
    where="on $ranks ranks"
    [ "$ranks" -gt 0 ] || where="without mpirun"
    # shellcheck disable=SC2046 # the arguments are words
    {
        check "missing file, $where" fails $ranks 1 none.h5 "$mtip" $(reconstruct "$work/none.h5")
        check "empty file, $where" fails $ranks 1 empty.h5 "$mtip" $(reconstruct "$work/empty.h5")
        check "truncated file, $where" fails $ranks 1 truncated.h5 "$mtip" $(reconstruct "$work/truncated.h5")
    }
done
# shellcheck disable=SC2046 # the arguments are words
{
    check "a text file" fails 2 1 text.h5 "$mtip" $(reconstruct "$work/text.h5")
    check "a folder" fails 2 1 "$work" "$mtip" $(reconstruct "$work")
    check "no input at all" fails 2 2 input.file "$mtip" reconstruct --set run.output="$out"
    check "misspelt key in an option" fails 2 2 particle.diameter "$mtip" $(reconstruct "$frames") --set particle.diametre=70
    check "wrong type in an option" fails 2 2 particle.diameter "$mtip" $(reconstruct "$frames") --set particle.diameter=big
    check "value out of range" fails 2 2 run.generations "$mtip" $(reconstruct "$frames") --set run.generations=0
    leaves_nothing() {
    "$mtip" reconstruct --set run.output="$work/nothing" ; "$mtip" reconstruct --set run.output="$work/nothing" --set input.file="$work/none.h5"
    [ ! -e "$work/nothing" ]
}
check "no folder is made without input" leaves_nothing
check "missing configuration" fails 2 2 none.cfg "$mtip" reconstruct "$work/none.cfg" --set run.output="$out"
    check "unknown option" fails 2 2 --frobnicate "$mtip" reconstruct --frobnicate
    check "unknown command" fails 0 2 recontruct "$mtip" recontruct
}

printf 'input: { file = "frames.h5"; };\nparticle: { diametre = 70.0; };\n' >"$work/misspelt.cfg"
check "misspelt key in a file: the key" fails 2 2 diametre "$mtip" reconstruct "$work/misspelt.cfg" --set run.output="$out"
check "misspelt key in a file: the line" fails 2 2 misspelt.cfg:2 "$mtip" reconstruct "$work/misspelt.cfg" --set run.output="$out"
check "misspelt key in a file: the nearest key" fails 2 2 particle.diameter "$mtip" reconstruct "$work/misspelt.cfg" --set run.output="$out"
printf 'input: { file = "frames.h5" \n' >"$work/syntax.cfg"
check "syntax error in a file" fails 2 2 syntax.cfg "$mtip" reconstruct "$work/syntax.cfg" --set run.output="$out"

# ---- files that HDF5 can read and that hold no frames ----------------------------------------
. scripts/python.sh
if python=$(python_with_libraries); then
    "$python" - "$work" <<'END'
import sys
import h5py
import numpy as np
folder = sys.argv[1]
with h5py.File(folder + "/other.h5", "w") as file:
    file["something"] = np.zeros(3)
with h5py.File(folder + "/frames.h5", "r") as good:
    position = good["pixel_position_reciprocal"][()]
    frames = good["intensities"][()]
def write(name, frames, position=position, **more):
    with h5py.File(f"{folder}/{name}.h5", "w") as file:
        file["intensities"] = frames
        file["pixel_position_reciprocal"] = position
        for key, value in more.items():
            file[key] = value
write("zero", frames[:0])
write("shape", frames, position=position[..., :4, :, :])
write("masked", frames, mask=np.zeros(frames.shape[1:], np.uint8))
bad = frames.astype(float)
bad[3, 0, 0, 0] = np.nan
write("nan", bad)
write("blank", np.zeros_like(frames))
END
    # shellcheck disable=SC2046 # the arguments are words
    {
        check "no dataset intensities" fails 2 1 intensities "$mtip" $(reconstruct "$work/other.h5")
        check "zero frames" fails 2 1 zero.h5 "$mtip" $(reconstruct "$work/zero.h5")
        check "positions of another shape" fails 2 1 pixel_position_reciprocal "$mtip" $(reconstruct "$work/shape.h5")
        check "every pixel masked" fails 2 1 masked.h5 "$mtip" $(reconstruct "$work/masked.h5")
        check "a value that is not a number" fails 2 1 "frame 3" "$mtip" $(reconstruct "$work/nan.h5")
        check "nothing but blank frames" fails 2 1 "every frame is blank" "$mtip" $(reconstruct "$work/blank.h5")
    }
else
    echo "skip - files without frames: no Python with h5py"
fi

# ---- more ranks than frames ------------------------------------------------------------------
# shellcheck disable=SC2046 # the arguments are words
check "more ranks than frames" fails 3 2 "2 frames for 3 ranks" "$mtip" $(reconstruct "$frames") --set input.max_frames=2
exit $status
