/* SPDX-License-Identifier: MIT */
/*
 * Signatures by OpenSSL as the distribution builds it: without frame
 * pointers, much of it in assembly.
 */
#include "route.h"

#include <string.h>

#include <openssl/evp.h>

enum {
	MESSAGE_BYTES = 256,
	SIGNATURES_PER_COST = 12,
	DIGESTS_PER_COST = 600
};

static EVP_PKEY *key; /* owned; read only after sign_init() */

int sign_init(void)
{
	key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return key ? 0 : -1;
}

void sign_release(void)
{
	EVP_PKEY_free(key);
	key = NULL;
}

ROUTE_FUNCTION static uint64_t sign_digest_message(unsigned char *message)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	for (int i = 0; i < DIGESTS_PER_COST; i++) {
		if (!EVP_Digest(message, MESSAGE_BYTES, digest, &size,
				EVP_sha256(), NULL))
			return 0;
		memcpy(message, digest, size);
	}
	return message[0];
}

ROUTE_FUNCTION static uint64_t sign_message(const unsigned char *message)
{
	unsigned char signature[64];
	uint64_t sum = 0;

	for (int i = 0; i < SIGNATURES_PER_COST; i++) {
		EVP_MD_CTX *context = EVP_MD_CTX_new();
		size_t size = sizeof(signature);

		if (context &&
		    EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestSign(context, signature, &size, message,
				   MESSAGE_BYTES) == 1)
			sum += signature[i];
		EVP_MD_CTX_free(context);
	}
	return sum;
}

uint64_t sign_run(unsigned int cost, uint64_t seed)
{
	unsigned char message[MESSAGE_BYTES] = { 0 };
	uint64_t sum = 0;

	memcpy(message, &seed, sizeof(seed));
	for (unsigned int i = 0; i < cost; i++) {
		sum += sign_digest_message(message);
		sum += sign_message(message);
	}
	return sum;
}
