/*
 * Lists that are linked in both directions and go in a circle. A member of type d_list_t is in the caller's
 * structure, and another one alone is the head.
 *
 * Threads: one at a time, or a lock of the caller's. Errors: none.
 */
#ifndef STEPSTORE_LIBDAOS_GURT_LIST_H
#define STEPSTORE_LIBDAOS_GURT_LIST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct d_list_head {
    struct d_list_head* next;
    struct d_list_head* prev;
} d_list_t;

#define D_LIST_HEAD_INIT(name) {&(name), &(name)}
#define D_LIST_HEAD(name) d_list_t name = D_LIST_HEAD_INIT(name)
#define D_INIT_LIST_HEAD(ptr)                                                                                \
    do {                                                                                                     \
        (ptr)->next = (ptr);                                                                                 \
        (ptr)->prev = (ptr);                                                                                 \
    } while (0)

/* First and last become neighbours of these two. */
static inline void d_list_link_between(d_list_t* first, d_list_t* last, d_list_t* before, d_list_t* after)
{
    first->prev = before;
    last->next = after;
    before->next = first;
    after->prev = last;
}

/* At the front, and at the back. */
static inline void d_list_add(d_list_t* newe, d_list_t* head)
{
    d_list_link_between(newe, newe, head, head->next);
}
static inline void d_list_add_tail(d_list_t* newe, d_list_t* head)
{
    d_list_link_between(newe, newe, head->prev, head);
}

/* The links of what was taken out stay as they were; with _init it is a list of its own. */
static inline void d_list_del(d_list_t* entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
}
static inline void d_list_del_init(d_list_t* entry)
{
    d_list_del(entry);
    D_INIT_LIST_HEAD(entry);
}

static inline void d_list_move(d_list_t* list, d_list_t* head)
{
    d_list_del(list);
    d_list_add(list, head);
}
static inline void d_list_move_tail(d_list_t* list, d_list_t* head)
{
    d_list_del(list);
    d_list_add_tail(list, head);
}

static inline int d_list_empty(d_list_t* head)
{
    return head->next == head;
}

/* Puts the entries of a list at the front of another one. With _init the first one is empty afterwards. */
static inline void d_list_splice(d_list_t* list, d_list_t* head)
{
    if (!d_list_empty(list)) d_list_link_between(list->next, list->prev, head, head->next);
}
static inline void d_list_splice_init(d_list_t* list, d_list_t* head)
{
    d_list_splice(list, head);
    D_INIT_LIST_HEAD(list);
}

/* The structure of which *ptr is this member. */
#define d_list_entry(ptr, type, member) ((type*)((char*)(ptr) - offsetof(type, member)))

/* Takes the first one out of a list; NULL if it is empty. */
static inline d_list_t* d_list_take_first(d_list_t* head)
{
    d_list_t* const first = head->next;
    if (first == head) return NULL;
    d_list_del_init(first);
    return first;
}
static inline void* d_list_start_of(d_list_t* link, size_t member)
{
    return link ? (char*)link - member : NULL;
}
#define d_list_pop_entry(list, type, member)                                                                 \
    ((type*)d_list_start_of(d_list_take_first(list), offsetof(type, member)))

/* In _safe loops the entry itself may be taken out; n is a second variable of the same type. */
#define d_list_for_each(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define d_list_for_each_prev(pos, head) for ((pos) = (head)->prev; (pos) != (head); (pos) = (pos)->prev)
#define d_list_for_each_safe(pos, n, head)                                                                   \
    for ((pos) = (head)->next, (n) = (pos)->next; (pos) != (head); (pos) = (n), (n) = (pos)->next)

#define D_LIST_AS(link, pos, member) d_list_entry(link, __typeof__(*(pos)), member)
#define d_list_for_each_entry(pos, head, member)                                                             \
    for ((pos) = D_LIST_AS((head)->next, pos, member); &(pos)->member != (head);                             \
         (pos) = D_LIST_AS((pos)->member.next, pos, member))
#define d_list_for_each_entry_reverse(pos, head, member)                                                     \
    for ((pos) = D_LIST_AS((head)->prev, pos, member); &(pos)->member != (head);                             \
         (pos) = D_LIST_AS((pos)->member.prev, pos, member))
#define d_list_for_each_entry_continue(pos, head, member)                                                    \
    for ((pos) = D_LIST_AS((pos)->member.next, pos, member); &(pos)->member != (head);                       \
         (pos) = D_LIST_AS((pos)->member.next, pos, member))
#define d_list_for_each_entry_safe(pos, n, head, member)                                                     \
    for ((pos) = D_LIST_AS((head)->next, pos, member), (n) = D_LIST_AS((pos)->member.next, pos, member);     \
         &(pos)->member != (head); (pos) = (n), (n) = D_LIST_AS((n)->member.next, n, member))

#ifdef __cplusplus
}
#endif
#endif
