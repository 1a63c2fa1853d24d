/* What programs take from gurt besides hash tables: lists, memory, lists of ranks, environment variables. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <gurt/common.h>
#include <gurt/debug.h>
#include <gurt/list.h>
#include <gurt/types.h>
#include <unistd.h>

struct item {
    int number;
    d_list_t link;
};

static void expect(d_list_t* head, char const* numbers)
{
    struct item* item;
    char all[64] = "";
    d_list_for_each_entry(item, head, link) sprintf(all + strlen(all), "%d", item->number);
    if (strcmp(all, numbers) != 0) fprintf(stderr, "the list is %s, not %s\n", all, numbers);
    CHECK(strcmp(all, numbers) == 0);
    char back[64] = "";
    d_list_for_each_entry_reverse(item, head, link) sprintf(back + strlen(back), "%d", item->number);
    for (size_t i = 0; i < strlen(all); ++i)
        CHECK(all[i] == back[strlen(all) - 1 - i]);
}

static void lists(void)
{
    D_LIST_HEAD(head);
    D_LIST_HEAD(other);
    struct item items[6];
    struct item *item, *next;
    d_list_t *link, *after;
    CHECK(d_list_empty(&head));
    CHECK(d_list_pop_entry(&head, struct item, link) == NULL);
    for (int i = 0; i < 6; ++i) {
        items[i].number = i;
        if (i % 2)
            d_list_add(&items[i].link, &head);
        else
            d_list_add_tail(&items[i].link, &head);
    }
    expect(&head, "531024");
    d_list_move(&items[0].link, &head);
    expect(&head, "053124");
    d_list_move_tail(&items[3].link, &head);
    expect(&head, "051243");
    d_list_del_init(&items[1].link);
    CHECK(d_list_empty(&items[1].link));
    expect(&head, "05243");
    d_list_add(&items[1].link, &other);
    d_list_splice_init(&head, &other);
    CHECK(d_list_empty(&head));
    expect(&other, "052431");
    d_list_splice(&head, &other); /* of nothing */
    expect(&other, "052431");
    item = d_list_pop_entry(&other, struct item, link);
    CHECK(item == &items[0]);
    item = &items[4];
    char rest[8] = "";
    d_list_for_each_entry_continue(item, &other, link) sprintf(rest + strlen(rest), "%d", item->number);
    CHECK(strcmp(rest, "31") == 0);
    d_list_for_each_entry_safe(item, next, &other, link)
    {
        if (item->number % 2) d_list_del(&item->link);
    }
    expect(&other, "24");
    int count = 0;
    d_list_for_each(link, &other)++ count;
    d_list_for_each_prev(link, &other)++ count;
    d_list_for_each_safe(link, after, &other) d_list_del_init(link);
    CHECK(count == 4 && d_list_empty(&other));
}

static int jump(int rc)
{
    if (rc != 0) D_GOTO(out, rc = -DER_BUSY);
    rc = 1;
out:
    return rc;
}

