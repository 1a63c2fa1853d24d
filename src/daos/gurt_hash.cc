// d_hash_table_ and d_hash_rec_: hash tables of records that the caller has. d_hash_string_u32 and the other
// hash functions, whose numbers are those of gurt.
#include "daos/api.h"

#include <gurt/common.h>
#include <gurt/hash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint32_t most_bits = 28;

enum class Hold { shared, alone };

// The table's lock, held.
class Held {
public:
    Held(d_hash_table& table, Hold hold) : table_(table)
    {
        auto& lock = table.ht_lock;
        if (has(D_HASH_FT_NOLOCK)) return;
        if (has(D_HASH_FT_MUTEX))
            pthread_mutex_lock(&lock.mutex);
        else if (!has(D_HASH_FT_RWLOCK))
            pthread_spin_lock(&lock.spin);
        else if (hold == Hold::shared)
            pthread_rwlock_rdlock(&lock.rwlock);
        else
            pthread_rwlock_wrlock(&lock.rwlock);
    }
    ~Held()
    {
        auto& lock = table_.ht_lock;
        if (has(D_HASH_FT_NOLOCK)) return;
        if (has(D_HASH_FT_MUTEX))
            pthread_mutex_unlock(&lock.mutex);
        else if (has(D_HASH_FT_RWLOCK))
            pthread_rwlock_unlock(&lock.rwlock);
        else
            pthread_spin_unlock(&lock.spin);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

private:
    bool has(unsigned feature) const { return (table_.ht_feats & feature) != 0; }
    d_hash_table& table_;
};

bool has(const d_hash_table& table, unsigned feature)
{
    return (table.ht_feats & feature) != 0;
}

bool is_table(const d_hash_table* table)
{
    return table && table->ht_buckets && table->ht_ops;
}

bool is_key(const void* key, unsigned size)
{
    return key && size > 0;
}

d_list_t* head_of(d_hash_table& table, std::uint32_t hash)
{
    return &table.ht_buckets[hash & ((1U << table.ht_bits) - 1)].hb_head;
}

d_list_t* bucket_of(d_hash_table& table, const void* key, unsigned size)
{
    const auto hash = table.ht_ops->hop_key_hash;
    return head_of(table,
                   hash ? hash(&table, key, size) : d_hash_string_u32(static_cast<const char*>(key), size));
}

void add_reference(d_hash_table& table, d_list_t* link)
{
    if (table.ht_ops->hop_rec_addref) table.ht_ops->hop_rec_addref(&table, link);
}

// Whether it was the last one.
bool drop_reference(d_hash_table& table, d_list_t* link)
{
    return table.ht_ops->hop_rec_decref && table.ht_ops->hop_rec_decref(&table, link);
}

void free_record(d_hash_table& table, d_list_t* link)
{
    if (table.ht_ops->hop_rec_free) table.ht_ops->hop_rec_free(&table, link);
}

d_list_t* look_up(d_hash_table& table, d_list_t* bucket, const void* key, unsigned size)
{
    d_list_t* link;
    d_list_for_each(link, bucket) if (table.ht_ops->hop_key_cmp(&table, link, key, size)) return link;
    return nullptr;
}

// The one of this key, with one more reference.
d_list_t* take(d_hash_table& table, d_list_t* bucket, const void* key, unsigned size)
{
    d_list_t* link = look_up(table, bucket, key, size);
    if (!link) return nullptr;
    if (has(table, D_HASH_FT_LRU)) d_list_move(link, bucket);
    add_reference(table, link);
    return link;
}

void put(d_hash_table& table, d_list_t* bucket, d_list_t* link)
{
    if (!has(table, D_HASH_FT_EPHEMERAL)) add_reference(table, link);
    d_list_add(link, bucket);
}

// Takes it out. Whether it is to be freed, without the lock.
bool take_out(d_hash_table& table, d_list_t* link)
{
    d_list_del_init(link);
    return !has(table, D_HASH_FT_EPHEMERAL) && drop_reference(table, link);
}

int make_lock(d_hash_table& table)
{
    auto& lock = table.ht_lock;
    if (has(table, D_HASH_FT_NOLOCK)) return 0;
    const int failed = has(table, D_HASH_FT_MUTEX) ? pthread_mutex_init(&lock.mutex, nullptr)
                       : has(table, D_HASH_FT_RWLOCK)
                           ? pthread_rwlock_init(&lock.rwlock, nullptr)
                           : pthread_spin_init(&lock.spin, PTHREAD_PROCESS_PRIVATE);
    return d_errno2der(failed);
}

void remove_lock(d_hash_table& table)
{
    auto& lock = table.ht_lock;
    if (has(table, D_HASH_FT_NOLOCK)) return;
    if (has(table, D_HASH_FT_MUTEX))
        pthread_mutex_destroy(&lock.mutex);
    else if (has(table, D_HASH_FT_RWLOCK))
        pthread_rwlock_destroy(&lock.rwlock);
    else
        pthread_spin_destroy(&lock.spin);
}

// The last reference to it is gone. If the table counts, a caller has dropped one too many.
void leave(d_list_t* link)
{
    if (!d_list_empty(link)) d_list_del_init(link);
}

} // namespace

