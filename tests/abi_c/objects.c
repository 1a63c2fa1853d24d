/* Values under dkeys and akeys: what an update writes a fetch reads. */
#include "objects.h"

static void singles(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 1, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    char value[64];
    CHECK_OK(put_single(oh, 0, "dkey", "a", "one"));
    CHECK_OK(put_single(oh, 0, "dkey", "ab", "another"));
    CHECK_OK(put_single(oh, 0, "dkez", "a", "third"));
    expect_single(oh, DAOS_TX_NONE, "dkey", "a", "one");
    expect_single(oh, DAOS_TX_NONE, "dkey", "ab", "another");
    expect_single(oh, DAOS_TX_NONE, "dkez", "a", "third");
    expect_single(oh, DAOS_TX_NONE, "dke", "a", "");
    CHECK_OK(put_single(oh, 0, "dkey", "a", "a longer one"));
    expect_single(oh, DAOS_TX_NONE, "dkey", "a", "a longer one");

    /* What a fetch tells besides: the size, how far the memory is filled. */
    daos_key_t dkey = text_key("dkey");
    daos_iod_t iod = single_of("a", DAOS_REC_ANY);
    d_iov_t pieces[3];
    d_sg_list_t list = {3, 7, pieces};
    daos_iom_t map = {.iom_flags = DAOS_IOMF_DETAIL};
    char small[3][8];
    for (int i = 0; i < 3; ++i)
        d_iov_set(&pieces[i], small[i], 8);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &list, &map, NULL));
    CHECK_EQUAL(iod.iod_size, 12);
    CHECK_EQUAL(list.sg_nr_out, 2);
    CHECK_EQUAL(pieces[0].iov_len, 8);
    CHECK_EQUAL(pieces[1].iov_len, 4);
    CHECK_EQUAL(pieces[2].iov_len, 8); /* not reached: as it was */
    CHECK(memcmp(small, "a longer one", 12) == 0);
    CHECK_EQUAL(map.iom_type, DAOS_IOD_SINGLE);
    CHECK_EQUAL(map.iom_size, 12);
    CHECK_EQUAL(map.iom_nr_out, 0);
    CHECK(map.iom_recxs == NULL);

    /* Only the size. */
    iod.iod_size = DAOS_REC_ANY;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 12);
    d_sg_list_t no_memory = {0, 7, NULL};
    iod.iod_size = DAOS_REC_ANY;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &no_memory, NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 12);
    CHECK_EQUAL(no_memory.sg_nr_out, 0);

    /* Too little memory: the size that is needed. */
    struct memory memory;
    iod.iod_size = DAOS_REC_ANY;
    memset(value, '?', sizeof value);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, value, 11), NULL, NULL),
             -DER_REC2BIG);
    CHECK_EQUAL(iod.iod_size, 12);
    /* More than the memory is asked for: the same, at once. */
    iod.iod_size = 13;
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, value, 12), NULL, NULL),
             -DER_REC2BIG);
    /* A larger size than that of the value, and memory for it. */
    iod.iod_size = 20;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, value, 20), NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 12);
    CHECK_EQUAL(memory.piece.iov_len, 12);

    /* Nothing there. */
    iod = single_of("none", 20);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, value, 20), &map, NULL));
    CHECK_EQUAL(iod.iod_size, 0);
    CHECK_EQUAL(memory.list.sg_nr_out, 0);
    CHECK_EQUAL(map.iom_size, 0);

    /* Size 0 removes; without memory too. */
    iod = single_of("a", DAOS_REC_ANY);
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL));
    expect_single(oh, DAOS_TX_NONE, "dkey", "a", "");
    expect_single(oh, DAOS_TX_NONE, "dkey", "ab", "another");
    CHECK_OK(daos_obj_close(oh, NULL));
}

