/* checksum.c - SHA-256, and the checksum that names an input file. */
#define _POSIX_C_SOURCE 200809L
#include "io/checksum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/memory.h"
#include "io/dataset.h"

#define WHOLE_MAX ((int64_t)64 << 20)
#define PART ((int64_t)16 << 20)
#define BUFFER ((int64_t)1 << 20)

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
        const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        const uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t added[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) {
        state[i] += added[i];
    }
}

void sha256_begin(struct sha256 *sha)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(sha, 0, sizeof *sha);
    memcpy(sha->state, initial, sizeof initial);
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0) {
        const size_t filled = (size_t)(sha->n_bytes % 64);
        const size_t n = size < 64 - filled ? size : 64 - filled;
        memcpy(sha->block + filled, bytes, n);
        sha->n_bytes += n;
        bytes += n;
        size -= n;
        if (filled + n == 64) {
            compress(sha->state, sha->block);
        }
    }
}

void sha256_end(struct sha256 *sha, char text[65])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t n_bits = 8 * sha->n_bytes;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    }
    const size_t filled = (size_t)(sha->n_bytes % 64);
    sha256_add(sha, padding, filled < 56 ? 56 - filled : 120 - filled);
    sha256_add(sha, length, sizeof length);
    for (int i = 0; i < 8; i++) {
        snprintf(text + 8 * i, 9, "%08x", (unsigned)sha->state[i]);
    }
}

/* Adds bytes offset .. offset + size - 1 of the file. */
static enum mtip_status add_part(struct sha256 *sha, FILE *file, int64_t offset, int64_t size,
                                 uint8_t *buffer, const char *path)
{
    if (fseeko(file, (off_t)offset, SEEK_SET) != 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot read: %s", path, strerror(errno));
    }
    while (size > 0) {
        const size_t wanted = (size_t)(size < BUFFER ? size : BUFFER);
        if (fread(buffer, 1, wanted, file) != wanted) {
            return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot read: %s", path,
                              ferror(file) ? strerror(errno) : "it changed while it was read");
        }
        sha256_add(sha, buffer, wanted);
        size -= (int64_t)wanted;
    }
    return MTIP_OK;
}

enum mtip_status dataset_checksum(char text[65], const char *path)
{
    enum mtip_status status = MTIP_OK;
    struct sha256 sha;
    struct stat info;
    uint8_t *buffer = NULL;
    uint8_t size_bytes[8];
    FILE *file = fopen(path, "rb");
    text[0] = '\0';
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot open: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: is not a regular file", path);
    }
    MTIP_TRY(MEMORY_ALLOC(&buffer, BUFFER, "checksum"));
    const int64_t size = (int64_t)info.st_size;
    sha256_begin(&sha);
    if (size <= WHOLE_MAX) {
        MTIP_TRY(add_part(&sha, file, 0, size, buffer, path));
    } else {
        for (int i = 0; i < 8; i++) {
            size_bytes[i] = (uint8_t)((uint64_t)size >> (8 * i));
        }
        sha256_add(&sha, size_bytes, sizeof size_bytes);
        MTIP_TRY(add_part(&sha, file, 0, PART, buffer, path));
        MTIP_TRY(add_part(&sha, file, (size - PART) / 2, PART, buffer, path));
        MTIP_TRY(add_part(&sha, file, size - PART, PART, buffer, path));
    }
    sha256_end(&sha, text);
cleanup:
    memory_free(&buffer);
    if (file != NULL) {
        fclose(file);
    }
    return status;
}