static void memory(void)
{
    int* numbers;
    int* more;
    char* text;
    struct item* item;
    D_ALLOC_ARRAY(numbers, 4);
    CHECK(numbers != NULL && numbers[3] == 0);
    numbers[3] = 7;
    D_REALLOC_ARRAY(more, numbers, 4, 1000);
    CHECK(numbers == NULL && more[3] == 7 && more[999] == 0);
    D_REALLOC(numbers, more, 4000, 0);
    CHECK(numbers != NULL && more == NULL);
    D_FREE(numbers);
    CHECK(numbers == NULL);
    D_ALLOC_PTR(item);
    CHECK(item != NULL && item->number == 0);
    CHECK(container_of(&item->link, struct item, link) == item);
    D_FREE(item);
    D_STRNDUP(text, "a text", 3);
    CHECK(strcmp(text, "a t") == 0);
    D_FREE(text);
    D_STRNDUP_S(text, "whole");
    CHECK(strcmp(text, "whole") == 0);
    D_FREE(text);
    D_ASPRINTF(text, "%d-%s", 12, "x");
    CHECK(strcmp(text, "12-x") == 0);
    D_FREE(text);
    CHECK(jump(1) == -DER_BUSY && jump(0) == 1);
    CHECK(D_ALIGNUP(9, 8) == 16 && D_ALIGNUP(8, 8) == 8 && ARRAY_SIZE(((int[3]){0})) == 3);
    D_ASSERT(true);
    D_ASSERTF(true, "%d", 1);
    d_sg_list_t sgl;
    CHECK_OK(d_sgl_init(&sgl, 3));
    CHECK(sgl.sg_nr == 3 && sgl.sg_nr_out == 0 && d_sgl_buf_size(&sgl) == 0);
    d_iov_set(&sgl.sg_iovs[1], d_malloc(10), 10);
    CHECK_EQUAL(d_sgl_buf_size(&sgl), 10);
    d_sgl_fini(&sgl, true);
    CHECK(sgl.sg_iovs == NULL);
    d_sgl_fini(NULL, true);
    pthread_mutex_t mutex;
    CHECK_OK(D_MUTEX_INIT(&mutex, NULL));
    D_MUTEX_LOCK(&mutex);
    D_MUTEX_UNLOCK(&mutex);
    D_MUTEX_DESTROY(&mutex);
    CHECK(d_errno2der(ENOENT) == -DER_NONEXIST && d_errno2der(0) == 0 && d_errno2der(EIO) == -DER_MISC);
    struct timespec from, to;
    CHECK_OK(d_gettime(&from));
    CHECK_OK(d_gettime(&to));
    CHECK(d_timediff_ns(&from, &to) >= 0);
}

static void ranks(void)
{
    d_rank_list_t* list = d_rank_list_alloc(4);
    d_rank_list_t *copy = NULL, *other = NULL;
    int index = -1;
    CHECK(list != NULL && list->rl_nr == 4 && list->rl_ranks[3] == 3);
    CHECK_OK(d_rank_list_append(list, 2));
    CHECK(list->rl_nr == 5 && list->rl_ranks[4] == 2);
    CHECK(d_rank_list_find(list, 2, &index) && index == 2 && !d_rank_list_find(list, 9, &index));
    CHECK(d_rank_in_rank_list(list, 0) && !d_rank_in_rank_list(NULL, 0));
    CHECK_OK(d_rank_list_dup_sort_uniq(&copy, list));
    CHECK(copy->rl_nr == 4);
    CHECK_OK(d_rank_list_del(list, 0));
    CHECK_OK(d_rank_list_del(list, 77));
    CHECK(list->rl_nr == 4 && list->rl_ranks[0] == 1 && list->rl_ranks[3] == 2);
    CHECK(!d_rank_list_identical(list, copy));
    CHECK_OK(d_rank_list_merge(list, copy)); /* gets its 0 back */
    CHECK(list->rl_nr == 5 && list->rl_ranks[4] == 0);
    CHECK_OK(d_rank_list_dup(&other, list));
    d_rank_list_sort(other);
    CHECK(other->rl_ranks[0] == 0 && d_rank_list_identical(list, other));
    CHECK_OK(d_rank_list_copy(other, copy));
    CHECK(other->rl_nr == 4 && d_rank_list_identical(other, copy));
    CHECK_OK(d_rank_list_resize(other, 6));
    CHECK(other->rl_nr == 6 && other->rl_ranks[5] == 0);
    CHECK_OK(d_rank_list_resize(other, 0));
    CHECK(other->rl_nr == 0);
    d_rank_list_free(other);
    CHECK_OK(d_rank_list_dup(&other, NULL));
    CHECK(other == NULL);
    CHECK_RC(d_rank_list_dup(NULL, list), -DER_INVAL);
    CHECK_RC(d_rank_list_copy(NULL, list), -DER_INVAL);
    CHECK_RC(d_rank_list_append(NULL, 1), -DER_INVAL);
    CHECK_RC(d_rank_list_del(NULL, 1), -DER_INVAL);
    CHECK_RC(d_rank_list_merge(NULL, list), -DER_INVAL);
    CHECK_RC(d_rank_list_resize(NULL, 1), -DER_INVAL);
    d_rank_list_sort(NULL);
    CHECK(d_rank_list_identical(NULL, NULL) && !d_rank_list_identical(list, NULL));
    d_rank_list_free(list);
    d_rank_list_free(copy);
}