static void arrays(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 2, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    CHECK_OK(put_records(oh, "dkey", "array", 10, "abcdefghij"));
    expect_records(oh, DAOS_TX_NONE, "dkey", "array", 10, "abcdefghij", 10);
    expect_records(oh, DAOS_TX_NONE, "dkey", "array", 8, "\0\0abc", 5);
    expect_records(oh, DAOS_TX_NONE, "dkey", "array", 18, "ij\0\0", 4);
    CHECK_OK(put_records(oh, "dkey", "array", 12, "CD"));
    CHECK_OK(put_records(oh, "dkey", "array", 18, "IJKL"));
    CHECK_OK(put_records(oh, "dkey", "array", 8, "yz"));
    expect_records(oh, DAOS_TX_NONE, "dkey", "array", 8, "yzabCDefghIJKL", 14);

    /* Several ranges and pieces; of different sizes, in one call. */
    daos_key_t dkey = text_key("dkey");
    daos_recx_t recxs[3] = {{100, 2}, {5, 1}, {1000, 3}};
    daos_iod_t iod = array_of("wide", 4, 3, recxs);
    char out[64], in[] = "aaaabbbbccccddddeeeeffff";
    d_iov_t pieces[3];
    d_sg_list_t list = {3, 0, pieces};
    d_iov_set(&pieces[0], in, 3);
    d_iov_set(&pieces[1], &in[3], 10);
    d_iov_set(&pieces[2], &in[13], 11);
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &list, NULL));
    recxs[0] = (daos_recx_t){999, 5};
    recxs[1] = (daos_recx_t){100, 1};
    recxs[2] = (daos_recx_t){4, 3};
    struct memory memory;
    daos_recx_t found[8];
    daos_iom_t map = {.iom_flags = DAOS_IOMF_DETAIL, .iom_nr = 8, .iom_recxs = found};
    memset(out, '?', sizeof out);
    iod.iod_size = DAOS_REC_ANY;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, out, 40), &map, NULL));
    CHECK_EQUAL(iod.iod_size, 4);
    CHECK(memcmp(out, "\0\0\0\0ddddeeeeffff\0\0\0\0aaaa\0\0\0\0cccc\0\0\0\0", 36) == 0);
    CHECK_EQUAL(memory.list.sg_nr_out, 1);
    CHECK_EQUAL(memory.piece.iov_len, 32); /* holes at the end are not counted */
    CHECK_EQUAL(map.iom_type, DAOS_IOD_ARRAY);
    CHECK_EQUAL(map.iom_size, 4);
    CHECK_EQUAL(map.iom_nr_out, 3);
    CHECK(found[0].rx_idx == 5 && found[0].rx_nr == 1);
    CHECK(found[1].rx_idx == 100 && found[1].rx_nr == 1);
    CHECK(found[2].rx_idx == 1000 && found[2].rx_nr == 3);
    CHECK(map.iom_recx_lo.rx_idx == 5 && map.iom_recx_hi.rx_idx == 1000 && map.iom_recx_hi.rx_nr == 3);

    /* A map with too little room, without details, and one that the call allocates. */
    daos_iom_t maps[3] = {{.iom_flags = DAOS_IOMF_DETAIL, .iom_nr = 2, .iom_recxs = found},
                          {.iom_nr = 8, .iom_recxs = found},
                          {.iom_flags = DAOS_IOMF_DETAIL}};
    for (int i = 0; i < 3; ++i) {
        memset(found, 0xff, sizeof found);
        CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &memory.list, &maps[i], NULL));
        CHECK_EQUAL(maps[i].iom_nr_out, i == 1 ? 0 : 3);
        CHECK(maps[i].iom_recx_lo.rx_idx == 5 && maps[i].iom_recx_hi.rx_idx == 1000);
        CHECK(found[2].rx_idx == UINT64_MAX);
    }
    CHECK_EQUAL(found[0].rx_idx, UINT64_MAX);
    CHECK(maps[2].iom_nr == 3 && maps[2].iom_recxs[2].rx_idx == 1000);
    free(maps[2].iom_recxs);

    /* Of ranges without a record the size is 0, as if there were no array. */
    recxs[0] = (daos_recx_t){6, 10};
    iod.iod_nr = 1;
    iod.iod_size = DAOS_REC_ANY;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &memory.list, &map, NULL));
    CHECK_EQUAL(iod.iod_size, 0);
    CHECK_EQUAL(memory.list.sg_nr_out, 0);
    CHECK(map.iom_nr_out == 0 && map.iom_recx_lo.rx_nr == 0 && map.iom_recx_hi.rx_nr == 0);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 0);
    recxs[0].rx_idx = 0;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 4);
    iod.iod_size = DAOS_REC_ANY;
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, out, 39), NULL, NULL),
             -DER_REC2BIG);
    CHECK_EQUAL(iod.iod_size, 4);

    /* Records of another size, and a value in the place of an array. */
    iod = array_of("wide", 2, 1, recxs);
    recxs[0] = (daos_recx_t){1, 1};
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, in, 2), NULL),
             -DER_INVAL);
    CHECK_RC(put_single(oh, 0, "dkey", "wide", "value"), -DER_INVAL);

    /* Size 0 removes the records. */
    recxs[0] = (daos_recx_t){12, 3};
    recxs[1] = (daos_recx_t){8, 1};
    iod = array_of("array", DAOS_REC_ANY, 2, recxs);
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL));
    expect_records(oh, DAOS_TX_NONE, "dkey", "array", 8, "\0zab\0\0\0fgh", 10);
    /* The end of all arrays. */
    CHECK_OK(put_records(oh, "dkey", "end", INT64_MAX, "x"));
    expect_records(oh, DAOS_TX_NONE, "dkey", "end", INT64_MAX - 1, "\0x", 2);
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* Several akeys in one update are seen at once, or none of them. */
static void together(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 3, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    daos_key_t dkey = text_key("dkey");
    daos_recx_t recx = {7, 3};
    char bytes[3][8] = {"1234567", "abc", "ABCDEFG"};
    d_iov_t pieces[3];
    d_sg_list_t lists[3];
    daos_iod_t iods[3] = {single_of("x", 7), array_of("y", 1, 1, &recx), single_of("z", 7)};
    for (int i = 0; i < 3; ++i) {
        d_iov_set(&pieces[i], bytes[i], i == 1 ? 3 : 7);
        lists[i] = (d_sg_list_t){1, 0, &pieces[i]};
    }
    iods[2].iod_flags = DAOS_COND_AKEY_UPDATE;
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, DAOS_COND_PER_AKEY, &dkey, 3, iods, lists, NULL),
             -DER_NONEXIST);
    expect_single(oh, DAOS_TX_NONE, "dkey", "x", "");
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 3, iods, lists, NULL));
    memset(bytes, 0, sizeof bytes);
    iods[0].iod_size = iods[1].iod_size = iods[2].iod_size = DAOS_REC_ANY;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 3, iods, lists, NULL, NULL));
    CHECK(iods[0].iod_size == 7 && iods[1].iod_size == 1 && iods[2].iod_size == 7);
    CHECK(strcmp(bytes[0], "1234567") == 0 && strcmp(bytes[1], "abc") == 0);
    CHECK(strcmp(bytes[2], "ABCDEFG") == 0);
    /* The other type of value is not there. */
    iods[0] = single_of("y", DAOS_REC_ANY);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, iods, NULL, NULL, NULL));
    CHECK_EQUAL(iods[0].iod_size, 0);
    /* One akey twice. */
    iods[0] = single_of("z", 7);
    iods[2] = single_of("z", 7);
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 3, iods, lists, NULL), -DER_NO_PERM);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 3, iods, lists, NULL, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
}

