#!/usr/bin/env python3
"""Makes a CUDA library small enough to carry: keeps the machine code of one architecture.

    thin_library.py LIBRARY_OR_WHEEL ARCH OUT

LIBRARY_OR_WHEEL is a shared library, or a wheel with one; ARCH is 80, 90, ...; OUT the new library, of the same size with
everything else in its fat binaries zeroed, so that it compresses to a few percent. The runtime takes the entry
of the device's architecture and never looks at the others. cuFINUFFT 2.5.1: 175 MB, 8 MB compressed.
"""
import struct
import sys
import zipfile

MAGIC = struct.pack("<I", 0xBA55ED50)
CONTAINER = struct.Struct("<IHHQ")    # magic, version, header bytes, bytes of entries
ENTRY = struct.Struct("<HHIQIIHHI")   # kind (1 PTX, 2 machine code), -, header bytes, payload bytes, -, -, -, -, arch


def read(path):
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return bytearray(file.read())
    with zipfile.ZipFile(path) as wheel:
        names = [n for n in wheel.namelist() if n.endswith(".so")]
        if len(names) != 1:
            sys.exit("thin_library: %s holds %d libraries, expected one" % (path, len(names)))
        return bytearray(wheel.read(names[0]))


def thin(data, arch):
    """Zeroes what is not of this architecture; returns how many entries were kept."""
    kept, at = 0, data.find(MAGIC)
    while at >= 0:
        _, version, header, total = CONTAINER.unpack_from(data, at)
        end = at + header + total
        if version != 1 or header != CONTAINER.size or end > len(data):
            at = data.find(MAGIC, at + 4)
            continue
        entry = at + header
        while entry + ENTRY.size <= end:
            kind, _, head, size, *_, entry_arch = ENTRY.unpack_from(data, entry)
            if entry + head + size > end:
                break
            if kind == 2 and entry_arch == arch:
                kept += 1
            else:
                data[entry + head:entry + head + size] = bytes(size)
            entry += head + size
        at = data.find(MAGIC, end)
    return kept


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data = read(sys.argv[1])
    if thin(data, int(sys.argv[2])) == 0:
        sys.exit("thin_library: no machine code of sm_%s in %s" % (sys.argv[2], sys.argv[1]))
    with open(sys.argv[3], "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
