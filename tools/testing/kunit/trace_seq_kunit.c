// SPDX-License-Identifier: GPL-2.0
/*
 * The lines of <linux/trace_seq.h>, and the values that events print by <linux/trace_events.h>.
 */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>

static struct trace_seq *new_seq(struct kunit *test)
{
	/* All zeros: the first use makes it a line. */
	struct trace_seq *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

static const char *text(struct trace_seq *s)
{
	trace_seq_putc(s, 0);
	return s->buffer;
}

static int pack(u32 *words, size_t size, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = vbin_printf(words, size, fmt, args);
	va_end(args);
	return ret;
}

static void pieces(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	static const u8 word[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	u32 packed[4];

	trace_seq_printf(s, "%d %s", -7, "seven");
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), 8);
	trace_seq_putc(s, ' ');
	trace_seq_puts(s, "puts");
	trace_seq_putmem(s, "memory", 3);
	trace_seq_putc(s, '|');
	trace_seq_putmem_hex(s, word, sizeof(word));
	KUNIT_EXPECT_GT(test, pack(packed, ARRAY_SIZE(packed), "%u+%c", 5, 'x'), 0);
	trace_seq_bprintf(s, "%u+%c", packed);
	KUNIT_EXPECT_STREQ(test, text(s), "-7 seven putsmem|0807060504030201 09 5+x");
	KUNIT_EXPECT_FALSE(test, trace_seq_has_overflowed(s));
	KUNIT_EXPECT_EQ(test, trace_handle_return(s), TRACE_TYPE_HANDLED);
}

static void masks(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	unsigned long mask[] = { 0xf1, 1UL << 63 };

	trace_seq_bitmask(s, mask, 128);
	trace_seq_putc(s, ' ');
	trace_seq_bitmask(s, mask, 5);
	trace_seq_putc(s, ' ');
	trace_seq_bitmask(s, mask, 0);
	trace_seq_putc(s, ' ');
	trace_seq_bitmask_list(s, mask, 128);
	trace_seq_putc(s, ' ');
	trace_seq_bitmask_list(s, mask, 6);
	KUNIT_EXPECT_STREQ(test, text(s), "80000000,00000000,00000000,000000f1 11  0,4-7,127 0,4-5");
}

static void hex_dump(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	const char *dump;

	KUNIT_EXPECT_EQ(test, trace_seq_hex_dump(s, "p ", DUMP_PREFIX_OFFSET, 16, 1, "ABCDEFGHIJKLMNOPQR", 18, true), 1);
	KUNIT_EXPECT_STREQ(test, text(s),
			   "p 00000000: 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP\n"
			   "p 00000010: 51 52                                            QR\n");
	trace_seq_init(s);
	dump = trace_print_hex_dump_seq(s, "", DUMP_PREFIX_NONE, 16, 2, "ABCD", 4, false);
	KUNIT_EXPECT_STREQ(test, dump, "\n4241 4443\n");
}

static void full(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	int left = TRACE_SEQ_BUFFER_SIZE, i;
	struct path root;

	for (i = 0; i < left - 4; i++)
		trace_seq_putc(s, '.');
	KUNIT_EXPECT_FALSE(test, trace_seq_has_overflowed(s));
	/* A NUL goes behind what is formatted, though it does not count. */
	trace_seq_printf(s, "%s", "1234");
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left - 4);
	KUNIT_EXPECT_TRUE(test, trace_seq_has_overflowed(s));
	KUNIT_EXPECT_EQ(test, trace_handle_return(s), TRACE_TYPE_PARTIAL_LINE);
	/* What would fit comes too late. */
	trace_seq_putc(s, 'x');
	trace_seq_puts(s, "");
	get_fs_root(current->fs, &root);
	KUNIT_EXPECT_EQ(test, trace_seq_path(s, &root), 0);
	path_put(&root);
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left - 4);

	s->full = 0;
	trace_seq_puts(s, "12345");
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left - 4);
	KUNIT_EXPECT_TRUE(test, trace_seq_has_overflowed(s));
	s->full = 0;
	trace_seq_putmem(s, "1234", 4);
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left);
	KUNIT_EXPECT_FALSE(test, trace_seq_has_overflowed(s));
	trace_seq_putc(s, 'x');
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left);
	KUNIT_EXPECT_TRUE(test, trace_seq_has_overflowed(s));

	trace_seq_init(s);
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), 0);
	for (i = 0; i < left / 2; i++)
		trace_seq_putc(s, '.');
	/* Digits would fit, but not the blanks between the words. */
	trace_seq_putmem_hex(s, s->buffer, left / 4);
	KUNIT_EXPECT_EQ(test, trace_seq_used(s), left / 2);
	KUNIT_EXPECT_TRUE(test, trace_seq_has_overflowed(s));
}