static void conditions(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 4, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    char value[16];
    CHECK_RC(put_single(oh, DAOS_COND_DKEY_UPDATE, "d", "a", "x"), -DER_NONEXIST);
    CHECK_RC(put_single(oh, DAOS_COND_AKEY_UPDATE, "d", "a", "x"), -DER_NONEXIST);
    CHECK_RC(get_single(oh, DAOS_TX_NONE, DAOS_COND_DKEY_FETCH, "d", "a", value, 16), -DER_NONEXIST);
    CHECK_RC(get_single(oh, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, "d", "a", value, 16), -DER_NONEXIST);
    CHECK_OK(put_single(oh, DAOS_COND_DKEY_INSERT | DAOS_COND_AKEY_INSERT, "d", "a", "1"));
    CHECK_RC(put_single(oh, DAOS_COND_DKEY_INSERT, "d", "b", "x"), -DER_EXIST);
    CHECK_RC(put_single(oh, DAOS_COND_AKEY_INSERT, "d", "a", "x"), -DER_EXIST);
    CHECK_OK(put_single(oh, DAOS_COND_AKEY_INSERT, "d", "b", "2"));
    CHECK_OK(put_single(oh, DAOS_COND_DKEY_UPDATE, "d", "c", "3"));
    CHECK_OK(put_single(oh, DAOS_COND_AKEY_UPDATE | DAOS_COND_DKEY_UPDATE, "d", "a", "4"));
    CHECK_OK(put_single(oh, DAOS_COND_DKEY_INSERT, "e", "a", "5"));
    CHECK_OK(get_single(oh, DAOS_TX_NONE, DAOS_COND_DKEY_FETCH, "d", "none", value, 16));
    CHECK_RC(get_single(oh, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, "d", "none", value, 16), -DER_NONEXIST);
    CHECK_OK(get_single(oh, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, "d", "a", value, 16));
    CHECK(strcmp(value, "4") == 0);

    /* One for each akey. */
    daos_key_t dkey = text_key("d");
    daos_iod_t iods[2] = {single_of("a", 1), single_of("n", 1)};
    char bytes[2] = "67";
    d_iov_t pieces[2];
    d_sg_list_t lists[2] = {{1, 0, &pieces[0]}, {1, 0, &pieces[1]}};
    d_iov_set(&pieces[0], &bytes[0], 1);
    d_iov_set(&pieces[1], &bytes[1], 1);
    iods[0].iod_flags = DAOS_COND_AKEY_UPDATE;
    iods[1].iod_flags = DAOS_COND_AKEY_INSERT;
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, DAOS_COND_PER_AKEY, &dkey, 2, iods, lists, NULL));
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, DAOS_COND_PER_AKEY, &dkey, 2, iods, lists, NULL), -DER_EXIST);
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 2, iods, lists, NULL)); /* passed over */
    iods[1] = single_of("none", DAOS_REC_ANY);
    iods[0].iod_flags = DAOS_COND_AKEY_FETCH;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, DAOS_COND_PER_AKEY, &dkey, 2, iods, lists, NULL, NULL));
    iods[1].iod_flags = DAOS_COND_AKEY_FETCH;
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, DAOS_COND_PER_AKEY, &dkey, 2, iods, lists, NULL, NULL),
             -DER_NONEXIST);

    /* What contradicts itself, or belongs to another call. */
    uint64_t const bad_updates[] = {DAOS_COND_PUNCH, DAOS_COND_DKEY_FETCH, DAOS_COND_AKEY_FETCH,
                                    DAOS_COND_PER_AKEY | DAOS_COND_AKEY_INSERT,
                                    DAOS_COND_PER_AKEY | DAOS_COND_AKEY_UPDATE};
    uint64_t const bad_fetches[] = {DAOS_COND_PUNCH,       DAOS_COND_DKEY_INSERT,
                                    DAOS_COND_DKEY_UPDATE, DAOS_COND_AKEY_INSERT,
                                    DAOS_COND_AKEY_UPDATE, DAOS_COND_PER_AKEY | DAOS_COND_AKEY_FETCH};
    for (unsigned i = 0; i < sizeof bad_updates / sizeof *bad_updates; ++i)
        CHECK_RC(put_single(oh, bad_updates[i], "d", "a", "x"), -DER_INVAL);
    for (unsigned i = 0; i < sizeof bad_fetches / sizeof *bad_fetches; ++i)
        CHECK_RC(get_single(oh, DAOS_TX_NONE, bad_fetches[i], "d", "a", value, 16), -DER_INVAL);
    CHECK_OK(daos_obj_close(oh, NULL));
}