extern "C" {

uint32_t d_hash_string_u32(const char* string, unsigned int len)
{
    std::uint32_t hash = 5381;
    for (unsigned i = 0; string && i < len; ++i)
        hash = hash * 33 + static_cast<unsigned char>(string[i]);
    return hash;
}

// MurmurHash64A.
uint64_t d_hash_murmur64(const unsigned char* key, unsigned int key_len, unsigned int seed)
{
    constexpr std::uint64_t prime = 0xc6a4a7935bd1e995;
    constexpr int shift = 47;
    std::uint64_t hash = seed ^ (key_len * prime);
    unsigned at = 0;
    for (; key_len - at >= 8; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, key + at, sizeof word);
        word *= prime;
        word ^= word >> shift;
        word *= prime;
        hash ^= word;
        hash *= prime;
    }
    if (at < key_len) {
        std::uint64_t word = 0;
        for (unsigned i = key_len; i > at; --i)
            word = word << 8 | key[i - 1];
        hash ^= word;
        hash *= prime;
    }
    hash ^= hash >> shift;
    hash *= prime;
    hash ^= hash >> shift;
    return hash;
}

// "A Fast, Minimal Memory, Consistent Hash Algorithm" of Lamping and Veach.
uint32_t d_hash_jump(uint64_t key, uint32_t num_buckets)
{
    std::int64_t bucket = -1, next = 0;
    while (next < num_buckets) {
        bucket = next;
        key = key * 2862933555777941757ULL + 1;
        next = static_cast<std::int64_t>(
            static_cast<double>(bucket + 1) *
            (static_cast<double>(1LL << 31) / static_cast<double>((key >> 33) + 1)));
    }
    return static_cast<std::uint32_t>(bucket);
}

int d_hash_table_create_inplace(uint32_t feats, uint32_t bits, void* priv, d_hash_table_ops_t* hops,
                                struct d_hash_table* htable)
{
    if (!htable || !hops || !hops->hop_key_cmp || bits > most_bits) return -DER_INVAL;
    *htable = {};
    htable->ht_feats = feats | D_HASH_FT_GLOCK;
    htable->ht_bits = bits;
    htable->ht_priv = priv;
    htable->ht_ops = hops;
    const std::size_t buckets = std::size_t{1} << bits;
    htable->ht_buckets = static_cast<d_hash_bucket*>(std::calloc(buckets, sizeof(d_hash_bucket)));
    if (!htable->ht_buckets) return -DER_NOMEM;
    for (std::size_t i = 0; i < buckets; ++i)
        D_INIT_LIST_HEAD(&htable->ht_buckets[i].hb_head);
    const int failed = make_lock(*htable);
    if (failed != 0) {
        std::free(htable->ht_buckets);
        *htable = {};
    }
    return failed;
}

int d_hash_table_create(uint32_t feats, uint32_t bits, void* priv, d_hash_table_ops_t* hops,
                        struct d_hash_table** htable_pp)
{
    if (!htable_pp) return -DER_INVAL;
    *htable_pp = nullptr;
    auto* table = static_cast<d_hash_table*>(std::calloc(1, sizeof(d_hash_table)));
    if (!table) return -DER_NOMEM;
    const int failed = d_hash_table_create_inplace(feats, bits, priv, hops, table);
    if (failed != 0)
        std::free(table);
    else
        *htable_pp = table;
    return failed;
}

int d_hash_table_traverse(struct d_hash_table* htable, d_hash_traverse_cb_t cb, void* arg)
{
    if (!is_table(htable)) return -DER_UNINIT;
    if (!cb) return -DER_INVAL;
    const Held held(*htable, Hold::shared);
    for (std::uint32_t i = 0; i < 1U << htable->ht_bits; ++i) {
        d_list_t *link, *next;
        d_list_for_each_safe(link, next, &htable->ht_buckets[i].hb_head)
        {
            if (const int ended = cb(link, arg); ended != 0) return ended;
        }
    }
    return 0;
}

d_list_t* d_hash_rec_first(struct d_hash_table* htable)
{
    d_list_t* first = nullptr;
    const auto note = [](d_list_t* link, void* to) {
        *static_cast<d_list_t**>(to) = link;
        return 1;
    };
    d_hash_table_traverse(htable, note, &first);
    return first;
}

int d_hash_table_destroy_inplace(struct d_hash_table* htable, bool force)
{
    if (!is_table(htable)) return -DER_UNINIT;
    while (d_list_t* link = d_hash_rec_first(htable)) {
        if (!force) return -DER_BUSY;
        d_hash_rec_delete_at(htable, link);
    }
    remove_lock(*htable);
    std::free(htable->ht_buckets);
    *htable = {};
    return 0;
}

int d_hash_table_destroy(struct d_hash_table* htable, bool force)
{
    const int failed = d_hash_table_destroy_inplace(htable, force);
    if (failed == 0) std::free(htable);
    return failed;
}