static void taken(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	char *memory;

	trace_seq_puts(s, "ab");
	memory = trace_seq_acquire(s, 3);
	KUNIT_EXPECT_PTR_EQ(test, memory, s->buffer + 2);
	memcpy(memory, "cde", 3);
	trace_seq_puts(s, "f");
	KUNIT_EXPECT_STREQ(test, text(s), "abcdef");
}

static void path(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	struct path root;

	get_fs_root(current->fs, &root);
	KUNIT_EXPECT_EQ(test, trace_seq_path(s, &root), 1);
	path_put(&root);
	KUNIT_EXPECT_STREQ(test, text(s), "/");
}

static void flags(struct kunit *test)
{
	static const struct trace_print_flags names[] = { { 3, "both" }, { 1, "one" }, { 2, "two" }, { 8, "eight" } };
	struct trace_seq *s = new_seq(test);

#define FLAGS(delim, value) trace_print_flags_seq(s, delim, value, names, ARRAY_SIZE(names))
	trace_seq_init(s);
	KUNIT_EXPECT_STREQ(test, FLAGS("|", 0), "");
	KUNIT_EXPECT_STREQ(test, FLAGS("|", 3), "both");
	KUNIT_EXPECT_STREQ(test, FLAGS("|", 10), "two|eight");
	KUNIT_EXPECT_STREQ(test, FLAGS(NULL, 10), "twoeight");
	KUNIT_EXPECT_STREQ(test, FLAGS("|", 0x19), "one|eight|0x10");
	KUNIT_EXPECT_STREQ(test, FLAGS("|", 1UL << 63), "0x8000000000000000");
	KUNIT_EXPECT_STREQ(test, trace_print_flags_seq(s, "|", 5, NULL, 0), "0x5");
}

static void symbols(struct kunit *test)
{
	static const struct trace_print_flags names[] = { { 1, "one" }, { 2, "" }, { 1, "again" } };
	struct trace_seq *s = new_seq(test);

#define SYMBOL(value) trace_print_symbols_seq(s, value, names, ARRAY_SIZE(names))
	trace_seq_init(s);
	KUNIT_EXPECT_STREQ(test, SYMBOL(1), "one");
	KUNIT_EXPECT_STREQ(test, SYMBOL(2), "0x2");
	KUNIT_EXPECT_STREQ(test, SYMBOL(-1UL), "0xffffffffffffffff");
}

static void arrays(struct kunit *test)
{
	struct trace_seq *s = new_seq(test);
	static const u8 bytes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 255 };
	static const u16 shorts[] = { 1, 0xffff };
	static const u32 ints[] = { 0, 0xffffffff };
	static const u64 longs[] = { ~0ULL };

	trace_seq_init(s);
	KUNIT_EXPECT_STREQ(test, trace_print_hex_seq(s, bytes, 18, false),
			   "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 ff");
	KUNIT_EXPECT_STREQ(test, trace_print_hex_seq(s, bytes, 18, true), "000102030405060708090a0b0c0d0e0f10ff");
	KUNIT_EXPECT_STREQ(test, trace_print_hex_seq(s, bytes, 0, true), "");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, bytes + 1, 2, 1), "{0x1,0x2}");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, shorts, 2, 2), "{0x1,0xffff}");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, ints, 2, 4), "{0x0,0xffffffff}");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, longs, 1, 8), "{0xffffffffffffffff}");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, bytes + 1, 1, 3), "{BAD SIZE:3 0x1,0x2,0x3}");
	KUNIT_EXPECT_STREQ(test, trace_print_array_seq(s, bytes, 0, 4), "{}");
}

static void bitmask_of_event(struct kunit *test)
{
	struct trace_iterator *iter = kunit_kzalloc(test, sizeof(*iter), GFP_KERNEL);
	unsigned long mask[] = { 0xf1 };

	KUNIT_ASSERT_NOT_NULL(test, iter);
	iter->tr = trace_array_get_by_name("kunit_seq", NULL);
	KUNIT_ASSERT_NOT_NULL(test, iter->tr);
	KUNIT_EXPECT_STREQ(test, trace_print_bitmask_seq(iter, mask, sizeof(mask)), "00000000,000000f1");
	trace_array_put(iter->tr);
	trace_array_destroy(iter->tr);
}