static void punches(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 5, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    daos_key_t dkey = text_key("d");
    daos_key_t akeys[2] = {text_key("a"), text_key("none")};
    char value[16];
    CHECK_OK(put_single(oh, 0, "d", "a", "1"));
    CHECK_OK(put_single(oh, 0, "d", "b", "2"));
    CHECK_OK(put_records(oh, "d", "c", 5, "345"));
    CHECK_OK(put_single(oh, 0, "e", "a", "6"));
    CHECK_RC(daos_obj_punch_akeys(oh, DAOS_TX_NONE, DAOS_COND_PUNCH, &dkey, 2, akeys, NULL), -DER_NONEXIST);
    expect_single(oh, DAOS_TX_NONE, "d", "a", "1");
    CHECK_OK(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, &dkey, 2, akeys, NULL));
    expect_single(oh, DAOS_TX_NONE, "d", "a", "");
    CHECK_RC(get_single(oh, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, "d", "a", value, 16), -DER_NONEXIST);
    expect_single(oh, DAOS_TX_NONE, "d", "b", "2");
    akeys[0] = text_key("c");
    CHECK_OK(daos_obj_punch_akeys(oh, DAOS_TX_NONE, DAOS_COND_PUNCH | DAOS_COND_DKEY_UPDATE, &dkey, 1, akeys,
                                  NULL)); /* as libdfs has it */
    expect_records(oh, DAOS_TX_NONE, "d", "c", 5, "\0\0\0", 3);
    CHECK_OK(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, DAOS_COND_PUNCH, 1, &dkey, NULL));
    expect_single(oh, DAOS_TX_NONE, "d", "b", "");
    expect_single(oh, DAOS_TX_NONE, "e", "a", "6");
    CHECK_RC(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, DAOS_COND_PUNCH, 1, &dkey, NULL), -DER_NONEXIST);
    CHECK_OK(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, &dkey, NULL));
    CHECK_OK(put_single(oh, DAOS_COND_DKEY_INSERT, "d", "b", "7"));
    CHECK_OK(daos_obj_punch(oh, DAOS_TX_NONE, 0, NULL));
    expect_single(oh, DAOS_TX_NONE, "d", "b", "");
    expect_single(oh, DAOS_TX_NONE, "e", "a", "");
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* Keys of all lengths that share their first 200 bytes. */
static void long_keys(daos_handle_t container)
{
    static char text[5001];
    static size_t const lengths[] = {1, 30, 95, 96, 97, 199, 200, 201, 202, 255, 256, 300, 1000, 4096, 5000};
    enum { count = sizeof lengths / sizeof *lengths };
    daos_handle_t const oh = open_object(container, 6, DAOS_OT_MULTI_LEXICAL, DAOS_OO_RW);
    memset(text, 'k', sizeof text - 1);
    for (int round = 0; round < 2; ++round)
        for (unsigned d = 0; d < count; ++d)
            for (unsigned a = 0; a < count; ++a) {
                daos_key_t dkey = key_of(text, lengths[d]);
                daos_iod_t iod = single_of("", sizeof(unsigned));
                unsigned value = d * 100 + a;
                struct memory memory;
                iod.iod_name = key_of(text, lengths[a]);
                if (round == 0) {
                    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, DAOS_COND_AKEY_INSERT, &dkey, 1, &iod,
                                             memory_of(&memory, &value, sizeof value), NULL));
                    continue;
                }
                value = 0;
                CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod,
                                        memory_of(&memory, &value, sizeof value), NULL, NULL));
                CHECK_EQUAL(value, d * 100 + a);
            }
    CHECK_OK(daos_obj_close(oh, NULL));
}

