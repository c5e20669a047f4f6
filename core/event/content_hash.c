#include "core/event/content_hash.h"

#include <openssl/evp.h>
#include <pthread.h>

#include "core/base/assert.h"

/* Looking the algorithm up and making a context cost more than hashing an event: once per process, once per thread. */
static EVP_MD *sha256;
static pthread_key_t context_key;
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	EVP_MD_CTX_free(context);
}

static void make(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	ASSERT(sha256);
	PTHREAD_OK(pthread_key_create(&context_key, free_context));
}

static EVP_MD_CTX *thread_context(void)
{
	PTHREAD_OK(pthread_once(&made, make));
	EVP_MD_CTX *context = pthread_getspecific(context_key);
	if (!context) {
		context = EVP_MD_CTX_new();
		ASSERT(context);
		PTHREAD_OK(pthread_setspecific(context_key, context));
	}
	return context;
}

int64_t content_hash(struct bytes value)
{
	EVP_MD_CTX *context = thread_context();
	unsigned char digest[EVP_MAX_MD_SIZE];
	uint64_t hash = 0;

	ASSERT(EVP_DigestInit_ex2(context, sha256, NULL));
	ASSERT(EVP_DigestUpdate(context, value.ptr, value.len));
	ASSERT(EVP_DigestFinal_ex(context, digest, NULL));
	for (int i = 0; i < 8; i++)
		hash = hash << 8 | digest[i];
	return (int64_t)hash;
}
