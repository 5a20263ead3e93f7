/* checksum.h - SHA-256 (FIPS 180-4), streaming. */
#ifndef MTIP_IO_CHECKSUM_H
#define MTIP_IO_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64];
};

void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);

/* Ends the stream; `text` receives 64 hexadecimal digits and a zero. */
void sha256_end(struct sha256 *sha, char text[65]);

#ifdef __cplusplus
}
#endif

#endif
