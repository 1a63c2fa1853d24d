/* stepstore_kv_put_if(), as stepstore/admin.h says. */
#include "check.h"

#include "stepstore/admin.h"

static int put_if(daos_handle_t kv, char const* expected, char const* value)
{
    return stepstore_kv_put_if(kv, DAOS_TX_NONE, "key", expected ? strlen(expected) : 0, expected,
                               value ? strlen(value) : 0, value);
}

static void expect(daos_handle_t kv, char const* value)
{
    char buffer[64];
    daos_size_t size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "key", &size, buffer, NULL));
    CHECK_EQUAL(size, strlen(value));
    CHECK(memcmp(buffer, value, size) == 0);
}

int main(void)
{
    struct store store = open_store();
    daos_handle_t kv;
    daos_handle_t reader;
    daos_handle_t th;
    daos_epoch_t epoch = 0;
    daos_size_t size = 0;
    daos_obj_id_t const oid = kv_oid(store.container, 1, "S1");
    CHECK_OK(daos_kv_open(store.container, oid, DAOS_OO_RW, &kv, NULL));

    CHECK_RC(put_if(kv, "", "first"), -DER_MISMATCH); /* an empty value is not the same as none */
    CHECK_RC(put_if(kv, "first", NULL), -DER_MISMATCH);
    CHECK_OK(put_if(kv, NULL, ""));
    CHECK_RC(put_if(kv, NULL, "first"), -DER_EXIST);
    CHECK_OK(put_if(kv, "", "first"));
    CHECK_RC(put_if(kv, "", "second"), -DER_MISMATCH);
    CHECK_RC(put_if(kv, "firsT", "second"), -DER_MISMATCH);
    CHECK_RC(put_if(kv, "first!", "second"), -DER_MISMATCH);
    expect(kv, "first");
    CHECK(strstr(explanation(), "key") != NULL);
    CHECK_OK(put_if(kv, "first", "second"));
    expect(kv, "second");
    CHECK_RC(put_if(kv, "first", NULL), -DER_MISMATCH);
    expect(kv, "second");

    CHECK_RC(put_if(kv, NULL, NULL), -DER_INVAL);
    CHECK_RC(stepstore_kv_put_if(kv, DAOS_TX_NONE, "", 1, "a", 1, "b"), -DER_INVAL);
    CHECK_RC(stepstore_kv_put_if(kv, DAOS_TX_NONE, NULL, 1, "a", 1, "b"), -DER_INVAL);
    CHECK_RC(stepstore_kv_put_if(store.container, DAOS_TX_NONE, "key", 1, "a", 1, "b"), -DER_NO_HDL);
    CHECK_OK(daos_kv_open(store.container, oid, DAOS_OO_RO, &reader, NULL));
    CHECK_RC(put_if(reader, "second", "third"), -DER_NO_PERM);
    CHECK_OK(daos_kv_close(reader, NULL));
    CHECK_OK(daos_cont_create_snap(store.container, &epoch, NULL, NULL));
    CHECK_OK(daos_tx_open_snap(store.container, epoch, &th, NULL));
    CHECK_RC(stepstore_kv_put_if(kv, th, "key", 6, "second", 5, "third"), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(th, NULL));

    CHECK_OK(put_if(kv, "second", NULL));
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "key", &size, NULL, NULL), -DER_NONEXIST);
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    return 0;
}