static void large_values(daos_handle_t container)
{
    daos_handle_t const oh = open_object(container, 7, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    size_t const sizes[] = {64 << 10, (64 << 10) + 1, 1 << 20, (4 << 20) - 3, 4 << 20};
    char* const in = malloc(4 << 20);
    char* const out = malloc(4 << 20);
    CHECK(in != NULL && out != NULL);
    for (size_t i = 0; i < 4 << 20; ++i)
        in[i] = (char)(i * 2654435761u >> 13);
    for (int array = 0; array < 2; ++array)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            daos_key_t dkey = key_of(&i, sizeof i);
            daos_recx_t recx = {1000 + i, sizes[i]};
            daos_iod_t iod = array ? array_of("array", 1, 1, &recx) : single_of("single", sizes[i]);
            struct memory memory;
            CHECK_OK(
                daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, in, sizes[i]), NULL));
            memset(out, 0, sizes[i]);
            CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, out, sizes[i]),
                                    NULL, NULL));
            CHECK_EQUAL(memory.piece.iov_len, sizes[i]);
            CHECK(memcmp(in, out, sizes[i]) == 0);
        }
    free(in);
    free(out);
    CHECK_OK(daos_obj_close(oh, NULL));
}

int main(void)
{
    struct store store = open_store();
    singles(store.container);
    arrays(store.container);
    together(store.container);
    conditions(store.container);
    punches(store.container);
    long_keys(store.container);
    large_values(store.container);
    close_store(&store);
    return 0;
}