/* What a line makes of a format is what snprintf() makes of it. */
#define SAME(fmt, ...)								\
	do {									\
		struct trace_seq *line = new_seq(test);				\
		char wanted[256];						\
										\
		snprintf(wanted, sizeof(wanted), fmt, ##__VA_ARGS__);		\
		trace_seq_printf(line, fmt, ##__VA_ARGS__);			\
		KUNIT_EXPECT_STREQ_MSG(test, text(line), wanted, "%s", fmt);	\
		kunit_kfree(test, line);					\
	} while (0)

static void formats(struct kunit *test)
{
	static const long numbers[] = { 0, 1, -1, 9, 10, 255, 4096, -32769, 1234567, INT_MAX, INT_MIN, LONG_MAX, LONG_MIN };
	static const u8 bytes[] = { 0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	unsigned long mask = 0xf0f1;
	const char *none = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		long n = numbers[i];

		SAME("%d|%i|%u|%x|%X|%o", (int)n, (int)n, (int)n, (int)n, (int)n, (int)n);
		SAME("%ld|%lu|%lx|%lo|%zu|%zd|%llx|%lld", n, n, n, n, n, n, (long long)n, (long long)n);
		SAME("%hhd|%hhu|%hhx|%hd|%hu|%hx", (s8)n, (u8)n, (u8)n, (s16)n, (u16)n, (u16)n);
		SAME("%5d|%-5d|%05d|%+d|% d|%#x|%#o|%#X", (int)n, (int)n, (int)n, (int)n, (int)n, (int)n, (int)n, (int)n);
		SAME("%.3d|%8.3d|%-8.3d|%08.3d|%+5d|%#010lx|%-#12lx|", (int)n, (int)n, (int)n, (int)n, (int)n, n, n);
		SAME("%*d|%-*d|%.*d|%*.*lx", 6, (int)n, 6, (int)n, 4, (int)n, -9, 3, n);
		SAME("%td %tx", n, n);
	}
	SAME("%s|%6s|%-6s|%.2s|%6.2s|%.0s|%*s|%.*s", "text", "text", "text", "text", "text", "text", -9, "text", 3, "text");
	SAME("%s and %10s", none, none);
	SAME("%c%c%%|%3c|%-3c|", 'a', 'b', 'c', 'd');
	SAME("no conversion, and %s", "");
	SAME("%pS", (void *)vfs_fsync);
	SAME("%pS|%ps|%pB|%pSR|%-40ps|", (char *)vfs_fsync + 5, (char *)vfs_fsync + 5, (char *)vfs_fsync + 5, (char *)vfs_fsync + 5,
	     (void *)vfs_fsync);
	SAME("%pS|%ps", (void *)formats, (void *)formats);
	SAME("%pS|%ps", (void *)4096UL, (void *)4096UL);
	SAME("%pS|%ps", &mask, &mask);
	SAME("%p|%px|%20p|%pK", &mask, &mask, &mask, &mask);
	SAME("%p|%p|%px", NULL, ERR_PTR(-ENOENT), NULL);
	SAME("%pe %pUb %pM %pI4 %*ph %*pbl %*pb", ERR_PTR(-ENOENT), bytes, bytes, bytes, 6, bytes, 16, &mask, 16, &mask);
	SAME("%pOF|%d", NULL, 7);
}

/* A format fits with its end, or not at all. */
static void room(struct kunit *test)
{
	int rest;

/* What a format makes where there are so many bytes left, its end included. */
#define WITH(format, ...)										\
	do {												\
		struct trace_seq *s = new_seq(test);							\
		char wanted[64];									\
		int length = snprintf(wanted, sizeof(wanted), format, __VA_ARGS__);			\
		bool fits = length < rest;								\
													\
		trace_seq_puts(s, "");									\
		s->seq.size = 100 + rest;								\
		s->seq.len = 100;									\
		s->buffer[100 + rest] = '#';								\
		trace_seq_printf(s, format, __VA_ARGS__);						\
		KUNIT_EXPECT_EQ_MSG(test, trace_seq_has_overflowed(s), !fits, "%s: %d", wanted, rest);	\
		KUNIT_EXPECT_EQ(test, s->seq.len, fits ? 100 + length : 100);				\
		if (fits)										\
			KUNIT_EXPECT_MEMEQ(test, s->buffer + 100, wanted, length);			\
		KUNIT_EXPECT_EQ(test, s->buffer[100 + rest], '#');					\
		kunit_kfree(test, s);									\
	} while (0)

	for (rest = 0; rest < 48; rest++) {
		WITH("%s", "");
		WITH("%s %d%c %x", "text", 12345, '!', 0xabcdef);
		WITH("%s %p", "text", test);
		WITH("%d%px", 12345, test);
		WITH("%s %pI4", "text", "\1\2\3\4");
		WITH("%pS %d", (char *)vfs_fsync + 5, 7);
		WITH("%d %pS", 7, (char *)vfs_fsync + 5);
	}
#undef WITH
}

static struct kunit_case cases[] = {
	KUNIT_CASE(formats),
	KUNIT_CASE(room),
	KUNIT_CASE(pieces),
	KUNIT_CASE(masks),
	KUNIT_CASE(hex_dump),
	KUNIT_CASE(full),
	KUNIT_CASE(taken),
	KUNIT_CASE(path),
	KUNIT_CASE(flags),
	KUNIT_CASE(symbols),
	KUNIT_CASE(arrays),
	KUNIT_CASE(bitmask_of_event),
	{}
};

static struct kunit_suite suite = {
	.name = "trace_seq",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of trace_seq and of the values of events");
MODULE_LICENSE("GPL");