static void environment(void)
{
    char* name = "STEPSTORE_TEST_VARIABLE";
    char small[4] = "old", letter = 'o';
    char* text = NULL;
    unsigned int number = 5;
    uint64_t big = 5;
    uint32_t word = 5;
    bool flag = false;
    unsetenv(name);
    CHECK_RC(d_getenv_str(small, sizeof small, name), -DER_NONEXIST);
    CHECK_RC(d_agetenv_str(&text, name), -DER_NONEXIST);
    CHECK_RC(d_getenv_bool(name, &flag), -DER_NONEXIST);
    CHECK_RC(d_getenv_uint(name, &number), -DER_NONEXIST);
    CHECK_RC(d_getenv_char(name, &letter), -DER_NONEXIST);
    CHECK(!d_isenv_def(name) && strcmp(small, "old") == 0 && number == 5);
    CHECK_OK(d_setenv(name, "18446744073709551615", 1));
    CHECK_RC(d_getenv_str(small, sizeof small, name), -DER_TRUNC);
    CHECK(strcmp(small, "184") == 0);
    CHECK_OK(d_agetenv_str(&text, name));
    CHECK(strcmp(text, "18446744073709551615") == 0);
    d_freeenv_str(&text);
    CHECK(text == NULL);
    CHECK_OK(d_getenv_uint64_t(name, &big));
    CHECK(big == UINT64_MAX);
    CHECK_RC(d_getenv_uint32_t(name, &word), -DER_INVAL);
    CHECK_RC(d_getenv_uint(name, &number), -DER_INVAL);
    CHECK(word == 5 && number == 5);
    CHECK_RC(d_getenv_char(name, &letter), -DER_INVAL);
    CHECK_OK(d_setenv(name, " 42", 1));
    CHECK_OK(d_getenv_uint(name, &number));
    CHECK_EQUAL(number, 42);
    CHECK_OK(d_setenv(name, "-1", 1));
    CHECK_OK(d_getenv_uint32_t(name, &word));
    CHECK(word == UINT32_MAX);
    CHECK_OK(d_setenv(name, "12x", 1));
    CHECK_RC(d_getenv_uint(name, &number), -DER_INVAL);
    CHECK_OK(d_getenv_bool(name, &flag));
    CHECK(flag);
    CHECK_OK(d_setenv(name, "0", 1));
    CHECK_OK(d_getenv_bool(name, &flag));
    CHECK(!flag);
    CHECK_OK(d_getenv_char(name, &letter));
    CHECK(letter == '0' && d_isenv_def(name));
    CHECK_RC(d_getenv_str(NULL, 4, name), -DER_INVAL);
    CHECK_RC(d_getenv_uint(NULL, &number), -DER_INVAL);
    CHECK(d_setenv(NULL, "1", 1) == -1 && d_unsetenv(NULL) == -1);
    CHECK_OK(d_unsetenv(name));
    CHECK(!d_isenv_def(name));
}

/* A message with a code, and with the code's name after it. */
static void messages(void)
{
    char text[200] = "";
    int const kept = dup(STDERR_FILENO);
    FILE* file = tmpfile();
    CHECK(kept >= 0 && file != NULL && dup2(fileno(file), STDERR_FILENO) >= 0);
    DL_WARN(-DER_BUSY, "not shown, %d", 1);
    DL_ERROR(-DER_NONEXIST, "opening %s", "it");
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    CHECK(strstr(text, "opening it: DER_NONEXIST(-1005): '") != NULL);
    CHECK(strstr(text, "not shown") == NULL);
    fclose(file);
    close(kept);
}

int main(void)
{
    lists();
    memory();
    ranks();
    environment();
    messages();
    D_INFO("not shown\n");
    D_ERROR("shown, once: %d", 1);
    return 0;
}