d_list_t* d_hash_rec_find(struct d_hash_table* htable, const void* key, unsigned int ksize)
{
    if (!is_table(htable) || !is_key(key, ksize)) return nullptr;
    const Held held(*htable, has(*htable, D_HASH_FT_LRU) ? Hold::alone : Hold::shared);
    return take(*htable, bucket_of(*htable, key, ksize), key, ksize);
}

d_list_t* d_hash_rec_find_insert(struct d_hash_table* htable, const void* key, unsigned int ksize,
                                 d_list_t* link)
{
    if (!is_table(htable) || !is_key(key, ksize) || !link) return nullptr;
    const Held held(*htable, Hold::alone);
    d_list_t* bucket = bucket_of(*htable, key, ksize);
    if (d_list_t* there = take(*htable, bucket, key, ksize)) return there;
    put(*htable, bucket, link);
    return link;
}

int d_hash_rec_insert(struct d_hash_table* htable, const void* key, unsigned int ksize, d_list_t* link,
                      bool exclusive)
{
    if (!is_table(htable)) return -DER_UNINIT;
    if (!is_key(key, ksize) || !link) return -DER_INVAL;
    const Held held(*htable, Hold::alone);
    d_list_t* bucket = bucket_of(*htable, key, ksize);
    if (exclusive && look_up(*htable, bucket, key, ksize)) return -DER_EXIST;
    put(*htable, bucket, link);
    return 0;
}

int d_hash_rec_insert_anonym(struct d_hash_table* htable, d_list_t* link, void* arg)
{
    if (!is_table(htable)) return -DER_UNINIT;
    const auto& functions = *htable->ht_ops;
    if (!link || !functions.hop_key_init || !functions.hop_rec_hash) return -DER_INVAL;
    const Held held(*htable, Hold::alone);
    functions.hop_key_init(htable, link, arg);
    put(*htable, head_of(*htable, functions.hop_rec_hash(htable, link)), link);
    return 0;
}

bool d_hash_rec_delete(struct d_hash_table* htable, const void* key, unsigned int ksize)
{
    if (!is_table(htable) || !is_key(key, ksize)) return false;
    d_list_t* link;
    bool free = false;
    {
        const Held held(*htable, Hold::alone);
        link = look_up(*htable, bucket_of(*htable, key, ksize), key, ksize);
        if (link) free = take_out(*htable, link);
    }
    if (free) free_record(*htable, link);
    return link != nullptr;
}

bool d_hash_rec_delete_at(struct d_hash_table* htable, d_list_t* link)
{
    if (!is_table(htable) || !link) return false;
    bool there, free = false;
    {
        const Held held(*htable, Hold::alone);
        there = !d_list_empty(link);
        if (there) free = take_out(*htable, link);
    }
    if (free) free_record(*htable, link);
    return there;
}

bool d_hash_rec_evict(struct d_hash_table* htable, const void* key, unsigned int ksize)
{
    if (!is_table(htable) || !is_key(key, ksize) || !has(*htable, D_HASH_FT_LRU)) return false;
    const Held held(*htable, Hold::alone);
    d_list_t* bucket = bucket_of(*htable, key, ksize);
    d_list_t* link = look_up(*htable, bucket, key, ksize);
    if (link) d_list_move_tail(link, bucket);
    return link != nullptr;
}

bool d_hash_rec_evict_at(struct d_hash_table* htable, d_list_t* link)
{
    if (!is_table(htable) || !link || !has(*htable, D_HASH_FT_LRU) || !htable->ht_ops->hop_rec_hash)
        return false;
    const Held held(*htable, Hold::alone);
    d_list_t* bucket = head_of(*htable, htable->ht_ops->hop_rec_hash(htable, link));
    if (link == bucket->prev || d_list_empty(link)) return false;
    d_list_move_tail(link, bucket);
    return true;
}

void d_hash_rec_addref(struct d_hash_table* htable, d_list_t* link)
{
    if (!is_table(htable) || !link) return;
    const Held held(*htable, Hold::shared);
    add_reference(*htable, link);
}

void d_hash_rec_decref(struct d_hash_table* htable, d_list_t* link)
{
    if (!is_table(htable) || !link) return;
    bool free;
    {
        const Held held(*htable, Hold::alone);
        free = drop_reference(*htable, link);
        if (free) leave(link);
    }
    if (free) free_record(*htable, link);
}

int d_hash_rec_ndecref(struct d_hash_table* htable, int count, d_list_t* link)
{
    if (!is_table(htable)) return -DER_UNINIT;
    if (!link || count <= 0) return -DER_INVAL;
    bool free = false;
    int result = 0;
    {
        const Held held(*htable, Hold::alone);
        if (const auto drop_all = htable->ht_ops->hop_rec_ndecref) {
            const int dropped = drop_all(htable, link, count);
            free = dropped > 0;
            if (dropped < 0) result = dropped;
        } else {
            while (count > 0 && !free) {
                free = drop_reference(*htable, link);
                --count;
            }
            if (count > 0) result = -DER_INVAL; // more than there were
        }
        if (free) leave(link);
    }
    if (free) free_record(*htable, link);
    return result;
}

bool d_hash_rec_unlinked(d_list_t* link)
{
    return !link || d_list_empty(link);
}

} // extern "C"
