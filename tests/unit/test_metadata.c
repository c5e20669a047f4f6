#include "core/plugin/metadata.h"
#include "plugin_fixture.h"

#define WHOLE "name=billing\nversion=1.2.3\nvendor=Acme & Co.\nbuild_id=4f2a\nabi=1.3\nmin_host_minor=2\n"

START_TEST(the_lines_of_the_section_are_read)
{
	struct plugin_metadata metadata;
	struct error error = {0};

	ck_assert_msg(metadata_parse(BYTES_LITERAL(WHOLE "license=MIT\n"), &metadata, &error), "%s", error.text);
	ck_assert_str_eq(metadata.name, "billing");
	ck_assert_str_eq(metadata.version, "1.2.3");
	ck_assert_str_eq(metadata.vendor, "Acme & Co.");
	ck_assert_str_eq(metadata.build_id, "4f2a");
	ck_assert(metadata.abi_major == 1 && metadata.abi_minor == 3 && metadata.min_host_minor == 2);
}
END_TEST

static const struct {
	const char *from, *to, *why;
} broken[] = {
        {"name=billing\n", "", "lacks \"name\""},
        {"name=billing", "name=", "\"name\" that is not valid"},
        {"name=billing", "name=Billing", "\"name\" that is not valid"},
        {"name=billing", "name=1billing", "\"name\" that is not valid"},
        {"name=billing", "name=bil/ling", "\"name\" that is not valid"},
        {"name=billing", "name=billing\nname=billing", "has \"name\" twice"},
        {"version=1.2.3", "version=1 2", "\"version\" that is not valid"},
        {"version=1.2.3", "version=12345678901234567890123456789012", "\"version\" that is not valid"},
        {"vendor=Acme & Co.", "vendor=a\tb", "\"vendor\" that is not valid"},
        {"build_id=4f2a\n", "", "lacks \"build_id\""},
        {"abi=1.3", "abi=1", "\"abi\" that is not valid"},
        {"abi=1.3", "abi=1.3.4", "\"abi\" that is not valid"},
        {"abi=1.3", "abi=1u.3u", "\"abi\" that is not valid"},
        {"abi=1.3", "abi=IDEM_ABI_MAJOR.0", "\"abi\" that is not valid"},
        {"abi=1.3", "abi=65536.0", "\"abi\" that is not valid"},
        {"min_host_minor=2", "min_host_minor=-1", "\"min_host_minor\" that is not valid"},
        {"min_host_minor=2", "min_host_minor=", "\"min_host_minor\" that is not valid"},
};

START_TEST(a_broken_line_is_refused)
{
	const char *at = strstr(WHOLE, broken[_i].from);
	char text[500];
	struct plugin_metadata metadata = {.abi_major = 99};
	struct error error = {0};

	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - WHOLE), WHOLE, broken[_i].to, at + strlen(broken[_i].from));
	ck_assert(!metadata_parse(bytes_from_string(text), &metadata, &error));
	ck_assert_msg(strstr(error.text, broken[_i].why), "%s", error.text);
	ck_assert_uint_eq(metadata.abi_major, 99);
}
END_TEST

START_TEST(a_section_of_any_bytes_is_read_to_its_end)
{
	static const char odd[] = "\0\0=\n=x\nname\nname=\0billing";
	struct plugin_metadata metadata;

	for (size_t length = 0; length < sizeof(odd); length++)
		ck_assert(!metadata_parse((struct bytes){odd, length}, &metadata, NULL));
	for (size_t length = 0; length < sizeof(WHOLE) - 3; length++)
		ck_assert(!metadata_parse((struct bytes){WHOLE, length}, &metadata, NULL));
}
END_TEST

START_TEST(the_abi_range_is_judged_by_major_and_needed_minor)
{
	struct plugin_metadata metadata = {
	        .abi_major = IDEM_ABI_MAJOR, .abi_minor = 200, .min_host_minor = IDEM_ABI_MINOR};

	ck_assert(metadata_check(&metadata, NULL));
	metadata.min_host_minor = IDEM_ABI_MINOR + 1;
	ck_assert(!metadata_check(&metadata, NULL));
	metadata.min_host_minor = 0;
	metadata.abi_major = IDEM_ABI_MAJOR + 1;
	ck_assert(!metadata_check(&metadata, NULL));
	metadata.abi_major = 0;
	ck_assert(!metadata_check(&metadata, NULL));
}
END_TEST

START_TEST(the_numbers_in_a_built_file_are_those_of_the_header)
{
	struct elf_exports exports;
	struct elf_image image;
	struct error error = {0};
	char line[64];

	ck_assert_msg(elf_image_open(&image, PLUGIN_DIR "good/good_minimal.so", &error), "%s", error.text);
	struct bytes section = elf_image_section(&image, IDEM_METADATA_SECTION);
	snprintf(line, sizeof(line), "\nabi=%d.%d\nmin_host_minor=0\n", IDEM_ABI_MAJOR, IDEM_ABI_MINOR);
	ck_assert_ptr_nonnull(memmem(section.ptr, section.len, line, strlen(line)));
	ck_assert_ptr_null(elf_image_section(&image, ".no_such_section").ptr);
	elf_exports_begin(&exports, &image);
	ck_assert_str_eq(elf_exports_next(&exports), IDEM_ENTRY_SYMBOL);
	ck_assert_ptr_null(elf_exports_next(&exports));
	elf_image_close(&image);
}
END_TEST

START_TEST(the_digest_is_sha256)
{
	char digest[METADATA_DIGEST_BYTES];
	struct elf_image image = {.data = (unsigned char *)(uintptr_t) "abc", .size = 3};

	metadata_digest(&image, digest);
	ck_assert_str_eq(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metadata");
	TCase *tests = tcase_create("metadata");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, the_lines_of_the_section_are_read);
	tcase_add_loop_test(tests, a_broken_line_is_refused, 0, sizeof(broken) / sizeof(broken[0]));
	tcase_add_test(tests, a_section_of_any_bytes_is_read_to_its_end);
	tcase_add_test(tests, the_abi_range_is_judged_by_major_and_needed_minor);
	tcase_add_test(tests, the_numbers_in_a_built_file_are_those_of_the_header);
	tcase_add_test(tests, the_digest_is_sha256);
	return fixture_run(suite);
}
